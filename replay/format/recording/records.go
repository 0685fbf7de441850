package recording

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"
	"unsafe"
)

// Record is one JSON object of a JSON Lines file.
type Record struct {
	Data   []byte // valid until the function it was given to returns
	Line   int    // 1-based, of its first line
	Offset int64
	// Glued records shared a physical line with another one, joined ones were
	// spread over several because a text held raw line feeds.
	Glued, Joined bool
}

// Bounds of joining the pieces of a record that raw line feeds broke up.
const (
	maxJoinLines = 64
	maxJoinBytes = 8 << 20
	maxSalvage   = 256 // places tried for the start of a whole record in a broken line
	// maxSalvageRead bounds the bytes read at those places together: half a second (BenchmarkSalvageTrap).
	maxSalvageRead = 64 << 20
)

// Decode turns a JSON text into v. Values of an unexpected type leave their
// field empty and are no error: formats drift. A syntax error is returned.
func Decode(data []byte, v any) error { return decode(data, v, false) }

// DecodeExact is Decode that keeps the spelling of numbers of no declared type (json.Number).
func DecodeExact(data []byte, v any) error { return decode(data, v, true) }

// DecodeText is Decode for JSON that is the text of a JSON string.
func DecodeText(s string, v any) error {
	return decode(unsafe.Slice(unsafe.StringData(s), len(s)), v, false) // only read
}

// Spelling is a JSON value as a text. A large one (see largeRecord) is not copied: it
// must not be changed any more.
func Spelling(raw []byte) string {
	if len(raw) >= largeRecord {
		return unsafe.String(unsafe.SliceData(raw), len(raw))
	}
	return string(raw)
}

func decode(data []byte, v any, exact bool) error {
	done, err := false, error(nil)
	if len(data) >= largeRecord {
		done, err = large(data, v, exact)
	}
	if !done {
		err = unmarshal(data, v, exact)
	}
	if err == nil {
		return nil
	}
	var shape *json.UnmarshalTypeError
	if errors.As(err, &shape) {
		return nil
	}
	return err
}

