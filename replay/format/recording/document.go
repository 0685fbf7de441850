package recording

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"
)

// Shape is how a file strings its records together.
type Shape int

// The three shapes.
const (
	One   Shape = iota // one JSON object, over one line or many
	Array              // one JSON array
	Many               // JSON Lines, or objects one after the other
)

// Value is one JSON value of a file, always valid: one that was damaged has been
// mended, which Cut tells.
type Value struct {
	Data   []byte // valid until the function it was given to returns
	Index  int    // 0-based among the values of the file
	Line   int    // 1-based, of its first line
	Offset int64
	Cut    bool // something of it is lost; counted as damage already
}

// ShapeOf tells the shape of a file that is to hold JSON and rewinds it.
func ShapeOf(r io.ReadSeeker) (Shape, error) {
	sc := NewScanner(r)
	c, err := sc.Peek()
	shape := Many
	switch {
	case err != nil:
		if _, bad := BadDocument(err); !bad {
			return Many, err
		}
	case c == '[':
		shape = Array
		// Lines that are arrays: another one follows.
		if _, whole, verr := sc.Value(0); verr == nil && whole && !sc.AtEnd() {
			shape = Many
		}
	case c == '{':
		_, whole, verr := sc.Value(0)
		switch {
		case verr == nil && whole && sc.AtEnd():
			shape = One
		case verr == nil && !whole:
			// Broken off: a file of lines has another object at the beginning of a line.
			if _, err := r.Seek(0, io.SeekStart); err != nil {
				return Many, err
			}
			if !secondLine(r) {
				shape = One
			}
		}
	}
	_, err = r.Seek(0, io.SeekStart)
	return shape, err
}

// secondLine reports whether one of the next lines after the first begins with an object.
func secondLine(r io.Reader) bool {
	l := newLines(r, 1<<20)
	for i := range 50 {
		ln, err := l.next()
		if err != nil {
			return false
		}
		if i > 0 && len(ln.data) > 1 && ln.data[0] == '{' && (ln.data[1] == '"' || ln.data[1] == ' ' || ln.data[1] == '}') {
			return true
		}
	}
	return false
}

// Values hands every value of a file to take, whichever way the file strings them
// together: the one object, the elements of the array, or the lines. Each value is
// valid JSON; a broken one is mended as far as it goes and counted as damage. An
// error of take ends the reading.
func Values(r io.ReadSeeker, rec *Recorder, take func(Value) error) error {
	shape, err := ShapeOf(r)
	if err != nil {
		return fmt.Errorf("read %s: %w", rec.sum.Path, err)
	}
	switch shape {
	case One:
		return Document(r, rec, take)
	case Array:
		sc := NewScanner(r)
		return rec.Elements(sc, take)
	}
	n := 0
	deliver := func(v Value) error {
		v.Index = n
		n++
		return take(v)
	}
	var failed error
	err = Lines(r, rec, func(l Record) error {
		if failed != nil {
			return failed
		}
		var any json.RawMessage
		if err := Decode(l.Data, &any); err != nil {
			return err
		}
		return deliver(Value{Data: l.Data, Line: l.Line, Offset: l.Offset})
	}, func(d Damage, data []byte) {
		if mended := Mend(data); len(mended) > 2 && mended[0] == '{' && failed == nil {
			failed = deliver(Value{Data: mended, Line: d.Line, Offset: d.Offset, Cut: true})
		}
	})
	return errors.Join(err, failed)
}

// Document hands the one value of a file to take, mended if it is broken. Up to
// MaxRecord bytes of it are read.
func Document(r io.Reader, rec *Recorder, take func(Value) error) error {
	if err := rec.ctx.Err(); err != nil {
		return fmt.Errorf("read %s: %w", rec.sum.Path, err)
	}
	sc := NewScanner(r)
	if _, err := sc.Peek(); err != nil {
		return rec.document(sc, err)
	}
	v, ok, err := rec.value(sc)
	if err != nil || !ok {
		return rec.document(sc, err)
	}
	if err := take(v); err != nil {
		return err
	}
	if !sc.AtEnd() {
		rec.Damage(Damage{Line: sc.Line(), Offset: sc.Offset(), Reason: "more text behind the end of the document"})
	}
	return nil
}

// Elements hands the elements of the array that comes next to take. An element
// that breaks off is mended; where the array itself breaks off, what came before stays.
func (r *Recorder) Elements(sc *Scanner, take func(Value) error) error {
	n, cut := 0, false
	var failed error
	err := sc.Elements(func() error {
		if err := r.ctx.Err(); err != nil {
			failed = fmt.Errorf("read %s: %w", r.sum.Path, err)
			return failed
		}
		v, ok, err := r.value(sc)
		if err != nil {
			return err
		}
		if v.Cut {
			cut = true
		}
		if !ok {
			return nil
		}
		v.Index = n
		n++
		failed = take(v)
		return failed
	})
	if failed != nil {
		return failed
	}
	if _, bad := BadDocument(err); bad && cut {
		return nil // told already
	}
	return r.document(sc, err)
}

