package local

import (
	"encoding/json"
	"slices"
	"strings"
)

const (
	schemaBytes = 256 << 10 // larger schemas are not checked
	schemaDepth = 24        // of arguments and of references followed
	violations  = 8         // listed per call
)

// parameters checks the arguments of one tool against its JSON Schema, as far
// as three questions go: is a required member missing, is a member unknown, has
// a value the wrong type? Anything else a schema can say is left to the tool.
// The schema is decoded once, on the first call. References stay inside the
// schema; others accept everything.
type parameters struct {
	raw  json.RawMessage
	root *schema
	read bool
}

// violation is one answer to the three questions.
type violation struct {
	key    string
	reason string
}

type schema struct {
	Ref        string             `json:"$ref"`
	Type       names              `json:"type"`
	Nullable   bool               `json:"nullable"`
	Properties map[string]*schema `json:"properties"`
	Patterns   map[string]any     `json:"patternProperties"`
	Required   []string           `json:"required"`
	Additional *schema            `json:"additionalProperties"`
	Items      *schema            `json:"items"`
	AnyOf      []*schema          `json:"anyOf"`
	OneOf      []*schema          `json:"oneOf"`
	AllOf      []*schema          `json:"allOf"`
	Defs       map[string]*schema `json:"$defs"`
	Older      map[string]*schema `json:"definitions"`
	If         json.RawMessage    `json:"if"`
	never      bool               // the schema false
	opaque     bool               // not an object or boolean: accepts everything
}

// names is a string or a list of strings.
type names []string

func (n *names) UnmarshalJSON(b []byte) error {
	var one string
	if json.Unmarshal(b, &one) == nil {
		*n = names{one}
		return nil
	}
	var many []string
	if json.Unmarshal(b, &many) == nil {
		*n = many
	}
	return nil
}

// UnmarshalJSON takes true and false as schemas, and anything that is none (a
// list under items, say) as one that accepts everything.
func (s *schema) UnmarshalJSON(b []byte) error {
	type plain schema
	var p plain
	switch string(b) {
	case "true":
	case "false":
		p.never = true
	default:
		if json.Unmarshal(b, &p) != nil {
			p = plain{opaque: true}
		}
	}
	*s = schema(p)
	return nil
}

func newParameters(raw json.RawMessage) *parameters {
	if len(raw) == 0 || len(raw) > schemaBytes {
		return nil
	}
	return &parameters{raw: raw}
}

// check returns what is wrong with the arguments, none for a nil receiver.
func (p *parameters) check(args value) []violation {
	if p == nil {
		return nil
	}
	if !p.read {
		p.read = true
		root := new(schema)
		// The first decoding refuses nesting that would make the second slow.
		if _, err := parseValue(string(p.raw)); err == nil && json.Unmarshal(p.raw, root) == nil {
			p.root = root
		}
		p.raw = nil
	}
	if p.root == nil {
		return nil
	}
	c := checker{root: p.root}
	c.value(p.root, "", args, 0, true)
	return c.found
}

type checker struct {
	root  *schema
	found []violation
	steps int
}

func (c *checker) report(key, reason string) {
	if len(c.found) < violations {
		c.found = append(c.found, violation{key, reason})
	}
}

// maxSteps bounds the work on one call: alternatives multiply.
const maxSteps = 10_000

// value checks v. Sole says that no other schema describes the same value, so
// that the members this one names may be taken for all there are.
func (c *checker) value(s *schema, path string, v value, depth int, sole bool) {
	c.steps++
	if s == nil || s.opaque || depth > schemaDepth || c.steps > maxSteps {
		return
	}
	if s.never {
		c.report(path, "unknown key")
		return
	}
	if s.Ref != "" {
		c.value(c.resolve(s.Ref), path, v, depth+1, sole && len(s.Properties) == 0)
	}
	if len(s.Type) > 0 && !(v.kind == null && s.Nullable) && !slices.ContainsFunc(s.Type, v.is) {
		c.report(path, "want "+strings.Join(s.Type, " or ")+", got "+v.kind.String())
		return
	}
	for _, sub := range s.AllOf {
		c.value(sub, path, v, depth+1, false)
	}
	c.any(s.AnyOf, path, v, depth)
	c.any(s.OneOf, path, v, depth)
	switch v.kind {
	case object:
		c.object(s, path, v, depth, sole)
	case array:
		for _, item := range v.items {
			c.value(s.Items, path, item, depth+1, true)
		}
	}
}

// any passes if one alternative does; else the complaints of the alternative
// with the fewest stand for all.
func (c *checker) any(alternatives []*schema, path string, v value, depth int) {
	var least []violation
	for i, sub := range alternatives {
		try := checker{root: c.root, steps: c.steps}
		try.value(sub, path, v, depth+1, false)
		c.steps = try.steps
		if len(try.found) == 0 {
			return
		}
		if i == 0 || len(try.found) < len(least) {
			least = try.found
		}
	}
	for _, f := range least {
		c.report(f.key, f.reason)
	}
}

func (c *checker) object(s *schema, path string, v value, depth int, sole bool) {
	for _, key := range s.Required {
		if !slices.ContainsFunc(v.members, func(m member) bool { return m.key == key }) {
			c.report(join(path, key), "required, missing")
		}
	}
	for _, m := range v.members {
		at := join(path, m.key)
		if sub, ok := s.Properties[m.key]; ok {
			c.value(sub, at, m.value, depth+1, true)
			continue
		}
		switch {
		case len(s.Patterns) > 0:
		case s.Additional != nil:
			c.value(s.Additional, at, m.value, depth+1, true)
		case sole && s.closed():
			c.report(at, "unknown key")
		}
	}
}

// closed reports whether a schema that does not say so lists all keys there
// are. Tool schemas name their parameters and seldom bother to forbid others;
// where schemas are combined the other parts may name more.
func (s *schema) closed() bool {
	return len(s.Properties) > 0 && s.Ref == "" && len(s.AnyOf)+len(s.OneOf)+len(s.AllOf) == 0 && len(s.If) == 0
}

// resolve finds a schema by a reference into this document, else nil.
func (c *checker) resolve(ref string) *schema {
	if ref == "#" {
		return c.root
	}
	path, ok := strings.CutPrefix(ref, "#/")
	if !ok {
		return nil
	}
	at := c.root
	parts := strings.Split(path, "/")
	for len(parts) > 0 && at != nil {
		if len(parts) == 1 {
			if parts[0] == "items" {
				return at.Items
			}
			return nil
		}
		key := strings.NewReplacer("~1", "/", "~0", "~").Replace(parts[1])
		switch parts[0] {
		case "$defs":
			at = at.Defs[key]
		case "definitions":
			at = at.Older[key]
		case "properties":
			at = at.Properties[key]
		default:
			return nil
		}
		parts = parts[2:]
	}
	return at
}

// is reports whether a value is of a JSON Schema type. Types we do not know are
// of any value.
func (v value) is(name string) bool {
	switch name {
	case "null", "boolean", "string", "array", "object", "number":
		return v.kind.String() == name
	case "integer":
		return v.kind == number && v.whole
	}
	return true
}

func join(path, key string) string {
	if path == "" || key == "" {
		return path + key
	}
	return path + "." + key
}
