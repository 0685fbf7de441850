package engine_test

import (
	"errors"
	"strings"
	"testing"

	"vise/engine"
	"vise/engine/config"
	"vise/engine/event"
	"vise/engine/score"
	"vise/engine/trace"
	"vise/store"
)

// Turns whose scores came from another evaluator, or that have none, are scored again;
// what was noticed before is not noticed twice.
func TestReplayRecordedScoresAgainWhatIsStale(t *testing.T) {
	p := open(t, func(c *config.Config, _ *engine.Options) { c.Cases.Capture = true })
	im := p.Import(t.Context(), false)
	head := trace.Session{ID: "r", Source: "native", File: "r.jsonl"}
	if err := errors.Join(im.Begin(head), im.Turn(good("r", 0)), im.Turn(bad("r", 1)), im.Turn(good("r", 2)), im.End(head), im.Finish(map[string]any{})); err != nil {
		t.Fatal(err)
	}
	replay := func() (scored int, again string) {
		t.Helper()
		got, err := p.ReplayRecorded(t.Context(), head)
		if err != nil || got.Turns != 3 || got.Unscored != 0 {
			t.Fatalf("%+v, %v", got, err)
		}
		return got.Scored, got.Again
	}
	if n, again := replay(); n != 3 || again != "" {
		t.Fatalf("first: %d scored, %q", n, again)
	}
	notices := len(p.notices())
	if notices == 0 {
		t.Fatal("the bad turn raised no notice")
	}
	if n, again := replay(); n != 0 || again != "" {
		t.Errorf("nothing changed: %d scored, %q", n, again)
	}

	// The last turn lost its scores: only that one is scored.
	p.update(func(tx *store.Tx) error { return tx.PutReport(score.Report{SessionID: "r", TurnIndex: 2}) })
	if n, again := replay(); n != 1 || !strings.Contains(again, "no score") {
		t.Errorf("an empty report: %d scored, %q", n, again)
	}

	// Scores of another evaluator: all of it.
	p.update(func(tx *store.Tx) error {
		r, _, err := tx.Report("r", 0)
		if err != nil {
			return err
		}
		for i := range r.Scores {
			r.Scores[i].By = "judge/old"
		}
		return tx.PutReport(r)
	})
	if n, again := replay(); n != 3 || !strings.Contains(again, "judge/old") {
		t.Errorf("another evaluator: %d scored, %q", n, again)
	}
	if got := len(p.notices()); got != notices {
		t.Errorf("%d notices, had %d: the same alert was raised twice", got, notices)
	}
	p.view(func(tx *store.Tx) error {
		events, err := tx.LastEvents(100, event.Notice)
		if len(events) != notices {
			t.Errorf("%d notice events, want %d", len(events), notices)
		}
		return err
	})
}
