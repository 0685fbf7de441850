package recording

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"reflect"
	"strconv"
	"strings"
	"unicode/utf8"
	"unsafe"

	"vise/engine/guard"
)

// A record of many megabytes is mostly one or two texts. encoding/json copies each of
// them up to three times while it decodes; here they are taken out first, the small
// rest is decoded, and each text is put into its place with one copy at most.

// largeRecord is the size of a record, in bytes, from which this is done. Such a
// record lies in memory of its own that no later record overwrites: a text without
// escapes stays where it is.
const largeRecord = keepBuffer + 1

// largeText is the shortest text taken out, in bytes.
const largeText = 64 << 10

// large decodes a record like unmarshal; false when there is nothing to gain.
func large(data []byte, v any, exact bool) (bool, error) {
	if !json.Valid(data) {
		return false, nil // the caller wants the error
	}
	l := &lifted{data: data, mark: "vise-text-" + rand.Text() + "-"}
	small := l.lift()
	if len(small) > len(data)/2 {
		return false, nil
	}
	err := unmarshal(small, v, exact)
	l.restore(reflect.ValueOf(v))
	return true, err
}

// lifted is a record whose long texts are taken out; a mark with a number stands for each.
type lifted struct {
	data  []byte
	mark  string
	texts []literal
}

// literal is where a text stands in the record, quotes included.
type literal struct{ from, to int }

// lift returns the record without its long texts. Keys stay.
func (l *lifted) lift() []byte {
	var small []byte
	kept := 0
	for i := 0; i < len(l.data); {
		n := bytes.IndexByte(l.data[i:], '"')
		if n < 0 {
			break
		}
		from := i + n
		to := from + 1
		for l.data[to] != '"' {
			if l.data[to] == '\\' {
				to++
			}
			to++
		}
		to++
		i = to
		if to-from < largeText || isKey(l.data[to:]) {
			continue
		}
		small = append(append(small, l.data[kept:from]...), '"')
		small = append(append(small, l.name(len(l.texts))...), '"')
		l.texts = append(l.texts, literal{from, to})
		if kept = to; len(small) > len(l.data)/2 {
			return small // no gain any more
		}
	}
	if rest := len(l.data) - kept; len(small)+rest > len(l.data)/2 {
		return l.data
	}
	return append(small, l.data[kept:]...)
}

func (l *lifted) name(i int) string { return l.mark + strconv.Itoa(i) + ";" }

func isKey(after []byte) bool {
	after = bytes.TrimLeft(after, " \t\r\n")
	return len(after) > 0 && after[0] == ':'
}

// text decodes a text that was taken out.
func (l *lifted) text(t literal) string {
	lit := l.data[t.from:t.to]
	if in := lit[1 : len(lit)-1]; bytes.IndexByte(in, '\\') < 0 && utf8.Valid(in) {
		return unsafe.String(unsafe.SliceData(in), len(in))
	}
	return guard.Unquote(lit)
}

// restore puts the texts back into a decoded value, whatever holds them.
func (l *lifted) restore(v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			l.restore(v.Elem())
		}
	case reflect.Interface:
		if v.IsNil() {
			return
		}
		e := reflect.New(v.Elem().Type()).Elem()
		e.Set(v.Elem())
		l.restore(e)
		v.Set(e)
	case reflect.Struct:
		if v.Type().PkgPath() == "time" {
			return
		}
		for i := range v.NumField() {
			f := v.Field(i)
			if !f.CanSet() { // a field that its own UnmarshalJSON filled
				f = reflect.NewAt(f.Type(), unsafe.Pointer(f.UnsafeAddr())).Elem()
			}
			l.restore(f)
		}
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			if b := v.Bytes(); bytes.Contains(b, []byte(l.mark)) {
				v.SetBytes(l.raw(b))
			}
			return
		}
		for i := range v.Len() {
			l.restore(v.Index(i))
		}
	case reflect.Array:
		for i := range v.Len() {
			l.restore(v.Index(i))
		}
	case reflect.Map:
		for _, k := range v.MapKeys() {
			e := reflect.New(v.Type().Elem()).Elem()
			e.Set(v.MapIndex(k))
			l.restore(e)
			v.SetMapIndex(k, e)
		}
	case reflect.String:
		if s := v.String(); strings.Contains(s, l.mark) {
			v.SetString(l.fill(s))
		}
	}
}

// fill puts the texts into a text that names them: alone, between other texts, or in
// quotes where the text spells JSON.
func (l *lifted) fill(s string) string {
	var b strings.Builder
	for {
		before, after, found := strings.Cut(s, l.mark)
		if !found {
			if b.Len() == 0 {
				return s
			}
			b.WriteString(s)
			return b.String()
		}
		digits, rest, _ := strings.Cut(after, ";")
		i, err := strconv.Atoi(digits)
		if err != nil || i < 0 || i >= len(l.texts) { // a mark is never cut: nothing has seen it
			b.WriteString(s)
			return b.String()
		}
		t := l.texts[i]
		switch {
		case b.Len() == 0 && before == "" && rest == "":
			return l.text(t)
		case strings.HasSuffix(before, `"`) && strings.HasPrefix(rest, `"`):
			b.Grow(len(before) + t.to - t.from + len(rest))
			b.WriteString(before[:len(before)-1])
			b.Write(l.data[t.from:t.to])
			rest = rest[1:]
		default:
			b.WriteString(before)
			b.WriteString(l.text(t))
		}
		s = rest
	}
}

// raw returns the JSON text that a decoded part of the record had: the part of the
// record itself, unless what decoded it has rewritten it.
func (l *lifted) raw(b []byte) []byte {
	mark := []byte(l.mark)
	at, end := bytes.Index(b, mark), bytes.LastIndex(b, mark)
	first, ok := l.number(b[at:])
	last, ok2 := l.number(b[end:])
	if ok && ok2 && at > 0 && first <= last {
		head, tail := b[:at-1], b[end+len(l.name(last))+1:] // without the quotes
		size := len(b)
		for i := first; i <= last; i++ {
			size += l.texts[i].to - l.texts[i].from - len(l.name(i)) - 2
		}
		from, to := l.texts[first].from-len(head), l.texts[last].to+len(tail)
		if from >= 0 && to <= len(l.data) && to-from == size && bytes.HasPrefix(l.data[from:], head) && bytes.HasSuffix(l.data[:to], tail) {
			return l.data[from:to:to]
		}
	}
	return []byte(l.fill(string(b)))
}

// number reads the number of the text that a mark stands for.
func (l *lifted) number(b []byte) (int, bool) {
	digits, _, found := bytes.Cut(b[len(l.mark):min(len(b), len(l.mark)+12)], []byte(";"))
	i, err := strconv.Atoi(string(digits))
	return i, found && err == nil && i >= 0 && i < len(l.texts)
}
