package tui

import (
	"strings"
	"testing"

	"vise/tui/style"
)

func TestHighlight(t *testing.T) {
	for _, c := range []struct {
		path, line string
		want       map[string]style.Role // of the pieces that matter
	}{
		{"a/main.go", `	return "x", 42 // why`, map[string]style.Role{"return": style.SynKey, `"x"`: style.SynText, "42": style.SynNum, "// why": style.SynNote}},
		{"tool.py", `def f(): return None`, map[string]style.Role{"def": style.SynKey}},
		{"notes.unknown-kind", `return 42`, map[string]style.Role{"return 42": style.Added}},
		{"long.go", "return " + strings.Repeat("x", highlightLine), nil},
		{"torn.go", `"never ends`, nil},
	} {
		var all strings.Builder
		got := map[string]style.Role{}
		for _, p := range highlight(c.path).pieces(c.line, style.Added) {
			all.WriteString(p.text)
			got[strings.TrimSpace(p.text)] = p.role
		}
		if all.String() != c.line {
			t.Errorf("%s: %q came back as %q", c.path, c.line, all.String())
		}
		for text, role := range c.want {
			if got[text] != role {
				t.Errorf("%s: %q has role %v, want %v (%v)", c.path, text, got[text], role, got)
			}
		}
	}
}

func BenchmarkHighlight(b *testing.B) {
	b.ReportAllocs()
	h := highlight("main.go")
	for b.Loop() {
		h.pieces(`	if err := p.send(ctx, "hello", 42); err != nil { // a line of code`, style.Text)
	}
}