func unmarshal(data []byte, v any, exact bool) error {
	if !exact {
		return json.Unmarshal(data, v)
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	return dec.Decode(v)
}

// Lines reads a JSON Lines file and calls take for every object in it. Damage
// never ends the reading: a broken line is counted with its place, two objects
// glued together on one line are both found, and an object that is printed or
// broken over several lines is put together again where that gives a whole one. take must return the
// error of Decode as it is, before it has done anything with the record; any
// other error ends the reading. broken, if not nil, is shown each damaged part.
func Lines(r io.Reader, rec *Recorder, take func(Record) error, broken func(Damage, []byte)) error {
	return (&lineReader{lines: newLines(r, MaxRecord), rec: rec, take: take, broken: broken}).all()
}

// ArrayLines is Lines for files whose records may also be arrays.
func ArrayLines(r io.Reader, rec *Recorder, take func(Record) error, broken func(Damage, []byte)) error {
	return (&lineReader{lines: newLines(r, MaxRecord), rec: rec, take: take, broken: broken, arrays: true}).all()
}

func (l *lineReader) all() error {
	rec := l.rec
	for {
		if err := rec.ctx.Err(); err != nil {
			return fmt.Errorf("read %s: %w", rec.sum.Path, err)
		}
		ln, err := l.lines.next()
		if errors.Is(err, io.EOF) {
			reason := "record is cut off"
			if !l.ended {
				reason = "last record is incomplete (no line end)"
			}
			l.flush(reason)
			if l.spreads > 0 {
				rec.Note("records printed over several lines, put together: %d", l.spreads)
			}
			return nil
		}
		if err != nil {
			return fmt.Errorf("read %s: line %d: %w", rec.sum.Path, l.lines.number, err)
		}
		l.ended = ln.ended
		if err := l.line(ln); err != nil {
			return err
		}
	}
}

type lineReader struct {
	lines  *lines
	rec    *Recorder
	take   func(Record) error
	broken func(Damage, []byte)
	arrays bool // an array is a record
	ended  bool

	held    []byte // the beginning of a record that may go on in the next line
	heldAt  Damage
	count   int      // lines in held
	nest    *nesting // of a held record that is printed over several lines, else nil
	spreads int      // such records put together
	region  int      // index in the summary of the damage that the last line ended in, plus 1
	last    int      // last line of that region
}

func (l *lineReader) line(ln line) error {
	if l.nest != nil {
		if taken, err := l.collect(ln); taken || err != nil {
			return err
		}
	}
	data := trim(ln.data, ln.offset == 0)
	at := Damage{Line: ln.number, Offset: ln.offset, Bytes: len(ln.data)}
	switch {
	case ln.long > 0:
		l.flush("record is cut off")
		at.Bytes += ln.long
		l.report(at, fmt.Sprintf("line is longer than %d MB", MaxRecord>>20), data)
		return nil
	case len(data) == 0:
		if bytes.IndexByte(ln.data, 0) >= 0 {
			l.flush("record is cut off")
			l.report(at, "zero bytes instead of a record", nil)
		} else if l.held != nil { // an empty line inside a broken text
			l.hold(ln, data)
		}
		return nil
	case data[0] != '{':
		return l.fragment(ln, data, at)
	}
	if l.held != nil && json.Valid(data) {
		l.flush("record is cut off")
	}
	ok, err := l.try(data, ln.number, ln.offset, false, false)
	if ok || err != nil {
		return err
	}
	if l.held != nil {
		if joined, err := l.join(data); joined || err != nil {
			return err
		}
		l.flush("record is cut off")
	}
	var n nesting
	if n.feed(data); n.deepest > maxDepth {
		l.report(at, fmt.Sprintf("nested deeper than %d levels", maxDepth), data)
		return nil
	}
	rest, err := l.salvage(data, ln)
	if err != nil || len(rest) == 0 {
		return err
	}
	at.Offset += int64(len(data) - len(rest))
	at.Bytes = len(rest)
	if len(rest) <= keepBuffer { // a longer line has memory of its own
		rest = bytes.Clone(rest)
	}
	l.held, l.heldAt, l.count = rest, at, 1
	l.spread()
	return nil
}

// fragment handles a line that is no object: the rest of a broken record, a bare
// value, or rubbish.
func (l *lineReader) fragment(ln line, data []byte, at Damage) error {
	if l.held != nil {
		if joined, err := l.join(data); joined || err != nil {
			return err
		}
		if !json.Valid(data) && l.hold(ln, data) {
			return nil
		}
		l.flush("record is cut off")
	}
	if json.Valid(data) {
		if l.arrays && data[0] == '[' {
			_, err := l.try(data, ln.number, ln.offset, false, false)
			return err
		}
		l.report(at, "a bare value, not a record", data)
		return nil
	}
	rest, err := l.salvage(data, ln)
	if err == nil && len(rest) > 0 {
		at.Bytes = len(rest)
		l.report(at, "not JSON", rest)
	}
	return err
}

// try hands a text to take; ok is false when it is not JSON.
func (l *lineReader) try(data []byte, number int, offset int64, glued, joined bool) (ok bool, err error) {
	if !utf8.Valid(data) && json.Valid(data) {
		l.report(Damage{Line: number, Offset: offset + int64(invalidAt(data)), Bytes: 1}, "invalid UTF-8, replaced; the record is kept", nil)
	}
	err = l.take(Record{Data: data, Line: number, Offset: offset, Glued: glued, Joined: joined})
	var syntax *json.SyntaxError
	if errors.As(err, &syntax) || errors.Is(err, io.ErrUnexpectedEOF) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	l.rec.Record()
	return true, nil
}

// join tries whether the held text and one more line make a whole record.
func (l *lineReader) join(data []byte) (bool, error) {
	if len(data) == 0 || data[len(data)-1] != '}' || len(l.held)+len(data) > maxJoinBytes {
		return false, nil
	}
	whole := append(append(bytes.Clone(l.held), `\n`...), data...)
	if !json.Valid(whole) {
		return false, nil
	}
	at := l.heldAt
	l.held = nil
	ok, err := l.try(whole, at.Line, at.Offset, false, true)
	if ok {
		l.rec.Note("line %d: a record spread over %d lines was put together", at.Line, l.count+1)
	}
	return ok, err
}

// hold adds a line to the held text; false when the bounds are reached.
func (l *lineReader) hold(ln line, data []byte) bool {
	if l.count >= maxJoinLines || len(l.held)+len(data) > maxJoinBytes {
		return false
	}
	l.held = append(append(l.held, `\n`...), data...)
	l.heldAt.Bytes = int(ln.offset-l.heldAt.Offset) + len(ln.data)
	l.count++
	return true
}

// flush gives up on the held text.
func (l *lineReader) flush(reason string) {
	if l.held == nil {
		return
	}
	l.report(l.heldAt, reason, l.held)
	l.last = l.heldAt.Line + l.count - 1
	l.held = nil
}

// report counts a damage. Rubbish that goes on over several lines is one damage.
func (l *lineReader) report(d Damage, reason string, data []byte) {
	d.Reason = reason
	sum := &l.rec.sum
	if reason == "not JSON" && l.last == d.Line-1 && l.region > 0 && l.region <= len(sum.Damaged) {
		prev := &sum.Damaged[l.region-1]
		if prev.Reason == "not JSON" || prev.Reason == "record is cut off" {
			prev.Bytes = int(d.Offset-prev.Offset) + d.Bytes
			l.last = d.Line
			return
		}
	}
	l.rec.Damage(d)
	l.region, l.last = len(sum.Damaged), d.Line
	if l.broken != nil && data != nil {
		l.broken(d, data)
	}
}

// salvage finds the whole objects in a line that is no JSON as it stands: two
// objects glued together, or a whole one behind the beginning of another. It
// returns what is left over at the end and reports what is left over before.
func (l *lineReader) salvage(data []byte, ln line) ([]byte, error) {
	rest := data
	for len(rest) > 0 {
		if n := wholePrefix(rest); n > 0 {
			off := ln.offset + int64(len(data)-len(rest))
			if _, err := l.try(rest[:n:n], ln.number, off, true, false); err != nil {
				return nil, err
			}
			rest = trim(rest[n:], false)
			continue
		}
		start := wholeSuffix(rest)
		if start <= 0 {
			break
		}
		at := Damage{Line: ln.number, Offset: ln.offset + int64(len(data)-len(rest)), Bytes: start}
		l.report(at, "record is cut off by the next one", rest[:start])
		rest = rest[start:]
	}
	return rest, nil
}

// wholePrefix returns the length of the complete object that a text begins with, 0 if
// it begins with none.
func wholePrefix(data []byte) int {
	if data[0] != '{' {
		return 0
	}
	sc := NewScanner(bytes.NewReader(data))
	if err := sc.Skip(); err != nil {
		return 0
	}
	if n := int(sc.Offset()); json.Valid(data[:n]) {
		return n
	}
	return 0
}

// wholeSuffix returns where a complete object begins that reaches to the end of
// a broken text, 0 if there is none. Quotes inside texts are escaped, so `{"`
// never occurs in one; and an object in a place where the broken record may have
// one as a value is its own, not another record.
func wholeSuffix(data []byte) int {
	if data[len(data)-1] != '}' {
		return 0
	}
	text, escaped, before, tries, read := false, false, byte(0), 0, 0
	for i, c := range data {
		if i > 0 && c == '{' && i+1 < len(data) && data[i+1] == '"' && (text || before != ':' && before != ',' && before != '[') {
			if tries++; tries > maxSalvage {
				return 0
			}
			n, whole := wellFormed(data[i:])
			if whole {
				return i
			}
			if read += n; read > maxSalvageRead {
				return 0
			}
		}
		switch {
		case escaped:
			escaped = false
		case text && c == '\\':
			escaped = true
		case c == '"':
			text = !text
		}
		if !text && c != ' ' && c != '\t' {
			before = c
		}
	}
	return 0
}

// wellFormed reports whether data is one JSON value, or how much of it was read to see that
// it is not.
func wellFormed(data []byte) (read int, whole bool) {
	var v json.RawMessage
	err := json.Unmarshal(data, &v)
	if broken, ok := err.(*json.SyntaxError); ok {
		return int(broken.Offset), false
	}
	return len(data), err == nil
}

// trim takes white space and zero bytes off both ends, and at the start of a file its byte order mark.
func trim(b []byte, first bool) []byte {
	if first {
		b = bytes.TrimPrefix(b, []byte("\xef\xbb\xbf"))
	}
	return bytes.Trim(b, " \t\r\x00")
}

func invalidAt(b []byte) int {
	for i := 0; i < len(b); {
		r, n := utf8.DecodeRune(b[i:])
		if r == utf8.RuneError && n == 1 {
			return i
		}
		i += n
	}
	return len(b)
}
