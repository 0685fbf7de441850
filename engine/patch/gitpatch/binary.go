package gitpatch

import (
	"bufio"
	"bytes"
	"compress/zlib"
	"crypto/sha1"
	"encoding/hex"
	"errors"
	"fmt"
	"io"

	"vise/engine/patch/run"
	"vise/engine/patch/tree"
)

// sized opens a content and finds its length: that of a removed file is in no entry.
func sized(e run.Entry, open tree.Source) (io.ReadCloser, int64, error) {
	r, err := open(e)
	if err != nil {
		return nil, 0, err
	}
	n, err := io.Copy(io.Discard, r)
	r.Close()
	if err != nil {
		return nil, 0, err
	}
	r, err = open(e)
	return r, n, err
}

// blobID is git's id of a content: SHA-1 over its kind, its length and its bytes.
func blobID(r io.Reader, size int64) (string, error) {
	h := sha1.New()
	fmt.Fprintf(h, "blob %d\x00", size)
	n, err := io.Copy(h, r)
	if err == nil && n != size {
		err = errors.New("it changed while it was read")
	}
	return hex.EncodeToString(h.Sum(nil)), err
}

// WriteBinary writes the content both ways, so that the patch can be taken back.
func (p Part) WriteBinary(w io.Writer, s Sources) error {
	out := bufio.NewWriter(w)
	out.WriteString("GIT binary patch\n")
	for _, side := range []struct {
		there bool
		open  tree.Source
	}{{p.entry.ResultSHA256 != nil, s.After}, {p.entry.BaseSHA256 != nil, s.Before}} {
		r, size := io.NopCloser(bytes.NewReader(nil)), int64(0)
		if side.there {
			var err error
			if r, size, err = sized(p.entry, side.open); err != nil {
				return err
			}
		}
		fmt.Fprintf(out, "literal %d\n", size)
		lines := &lineWriter{w: out}
		z := zlib.NewWriter(lines)
		_, err := io.Copy(z, r)
		if err := errors.Join(err, z.Close(), lines.flush(), r.Close()); err != nil {
			return err
		}
		out.WriteByte('\n')
	}
	return out.Flush()
}

// maxLine is how many bytes one line of base85 holds.
const maxLine = 52

// alphabet is that of git's base85.
const alphabet = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%&()*+-;<=>?@^_`{|}~"

// lineWriter writes bytes as lines of base85: a letter for the length of the line,
// A to Z for 1 to 26 and a to z for 27 to 52, then five letters for every four bytes.
type lineWriter struct {
	w    *bufio.Writer
	held [maxLine]byte
	n    int
}

// Write never fails before flush: the writer below keeps its error.
func (l *lineWriter) Write(b []byte) (int, error) {
	for rest := b; len(rest) > 0; {
		n := copy(l.held[l.n:], rest)
		if l.n, rest = l.n+n, rest[n:]; l.n == maxLine {
			if err := l.flush(); err != nil {
				return 0, err
			}
		}
	}
	return len(b), nil
}

func (l *lineWriter) flush() error {
	if l.n == 0 {
		return nil
	}
	length := byte('A' + l.n - 1)
	if l.n > 26 {
		length = byte('a' + l.n - 27)
	}
	l.w.WriteByte(length)
	for i := 0; i < l.n; i += 4 {
		var word uint32
		for k := range 4 {
			word <<= 8
			if i+k < l.n {
				word |= uint32(l.held[i+k])
			}
		}
		var five [5]byte
		for k := 4; k >= 0; k-- {
			five[k] = alphabet[word%85]
			word /= 85
		}
		l.w.Write(five[:])
	}
	l.n = 0
	return l.w.WriteByte('\n')
}
