package store_test

import (
	"errors"
	"testing"
	"time"

	"vise/engine/patch/run"
	"vise/store"
)

// Runs of the patch loop are listed by their creation, loops are found by their
// run, and both are gone when they are deleted.
func TestPatchRecords(t *testing.T) {
	s, err := store.Open(t.Context(), store.Options{InMemory: true})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	at := time.Date(2027, 1, 14, 9, 15, 0, 0, time.UTC)
	ids := []string{"20270114T091500Z-000000000001", "20270114T091501Z-000000000002", "20270114T091502Z-000000000000"}
	if err := s.Update(t.Context(), func(tx *store.Tx) error {
		for i, id := range ids {
			if err := tx.PutPatchRun(run.Run{ID: id, Created: at.Add(time.Duration(i) * time.Second), Status: run.Passed}); err != nil {
				return err
			}
		}
		return errors.Join(tx.PutPatchLoop(run.Loop{RunID: ids[0], State: run.StateProve}), tx.DeletePatchRun(ids[1]))
	}); err != nil {
		t.Fatal(err)
	}
	if err := s.View(func(tx *store.Tx) error {
		list, err := tx.PatchRuns(store.Window{})
		if err != nil || len(list) != 2 || list[0].ID != ids[2] || list[1].ID != ids[0] {
			t.Errorf("runs %v, %v", list, err)
		}
		next, err := tx.PatchRuns(store.Window{After: ids[2], Limit: 1})
		if err != nil || len(next) != 1 || next[0].ID != ids[0] {
			t.Errorf("the second page %v, %v", next, err)
		}
		_, gone, err := tx.PatchRun(ids[1])
		l, found, err2 := tx.PatchLoop(ids[0])
		loops, err3 := tx.PatchLoops()
		if err := errors.Join(err, err2, err3); err != nil || gone || !found || l.State != run.StateProve || len(loops) != 1 {
			t.Errorf("deleted run there: %v; loop %+v, %d loops, %v", gone, l, len(loops), err)
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if err := s.Update(t.Context(), func(tx *store.Tx) error { return tx.PutPatchRun(run.Run{}) }); err == nil {
		t.Error("a run without an id was stored")
	}
	r, err := s.Verify(t.Context())
	if err != nil || len(r.Problems) > 0 {
		t.Errorf("verify: %+v, %v", r, err)
	}
}
