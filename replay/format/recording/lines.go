package recording

import (
	"bufio"
	"bytes"
	"errors"
	"io"
)

// line is one physical line of a file, without its line feed.
type line struct {
	data   []byte // valid until the next line is read
	number int    // 1-based
	offset int64  // of its first byte
	ended  bool   // by a line feed
	long   int    // bytes thrown away because the line exceeds MaxRecord
}

// lines reads lines of any length. Only a line feed ends one: separators such as
// U+2028 are text. The buffer grows to the longest line and is let go after a
// very long one.
type lines struct {
	r      *bufio.Reader
	at     io.ReaderAt // the file itself, if it can be read ahead, else nil
	base   int64       // where in it the reading began
	max    int
	buf    []byte
	number int
	offset int64
}

// keepBuffer is the largest line buffer, in bytes, that is kept for the next line.
const keepBuffer = 8 << 20

func newLines(r io.Reader, max int) *lines {
	l := &lines{r: bufio.NewReaderSize(r, 256<<10), max: max}
	if file, ok := r.(interface {
		io.ReaderAt
		io.Seeker
	}); ok {
		if base, err := file.Seek(0, io.SeekCurrent); err == nil {
			l.at, l.base = file, base
		}
	}
	return l
}

// grow makes room for the rest of a line that has turned out to be very long: as much
// as it needs where that can be seen, since doubling would hold it three times.
func (l *lines) grow() {
	if l.at == nil {
		return
	}
	buf := make([]byte, 256<<10)
	for n := 0; n < l.max; {
		k, err := l.at.ReadAt(buf, l.base+l.offset+int64(n))
		if i := bytes.IndexByte(buf[:k], '\n'); i >= 0 {
			k, err = i, io.EOF
		}
		if n += k; err != nil {
			grown := make([]byte, len(l.buf), min(len(l.buf)+n, l.max)+1)
			copy(grown, l.buf)
			l.buf = grown
			return
		}
	}
}

// next returns the next line, or io.EOF after the last.
func (l *lines) next() (line, error) {
	l.number++
	ln := line{number: l.number, offset: l.offset}
	if cap(l.buf) > keepBuffer {
		l.buf = nil
	}
	l.buf = l.buf[:0]
	for {
		part, err := l.r.ReadSlice('\n')
		l.offset += int64(len(part))
		ended := err == nil
		if ended {
			part = part[:len(part)-1]
		}
		if ended && len(l.buf) == 0 && ln.long == 0 && len(part) <= l.max {
			ln.data, ln.ended = part, true // the common case: nothing is copied
			return ln, nil
		}
		if len(l.buf)+len(part) > l.max {
			ln.long += len(part)
		} else {
			if len(l.buf) < keepBuffer && len(l.buf)+len(part) >= keepBuffer {
				l.buf = append(l.buf, part...)
				l.grow()
			} else {
				l.buf = append(l.buf, part...)
			}
		}
		switch {
		case ended:
			ln.data, ln.ended = l.buf, true
			return ln, nil
		case errors.Is(err, bufio.ErrBufferFull):
		case errors.Is(err, io.EOF):
			ln.data = l.buf
			if len(ln.data) == 0 && ln.long == 0 {
				return line{}, io.EOF
			}
			return ln, nil
		default:
			return line{}, err
		}
	}
}
