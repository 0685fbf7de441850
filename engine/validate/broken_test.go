package validate

import (
	"errors"
	"strings"
	"testing"
	"time"

	"vise/engine/event"
	"vise/engine/guard"
)

// TestABrokenRoundEndsInTheJournal: whatever ends a round, its story has an end.
func TestABrokenRoundEndsInTheJournal(t *testing.T) {
	b := newBench(t, "paired", nil)
	b.v.Redactor = guard.DefaultRedactor()
	err := errors.New("no room for ghp_0123456789abcdef0123456789abcdef0123")
	if got := b.v.broken(t.Context(), Round{}, err); !errors.Is(got, err) {
		t.Errorf("error: %v", got)
	}
	ended := b.events(event.ValidationRoundEnded)
	if len(ended) != 1 {
		t.Fatalf("ended: %+v", ended)
	}
	if why, _ := ended[0].Data["stopped"].(string); !strings.HasPrefix(why, "no room") || strings.Contains(why, "ghp_0123") {
		t.Errorf("stopped: %q", why)
	}
}

// TestTheBudgetOfARound: what the caller says wins over the setting, longer or shorter.
func TestTheBudgetOfARound(t *testing.T) {
	b := newBench(t, "paired", nil)
	b.v.Config.RoundBudget = 30 * time.Minute
	for said, want := range map[time.Duration]time.Duration{0: 30 * time.Minute, time.Minute: time.Minute, time.Hour: time.Hour} {
		before := b.v.Store.Now()
		got := b.v.deadline(Options{Budget: said}).Add(-want)
		if after := b.v.Store.Now(); got.Before(before) || got.After(after) {
			t.Errorf("budget %s ends at %s, want %s after now", said, got.Add(want), want)
		}
	}
}
