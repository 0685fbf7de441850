package tui

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"
)

func TestCauseFirst(t *testing.T) {
	for _, x := range []struct{ err, at, want string }{
		{"run run-01M8: prompt turn 1: agent_exited: agent closed its output (agent: exit status 3)", "replay of s-1",
			"agent_exited: agent closed its output (agent: exit status 3); replay of s-1, run run-01M8, prompt turn 1"},
		{"no agent is configured: set agent.command", "", "no agent is configured: set agent.command"},
		{"validate r-1: no such rule", "validate r-1", "no such rule; validate r-1"},
		{"disk full", "", "disk full"},
	} {
		if got := causeFirst(x.err, x.at); got != x.want {
			t.Errorf("causeFirst(%q) = %q, want %q", x.err, got, x.want)
		}
	}
}

func TestShares(t *testing.T) {
	for _, x := range []struct {
		need     []int
		first, h int
		want     []int
	}{
		{[]int{4, 1, 3}, 0, 20, []int{4, 1, 3}},
		{[]int{4, 1, 3}, 2, 6, []int{2, 1, 3}},
		{[]int{4, 4}, 0, 1, []int{2, 2}},
	} {
		if got := shares(x.need, x.first, x.h); !slices.Equal(got, x.want) {
			t.Errorf("shares(%v, %d, %d) = %v, want %v", x.need, x.first, x.h, got, x.want)
		}
	}
}

// A long cause takes the rows that are free, and says when it is cut.
func TestAttentionUsesTheRows(t *testing.T) {
	d := newDesk(t, false)
	long := strings.Repeat("the agent said nothing ", 12) + "end-of-it"
	d.ctx.Incidents = []Incident{{At: noon, What: "replay of s-1", Err: errors.New(long)}}
	d.apply(Change{Incidents: true})
	p := d.panes[PaneAttention]
	text := func(h int) string {
		p.SetSize(40, h)
		return ansi.Strip(strings.Join(p.Rows(), "\n"))
	}
	if got := text(20); !strings.Contains(got, "end-of-it") {
		t.Errorf("the cause is cut though there is room:\n%s", got)
	}
	if got := text(4); strings.Contains(got, "end-of-it") || !strings.Contains(got, "…") {
		t.Errorf("a cause that is cut must say so:\n%s", got)
	}
}
