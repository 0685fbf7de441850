package tui

import (
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"

	"vise/engine/event"
	"vise/engine/evidence"
	"vise/engine/rule"
	"vise/store"
)

// Rates of no sessions are not 0 %.
func TestEvidenceWords(t *testing.T) {
	zero, half := 0.0, 0.5
	for _, c := range []struct {
		v     evidence.Verdict
		trial rule.Trial
		want  string
	}{
		{evidence.Verdict{Validator: "forward_trial", TrialRate: &zero, BaselineRate: &zero}, rule.Trial{}, "breached – with it, baseline –"},
		{evidence.Verdict{Validator: "forward_trial", TrialRate: &zero, BaselineRate: &half},
			rule.Trial{ObservedSessions: []string{"a"}, BaselineSessions: 2, BaselineBreachedSessions: 1}, "breached 0 % with it, baseline 50 %"},
	} {
		if got := evidenceWords(c.v, &c.trial); !strings.Contains(got, c.want) {
			t.Errorf("got %q, want %q", got, c.want)
		}
	}
}

// A verdict that is as open as the one before is one row, that of the first.
func TestPastVerdicts(t *testing.T) {
	v := func(id, rule, outcome, reason string) event.Event {
		return event.Event{Type: event.ValidationVerdict, RuleID: rule, Data: map[string]any{"verdict_id": id, "outcome": outcome, "reason": reason}}
	}
	var ids []string
	for _, x := range pastVerdicts([]event.Event{v("v5", "r-1", "promote", "x"), v("v4", "r-1", "pending", "0 of 3"), v("v3", "r-2", "pending", "0 of 3"),
		v("v2", "r-1", "pending", "0 of 3"), v("v1", "r-1", "pending", "nothing")}) {
		ids = append(ids, x.id)
	}
	if got := strings.Join(ids, " "); got != "v5 v2 v3 v1" {
		t.Errorf("rows %s", got)
	}
}

// A round that a person stops leaves a word, until the next one begins.
func TestStoppedRound(t *testing.T) {
	d := newDesk(t, false)
	d.size(PaneValidation, 100, 20)
	says := func(text string) bool {
		return strings.Contains(ansi.Strip(strings.Join(d.panes[PaneValidation].Rows(), "\n")), text)
	}
	said := func() bool { return says("stopped by you at") }
	emit := func(x event.Type, data map[string]any) {
		d.put(func(tx *store.Tx) error { return tx.Emit(event.Event{Type: x, Data: data}) })
	}
	emit(event.ValidationRoundStarted, nil)
	emit(event.ValidationRoundEnded, map[string]any{"cancelled": true, "why": errStopped.Error()})
	if !said() {
		t.Error("nothing is said of the round that was stopped")
	}
	emit(event.ValidationRoundStarted, nil)
	emit(event.ValidationRoundEnded, map[string]any{"cancelled": true, "why": "context canceled"})
	if said() || !says("when vise ended") {
		t.Error("the end of the program reads as a person's word")
	}
	emit(event.ValidationRoundStarted, nil)
	emit(event.ValidationRoundEnded, map[string]any{"pending": 1})
	if said() {
		t.Error("a round that ended by itself reads as stopped")
	}
}
