package recording

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
)

// Scanner walks the structure of one JSON document of any size, value by value.
// It looks at brackets and quotes only: a value it hands out is balanced, and
// whether it is JSON shows when it is decoded.
type Scanner struct {
	src  io.Reader
	buf  []byte
	pos  int
	end  int
	base int64 // offset of buf[0]
	line int
	err  error // of src, io.EOF included
}

// NewScanner returns a scanner at the start of a document.
func NewScanner(r io.Reader) *Scanner { return NewScannerAt(r, 0, 1) }

// NewScannerAt returns a scanner whose reader stands at an offset of the
// document, in a line of it.
func NewScannerAt(r io.Reader, offset int64, line int) *Scanner {
	return &Scanner{src: r, buf: make([]byte, 64<<10), base: offset, line: line}
}

// documentError says why a document cannot be followed any further.
type documentError string

func (e documentError) Error() string { return string(e) }

// errCut: the document ends in the middle.
const errCut = documentError("the file ends in the middle of the document")

// BadDocument returns the reason when err says that the document is not JSON
// from some place on, in contrast to an error of reading or of the caller.
func BadDocument(err error) (string, bool) {
	var d documentError
	if errors.As(err, &d) {
		return string(d), true
	}
	return "", false
}

// Offset is the byte offset of the next value or byte.
func (s *Scanner) Offset() int64 { return s.base + int64(s.pos) }

// Line is the line of the next byte, counted from 1.
func (s *Scanner) Line() int { return s.line }

// fill reads more; false at the end or on an error.
func (s *Scanner) fill() bool {
	if s.err != nil {
		return false
	}
	s.base += int64(s.end)
	s.pos, s.end = 0, 0
	for s.end == 0 && s.err == nil {
		s.end, s.err = s.src.Read(s.buf)
	}
	return s.end > 0
}

func (s *Scanner) stop() error {
	if s.err != nil && !errors.Is(s.err, io.EOF) {
		return s.err
	}
	return errCut
}

// Peek returns the next byte that is not white space, without taking it.
func (s *Scanner) Peek() (byte, error) {
	for {
		for ; s.pos < s.end; s.pos++ {
			switch c := s.buf[s.pos]; c {
			case '\n':
				s.line++
			case ' ', '\t', '\r':
			case 0xef, 0xbb, 0xbf:
				if s.Offset() > 2 { // not a byte order mark
					return c, nil
				}
			default:
				return c, nil
			}
		}
		if !s.fill() {
			return 0, s.stop()
		}
	}
}

// AtEnd reports whether nothing but white space is left.
func (s *Scanner) AtEnd() bool {
	_, err := s.Peek()
	return err != nil
}

// Skip passes over the next value.
func (s *Scanner) Skip() error {
	_, whole, err := s.Value(0)
	if err == nil && !whole {
		return errCut
	}
	return err
}

// Value takes the next value and returns up to max bytes of it. whole is false
// when it is longer, or the document ends in it; the part that is there is
// returned then. A max of 0 keeps nothing and says only whether the value was
// complete.
func (s *Scanner) Value(max int) (raw []byte, whole bool, err error) {
	c, err := s.Peek()
	if err != nil {
		return nil, false, err
	}
	keep := func(b []byte) {
		if n := max - len(raw); n > 0 {
			raw = append(raw, b[:min(n, len(b))]...)
		}
	}
	if strings.IndexByte(",:]}", c) >= 0 {
		return nil, false, s.unexpected(c, "a value")
	}
	start := s.Offset()
	depth, text, escaped, scalar := 0, false, false, c != '{' && c != '[' && c != '"'
	for {
		from := s.pos
		for s.pos < s.end {
			c := s.buf[s.pos]
			if text && !escaped {
				for c != '"' && c != '\\' && c != '\n' && s.pos+1 < s.end {
					s.pos++
					c = s.buf[s.pos]
				}
			}
			if scalar && (c == ',' || c == ']' || c == '}' || c == ' ' || c == '\n' || c == '\t' || c == '\r') {
				keep(s.buf[from:s.pos])
				return raw, max == 0 || s.Offset()-start <= int64(max), nil
			}
			s.pos++
			switch {
			case c == '\n':
				s.line++
				escaped = false
			case escaped:
				escaped = false
			case text && c == '\\':
				escaped = true
			case c == '"':
				text = !text
			case text:
			case c == '{' || c == '[':
				depth++
			case c == '}' || c == ']':
				depth--
			}
			if !scalar && !text && depth == 0 {
				keep(s.buf[from:s.pos])
				return raw, max == 0 || s.Offset()-start <= int64(max), nil
			}
		}
		keep(s.buf[from:s.pos])
		if !s.fill() {
			if s.err != nil && !errors.Is(s.err, io.EOF) {
				return raw, false, s.err
			}
			return raw, scalar && depth == 0 && max == 0, nil
		}
	}
}

// Elements calls each for every element of the array that comes next; each must
// take one value.
func (s *Scanner) Elements(each func() error) error {
	return s.list('[', ']', "an array", each)
}

// Members calls each for every member of the object that comes next; each must
// take the value. A key longer than 64 KB is an error.
func (s *Scanner) Members(each func(key string) error) error {
	return s.list('{', '}', "an object", func() error {
		if c, err := s.Peek(); err != nil || c != '"' {
			if err == nil {
				err = s.unexpected(c, "a key")
			}
			return err
		}
		raw, whole, err := s.Value(64 << 10)
		if err != nil {
			return err
		}
		var key string
		if !whole || json.Unmarshal(raw, &key) != nil {
			return documentError("a key of the document cannot be read")
		}
		c, err := s.Peek()
		if err != nil {
			return err
		}
		if c != ':' {
			return s.unexpected(c, "a colon")
		}
		s.pos++
		if _, err := s.Peek(); err != nil {
			return err
		}
		return each(key)
	})
}

func (s *Scanner) list(open, end byte, what string, each func() error) error {
	c, err := s.Peek()
	if err != nil {
		return err
	}
	if c != open {
		if c == 'n' { // null
			return s.Skip()
		}
		return s.unexpected(c, what)
	}
	s.pos++
	for first := true; ; first = false {
		c, err := s.Peek()
		if err != nil {
			return err
		}
		if c == end {
			s.pos++
			return nil
		}
		if !first {
			if c != ',' {
				return s.unexpected(c, "a comma")
			}
			s.pos++
			if c, err = s.Peek(); err != nil {
				return err
			}
			if c == end { // a comma too many
				s.pos++
				return nil
			}
		}
		before := s.Offset()
		if err := each(); err != nil {
			return err
		}
		if s.Offset() == before {
			return s.unexpected(c, "a value")
		}
	}
}

func (s *Scanner) unexpected(c byte, want string) error {
	return documentError(fmt.Sprintf("%q where %s should be", c, want))
}
