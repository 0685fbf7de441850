package local

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestParseValueKeepsOrder(t *testing.T) {
	v, err := parseValue(`{"z":[1,{"y":"a"}],"a":null,"m":true,"z2":-0,"f":1e21,"g":0.00001,"z":"last"}`)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	v.leaves("", func(key string, leaf value) { got = append(got, key+"="+leaf.String()) })
	if s := strings.Join(got, " "); s != "z=last a=None m=True z2=0 f=1e+21 g=1e-05" {
		t.Errorf("leaves = %s", s)
	}
	v, _ = parseValue(`["it's",[1.0,2],{"k":false}]`)
	if s := v.String(); s != `["it's", [1.0, 2], {'k': False}]` {
		t.Errorf("String = %s", s)
	}
}

func TestParseValueRefuses(t *testing.T) {
	for _, s := range []string{"", "{", `{"a":1}x`, "nope", `{"a":1,}`, strings.Repeat("[", 500) + strings.Repeat("]", 500)} {
		if _, err := parseValue(s); err == nil {
			t.Errorf("parseValue(%.40q) succeeded", s)
		}
	}
}

func FuzzParseValue(f *testing.F) {
	for _, s := range []string{`{"a":[1,2.5e3,"x",null,true]}`, `[[],{}]`, `"\ud800"`, `-0`, `1e999`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		v, err := parseValue(s)
		if err == nil && !json.Valid([]byte(s)) {
			t.Fatalf("parseValue(%q) took what is not JSON", s)
		}
		if err == nil {
			_ = v.String()
			again, err := parseValue(s)
			if err != nil || string(again.appendCanonical(nil)) != string(v.appendCanonical(nil)) {
				t.Fatalf("canonical form of %q varies", s)
			}
		}
	})
}
