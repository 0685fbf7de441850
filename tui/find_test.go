package tui

import (
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"
)

func TestMatches(t *testing.T) {
	for _, c := range []struct {
		text, query string
		want        bool
	}{
		{"Torn Blanket", "blank", true}, {"Torn Blanket", "Blank", true}, {"torn blanket", "Blank", false}, {"x", "", false},
		{"issue_refund failed", `\vrefund (failed|ok)`, true}, {"ISSUE", `\vissue$`, true}, {"issue", `\vISSUE`, false}, {"a(b", "a(b", true},
		{"a(b", `\va(b`, false}, {"x", `\v`, false}, {"x", `\vy*`, false}, {"İstanbul x", "x", true},
	} {
		if got := matches(c.text, c.query); got != c.want {
			t.Errorf("matches(%q, %q) = %v", c.text, c.query, got)
		}
	}
	if searchTrouble(`\va(b`) == "" || searchTrouble("a(b") != "" {
		t.Error("what is wrong with an expression is not told, or told of a text")
	}
}

// The search says which match of how many, and outlives another size and new rows.
func TestSearchOutlivesResize(t *testing.T) {
	b := newBench(t, worked(t), 160, 50)
	b.app.ctx.Scope.Session, b.app.ctx.Scope.Turn = "s-0001", 2
	b.send(nil)
	b.press("3", "home", "/")
	for _, r := range `\vissue.refund` {
		b.press(string(r))
	}
	b.press("enter")
	has := func(want string) {
		t.Helper()
		rows := b.frame()
		if row := rows[len(rows)-1]; !strings.Contains(row, want) {
			t.Errorf("the footer does not say %q: %q", want, row)
		}
	}
	has("1 of 4 matches") // the calls by their names, and what their errors say
	b.press("n")
	has("2 of 4 matches")
	b.send(tea.WindowSizeMsg{Width: 110, Height: 30})
	has("2 of 4 matches")
	b.app.apply(Change{Reload: true})
	b.send(nil)
	has("2 of 4 matches")
	b.press("N", "esc")
	if b.app.search != nil {
		t.Error("esc does not end it")
	}
}
