package guard

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"unicode/utf8"
)

// ErrNotJSON says that a text given to JSON is not one JSON value.
var ErrNotJSON = errors.New("redact: not one JSON value; use Text")

// JSON masks the credentials in one JSON value and returns how many it masked.
// Texts under a sensitive key are masked whole, all others as Text does. Order,
// white space and the spelling of numbers are kept; raw itself is never changed.
func (r *Redactor) JSON(raw []byte) ([]byte, int, error) {
	if !json.Valid(raw) {
		return raw, 0, ErrNotJSON
	}
	return r.walk(raw, r.keys)
}

// Schema masks the credentials in a JSON Schema: by shape only, since there the
// name of a credential is followed by its type.
func (r *Redactor) Schema(raw []byte) ([]byte, int, error) {
	if !json.Valid(raw) {
		return raw, 0, ErrNotJSON
	}
	return r.walk(raw, false)
}

func (r *Redactor) walk(raw []byte, keys bool) ([]byte, int, error) {
	text := textOf(raw) // read only, while raw stands
	w := jsonWalk{r: r, raw: text, keys: keys, valid: utf8.ValidString(text)}
	w.calm = len(r.extra) == 0 && !strings.Contains(text, `\u`) && (!r.values || present(text) == 0)
	w.value(false)
	if w.n == 0 {
		return raw, 0, nil
	}
	return append(w.out, w.raw[w.last:]...), w.n, nil
}

// Payload masks a text that may be JSON: as JSON when it is an object or an
// array, else as Text.
func (r *Redactor) Payload(s string) (string, int) {
	t := strings.TrimLeft(s, " \t\r\n")
	if t == "" || t[0] != '{' && t[0] != '[' {
		return r.Text(s)
	}
	out, n, err := r.JSON(bytesOf(s))
	if err != nil {
		return r.Text(s)
	}
	if n == 0 {
		return s, 0
	}
	return textOf(out), n
}

// Any masks a value that stands for JSON and returns a copy where something was masked;
// the value given is never changed. Maps, slices, texts and numbers keep their types;
// any other value comes back as decoded JSON when something in it was masked, and one
// that is no JSON as it was.
func (r *Redactor) Any(v any) (any, int) { return r.any(v, false) }

// Texts masks the texts in such a value as Text does, whatever names they stand under:
// for records of our own, in which a name such as "token" tells a count.
func (r *Redactor) Texts(v any) (any, int) {
	own := *r
	own.unnamed = true
	return own.any(v, false)
}

func (r *Redactor) any(v any, sensitive bool) (any, int) {
	switch v := v.(type) {
	case string:
		return r.value(v, sensitive)
	case nil, bool:
	case json.Number, float64, float32, int, int64, int32, uint, uint64, uint32:
		if raw, err := json.Marshal(v); sensitive && err == nil { // spelled as JSON masks it
			return r.mask(textOf(raw)), 1
		}
	case []any:
		out, n := v, 0
		for i, e := range v {
			if x, k := r.any(e, sensitive); k > 0 {
				if n == 0 {
					out = append([]any(nil), v...)
				}
				out[i] = x
				n += k
			}
		}
		return out, n
	case []string:
		out, n := v, 0
		for i, e := range v {
			if x, k := r.value(e, sensitive); k > 0 {
				if n == 0 {
					out = append([]string(nil), v...)
				}
				out[i] = x
				n += k
			}
		}
		return out, n
	case map[string]any:
		out, n := v, 0
		for key, e := range v {
			name, k := r.Text(key)
			x, m := r.any(e, r.keys && !r.unnamed && sensitiveKey(key))
			if k+m == 0 {
				continue
			}
			if n == 0 {
				out = make(map[string]any, len(v))
				for a, b := range v {
					out[a] = b
				}
			}
			if k > 0 {
				delete(out, key)
			}
			out[name] = x
			n += k + m
		}
		return out, n
	default:
		return r.other(v, sensitive)
	}
	return v, 0
}

