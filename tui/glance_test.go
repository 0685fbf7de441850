package tui

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestFirstLine(t *testing.T) {
	for _, x := range []struct{ text, want string }{
		{"Refund it.\nPlease.", "Refund it."},
		{"{\n  \"order_id\": \"A 17\",\n  \"n\": [\n    1,\n    2\n  ]\n}", `{"order_id":"A 17","n":[1,2]}`},
		{"{\n\"said\": \"a \\\" b\",  \"x\": true}", `{"said":"a \" b","x":true}`},
		{"[note] to  self\nand others", "[note] to  self"},
		{"  \n", ""},
	} {
		if got := firstLine(x.text); got != x.want {
			t.Errorf("firstLine(%q) = %q, want %q", x.text, got, x.want)
		}
	}
	long := firstLine("{\n\"text\": \"" + strings.Repeat("ä", 3<<20))
	if n := utf8.RuneCountInString(long); n > glance || !utf8.ValidString(long) {
		t.Errorf("a long text gives %d runes, valid %v", n, utf8.ValidString(long))
	}
}
