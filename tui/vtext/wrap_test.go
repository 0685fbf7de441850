package vtext

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"
	"github.com/google/go-cmp/cmp"
)

func TestWrap(t *testing.T) {
	for _, c := range []struct {
		name, text string
		w, hang    int
		want       []string
	}{
		{"empty", "", 5, 0, []string{""}},
		{"fits", "abc de", 6, 0, []string{"abc de"}},
		{"at a space", "abc def", 5, 0, []string{"abc", "def"}},
		{"the space vanishes at the edge", "abc def", 3, 0, []string{"abc", "def"}},
		{"spaces run together", "abc    def", 5, 0, []string{"abc", "def"}},
		{"a long word is cut", "abcdefgh ij", 3, 0, []string{"abc", "def", "gh", "ij"}},
		{"a word moves as a whole", "a bcdef", 6, 0, []string{"a", "bcdef"}},
		{"hanging rows", "rule text goes on here", 9, 3, []string{"rule text", "   goes", "   on", "   here"}},
		{"a leading indent stays", "  abc def", 6, 0, []string{"  abc", "def"}},
		{"CJK needs no spaces", "退款请求被拒绝", 6, 0, []string{"退款请", "求被拒", "绝"}},
		{"an odd width leaves a cell", "退款请求", 5, 0, []string{"退款", "请求"}},
		{"between Latin and CJK", "call 退款 now", 8, 0, []string{"call 退", "款 now"}},
		{"a cluster is never cut", "ée\u0301e\u0301e\u0301", 2, 0, []string{"ée\u0301", "e\u0301e\u0301"}},
		{"emoji", "ok 👍👍👍", 5, 0, []string{"ok 👍", "👍👍"}},
		{"narrower than a wide cell", "退款", 1, 0, []string{"退", "款"}},
		{"no room for the hang", "abc def", 3, 5, []string{"abc", "def"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if d := cmp.Diff(c.want, Wrap(c.text, c.w, c.hang, ansi.StringWidth)); d != "" {
				t.Error(d)
			}
		})
	}
}

func FuzzWrap(f *testing.F) {
	f.Add("the agent repeats issue_refund 退款请求 without reason_code", 9, 2)
	f.Add("  e\u0301👩\u200d💻 a\u00a0b", 3, 1)
	f.Fuzz(func(t *testing.T, text string, w, hang int) {
		if !utf8.ValidString(text) || strings.ContainsFunc(text, func(r rune) bool { return r < 0x20 || r >= 0x7f && r < 0xa0 }) || w < 2 || w > 200 || hang < 0 || hang > 200 {
			t.Skip()
		}
		rows := Wrap(text, w, hang, ansi.StringWidth)
		var back strings.Builder
		for i, r := range rows {
			// A cluster alone may be wider than the row; anything else fits.
			if n := ansi.StringWidth(r); n > w && strings.Contains(strings.TrimLeft(r, " "), " ") {
				t.Errorf("row %d of %q is %d cells wide, more than %d: %q", i, text, n, w, r)
			}
			back.WriteString(r)
		}
		if got, want := strings.ReplaceAll(back.String(), " ", ""), strings.ReplaceAll(text, " ", ""); got != want {
			t.Errorf("wrapping changed the text:\n%q\n%q", want, got)
		}
	})
}
