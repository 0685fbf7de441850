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

// Arguments of many megabytes are compared by the beginnings and digests of their texts.
func TestLongArguments(t *testing.T) {
	long := strings.Repeat("é\\n😀", 1<<18)
	parse := func(s string) value {
		t.Helper()
		v, err := parseValue(s)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	arguments := func(text string) string { return `{"path":"a.txt","content":"` + text + `","n":[1,"` + text + `"]}` }
	a, same, other := parse(arguments(long)), parse(arguments(long)), parse(arguments(long+"."))
	if string(a.appendCanonical(nil)) != string(same.appendCanonical(nil)) {
		t.Error("equal arguments are told apart")
	}
	if string(a.appendCanonical(nil)) == string(other.appendCanonical(nil)) {
		t.Error("arguments that differ in the last byte are not told apart")
	}
	if n := len(a.get("content").text); n > 70_000 || !strings.HasPrefix(a.get("content").text, "é\n😀é") || a.get("path").text != "a.txt" {
		t.Errorf("%d bytes of content, %.20q, path %q", n, a.get("content").text, a.get("path").text)
	}
	if _, err := parseValue(arguments(long) + "]"); err == nil {
		t.Error("what is no JSON is taken")
	}
}
