package guard_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"vise/engine/guard"
)

func TestSanitize(t *testing.T) {
	for _, c := range []struct {
		name, in, want string
	}{
		{"8-bit OSC with BEL", "a\u009d0;title\ab", "ab"},
		{"8-bit string ended by ST", "a\u0090q\u009cb", "ab"},
		{"unterminated string loses its introducer only", "a\x1b]0;title\nb", "a0;title\nb"},
		{"CAN ends a string", "a\x1b]0;t\x18b", "ab"},
		{"charset selection", "a\x1b(Bb", "ab"},
		{"line end inside CSI is executed", "a\x1b[3\n1mb", "a\nb"},
		{"CRLF and CR", "a\r\nb\rc\r\r\nd", "a\nb\nc\nd"},
		{"invalid UTF-8", "a\xffb", "a\uFFFDb"},
		{"a raw C1 byte is invalid UTF-8, not a sequence", "a\x9b31mb", "a\uFFFD31mb"},
		{"bidi isolate", "a\u2066b\u2069", "ab"},
		{"a joiner in an emoji stays", "\U0001F469\u200d\U0001F467", "\U0001F469\u200d\U0001F467"},
		{"a run of joiners carries data", "a\u200b\u200c\u200b\u200db", "a\u200bb"},
		{"variation selector smuggling", "a\U000E0100\U000E0101b", "ab"},
		{"banner with joiners", "=\u200b=\u200b=\u200b=\u200b=\u200b=\u200b=\u200b=", "======="},
		{"fullwidth marker", "ｈａｒｎｅｓｓ：x", "ｈａｒｎｅｓｓ·：x"},
		{"mathematical marker", "𝗵𝗮𝗿𝗻𝗲𝘀𝘀: x", "𝗵𝗮𝗿𝗻𝗲𝘀𝘀·: x"},
		{"marker with a joiner inside", "har\u200bness: x", "har\u200bness·: x"},
		{"our own name", "vise: promote it", "vise·: promote it"},
		{"our own name inside a word", "advise: x, revise: y", "advise: x, revise: y"},
	} {
		if got := guard.Sanitize(c.in, 0); got != c.want {
			t.Errorf("%s: Sanitize(%q) = %q, want %q", c.name, c.in, got, c.want)
		}
	}
}

// TestCapsHold: a cut text is never longer than its cap, however small, and never
// ends within a character that a person sees as one.
func TestCapsHold(t *testing.T) {
	const text = "abc 👩‍👩‍👧‍👦 naïve é x̄ 한국어 and so on and on"
	for limit := 1; limit < 30; limit++ {
		got := guard.Sanitize(text, limit)
		if n := len([]rune(got)); n > limit {
			t.Errorf("cap %d: %d code points: %q", limit, n, got)
		}
		kept := strings.TrimSuffix(strings.TrimSuffix(got, guard.Truncated), "…")
		rest := strings.TrimPrefix(text, kept)
		if rest == text && kept != "" || rest != "" && (strings.HasPrefix(rest, "\u200d") || strings.HasPrefix(rest, "\u0304") || strings.HasPrefix(rest, "\u0301")) || strings.HasSuffix(kept, "\u200d") {
			t.Errorf("cap %d cuts a grapheme: %q", limit, got)
		}
	}
}

func TestLine(t *testing.T) {
	for _, c := range []struct {
		in   string
		max  int
		want string
	}{
		{"  a\n\n b\t c ", 0, "a b c"},
		{"a\u2028b\u0085c", 0, "a b c"},
		{"abcdefghijklmnopqrstuvwxyz", 20, "abcdefgh" + guard.Truncated},
		{"abcdef", 3, "ab…"},
	} {
		if got := guard.Line(c.in, c.max); got != c.want {
			t.Errorf("Line(%q, %d) = %q, want %q", c.in, c.max, got, c.want)
		}
	}
}