// other masks a value of a type that any does not know (a struct, a map of texts, a
// list of maps, raw JSON) as the JSON that it is written as.
func (r *Redactor) other(v any, sensitive bool) (any, int) {
	raw, err := json.Marshal(v)
	if err != nil {
		return v, 0
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var plain any
	if dec.Decode(&plain) != nil {
		return v, 0
	}
	if out, n := r.any(plain, sensitive); n > 0 {
		return out, n
	}
	return v, 0
}

// value masks one text, whole when it stands under a sensitive key.
func (r *Redactor) value(s string, sensitive bool) (string, int) {
	if !sensitive || s == "" {
		return r.Text(s)
	}
	if isPlaceholder(s) || plainWord(s) {
		return s, 0
	}
	scheme, rest := splitScheme(s)
	return scheme + r.mask(rest), 1
}

// jsonWalk copies a valid JSON text, replacing what must be masked.
type jsonWalk struct {
	r     *Redactor
	raw   string
	pos   int
	keys  bool // values under a sensitive key are masked
	valid bool // raw is UTF-8
	calm  bool // nothing in raw has the shape of a credential: only pairs are left to find
	out   []byte
	last  int // raw[:last] is in out
	n     int
}

func (w *jsonWalk) space() {
	for w.pos < len(w.raw) && strings.IndexByte(" \t\r\n", w.raw[w.pos]) >= 0 {
		w.pos++
	}
}

func (w *jsonWalk) value(sensitive bool) {
	w.space()
	if w.pos >= len(w.raw) {
		return
	}
	switch c := w.raw[w.pos]; c {
	case '{':
		w.pos++
		for w.more('}') {
			key := w.text(false)
			w.space()
			w.pos++ // the colon
			// An object under a sensitive name has names of its own (a schema, a
			// record about a credential); a list has not.
			w.value(w.keys && sensitiveKey(key))
		}
	case '[':
		w.pos++
		for w.more(']') {
			w.value(sensitive)
		}
	case '"':
		w.text(sensitive)
	default:
		start := w.pos
		for w.pos < len(w.raw) && strings.IndexByte(",]} \t\r\n", w.raw[w.pos]) < 0 {
			w.pos++
		}
		if sensitive && (c == '-' || c >= '0' && c <= '9') {
			w.put(start, w.r.mask(w.raw[start:w.pos]), 1)
		}
	}
}

// more steps over a comma and reports whether another element follows.
func (w *jsonWalk) more(end byte) bool {
	w.space()
	if w.pos < len(w.raw) && w.raw[w.pos] == ',' {
		w.pos++
		w.space()
	}
	if w.pos >= len(w.raw) {
		return false
	}
	if w.raw[w.pos] == end {
		w.pos++
		return false
	}
	return true
}

// text steps over the string at pos, masks it and returns what it said.
func (w *jsonWalk) text(sensitive bool) string {
	start := w.pos
	escaped := false
	for w.pos++; w.pos < len(w.raw) && w.raw[w.pos] != '"'; w.pos++ {
		if w.raw[w.pos] == '\\' {
			escaped = true
			w.pos++
		}
	}
	w.pos = min(w.pos+1, len(w.raw))
	lit := w.raw[start:w.pos]
	if escaped && !sensitive && len(lit) > 4*window && len(w.r.extra) == 0 {
		w.long(start+1, w.pos-1)
		return ""
	}
	s := lit[1 : len(lit)-1]
	if escaped || !w.valid {
		s = Unquote(bytesOf(lit))
	}
	if w.calm && !sensitive && !strings.ContainsAny(s, "=:") {
		return s
	}
	if masked, n := w.r.value(s, sensitive); n > 0 {
		w.put(start, masked, n)
	}
	return s
}

// put replaces raw[start:pos] by a JSON string.
func (w *jsonWalk) put(start int, s string, n int) { w.replace(start, w.pos, spell(s), n) }

// spell is a text as a JSON string.
func spell(s string) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(s) // a string always encodes
	return bytes.TrimRight(b.Bytes(), "\n")
}

func (w *jsonWalk) replace(start, end int, with []byte, n int) {
	if w.out == nil && len(w.raw) > 2*window {
		w.out = make([]byte, 0, len(w.raw)+len(w.raw)/16)
	}
	w.out = append(w.out, w.raw[w.last:start]...)
	w.out = append(w.out, with...)
	w.last = end
	w.n += n
}

// long masks the long text between two quotes window by window, as Redactor.long does
// with the text that it spells.
func (w *jsonWalk) long(from, to int) {
	for at := from; at < to; {
		end, said := at, ""
		for end < to && (said == "" || reaches(said)) {
			stop := end + window
			if said != "" {
				stop = end + farEnough
			}
			for end < to {
				c := w.raw[end]
				if c == '\\' {
					c = w.raw[end+1]
					end++
					if c == 'n' && end >= stop {
						end++
						break
					}
				}
				end++
			}
			said = Unquote(bytesOf(`"` + w.raw[at:end] + `"`))
		}
		if out, n := w.r.settle(said); n > 0 {
			with := spell(out)
			w.replace(at, end, with[1:len(with)-1], n)
		}
		at = end
	}
}
