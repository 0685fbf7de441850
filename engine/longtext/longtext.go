// Package longtext writes JSON around texts of many megabytes. encoding/json builds
// the whole of a value in memory, in a buffer that grows by doubling, before it writes a
// byte: a result of 80 MB costs 250 MB more. Here the long texts are set aside, the small
// rest is encoded with marks in their place, and the texts are written where the marks
// stand, piece by piece. The package is pure.
package longtext

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"unicode/utf8"
)

// Over is the length in bytes from which a text is set aside.
const Over = 1 << 20

const piece = 64 << 10 // bytes of text that are spelled at once

// Aside holds the long texts of one document. The zero value is ready.
type Aside struct {
	mark  string
	texts []string
}

// Take sets each text aside that is longer than Over and leaves its mark in its place.
func (a *Aside) Take(texts ...*string) {
	for _, p := range texts {
		if len(*p) > Over {
			*p = a.Mark(*p)
		}
	}
}

// Mark sets a text aside and returns what stands for it. The mark begins with a random
// text, so that nothing recorded can be one, and ends with a quotation mark: how that is
// spelled in the encoded document tells whether the text stands in JSON, or in JSON that
// is itself a text of JSON.
func (a *Aside) Mark(text string) string {
	if a.mark == "" {
		a.mark = "aside-" + rand.Text() + "-"
	}
	a.texts = append(a.texts, text)
	return a.mark + strconv.Itoa(len(a.texts)-1) + `"`
}

// Write writes an encoded document with every text in the place of its mark, and forgets
// the texts.
func (a *Aside) Write(w io.Writer, raw []byte) error {
	texts := a.texts
	a.texts = nil
	for len(texts) > 0 {
		before, after, found := bytes.Cut(raw, []byte(a.mark))
		if !found {
			break
		}
		if _, err := w.Write(before); err != nil {
			return err
		}
		n := bytes.IndexAny(after, `\"`)
		end := max(n, 0) + bytes.IndexByte(after[max(n, 0):], '"')
		i, err := strconv.Atoi(string(after[:max(n, 0)]))
		if n < 0 || end < n || err != nil || i >= len(texts) {
			return fmt.Errorf("write a long text: its mark is %q", after[:min(len(after), 20)])
		}
		depth := 0
		for k := end - n; k > 0; k /= 2 { // 1, 3, 7 … backslashes
			depth++
		}
		if err := spell(texts[i], depth, func(part []byte) error { _, err := w.Write(part); return err }); err != nil {
			return err
		}
		raw = after[end+1:]
	}
	_, err := w.Write(raw)
	return err
}

// spell hands out a text as it stands in JSON of some depth; 0 is the text itself.
func spell(text string, depth int, each func([]byte) error) error {
	if depth <= 1 {
		if depth == 0 {
			return each([]byte(text))
		}
		return Spell(text, each)
	}
	return Spell(text, func(part []byte) error { return spell(string(part), depth-1, each) })
}

// Spell hands out what JSON has between the quotes of a text, piece by piece. Characters
// and escapes stay whole.
func Spell(s string, each func([]byte) error) error {
	for len(s) > 0 {
		n := min(len(s), piece)
		for k := n; n < len(s) && k > n-utf8.UTFMax; k-- {
			if utf8.RuneStart(s[k]) {
				n = k
				break
			}
		}
		raw, err := marshal(s[:n])
		if err != nil {
			return err
		}
		if err := each(raw[1 : len(raw)-1]); err != nil {
			return err
		}
		s = s[n:]
	}
	return nil
}

// marshal returns a text as JSON without HTML escapes.
func marshal(s string) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(s); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// Whole returns how many bytes of a piece of spelled text can be decoded before the next
// piece is there: no escape, pair of surrogates or character is cut.
func Whole(spelled []byte) int {
	end := len(spelled)
	for i := 0; ; {
		n := bytes.IndexByte(spelled[i:], '\\')
		if n < 0 {
			break
		}
		at := i + n
		size := 2
		if at+1 < len(spelled) && spelled[at+1] == 'u' {
			size = 6
		}
		if i = at + size; i > len(spelled) {
			return at
		}
		high := size == 6 && (spelled[at+2] == 'd' || spelled[at+2] == 'D') && bytes.IndexByte([]byte("89abAB"), spelled[at+3]) >= 0
		if high && i+6 > len(spelled) {
			return at
		}
	}
	for k := end - 1; k >= 0 && k >= end-utf8.UTFMax; k-- {
		if utf8.RuneStart(spelled[k]) {
			if !utf8.FullRune(spelled[k:end]) {
				end = k
			}
			break
		}
	}
	return end
}
