package config

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"
)

// place is a position in a file, from 1, columns in code points.
type place struct{ line, column int }

// shape of a value.
type shape int

const (
	isText shape = iota
	isWhole
	isNumber
	isTruth
	isDate
	isList
	isTable
	isLoose // text of a variable or a flag: the key decides what it means
)

func (s shape) String() string {
	return [...]string{"a text", "a whole number", "a number", "true or false", "a date", "a list", "a table", "a text"}[s]
}

// value is one setting as written, with its place.
type value struct {
	shape  shape
	text   string
	whole  int64
	number float64
	truth  bool
	list   []value
	table  []field // in file order
	at     place
	// loose: text holds what a variable or a flag said, whatever was made of it.
	loose bool
	// seconds: a bare number is seconds (variables of the reference harness).
	seconds bool
}

// field is one entry of a table.
type field struct {
	name  string
	at    place
	value value
}

func (v *value) field(name string) *field {
	for i := range v.table {
		if v.table[i].name == name {
			return &v.table[i]
		}
	}
	return nil
}

// parseTOML reads a document into a table that knows every position. Whatever
// TOML itself forbids (syntax, keys set twice) is one error with its place.
func parseTOML(doc []byte) (value, place, error) {
	var whole map[string]any
	if err := toml.Unmarshal(doc, &whole); err != nil {
		var de *toml.DecodeError
		if errors.As(err, &de) {
			line, column := de.Position()
			return value{}, place{line, codePoints(doc, line, column)}, errors.New(strings.TrimPrefix(de.Error(), "toml: "))
		}
		return value{}, place{1, 1}, fmt.Errorf("this is not TOML: %w", err)
	}
	t := tree{doc: doc}
	t.parser.Reset(doc)
	root := value{shape: isTable, at: place{1, 1}}
	prefix := &root
	for t.parser.NextExpression() {
		node := t.parser.Expression()
		switch node.Kind {
		case unstable.Table:
			prefix = t.descend(&root, node.Key(), false)
		case unstable.ArrayTable:
			prefix = t.descend(&root, node.Key(), true)
		case unstable.KeyValue:
			t.keyValue(prefix, node)
		}
	}
	if err := t.parser.Error(); err != nil {
		return value{}, place{1, 1}, fmt.Errorf("this is not TOML: %w", err)
	}
	return root, place{}, nil
}

// tree builds values out of the parser's nodes.
type tree struct {
	parser unstable.Parser
	doc    []byte
	// seen is the offset of the last place. Nodes come nearly in file order, so the
	// next one is counted from there.
	seen int
	last place
}

// descend follows a dotted key to the table it names and makes what is missing.
// toml.Unmarshal has accepted the document, so names on the way are tables or lists of them.
func (t *tree) descend(v *value, key unstable.Iterator, appends bool) *value {
	for key.Next() {
		node := key.Node()
		at, name := t.place(node.Raw.Offset), string(node.Data)
		f := v.field(name)
		last := node.Next() == nil
		if f == nil {
			kind := isTable
			if last && appends {
				kind = isList
			}
			v.table = append(v.table, field{name: name, at: at, value: value{shape: kind, at: at}})
			f = &v.table[len(v.table)-1]
		}
		v = &f.value
		if v.shape == isList {
			if last && appends || len(v.list) == 0 {
				v.list = append(v.list, value{shape: isTable, at: at})
			}
			v = &v.list[len(v.list)-1]
		}
	}
	return v
}

func (t *tree) keyValue(v *value, node *unstable.Node) {
	var names []field
	for key := node.Key(); key.Next(); {
		n := key.Node()
		names = append(names, field{name: string(n.Data), at: t.place(n.Raw.Offset)})
	}
	for _, n := range names[:len(names)-1] {
		f := v.field(n.name)
		if f == nil {
			n.value = value{shape: isTable, at: n.at}
			v.table = append(v.table, n)
			f = &v.table[len(v.table)-1]
		}
		v = &f.value
	}
	last := names[len(names)-1]
	last.value = t.value(node.Value(), last.at)
	v.table = append(v.table, last)
}

// value converts a node; lists and tables have no range of their own and take
// the place of their key.
func (t *tree) value(node *unstable.Node, at place) value {
	if node.Raw.Length > 0 {
		at = t.place(node.Raw.Offset)
	}
	v := value{at: at, text: string(node.Data)}
	switch node.Kind {
	case unstable.String:
		v.shape = isText
	case unstable.Bool:
		v.shape, v.truth = isTruth, v.text == "true"
	case unstable.Integer:
		// The document decoded, so the number fits.
		v.shape = isWhole
		v.whole, _ = strconv.ParseInt(strings.ReplaceAll(v.text, "_", ""), 0, 64)
		v.number = float64(v.whole)
	case unstable.Float:
		v.shape = isNumber
		v.number, _ = strconv.ParseFloat(strings.ReplaceAll(v.text, "_", ""), 64)
	case unstable.Array:
		v.shape = isList
		for it := node.Children(); it.Next(); {
			v.list = append(v.list, t.value(it.Node(), at))
		}
	case unstable.InlineTable:
		v.shape = isTable
		for it := node.Children(); it.Next(); {
			t.keyValue(&v, it.Node())
		}
	default:
		v.shape = isDate
	}
	return v
}

// place turns a byte offset into a line and a column.
func (t *tree) place(offset uint32) place {
	end := min(int(offset), len(t.doc))
	if end < t.seen || t.last.line == 0 {
		t.seen, t.last = 0, place{1, 1}
	}
	for t.seen < end {
		r, n := utf8.DecodeRune(t.doc[t.seen:])
		t.seen += n
		t.last.column++
		if r == '\n' {
			t.last = place{t.last.line + 1, 1}
		}
	}
	return t.last
}

// codePoints turns a column in bytes (from 1) of a line into one in code points.
func codePoints(doc []byte, line, column int) int {
	lines := strings.SplitAfterN(string(doc), "\n", line+1)
	if line < 1 || line > len(lines) || column < 1 {
		return max(1, column)
	}
	text := lines[line-1]
	return utf8.RuneCountInString(text[:min(column-1, len(text))]) + 1
}

// looseValue is the text of a variable or a flag. Lists and tables may be written
// as TOML there; otherwise the key decides what the text means.
func looseValue(text string, seconds bool) value {
	v := value{shape: isLoose, text: text, loose: true, seconds: seconds}
	if t := strings.TrimSpace(text); strings.HasPrefix(t, "[") || strings.HasPrefix(t, "{") {
		if root, _, err := parseTOML([]byte("v = " + t)); err == nil && len(root.table) == 1 {
			in := root.table[0].value
			in.text, in.loose = text, true
			return in
		}
	}
	return v
}
