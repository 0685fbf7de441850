package evidence_test

import (
	"fmt"
	"slices"
	"testing"

	"vise/engine/evidence"
)

// TestAdmitAfterTheCapWasLowered: as many go as it takes to be within it again, first
// those that cannot be replayed, and never a win.
func TestAdmitAfterTheCapWasLowered(t *testing.T) {
	var stored []evidence.Case
	for i := range 6 {
		c := evidence.Case{ID: fmt.Sprint("c-", i), CreatedAt: fmt.Sprint("2026-01-0", i+1), SessionID: fmt.Sprint("s-", i), Kind: evidence.Failure,
			Input: &evidence.Input{Digest: fmt.Sprint(i), Turns: []string{"hello"}}}
		switch i {
		case 0:
			c.Kind = evidence.Win
		case 4:
			c.Input = nil
		}
		stored = append(stored, c)
	}
	fresh := evidence.Case{ID: "c-new", SessionID: "s-new", Kind: evidence.Failure}
	for limit, want := range map[int][]string{0: nil, 7: nil, 6: {"c-4"}, 4: {"c-4", "c-1", "c-2"}, 1: {"c-4", "c-1", "c-2", "c-3", "c-5"}} {
		if got := evidence.Admit(stored, fresh, limit); !got.New || !slices.Equal(got.Evict, want) {
			t.Errorf("limit %d: evicts %q, want %q", limit, got.Evict, want)
		}
	}
}
