package store

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"vise/engine/trace"
)

// Pinned sessions come first in the lists that want it, page by page in both directions.
func TestPinnedFirst(t *testing.T) {
	s := memory(t, Options{})
	begin := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	update(t, s, func(tx *Tx) error {
		for i := range 7 {
			origin := trace.Recorded
			if i%2 == 1 {
				origin = trace.Live
			}
			if err := tx.PutSession(trace.Session{ID: fmt.Sprint("s", i), Origin: origin, Started: begin.Add(time.Duration(i) * time.Hour)}); err != nil {
				return err
			}
		}
		for _, id := range []string{"s1", "s4"} {
			if _, err := tx.PinSession(id, true); err != nil {
				return err
			}
		}
		return nil
	})
	want := []string{"s4", "s1", "s6", "s5", "s3", "s2", "s0"}
	for _, oldest := range []bool{false, true} {
		order := slices.Clone(want)
		if oldest {
			slices.Reverse(order)
		}
		for limit := range 9 {
			var got []string
			w := Window{Own: true, Pinned: true, Limit: limit, Oldest: oldest}
			for {
				var page []trace.Session
				view(t, s, func(tx *Tx) (err error) { page, err = tx.Sessions(w); return err })
				for _, h := range page {
					got = append(got, h.ID)
					w.After = h.ID
				}
				if limit == 0 || len(page) < limit {
					break
				}
			}
			if !slices.Equal(got, order) {
				t.Errorf("oldest %v, pages of %d: %v, want %v", oldest, limit, got, order)
			}
		}
	}
	update(t, s, func(tx *Tx) error {
		was, err := tx.PinSession("s4", false)
		if !was {
			t.Error("s4 was not pinned")
		}
		return err
	})
	view(t, s, func(tx *Tx) error {
		list, err := tx.Sessions(Window{Own: true, Pinned: true, Limit: 2})
		if err == nil && (list[0].ID != "s1" || list[1].ID != "s6") {
			t.Errorf("after unpinning s4 the list begins with %v", list)
		}
		return err
	})
}

// A removed session is in no list, and comes back as it was; removed for good it does not.
func TestTrash(t *testing.T) {
	s := memory(t, Options{})
	for i := range 3 {
		staged := stage(t, s, turnOf("gone", i, 2))
		update(t, s, func(tx *Tx) error { return tx.PutTurn(staged) })
	}
	update(t, s, func(tx *Tx) error {
		if err := tx.PutSession(trace.Session{ID: "gone", Origin: trace.Recorded, Title: "a title"}); err != nil {
			return err
		}
		_, err := tx.NameSession("gone", "mine")
		return err
	})
	read := func() (head trace.Session, listed, called int, removed []Removed) {
		view(t, s, func(tx *Tx) (err error) {
			head, _, err = tx.Session("gone")
			list, err2 := tx.Sessions(Window{Own: true})
			named, err3 := tx.SessionsCalled("mine", 0)
			var err4 error
			removed, err4 = tx.RemovedSessions()
			listed, called = len(list), len(named)
			return errors.Join(err, err2, err3, err4)
		})
		return head, listed, called, removed
	}
	before, _, _, _ := read()
	update(t, s, func(tx *Tx) error { return tx.TrashSession("gone") })
	if head, listed, called, removed := read(); head.ID != "" || listed+called != 0 || len(removed) != 1 || removed[0].Counts.Turns != 3 {
		t.Errorf("after removal: head %+v, %d listed, %d called, removed %+v", head, listed, called, removed)
	}
	sound(t, s)
	if _, err := s.GC(t.Context()); err != nil {
		t.Fatal(err)
	}
	update(t, s, func(tx *Tx) error { return tx.RestoreSession("gone") })
	after, listed, called, removed := read()
	if after.Name != "mine" || after.Title != before.Title || after.Counts != before.Counts || listed != 1 || called != 1 || len(removed) != 0 {
		t.Errorf("came back as %+v, %d listed, %d called, removed %v", after, listed, called, removed)
	}
	if err := s.Update(t.Context(), func(tx *Tx) error { return tx.RestoreSession("gone") }); !errors.Is(err, ErrNoSession) {
		t.Errorf("restored twice: %v", err)
	}
	// Putting the head again, as an import does, brings it back too and keeps the name.
	update(t, s, func(tx *Tx) error { return tx.TrashSession("gone") })
	update(t, s, func(tx *Tx) error { return tx.PutSession(trace.Session{ID: "gone", Origin: trace.Recorded}) })
	if head, _, _, removed := read(); head.Name != "mine" || len(removed) != 0 {
		t.Errorf("put again it is %+v, removed %v", head, removed)
	}
	update(t, s, func(tx *Tx) error { return tx.TrashSession("gone") })
	if err := s.DeleteSession(t.Context(), "gone", "gc"); err != nil {
		t.Fatal(err)
	}
	if _, _, _, removed := read(); len(removed) != 0 {
		t.Errorf("removed for good, and still %v", removed)
	}
	if err := s.Update(t.Context(), func(tx *Tx) error { return tx.RestoreSession("gone") }); !errors.Is(err, ErrNoSession) {
		t.Errorf("restored what is gone: %v", err)
	}
	sound(t, s)
}
