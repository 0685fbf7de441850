package tui

import (
	"testing"

	scoring "vise/engine/score"
)

// TestScorers: who gave the scores is said when it was not the offline evaluator alone.
func TestScorers(t *testing.T) {
	v := 0.5
	from := func(by ...string) (r scoring.Report) {
		for _, b := range by {
			r.Scores = append(r.Scores, scoring.Score{Value: &v, By: b})
		}
		return r
	}
	for want, r := range map[string]scoring.Report{
		"":                       from("local/1", "local/1"),
		"local/1; verifier/1 ab": from("local/1", "verifier/1 ab"),
		"judge/1 acme/grader prompt=0123456789ab": from("judge/1 acme/grader prompt=0123456789ab"),
	} {
		if got := scorers(r); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	if got := votesWords([]float64{0.5, 1, 0.25}); got != "median of 0.50, 1.00, 0.25" {
		t.Error(got)
	}
}
