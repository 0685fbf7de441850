// Package filter is the language of `f`: which rows of a pane are shown.
//
//	status:fail score<0.6 tool:search "free text" !x
//
// Terms are separated by blanks and all must hold. KEY:VALUE compares a word (VALUE may
// be A|B for either), KEY<N, <=, >, >=, = and != compare a number, anything else is free
// text, in quotes if it has blanks. A "!" before a term turns it around. Which keys
// there are the pane says (Spec). Letters of either case are the same.
package filter

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// MaxLen bounds a filter's text, in bytes.
const MaxLen = 500

// Spec is what rows can be asked for.
type Spec struct {
	// Words are the keys with their possible values; none = any value.
	Words map[string][]string
	// Numbers are the keys of numbers.
	Numbers []string
	// Slow are those of Words that cost reading; they are asked last.
	Slow []string
}

// Row is something that a filter is put to.
type Row interface {
	// Text is what free text is looked for in; in small letters.
	Text() string
	// Is reports whether a key has a value (in small letters).
	Is(key, value string) bool
	// Number is the value of a number; ok is false when the row has none.
	Number(key string) (n float64, ok bool)
}

// Expr is a parsed filter. The zero value lets everything through.
type Expr struct {
	text       string
	fast, slow []term
}

type term struct {
	not    bool
	key    string   // "" = free text
	values []string // of a word, or the text
	op     string   // of a number
	n      float64
}

// Parse reads a filter. Errors name the term and what could be meant.
func Parse(text string, spec Spec) (Expr, error) {
	e := Expr{text: strings.Trim(text, " \t")} // what separates words, nothing else
	if len(text) > MaxLen {
		return e, fmt.Errorf("filter: longer than %d bytes", MaxLen)
	}
	words, err := split(text)
	if err != nil {
		return e, err
	}
	for _, w := range words {
		t, err := spec.term(w)
		if err != nil {
			return e, err
		}
		if slices.Contains(spec.Slow, t.key) {
			e.slow = append(e.slow, t)
		} else {
			e.fast = append(e.fast, t)
		}
	}
	return e, nil
}

// word is a part of a filter; quoted parts are free text whatever they look like.
type word struct {
	text   string
	not    bool
	quoted bool
}

func split(text string) (out []word, err error) {
	for {
		text = strings.TrimLeft(text, " \t")
		if text == "" {
			return out, nil
		}
		w := word{}
		if rest, ok := strings.CutPrefix(text, "!"); ok && rest != "" && rest[0] != ' ' && rest[0] != '\t' {
			w.not, text = true, rest
		}
		if strings.HasPrefix(text, `"`) {
			end := strings.IndexByte(text[1:], '"')
			if end < 0 {
				return nil, fmt.Errorf("filter: a quotation is not closed: %s", text)
			}
			w.text, w.quoted, text = text[1:end+1], true, text[end+2:]
		} else {
			// A value may be quoted: tool:"a b".
			end, in := 0, false
			for end < len(text) && (in || text[end] != ' ' && text[end] != '\t') {
				in = in != (text[end] == '"')
				end++
			}
			if in {
				return nil, fmt.Errorf("filter: a quotation is not closed: %s", text)
			}
			w.text, text = text[:end], text[end:]
		}
		if w.text == "!" && !w.quoted {
			return nil, fmt.Errorf("filter: ! stands before what must not hold: !word")
		}
		if w.text != "" {
			out = append(out, w)
		}
	}
}

var operators = []string{"<=", ">=", "!=", "<", ">", "="}

func (s Spec) term(w word) (term, error) {
	t := term{not: w.not, values: []string{strings.ToLower(w.text)}}
	if w.quoted {
		return t, nil
	}
	low := strings.ToLower(w.text)
	at, op := -1, ""
	for i := range low {
		for _, o := range operators {
			if at < 0 && strings.HasPrefix(low[i:], o) {
				at, op = i, o
			}
		}
		if low[i] == ':' && at < 0 {
			at, op = i, ":"
		}
	}
	if at <= 0 {
		return t, nil
	}
	key, value := low[:at], strings.Trim(low[at+len(op):], `"`)
	possible, isWord := s.Words[key]
	isNumber := slices.Contains(s.Numbers, key)
	switch {
	case isNumber && value == "":
		return t, fmt.Errorf("filter: %s a number follows: %s<0.5", w.text, key)
	case isNumber:
		if op == ":" {
			op = "="
		}
		n, err := strconv.ParseFloat(value, 64)
		if err != nil || n != n {
			return t, fmt.Errorf("filter: %s: %q is no number", w.text, value)
		}
		return term{not: w.not, key: key, op: op, n: n}, nil
	case isWord && (op == ":" || op == "="):
		values := strings.Split(value, "|")
		for _, v := range values {
			switch {
			case v == "" && len(possible) == 0:
				return t, fmt.Errorf("filter: %s a name, or a part of one, follows: %s:NAME", w.text, key)
			case v == "" || len(possible) > 0 && !slices.Contains(possible, v):
				return t, fmt.Errorf("filter: %s: %s is one of %s", w.text, key, strings.Join(possible, ", "))
			}
		}
		return term{not: w.not, key: key, values: values}, nil
	case isWord:
		return t, fmt.Errorf("filter: %s: %s is a word; write %s:VALUE", w.text, key, key)
	case strings.ContainsFunc(key, func(r rune) bool { return (r < 'a' || r > 'z') && r != '_' }):
		return t, nil // a path, a time, an address
	}
	return t, fmt.Errorf("filter: %s: there is no %s here; keys are %s (put free text in quotes)", w.text, key, strings.Join(s.Keys(), ", "))
}

// Keys lists the keys, words first.
func (s Spec) Keys() []string {
	var words, numbers []string
	for k := range s.Words {
		words = append(words, k+":")
	}
	for _, k := range s.Numbers {
		numbers = append(numbers, k+"<")
	}
	slices.Sort(words)
	slices.Sort(numbers)
	return append(words, numbers...)
}

// String is the filter as it was written.
func (e Expr) String() string { return e.text }

// Empty reports whether everything passes.
func (e Expr) Empty() bool { return len(e.fast)+len(e.slow) == 0 }

// Slow reports whether a term needs reading: Match then decides by the others only, and
// MatchSlow by those.
func (e Expr) Slow() bool { return len(e.slow) > 0 }

// Match reports whether a row passes all terms that are not slow.
func (e Expr) Match(r Row) bool { return all(e.fast, r) }

// MatchSlow reports whether a row passes the slow terms.
func (e Expr) MatchSlow(r Row) bool { return all(e.slow, r) }

func all(terms []term, r Row) bool {
	for i := range terms {
		if terms[i].holds(r) == terms[i].not {
			return false
		}
	}
	return true
}

func (t *term) holds(r Row) bool {
	switch {
	case t.key == "":
		return strings.Contains(r.Text(), t.values[0])
	case t.op == "":
		for _, v := range t.values {
			if r.Is(t.key, v) {
				return true
			}
		}
		return false
	}
	n, ok := r.Number(t.key)
	if !ok {
		return false // no information is not zero
	}
	switch t.op {
	case "<":
		return n < t.n
	case "<=":
		return n <= t.n
	case ">":
		return n > t.n
	case ">=":
		return n >= t.n
	case "=":
		return n == t.n
	}
	return n != t.n
}
