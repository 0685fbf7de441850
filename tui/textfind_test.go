package tui

import (
	"slices"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"vise/tui/vtext"
)

// The search works in every pane but the list of what waits: it counts, tells which match
// the reader is at, marks the scroll bar, goes back and forth, and ends.
func TestSearchInEveryPane(t *testing.T) {
	d := worked(t)
	for _, x := range []struct {
		pane  PaneID
		view  string
		query string
		least int
	}{
		{PaneSessions, "D", "blanket", 2}, {PaneTurns, "D", "is", 2}, {PaneTrace, "D", "issue_refund", 2}, {PaneScores, "D", "fault", 2},
		{PaneRepair, "R", "harness", 3}, {PaneRules, "R", "reason_code", 1}, {PaneJournal, "E", "repair", 3},
	} {
		b := newBench(t, d, 120, 34)
		b.app.ctx.Scope.Session, b.app.ctx.Scope.Turn = "s-0001", 2
		b.send(nil)
		b.press(x.view, digit(number1(x.pane)), "/")
		b.typed(x.query)
		b.press("enter")
		b.frame()
		p := b.app.panes[x.pane]
		n := 0
		for i := range strings.Fields(b.app.found()) {
			if f := strings.Fields(b.app.found())[i]; strings.Trim(f, "0123456789") == "" {
				n = max(n, leading(f))
			}
		}
		if n < x.least {
			t.Errorf("%s: %q found %q", x.pane, x.query, b.app.found())
		}
		marks := p.(marker).Marks()
		if len(marks) == 0 || !slices.IsSorted(marks) {
			t.Errorf("%s: the marks are %v", x.pane, marks)
		}
		r := b.rect(x.pane)
		rows := b.frame()
		for _, m := range marks {
			edge := ansi.Cut(ansi.Strip(rows[r.Y+1+m]), r.X+r.W-1, r.X+r.W)
			if edge != b.app.ctx.Style.Glyphs.Box.Hit {
				t.Errorf("%s: row %d of the scroll bar is %q", x.pane, m, edge)
			}
		}
		if at, ok := p.(placed); ok && x.least > 1 {
			b.press("N", "N", "N", "N", "N", "N")
			first := at.MatchAt()
			b.press("n")
			second := at.MatchAt()
			b.press("N")
			if first == 0 || second == first || at.MatchAt() != first {
				t.Errorf("%s: n and N went %d, %d, %d", x.pane, first, second, at.MatchAt())
			}
		}
		// Another size and another look keep the search.
		b.send(tea.WindowSizeMsg{Width: 160, Height: 44})
		b.run(b.app.restyled())
		b.frame()
		if len(p.(marker).Marks()) == 0 {
			t.Errorf("%s: the marks went with the size", x.pane)
		}
		b.press("esc")
		if len(p.(marker).Marks()) != 0 || b.app.search != nil {
			t.Errorf("%s: esc left %v", x.pane, p.(marker).Marks())
		}
	}
}

func leading(s string) (n int) {
	for _, r := range s {
		n = n*10 + int(r-'0')
	}
	return n
}

// A capital makes the search tell cases apart, \v makes it an expression.
func TestSearchCases(t *testing.T) {
	for _, x := range []struct {
		query, text string
		want        bool
	}{
		{"refund", "A Refund", true}, {"Refund", "a refund", false}, {"Refund", "A Refund", true},
		{`\vre.und`, "A ReFund", true}, {`\vRe.und`, "a refund", false}, {`re.und`, "refund", false}, {`\v(`, "(", false},
	} {
		if got := matches(x.text, x.query); got != x.want {
			t.Errorf("%q in %q: %v", x.query, x.text, got)
		}
	}
}

// What comes while one searches is found, and the places are marked in the rows.
func TestSearchGoesOn(t *testing.T) {
	b := newBench(t, worked(t), 120, 34)
	b.app.ctx.Scope.Session, b.app.ctx.Scope.Turn = "s-0001", 2
	b.send(nil)
	b.press("R", "5", "/")
	b.typed("zebra")
	b.press("enter")
	p := b.app.panes[PaneRepair].(*repairPane)
	if b.app.found() != "0 matches" {
		t.Fatalf("found %q", b.app.found())
	}
	p.body.Append(vtext.Line{Text: "a Zebra and a zebra"})
	if b.app.found() != "2 matches" {
		t.Errorf("found %q", b.app.found())
	}
	p.body.Next(1)
	row := ""
	for _, r := range p.body.Rows() {
		if strings.Contains(ansi.Strip(r), "zebra") {
			row = r
		}
	}
	if n := strings.Count(row, "ebra"); n != 2 || strings.Contains(row, "a Zebra and") {
		t.Errorf("the places are not on their own ground: %q", row)
	}
}
