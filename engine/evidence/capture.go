package evidence

import (
	"bytes"
	"maps"
	"slices"
)

// Capture is what becomes of a case that is to be kept.
type Capture struct {
	// Case as it is stored: the new one, or the existing one of the same scenario.
	Case Case
	// New: the case was not there before. Updated: the existing case was completed.
	New, Updated bool
	// Evict are the cases that must go to make room: one, or up to maxEvicted after the
	// cap was lowered.
	Evict []string
	// Refused: there is no room and nothing may be evicted; journal a skip.
	Refused bool
}

// maxEvicted bounds the cases that one capture evicts.
const maxEvicted = 100

// Admit decides about a case (its id and time already set) given the stored ones
// and their cap (0 = none). A second capture of a scenario is the first case; it
// is completed when only the later capture can be replayed, and its scores are
// renewed when the same inputs were scored anew, such as by another evaluator. A case
// that was made from another one by shrinking is not what a capture finds again. When the cap is
// reached the oldest failures go, one that cannot be replayed before one that
// can; wins are never evicted.
func Admit(stored []Case, c Case, limit int) Capture {
	key := CaptureKey(c.SessionID, c.Signature, c.Kind)
	for _, old := range stored {
		if CaptureKey(old.SessionID, old.Signature, old.Kind) != key || old.ShrunkFrom != "" {
			continue
		}
		switch {
		case !c.Replayable():
			return Capture{Case: old}
		case old.Replayable() && !sameInput(old.Input, c.Input):
			// Tests may rest on the inputs it has, and those came first: they are the
			// shorter way to the failure.
			return Capture{Case: old}
		case old.Replayable() && maps.Equal(old.Baseline, c.Baseline) && maps.Equal(old.BaselineBy, c.BaselineBy):
			return Capture{Case: old}
		}
		old.Input, old.Baseline, old.BaselineBy, old.TurnIndex = c.Input, c.Baseline, c.BaselineBy, c.TurnIndex
		return Capture{Case: old, Updated: true}
	}
	c.Signature = sortedSet(c.Signature)
	out := Capture{Case: c, New: true}
	if limit <= 0 || len(stored) < limit {
		return out
	}
	failures := slices.DeleteFunc(oldestFirst(stored), func(x Case) bool { return x.Kind != Failure })
	if len(failures) == 0 {
		return Capture{Refused: true}
	}
	slices.SortStableFunc(failures, func(a, b Case) int {
		switch {
		case a.Replayable() == b.Replayable():
			return 0
		case b.Replayable():
			return -1
		}
		return 1
	})
	for _, x := range failures[:min(len(failures), len(stored)-limit+1, maxEvicted)] {
		out.Evict = append(out.Evict, x.ID)
	}
	return out
}

// sameInput reports whether two inputs feed an agent the same.
func sameInput(a, b *Input) bool {
	return a.Digest == b.Digest && slices.Equal(a.Turns, b.Turns) && bytes.Equal(a.Raw, b.Raw)
}
