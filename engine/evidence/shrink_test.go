package evidence_test

import (
	"errors"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"vise/engine/evidence"
)

// A failure that needs certain items is shrunk to exactly these and the last one.
func TestShrinkFindsWhatIsNeeded(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 24).Draw(t, "n")
		needed := rapid.SliceOfNDistinct(rapid.IntRange(0, n-1), 0, min(n, 4), func(i int) int { return i }).Draw(t, "needed")
		asked := 0
		got, err := evidence.Shrink(n, 10_000, func(keep []int) (bool, error) {
			asked++
			if keep[len(keep)-1] != n-1 || !slices.IsSorted(keep) {
				t.Fatalf("asked for %v of %d", keep, n)
			}
			return !slices.ContainsFunc(needed, func(i int) bool { return !slices.Contains(keep, i) }), nil
		})
		want := slices.Compact(slices.Sorted(slices.Values(append(slices.Clone(needed), n-1))))
		if err != nil || !slices.Equal(got.Keep, want) || !got.Minimal || got.Tests != asked {
			t.Fatalf("of %d, needed %v: %+v after %d questions, %v", n, needed, got, asked, err)
		}
	})
}

func TestShrinkIsBounded(t *testing.T) {
	asked := 0
	got, err := evidence.Shrink(100, 5, func([]int) (bool, error) { asked++; return false, nil })
	if err != nil || asked != 5 || got.Minimal || len(got.Keep) != 100 {
		t.Errorf("%d questions, %d kept, minimal %v, %v", asked, len(got.Keep), got.Minimal, err)
	}
	gone := errors.New("gone")
	if _, err := evidence.Shrink(5, 5, func([]int) (bool, error) { return false, gone }); !errors.Is(err, gone) {
		t.Errorf("error %v", err)
	}
}

func TestFails(t *testing.T) {
	c := evidence.Case{Signature: []string{"breach:tool_correctness", "regression:task_completion"},
		Baseline: map[string]float64{"tool_correctness": 0.3, "task_completion": 0.8, "coherence": 0.1}}
	half := func(string) float64 { return 0.5 }
	for _, x := range []struct {
		scores       map[string]float64
		fails, known bool
	}{
		{map[string]float64{"tool_correctness": 0.4}, true, true},
		{map[string]float64{"tool_correctness": 0.6}, false, true},
		{map[string]float64{"tool_correctness": 0.6, "task_completion": 0.82}, true, true}, // a regression that is no better
		{map[string]float64{"tool_correctness": 0.6, "task_completion": 0.9}, false, true},
		{map[string]float64{"coherence": 0}, false, false}, // it is not about coherence
	} {
		if fails, known := evidence.Fails(c, x.scores, half, 0.05); fails != x.fails || known != x.known {
			t.Errorf("%v: %v %v", x.scores, fails, known)
		}
	}
}
