package store

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"go.uber.org/goleak"

	"vise/engine/event"
	"vise/engine/trace"
)

func TestMain(m *testing.M) {
	if child() {
		return
	}
	if race {
		if err := flag.Set("rapid.checks", "20"); err != nil {
			panic(err)
		}
	}
	goleak.VerifyTestMain(m)
}

// clock starts at a fixed time and moves one second with every look at it.
func clock() func() time.Time {
	t := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	return func() time.Time {
		t = t.Add(time.Second)
		return t
	}
}

// memory opens an in-memory store that is verified and closed when the test ends.
func memory(t testing.TB, o Options) *Store {
	t.Helper()
	o.InMemory = true
	if o.Now == nil {
		o.Now = clock()
	}
	s, err := Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// disk opens a store in dir and closes it when the test ends.
func disk(t testing.TB, dir string) *Store {
	t.Helper()
	s, err := Open(t.Context(), Options{Dir: dir, MinFree: 1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func update(t testing.TB, s *Store, fn func(*Tx) error) {
	t.Helper()
	if err := s.Update(context.Background(), fn); err != nil {
		t.Fatal(err)
	}
}

func view(t testing.TB, s *Store, fn func(*Tx) error) {
	t.Helper()
	if err := s.View(fn); err != nil {
		t.Fatal(err)
	}
}

func stage(t testing.TB, s *Store, turn trace.Turn) Staged {
	t.Helper()
	staged, err := s.StageTurn(context.Background(), turn)
	if err != nil {
		t.Fatal(err)
	}
	return staged
}

// sound fails the test when Verify finds anything.
func sound(t testing.TB, s *Store) {
	t.Helper()
	r, err := s.Verify(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range r.Problems {
		t.Errorf("verify: %s: %s", p.Record, p.What)
	}
}

// same compares what was put with what is read; empty and nil lists are equal, as in JSON.
func same(t testing.TB, what string, got, want any) {
	t.Helper()
	if d := cmp.Diff(want, got, cmpopts.EquateEmpty()); d != "" {
		t.Errorf("%s (-want +got):\n%s", what, d)
	}
}

// turnOf makes a turn with some spans of every kind.
func turnOf(session string, index, spans int) trace.Turn {
	t := trace.Turn{SessionID: session, Index: index, TraceID: fmt.Sprintf("%s.%d", session, index), Input: "refund my order"}
	for i := range spans {
		s := trace.Span{ID: fmt.Sprintf("s%d", i), Kind: trace.LLM, Name: "model", Output: "looking"}
		if i%2 == 1 {
			s = trace.Span{ID: fmt.Sprintf("s%d", i), Kind: trace.TOOL, Name: "look_up_order", Input: `{"order":7}`, Output: "ok"}
			if i%4 == 3 {
				s.Error = "not found"
			}
		}
		t.Spans = append(t.Spans, s)
	}
	return t
}

func TestUpdateIsAllOrNothing(t *testing.T) {
	bus := event.NewBus()
	sub := bus.Subscribe(16)
	defer sub.Close()
	s := memory(t, Options{Bus: bus})
	boom := fmt.Errorf("boom")
	err := s.Update(t.Context(), func(tx *Tx) error {
		if err := tx.PutSession(trace.Session{ID: "a"}); err != nil {
			return err
		}
		if err := tx.Emit(event.Event{Type: event.Health}); err != nil {
			return err
		}
		return boom
	})
	if err != boom {
		t.Fatalf("Update returned %v, want the error of its function", err)
	}
	if _, some := sub.TryNext(); some {
		t.Error("an event of a failed transaction was published")
	}
	view(t, s, func(tx *Tx) error {
		if _, found, _ := tx.Session("a"); found {
			t.Error("a record of a failed transaction is there")
		}
		return nil
	})
	update(t, s, func(tx *Tx) error { return tx.Emit(event.Event{Type: event.Health}) })
	b, _ := sub.TryNext()
	if len(b.Events) != 1 || b.Events[0].Seq != 1 {
		t.Errorf("published %+v, want one event with sequence 1: a failed transaction must leave no gap", b.Events)
	}
	sound(t, s)
}

func TestOverlookedWriteErrorPreventsTheCommit(t *testing.T) {
	s := memory(t, Options{})
	err := s.Update(t.Context(), func(tx *Tx) error {
		_ = tx.PutSession(trace.Session{ID: "a"})
		_ = tx.PutSession(trace.Session{}) // fails, and the caller does not look
		return nil
	})
	if err == nil || !strings.Contains(err.Error(), "no id") {
		t.Fatalf("Update returned %v, want the overlooked error", err)
	}
}

func TestViewRefusesWrites(t *testing.T) {
	s := memory(t, Options{})
	view(t, s, func(tx *Tx) error {
		for name, err := range map[string]error{
			"Emit":        tx.Emit(event.Event{Type: event.Health}),
			"PutSession":  tx.PutSession(trace.Session{ID: "a"}),
			"PutState":    tx.PutState("x", 1),
			"DeleteState": tx.DeleteState("x"),
			"PutTurn":     tx.PutTurn(stage(t, s, turnOf("a", 0, 1))),
		} {
			if err == nil || !strings.Contains(err.Error(), "read-only transaction") {
				t.Errorf("%s in a View returned %v", name, err)
			}
		}
		return nil
	})
}

func TestClosedStore(t *testing.T) {
	s := memory(t, Options{})
	for range 2 {
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.View(func(*Tx) error { return nil }); err != ErrClosed {
		t.Errorf("View after Close returned %v", err)
	}
	if err := s.Update(t.Context(), func(*Tx) error { return nil }); err != ErrClosed {
		t.Errorf("Update after Close returned %v", err)
	}
}

func TestUpdateHonoursTheContext(t *testing.T) {
	s := memory(t, Options{})
	ctx, cancel := context.WithCancelCause(t.Context())
	why := fmt.Errorf("user quit")
	cancel(why)
	err := s.Update(ctx, func(*Tx) error { t.Error("ran"); return nil })
	if err == nil || !strings.Contains(err.Error(), "user quit") {
		t.Errorf("Update returned %v, want the cause", err)
	}
}

func TestIDsAscend(t *testing.T) {
	s := memory(t, Options{Now: func() time.Time { return time.UnixMilli(1_700_000_000_000) }})
	last := ""
	for range 1000 {
		id := s.NewID("n")
		if !strings.HasPrefix(id, "n-") || len(id) != 28 || id <= last {
			t.Fatalf("id %q after %q", id, last)
		}
		last = id
	}
}

// TestOnCommit: what is to follow a commit does not follow a failure.
func TestOnCommit(t *testing.T) {
	s := memory(t, Options{})
	done := 0
	failed := errors.New("failed")
	for _, want := range []error{failed, nil} {
		if err := s.Update(t.Context(), func(tx *Tx) error {
			tx.OnCommit(func() { done++ })
			return want
		}); !errors.Is(err, want) {
			t.Fatal(err)
		}
	}
	if done != 1 {
		t.Errorf("done %d times after one commit and one failure", done)
	}
}
