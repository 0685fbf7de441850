package local

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestFold(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"plain text_1\n", "plain text_1\n"},
		{"Error: X", "error: x"},
		{"I’ll", "i\x02ll"},
		{"a\x02b", "a\x01b"},
		{"é\u00a0Ω…", "z\x1fz\x01"},
		{"½³四", "zzz"},
		{"Kſİı", "ksii"},
		{"\xff!", "\x01!"},
	} {
		if got := fold(c.in); got != c.want {
			t.Errorf("fold(%q) = %q, want %q", c.in, got, c.want)
		}
	}
}

func TestNorm(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"", ""},
		{"  -- ", ""},
		{"Order #W12-34", "order w12 34"},
		{"a\n\u00a0\tb", "a b"},
		{"It’s $5,000", "it s 5 000"},
		{"É_x", "é x"},
		{"\x1cx\u0085", "x"},
	} {
		if got := norm(c.in); got != c.want {
			t.Errorf("norm(%q) = %q, want %q", c.in, got, c.want)
		}
	}
}

func TestWords(t *testing.T) {
	got := words("The order_id W-12 is, I think, NOT a café: x 42 -flag re-book")
	want := []string{"order_id", "w-12", "think", "caf", "42", "flag", "re-book"}
	if !slices.Equal(got, want) {
		t.Errorf("words = %q, want %q", got, want)
	}
}

func TestFirstLast(t *testing.T) {
	const s = "aé四𝄞z"
	for n := 0; n <= 6; n++ {
		k := min(n, 5)
		if got, want := first(s, n), string([]rune(s)[:k]); got != want {
			t.Errorf("first(%q, %d) = %q, want %q", s, n, got, want)
		}
		if got, want := last(s, n), string([]rune(s)[5-k:]); got != want {
			t.Errorf("last(%q, %d) = %q, want %q", s, n, got, want)
		}
		if got, want := shorter(s, n), 5 < n; got != want {
			t.Errorf("shorter(%q, %d) = %t, want %t", s, n, got, want)
		}
	}
	if got := between(s, 1, 4); got != "é四𝄞" {
		t.Errorf("between = %q", got)
	}
	if shorter(strings.Repeat("四", 2000), 2000) || !shorter(strings.Repeat("四", 1999), 2000) {
		t.Error("shorter counts bytes")
	}
}

func TestQuote(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"plain", `'plain'`},
		{"it's", `"it's"`},
		{`both ' and "`, `'both \' and "'`},
		{"a\n\t\r\\", `'a\n\t\r\\'`},
		{"\x1b[0m\u200b\U000e0001é", `'\x1b[0m\u200b\U000e0001é'`},
	} {
		if got := quote(c.in); got != c.want {
			t.Errorf("quote(%q) = %s, want %s", c.in, got, c.want)
		}
	}
}

func FuzzFold(f *testing.F) {
	for _, s := range []string{"", "I’ll go", "é\u00a0½", "\xff\xfe", "ΑΣ"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		folded := fold(s)
		if len(folded) != utf8.RuneCountInString(s) {
			t.Fatalf("fold(%q) has %d bytes for %d runes", s, len(folded), utf8.RuneCountInString(s))
		}
		if n := norm(s); strings.Contains(n, "\n") || norm(n) != n && !strings.ContainsRune(s, 'İ') {
			t.Fatalf("norm(%q) = %q is not normal", s, n)
		}
	})
}
