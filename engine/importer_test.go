package engine_test

import (
	"slices"
	"testing"

	"vise/engine"
	"vise/engine/event"
	"vise/engine/trace"
	"vise/store"
)

// load reads a recording of session s, by its turns.
func (p *project) load(file string, turns ...trace.Turn) *engine.Importer {
	p.t.Helper()
	im := p.Import(p.t.Context(), false)
	head := trace.Session{ID: "s", Source: "native", File: file}
	if err := im.Begin(head); err != nil {
		p.t.Fatal(err)
	}
	for _, x := range turns {
		if err := im.Turn(x); err != nil {
			p.t.Fatal(err)
		}
	}
	if err := im.End(head); err != nil {
		p.t.Fatal(err)
	}
	return im
}

// TestTheSameNameInAnotherFolder: a recording that was moved is the same one; another
// recording is never written over the first.
func TestTheSameNameInAnotherFolder(t *testing.T) {
	p := open(t, nil)
	other := good("s", 0)
	other.Input = "something else"
	p.load("/a/run.jsonl", good("s", 0))
	if im := p.load("/moved/run.jsonl", good("s", 0), bad("s", 1)); im.Updated != 1 || im.IDs[0] != "s" {
		t.Errorf("moved, and longer: %+v", im)
	}
	im := p.load("/b/run.jsonl", other)
	if im.New != 1 || im.IDs[0] == "s" {
		t.Errorf("another recording: %+v", im)
	}
	again := p.load("/b/run.jsonl", other)
	if again.Unchanged != 1 || again.IDs[0] != im.IDs[0] {
		t.Errorf("that one again: %+v", again)
	}
	if third := p.load("/c/run.jsonl", bad("s", 0)); third.New != 1 || third.IDs[0] == im.IDs[0] {
		t.Errorf("a third one: %+v", third)
	}
	p.view(func(tx *store.Tx) error {
		turn, _, err := tx.Turn("s", 0)
		if turn.Input != good("s", 0).Input {
			t.Errorf("the first recording is %q now", turn.Input)
		}
		return err
	})
}

// TestARecordingThatShrinksByThousands: more turns go than one transaction may remove.
func TestARecordingThatShrinksByThousands(t *testing.T) {
	p := open(t, nil)
	var turns []trace.Turn
	for i := range 6000 {
		turns = append(turns, trace.Turn{SessionID: "s", Index: i, Input: "x", Spans: []trace.Span{{ID: "a", Kind: trace.TOOL}}})
	}
	p.load("a.jsonl", turns...)
	if im := p.load("a.jsonl", turns[0]); im.Updated != 1 {
		t.Errorf("shrunk: %+v", im)
	}
	p.view(func(tx *store.Tx) error {
		left, err := tx.TurnHeads("s", 0, 0)
		if len(left) != 1 {
			t.Errorf("%d turns are left", len(left))
		}
		return err
	})
}

// TestAnImportThatEndsEarly: turns that were written over lose their scores at once.
func TestAnImportThatEndsEarly(t *testing.T) {
	p := open(t, nil)
	p.load("a.jsonl", good("s", 0), good("s", 1))
	if _, err := p.ReplayRecorded(t.Context(), trace.Session{ID: "s"}); err != nil {
		t.Fatal(err)
	}
	im := p.Import(t.Context(), false)
	if err := im.Begin(trace.Session{ID: "s", Source: "native", File: "a.jsonl"}); err != nil {
		t.Fatal(err)
	}
	if err := im.Turn(bad("s", 0)); err != nil { // and no End
		t.Fatal(err)
	}
	out, err := p.ReplayRecorded(t.Context(), trace.Session{ID: "s"})
	if err != nil || out.Scored != 2 {
		t.Errorf("scored %d turns anew, want both: %v", out.Scored, err)
	}
}

// TestATurnThatCannotBeRead: those behind it are scored, and the journal says what was
// passed over.
func TestATurnThatCannotBeRead(t *testing.T) {
	p := open(t, nil)
	p.load("a.jsonl", good("s", 0), good("s", 1), good("s", 3), good("s", 4)) // turn 2 reads as absent
	if _, err := p.ReplayRecorded(t.Context(), trace.Session{ID: "s"}); err != nil {
		t.Fatal(err)
	}
	p.view(func(tx *store.Tx) error {
		reports, err := tx.Reports("s", 0, 0)
		var scored []int
		for _, r := range reports {
			scored = append(scored, r.TurnIndex)
		}
		if !slices.Equal(scored, []int{0, 1, 3, 4}) {
			t.Errorf("scored %v", scored)
		}
		return err
	})
	if n := p.count(event.Skip); n != 1 {
		t.Errorf("%d events tell of it, want 1", n)
	}
}