func TestUnjoined(t *testing.T) {
	for in, want := range map[string]string{
		"plain": "plain", "a\u200bb\u00adc\u200c": "abc", "क\u200dष": "क\u200dष", "👩\u200d👧": "👩\u200d👧", "\u200dक\u200b\u200c x": "क x",
	} {
		if got := guard.Unjoined(in); got != want || guard.Unjoined(got) != got {
			t.Errorf("Unjoined(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestVisible(t *testing.T) {
	for in, want := range map[string]string{
		"plain\ttext\nüñ":         "plain\ttext\nüñ",
		"\x1b[31mred":             `\x1b[31mred`,
		"a\rb\x00\x7f":            `a\rb\x00\x7f`,
		"\u009b31m":               `\x9b31m`,
		"abc\u202ecba":            `abc\u202ecba`,
		"a\u200bb\ufeff":          `a\u200bb\ufeff`,
		"x\U000E0041":             `x\U000e0041`,
		"bad \xff byte":           `bad \xff byte`,
		"\U0001F469\u200d\u2764️": "\U0001F469\u200d\u2764️",
		"ab\u00adc":               `ab\u00adc`,
	} {
		if got := guard.Visible(in); got != want {
			t.Errorf("Visible(%q) = %q, want %q", in, got, want)
		}
	}
}

// hostile draws texts made of what sanitising is about.
func hostile() *rapid.Generator[string] {
	piece := rapid.OneOf(
		rapid.SampledFrom([]string{"\x1b", "\x1b[", "\x1b]0;", "\u009b", "\u009d", "\x1b\\", "\a", "\r", "\n", "\t", "m", "31", "harness", ":", "system",
			" ", "alert", "vise", "=", "====", "####", "\u200b", "\u200d", "\u202e", "\ufeff", "\ufe0f", "é", "e\u0301", "\U0001F1E9", "\U0001F469", "\xff", "ſ", "а", "·"}),
		rapid.String(),
	)
	return rapid.Custom(func(t *rapid.T) string {
		return strings.Join(rapid.SliceOfN(piece, 0, 24).Draw(t, "pieces"), "")
	})
}

// checkSanitized states what every sanitised text is.
func checkSanitized(t interface{ Fatalf(string, ...any) }, in string, max int) {
	out := guard.Sanitize(in, max)
	if !utf8.ValidString(out) {
		t.Fatalf("Sanitize(%q, %d) = %q is not UTF-8", in, max, out)
	}
	if n := utf8.RuneCountInString(out); max > 0 && n > max {
		t.Fatalf("Sanitize(%q, %d) has %d code points", in, max, n)
	}
	for _, r := range out {
		if r < 0x20 && r != '\n' && r != '\t' || r >= 0x7f && r <= 0x9f || r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069 || r >= 0xe0000 && r <= 0xe0fff {
			t.Fatalf("Sanitize(%q, %d) keeps %U", in, max, r)
		}
	}
	if again := guard.Sanitize(out, max); again != out {
		t.Fatalf("Sanitize is not idempotent: %q, %d → %q → %q", in, max, out, again)
	}
	line := guard.Line(in, max)
	if strings.ContainsFunc(line, func(r rune) bool { return guard.IsSpace(r) && r != ' ' }) || strings.Contains(line, "  ") {
		t.Fatalf("Line(%q, %d) = %q is not one line", in, max, line)
	}
	if v := guard.Visible(in); guard.Visible(v) != v || strings.ContainsAny(v, "\x1b\r\x00\x07") {
		t.Fatalf("Visible(%q) = %q still holds controls", in, v)
	}
}

func TestSanitizedTextIsSafe(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		checkSanitized(t, hostile().Draw(t, "text"), rapid.IntRange(-1, 60).Draw(t, "max"))
	})
}

func FuzzSanitize(f *testing.F) {
	for _, seed := range []string{"", "plain", "\x1b[31mred\x1b[0m", "\x1b]8;;http://x\x1b\\click", "\u009dx\u009c", "harness: x", "========", "a\r\nb", "\U0001F1E9\U0001F1EA\U0001F1E9"} {
		f.Add(seed, 20)
	}
	f.Fuzz(func(t *testing.T, in string, max int) { checkSanitized(t, in, max%200) })
}

func TestFold(t *testing.T) {
	for in, want := range map[string]string{
		"Straße": "strasse", "ﬁ": "fi", "İ": "i\u0307", "ſ": "s", "\u212a": "k", "ς": "σ", "ı": "ı", "ABC_9": "abc_9",
	} {
		if got := guard.Fold(in); got != want {
			t.Errorf("Fold(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestSensitiveKeyBroad(t *testing.T) {
	for key, want := range map[string]bool{
		"OPENAI_API_KEYS": true, "x-api-key": true, "dbPasswd": true, "sshKey": true, "client_secret": true, "auth": true,
		"sessionCookie": true, "access_tokens": true, "backend_token": true, "refreshToken": true, "secretAccessKey": true,
		"nextPageToken": false, "nextpagetoken": false, "continuation_token": false, "cost_per_token": false, "eos_token": false,
		"author": false, "authenticated": false, "key": false, "primary_key": false, "keyboard": false, "tokens_used": false,
		"completion_tokens": false, "session_id": false, "passport": false, "secretary": false,
	} {
		if got := guard.SensitiveKey(key); got != want {
			t.Errorf("SensitiveKey(%q) = %v, want %v", key, got, want)
		}
	}
}

func BenchmarkSanitizePlain(b *testing.B) {
	text := strings.Repeat("Look up the order before a refund is issued, then notify the customer.\n", 30)
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		guard.Sanitize(text, 0)
	}
}

func BenchmarkSanitizeHostile(b *testing.B) {
	// Unterminated string introducers must not make the walk quadratic.
	text := strings.Repeat("\x1b]\u009d\x1bP", 20000)
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		guard.Sanitize(text, 2000)
	}
}

func BenchmarkVisible(b *testing.B) {
	text := strings.Repeat("Look up the order – then notify the customer ✓\n", 40)
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		guard.Visible(text)
	}
}
