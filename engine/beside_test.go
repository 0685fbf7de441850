package engine_test

import (
	"testing"

	"vise/engine"
	"vise/engine/episode"
	"vise/engine/evidence"
	"vise/store"
)

// Two repairs that did the same differ in nothing, though their notices, sessions and
// rules have ids of their own.
func TestEpisodesBesideByPlace(t *testing.T) {
	s, err := store.Open(t.Context(), store.Options{InMemory: true})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	put := func(id, session, note, own, query string) {
		t.Helper()
		if err := s.Update(t.Context(), func(tx *store.Tx) error {
			if err := tx.PutEpisode(episode.Episode{ID: id, SessionID: session, NoticeIDs: []string{note}, CreatedAt: "x", Status: episode.CandidateAdded, Attempts: 1, CandidateID: own}); err != nil {
				return err
			}
			call := func(name, args string) episode.Call {
				return episode.Call{ID: name, Name: name, Arguments: args, OK: true, Ran: true}
			}
			return tx.PutStep(episode.Step{EpisodeID: id, Attempt: 1, Turn: 1, Text: "I inspect trace " + session + ".2.", Calls: []episode.Call{
				call("harness_notice_read", `{"notice_id":"`+note+`"}`), call("harness_trace_inspect", `{"trace_id":"`+session+`.2"}`),
				call("harness_rules_search", `{"query":"`+query+`"}`), call("harness_notice_ack", `{"notice_id":"`+note+`","rule_id":"`+own+`"}`)}})
		}); err != nil {
			t.Fatal(err)
		}
	}
	put("e-1", "s-one", "n-one", "r-one", "reason")
	put("e-2", "s-two", "n-two", "r-two", "reason")
	put("e-3", "s-three", "n-three", "", "another")
	for other, want := range map[string]int{"e-2": 0, "e-3": 2} { // another search; acknowledged with no rule of its own
		if err := s.View(func(tx *store.Tx) error {
			rows, err := engine.EpisodesBeside(tx, "e-1", other)
			n := 0
			for _, r := range rows {
				if r.What != "" {
					n++
				}
			}
			if n != want || want > 0 && rows[evidence.FirstDifference(rows)].CallA != 3 {
				t.Errorf("e-1 and %s: %d differences, want %d: %+v", other, n, want, rows)
			}
			return err
		}); err != nil {
			t.Fatal(err)
		}
	}
}