// document turns the place where a document stops being JSON into damage.
func (r *Recorder) document(sc *Scanner, err error) error {
	if err == nil {
		return nil
	}
	if bad, ok := BadDocument(err); ok {
		r.Damage(Damage{Line: sc.Line(), Offset: sc.Offset(), Reason: bad})
		return nil
	}
	return fmt.Errorf("read %s: %w", r.sum.Path, err)
}

// value takes the next value of the scanner and makes it valid; false when
// nothing of it is left.
func (r *Recorder) value(sc *Scanner) (Value, bool, error) {
	v := Value{Line: sc.Line(), Offset: sc.Offset()}
	raw, whole, err := sc.Value(MaxRecord)
	if err != nil {
		return v, false, err
	}
	at := Damage{Line: v.Line, Offset: v.Offset, Bytes: int(sc.Offset() - v.Offset)}
	if whole && json.Valid(raw) {
		if !utf8.Valid(raw) {
			at.Offset, at.Bytes, at.Reason = at.Offset+int64(invalidAt(raw)), 1, "invalid UTF-8, replaced; the record is kept"
			r.Damage(at)
		}
		v.Data = raw
		r.Record()
		return v, true, nil
	}
	if whole {
		if plain := nonNumbers(raw); json.Valid(plain) {
			r.Note("line %d: NaN or Infinity, which are not JSON, are read as null", v.Line)
			v.Data = plain
			r.Record()
			return v, true, nil
		}
	}
	var n nesting
	n.feed(raw)
	switch v.Cut = true; {
	case n.deepest > maxDepth:
		at.Reason = fmt.Sprintf("nested deeper than %d levels; what comes before is kept", maxDepth)
	case whole:
		at.Reason = "the record is not JSON throughout; what comes before is kept"
	case len(raw) >= MaxRecord:
		at.Reason = fmt.Sprintf("the record is longer than %d MB; what comes before is kept", MaxRecord>>20)
	default:
		at.Reason = "the record is cut off; what comes before is kept"
	}
	r.Damage(at)
	v.Data = Mend(raw)
	return v, len(v.Data) > 0, nil
}

// Mend makes a JSON text that is broken off, or broken in the middle, valid again:
// it ends it behind the last value that is whole and closes what is open there. So it
// does where the text is nested too deep to be read. Empty when nothing is left.
func Mend(raw []byte) []byte {
	raw = nonNumbers(raw)
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var open, good []byte // closing brackets at the place, and at the last good one
	key := false          // the next text is a key
	end := int64(-1)
	for {
		t, err := dec.Token()
		if err != nil || len(open) >= maxDepth-1 && (t == json.Delim('{') || t == json.Delim('[')) {
			break
		}
		switch t {
		case json.Delim('{'):
			open, key = append(open, '}'), true
		case json.Delim('['):
			open, key = append(open, ']'), false
		case json.Delim('}'), json.Delim(']'):
			open = open[:len(open)-1]
			key = len(open) > 0 && open[len(open)-1] == '}'
		default:
			if key {
				key = false
				continue
			}
			if _, number := t.(json.Number); number && dec.InputOffset() == int64(len(raw)) {
				continue // more digits may have followed
			}
			key = len(open) > 0 && open[len(open)-1] == '}'
		}
		end = dec.InputOffset()
		good = append(good[:0], open...)
		if len(open) == 0 {
			break
		}
	}
	if end < 0 {
		return nil
	}
	out := append([]byte{}, raw[:end]...)
	for i := len(good) - 1; i >= 0; i-- {
		out = append(out, good[i])
	}
	return out
}

// nonNumbers replaces NaN, Infinity and -Infinity outside of texts by null:
// Python writes them, JSON has none of them. Without any it returns raw itself.
func nonNumbers(raw []byte) []byte {
	if !bytes.Contains(raw, []byte("NaN")) && !bytes.Contains(raw, []byte("Infinity")) {
		return raw
	}
	var out []byte
	last, text := 0, false
	for i := 0; i < len(raw); i++ {
		switch c := raw[i]; {
		case text && c == '\\':
			i++
		case c == '"':
			text = !text
		case !text && (c == 'N' || c == 'I' || c == '-'):
			for _, name := range []string{"NaN", "Infinity", "-Infinity"} {
				if bytes.HasPrefix(raw[i:], []byte(name)) {
					out = append(append(out, raw[last:i]...), "null"...)
					i += len(name) - 1
					last = i + 1
					break
				}
			}
		}
	}
	return append(out, raw[last:]...)
}
