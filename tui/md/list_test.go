package md

import (
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"

	"vise/engine/guard"
)

// The rows that an item goes on with begin behind its marker; code that looks like a
// list is left as it is.
func TestListsHang(t *testing.T) {
	r := New(guard.Visible)
	for _, c := range []struct {
		name, text string
		want       []string
	}{
		{"bullets", "- one item that is longer than the pane\n- short", []string{"• one item that is", "  longer than the", "  pane", "• short"}},
		{"numbers", "1. **first item that is longer**", []string{"1. first item that", "   is longer"}},
		{"nested", "- a\n  - an item of the second level", []string{"• a", "  • an item of the", "    second level"}},
		{"tasks", "- [x] done and longer than a row", []string{"✓ done and longer", "  than a row"}},
		{"code", "```\n- a\nb\n```", []string{"  - a", "  b"}},
		{"no list", "1.5 is a number. a - b", []string{"1.5 is a number. a", "-", "b"}},
		{"a mark of ours in the text", "- a\u2060 b", []string{`• a\u2060 b`}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var got []string
			for _, row := range r.Render(c.text, 19) {
				if n := ansi.StringWidth(row); n > 19 {
					t.Errorf("a row of %d cells: %q", n, row)
				}
				if row = strings.TrimRight(ansi.Strip(row), " "); row != "" {
					got = append(got, row)
				}
			}
			if strings.Join(got, "\n") != strings.Join(c.want, "\n") {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

// Code takes the colours of the theme that is drawn, not of the first one drawn.
func TestCodeFollowsTheTheme(t *testing.T) {
	r := New(guard.Visible)
	code := "```go\nfunc main() {}\n```"
	for i, color := range []string{"#112233", "#aabbcc", ""} {
		r.Use(Palette{Keyword: color, Epoch: uint64(i + 1)}, guard.Visible)
		out := strings.Join(r.Render(code, 40), "\n")
		for c, seq := range map[string]string{"#112233": "38;2;17;34;51", "#aabbcc": "38;2;170;187;204"} {
			if strings.Contains(out, seq) != (c == color) {
				t.Errorf("keywords in %q: %q", color, out)
			}
		}
	}
}
