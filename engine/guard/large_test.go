package guard

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestUnquote(t *testing.T) {
	for _, lit := range []string{`""`, `"plain"`, `"a\nb\t\"c\"\\\/\b\f\r"`, `"\u00e9\u0416"`, `"\ud83d\ude00!"`, `"\ud83d"`, `"\ud83d\u0041"`, `"\ude00\ud83d\ude00"`,
		"\"\xff\xfe caf\xc3\xa9 \xe2\x82\"", `"\u0000\u2028"`, "\"\xf0\x9f\x98\x80\""} {
		var want string
		if err := json.Unmarshal([]byte(lit), &want); err != nil {
			t.Fatalf("%q: %v", lit, err)
		}
		if got := Unquote([]byte(lit)); got != want {
			t.Errorf("Unquote(%s) = %q, want %q", lit, got, want)
		}
	}
	for _, lit := range []string{"", `"`, `"\"`, `"\u12"`, `"\ud83d\u"`} {
		Unquote([]byte(lit)) // not valid: no panic
	}
}

// TestLongTexts: masking in windows finds what masking the whole finds, also what
// stands at the edge of a window.
func TestLongTexts(t *testing.T) {
	r := DefaultRedactor()
	key := "-----BEGIN RSA PRIVATE KEY-----\n" + strings.Repeat("MIIEowIBAAKCAQEA0Z3VS5JJcds3xfn5ygWyF8PbnGy0AHB7\n", 30) + "-----END RSA PRIVATE KEY-----"
	netrc := "machine api.example.org\n  login dev\n  password hunter2hunter2\n"
	line := "an ordinary line of a log that says nothing secret at all, id 4821\n"
	for _, secret := range []string{key, netrc, "password=hunter2abc7\n", "key sk-abcdefghij0123456789xyz and more\n"} {
		for shift := range 4 {
			// The secret starts shortly before, at or behind the place where a window may end.
			s := strings.Repeat("x", window-60+shift*30) + "\n" + secret + strings.Repeat(line, 2*window/len(line)) + secret + line
			got, n := r.Text(s)
			want, m := r.settle(s)
			if got != want || n != m || n < 2 {
				t.Fatalf("%.20q shifted by %d: %d masked in windows, %d in the whole", secret, shift, n, m)
			}
		}
	}
	// The same as a text inside JSON.
	s := "{\"a\":" + string(spell(strings.Repeat(line, 3*window/len(line))+key+"\n"+strings.Repeat(line, 2*window/len(line))+"password=hunter2abc7\n"+netrc+key)) + ",\"b\":1}"
	got, n, err := r.JSON([]byte(s))
	if err != nil || n != 4 || !json.Valid(got) || strings.Contains(string(got), "hunter2") || strings.Contains(string(got), "MIIE") {
		t.Fatalf("%d masked in a long text inside JSON (%v)", n, err)
	}
	plain := strings.Repeat(line, 4*window/len(line))
	if got, n := r.Text(plain); n != 0 || got != plain {
		t.Fatalf("%d masked in a plain text", n)
	}
	if got, n := r.Text(strings.Repeat("no line end ", window/4) + "password=hunter2abc7"); n != 1 || strings.Contains(got, "hunter2") {
		t.Fatalf("%d masked in a text of one line", n)
	}
}

func TestPresent(t *testing.T) {
	if len(shapes) > 62 {
		t.Fatal("more shapes than bits: widen present")
	}
	for i, s := range shapes {
		for _, lit := range s.literals {
			if len(lit) < 2 {
				t.Errorf("the literal %q is shorter than the two bytes that present looks at", lit)
			}
			for _, text := range []string{lit, "a" + lit, lit + "b", "--" + lit + "://"} {
				if present(text)&(1<<i) == 0 {
					t.Errorf("present(%q) misses %q", text, lit)
				}
			}
			if present(lit[:len(lit)-1])&(1<<i) != 0 && len(s.literals) == 1 {
				t.Errorf("present(%q) is no literal", lit[:len(lit)-1])
			}
		}
	}
	if present("an ordinary text") != 0 || present("") != 0 || present("x") != 0 {
		t.Error("something is present in an ordinary text")
	}
}

// BenchmarkText masks a log without secrets; B/op shows that it is not copied.
func BenchmarkText(b *testing.B) {
	r := DefaultRedactor()
	s := strings.Repeat("an ordinary line of a log at https://example.org/a/b?c=d, func (r *T) key: value, id-4821\n", 10000)
	b.SetBytes(int64(len(s)))
	b.ReportAllocs()
	for b.Loop() {
		r.Text(s)
	}
}
