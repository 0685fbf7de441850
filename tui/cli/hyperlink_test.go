package cli

import (
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"
)

// Ids in tables become hyperlinks; without the codes the table is the same.
func TestLinkedTable(t *testing.T) {
	header := []string{"SESSION", "RULE", "TITLE"}
	rows := [][]string{{"s-1", "r-1", "about s-1"}, {"a b", "", "no link for what was cut or has blanks"}, {"s/2", "r-2…", "x"}}
	draw := func(links bool) string {
		var b strings.Builder
		o := &output{w: &b, links: links}
		if err := o.table(header, rows); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	plain, linked := draw(false), draw(true)
	if strings.Contains(plain, "\x1b") || ansi.Strip(linked) != plain {
		t.Errorf("%q is not %q", ansi.Strip(linked), plain)
	}
	for text, want := range map[string]int{"\x1b]8;;vise://session/s-1\a" + "s-1\x1b]8;;\a": 1, "vise://rule/r-1": 1, "vise://session/s%2F2": 1, "\x1b]8;;vise": 3} {
		if n := strings.Count(linked, text); n != want {
			t.Errorf("%d times %q, want %d, in %q", n, text, want, linked)
		}
	}
}
