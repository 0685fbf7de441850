package local

import (
	"fmt"
	"strings"
	"testing"
)

func TestSchema(t *testing.T) {
	const order = `{"type":"object","properties":{"id":{"type":"string"},"n":{"type":"integer"},
		"tags":{"type":"array","items":{"type":"string"}},"to":{"$ref":"#/$defs/place"},
		"opt":{"anyOf":[{"type":"string"},{"type":"null"}]},"old":{"type":"string","nullable":true}},
		"required":["id"],"$defs":{"place":{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}}}`
	for _, c := range []struct{ schema, args, want string }{
		{order, `{"id":"x"}`, ""},
		{order, `{"id":"x","n":3,"tags":["a"],"to":{"city":"Rome"},"opt":null,"old":null}`, ""},
		{order, `{"id":"x","n":3.0}`, ""}, // an integer in value
		{order, `{}`, "id: required, missing"},
		{order, `{"id":7}`, "id: want string, got number"},
		{order, `{"id":null}`, "id: want string, got null"},
		{order, `{"id":"x","n":3.5}`, "n: want integer, got number"},
		{order, `{"id":"x","n":"3"}`, "n: want integer, got string"},
		{order, `{"id":"x","tags":["a",1]}`, "tags: want string, got number"},
		{order, `{"id":"x","to":{"town":"Rome"}}`, "to.city: required, missing; to.town: unknown key"},
		{order, `{"id":"x","opt":4}`, "opt: want string, got number"},
		{order, `{"id":"x","extra":1}`, "extra: unknown key"},
		{`{"properties":{"a":{}},"additionalProperties":true}`, `{"b":1}`, ""},
		{`{"properties":{"a":{}},"additionalProperties":false}`, `{"b":1}`, "b: unknown key"},
		{`{"additionalProperties":{"type":"string"}}`, `{"b":1}`, "b: want string, got number"},
		{`{"properties":{"a":{}},"patternProperties":{"^x":{}}}`, `{"b":1}`, ""},
		{`{"allOf":[{"properties":{"a":{}}},{"properties":{"b":{}}}]}`, `{"a":1,"b":1}`, ""},
		{`{"oneOf":[{"required":["a"]},{"required":["b","c"]}]}`, `{"d":1}`, "a: required, missing"},
		{`{"type":["object","null"]}`, `{}`, ""},
		{`{}`, `{"b":1}`, ""},
		{`true`, `{"b":1}`, ""},
		{`{"$ref":"https://example.com/x.json"}`, `{"b":1}`, ""}, // never fetched
		{`{"$ref":"#"}`, `{"b":1}`, ""},
		{`{"properties":{"b":{"items":[{}],"type":"mystery"}}}`, `{"b":1}`, ""},
		{`{"properties":{"b":{"required":true}}}`, `{"b":1}`, ""},
		{`{"required":`, `{"b":1}`, ""},
		{``, `{"b":1}`, ""},
		{`{"properties":` + strings.Repeat(`{"properties":`, 300) + `{}` + strings.Repeat(`}`, 301), `{"b":1}`, ""},
	} {
		args, err := parseValue(c.args)
		if err != nil {
			t.Fatal(err)
		}
		p := newParameters([]byte(c.schema))
		for range 2 { // the second call uses the decoded schema
			var got []string
			for _, v := range p.check(args) {
				got = append(got, v.key+": "+v.reason)
			}
			if s := strings.Join(got, "; "); s != c.want {
				t.Errorf("%.60s against %s: %q, want %q", c.schema, c.args, s, c.want)
			}
		}
	}
}

// TestSchemaIsBounded: alternatives that refer to their parent multiply.
func TestSchemaIsBounded(t *testing.T) {
	p := newParameters([]byte(`{"allOf":[{"$ref":"#"},{"$ref":"#"},{"$ref":"#"}],"type":"object"}`))
	args, _ := parseValue(`{"a":1}`)
	if got := p.check(args); len(got) != 0 {
		t.Errorf("got %v", got)
	}
	var many strings.Builder
	for i := range 100 {
		fmt.Fprintf(&many, `"k%d":1,`, i)
	}
	args, _ = parseValue(`{` + many.String() + `"z":1}`)
	if got := newParameters([]byte(`{"additionalProperties":false}`)).check(args); len(got) != violations {
		t.Errorf("%d violations listed, want %d", len(got), violations)
	}
}
