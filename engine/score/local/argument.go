package local

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unsafe"

	"vise/engine/longtext"
)

// maxDepth bounds the nesting of arguments; deeper ones are not an object to us.
const maxDepth = 200

// value is a decoded JSON value that remembers the order of its members, which
// encoding/json's maps do not: the text of a finish call is its leaves in order.
type value struct {
	kind    kind
	text    string // string: the text; number: canonical digits
	whole   bool   // number: integral in value
	truth   bool
	members []member
	items   []value
}

type member struct {
	key string
	value
}

type kind uint8

const (
	null kind = iota
	boolean
	number
	text
	array
	object
)

func (k kind) String() string {
	return [...]string{"null", "boolean", "number", "string", "array", "object"}[k]
}

// parseValue decodes one JSON text. Of a repeated key the last value counts. Of a string
// over 1 MiB its beginning and its digest count.
func parseValue(s string) (value, error) {
	if !json.Valid(bytesOf(s)) {
		return value{}, fmt.Errorf("parse arguments: not JSON")
	}
	s = shorten(s)
	dec := json.NewDecoder(strings.NewReader(s))
	dec.UseNumber()
	return readValue(dec, 0)
}

// bytesOf are the bytes of a text, only to be read: copied they would cost as much again.
func bytesOf(s string) []byte { return unsafe.Slice(unsafe.StringData(s), len(s)) }

// shorten cuts the strings of a valid JSON text that are over 1 MiB: no check looks
// behind the beginning of one, and the digest keeps two that differ apart.
func shorten(s string) string {
	const head = 64 << 10
	if len(s) <= longtext.Over {
		return s
	}
	var b strings.Builder
	done := 0
	for i := 0; ; {
		n := strings.IndexByte(s[i:], '"')
		if n < 0 {
			break
		}
		from := i + n + 1
		to := from
		for s[to] != '"' {
			if s[to] == '\\' {
				to++
			}
			to++
		}
		if i = to + 1; to-from <= longtext.Over {
			continue
		}
		cut := longtext.Whole([]byte(s[from : from+head]))
		h := sha256.New()
		h.Write(bytesOf(s[from:to]))
		fmt.Fprintf(&b, "%s… sha256:%x", s[done:from+cut], h.Sum(nil))
		done = to
	}
	b.WriteString(s[done:])
	return b.String()
}

func readValue(dec *json.Decoder, depth int) (value, error) {
	if depth > maxDepth {
		return value{}, fmt.Errorf("parse arguments: nested deeper than %d", maxDepth)
	}
	tok, err := dec.Token()
	if err != nil {
		return value{}, fmt.Errorf("parse arguments: %w", err)
	}
	switch t := tok.(type) {
	case bool:
		return value{kind: boolean, truth: t}, nil
	case string:
		return value{kind: text, text: t}, nil
	case json.Number:
		return numberValue(string(t)), nil
	case json.Delim:
		v := value{kind: array}
		if t == '{' {
			v.kind = object
		}
		at := map[string]int{}
		for dec.More() {
			var key string
			if v.kind == object {
				k, err := dec.Token()
				if err != nil {
					return value{}, fmt.Errorf("parse arguments: %w", err)
				}
				key, _ = k.(string)
			}
			child, err := readValue(dec, depth+1)
			if err != nil {
				return value{}, err
			}
			if v.kind == array {
				v.items = append(v.items, child)
			} else if i, ok := at[key]; ok {
				v.members[i].value = child
			} else {
				at[key] = len(v.members)
				v.members = append(v.members, member{key, child})
			}
		}
		_, err := dec.Token() // the closing bracket
		return v, err
	}
	return value{kind: null}, nil
}

// numberValue keeps integers digit for digit and writes every other number in
// its shortest form, so that 1.50 and 1.5 are the same argument.
func numberValue(s string) value {
	if !strings.ContainsAny(s, ".eE") {
		if s == "-0" {
			s = "0"
		}
		return value{kind: number, text: s, whole: true}
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil {
		return value{kind: number, text: s}
	}
	return value{kind: number, text: floatText(f), whole: f == math.Trunc(f)}
}

func floatText(f float64) string {
	if a := math.Abs(f); f != 0 && (a < 1e-4 || a >= 1e16) {
		return strconv.FormatFloat(f, 'e', -1, 64)
	}
	s := strconv.FormatFloat(f, 'f', -1, 64)
	if !strings.Contains(s, ".") {
		s += ".0"
	}
	return s
}

// leaves calls f for every scalar in v with the key of the member it lies in.
func (v value) leaves(key string, f func(key string, leaf value)) {
	switch v.kind {
	case object:
		for _, m := range v.members {
			m.leaves(m.key, f)
		}
	case array:
		for _, item := range v.items {
			item.leaves(key, f)
		}
	default:
		f(key, v)
	}
}

// get returns a member of an object, or null.
func (v value) get(key string) value {
	for _, m := range v.members {
		if m.key == key {
			return m.value
		}
	}
	return value{}
}

// empty reports whether v says nothing: null, false, zero, "" or no elements.
func (v value) empty() bool {
	switch v.kind {
	case boolean:
		return !v.truth
	case number:
		f, err := strconv.ParseFloat(v.text, 64)
		return err == nil && f == 0
	case text:
		return v.text == ""
	case array:
		return len(v.items) == 0
	case object:
		return len(v.members) == 0
	}
	return true
}

// String is the text of a scalar as a person would read it; strings inside
// lists and objects are quoted.
func (v value) String() string {
	if v.kind == text {
		return v.text
	}
	var b strings.Builder
	v.show(&b)
	return b.String()
}

func (v value) show(b *strings.Builder) {
	switch v.kind {
	case null:
		b.WriteString("None")
	case boolean:
		if v.truth {
			b.WriteString("True")
		} else {
			b.WriteString("False")
		}
	case number:
		b.WriteString(v.text)
	case text:
		b.WriteString(quote(v.text))
	case array:
		b.WriteByte('[')
		for i, item := range v.items {
			if i > 0 {
				b.WriteString(", ")
			}
			item.show(b)
		}
		b.WriteByte(']')
	case object:
		b.WriteByte('{')
		for i, m := range v.members {
			if i > 0 {
				b.WriteString(", ")
			}
			b.WriteString(quote(m.key) + ": ")
			m.show(b)
		}
		b.WriteByte('}')
	}
}

// appendCanonical appends v with sorted keys: equal arguments give equal bytes.
func (v value) appendCanonical(b []byte) []byte {
	switch v.kind {
	case boolean:
		return strconv.AppendBool(b, v.truth)
	case number:
		return append(b, v.text...)
	case text:
		return strconv.AppendQuote(b, v.text)
	case array:
		b = append(b, '[')
		for _, item := range v.items {
			b = append(item.appendCanonical(b), ',')
		}
		return append(b, ']')
	case object:
		sorted := slices.Clone(v.members)
		slices.SortFunc(sorted, func(a, b member) int { return strings.Compare(a.key, b.key) })
		b = append(b, '{')
		for _, m := range sorted {
			b = append(m.appendCanonical(append(strconv.AppendQuote(b, m.key), ':')), ',')
		}
		return append(b, '}')
	}
	return append(b, "null"...)
}
