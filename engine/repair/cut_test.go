package repair

import (
	"sync/atomic"
	"testing"
	"time"

	"vise/engine/episode"
	"vise/engine/notice"
	"vise/engine/rule"
	"vise/store"
)

// TestARunCutAtAnyWrite lets the disk fill up before each write of a run in turn,
// which leaves the store as a crash at that point does. The notices of the episode
// are closed exactly when the episode is, and the next run brings it to its end
// with the one candidate it may have.
func TestARunCutAtAnyWrite(t *testing.T) {
	for cut := 1; ; cut++ {
		if cut > 100 {
			t.Fatal("a run makes more than 100 writes")
		}
		var left atomic.Int64 // writes until the disk is full
		left.Store(1 << 40)
		s := roomy(t, time.Now, func(string) (uint64, error) {
			if left.Add(-1) < 0 {
				return 0, nil
			}
			return 1 << 40, nil
		})
		ep, as := furnish(t, s)
		a := &Agent{Store: s, Model: builtin(t, "builtin/heuristic"), Config: defaultConfig()}
		left.Store(int64(cut - 1))
		first := a.Run(t.Context(), ep, as)
		full := left.Load() < 0
		left.Store(1 << 40)

		n, stored, rules := look(t, s)
		acknowledged := n.Status == notice.Acknowledged
		if acknowledged != stored.Status.Success() || first.Status.Success() != acknowledged {
			t.Errorf("cut before write %d: the notice is %s, the episode %q, the result %s", cut, n.Status, stored.Status, first.Status)
		}
		if len(rules) > 1 || len(rules) == 1 && stored.CandidateID != rules[0].ID || len(rules) == 0 && stored.CandidateID != "" {
			t.Errorf("cut before write %d: rules %+v, the episode's is %q", cut, rules, stored.CandidateID)
		}
		if !full {
			if first.Status != episode.CandidateAdded {
				t.Errorf("uncut: %+v", first)
			}
			return
		}
		if !acknowledged {
			if stored.ID != "" {
				ep = stored
			}
			if again := a.Run(t.Context(), ep, as); again.Status != episode.CandidateAdded {
				t.Errorf("cut before write %d, run again: %+v", cut, again)
			}
			if n, _, rules = look(t, s); n.Status != notice.Acknowledged || len(rules) != 1 || n.Resolution.RuleID != rules[0].ID {
				t.Errorf("cut before write %d, run again: notice %+v, rules %+v", cut, n, rules)
			}
		}
	}
}

// look reads what the desk's repair may change.
func look(t *testing.T, s *store.Store) (n notice.Notice, ep episode.Episode, rules []rule.Rule) {
	t.Helper()
	if err := s.View(func(tx *store.Tx) (err error) {
		if n, _, err = tx.Notice("n-1"); err != nil {
			return err
		}
		if ep, _, err = tx.Episode("e-1"); err != nil {
			return err
		}
		rules, err = tx.Rules()
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return n, ep, rules
}
