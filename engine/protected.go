package engine

import (
	"slices"
	"strings"

	"vise/engine/config"
	"vise/engine/guard"
	"vise/engine/score"
	"vise/engine/score/judge"
)

// protected is what no rule may quote in a project: the judge's rubrics, the
// thresholds, and the files that the verifier is made of.
func protected(cfg *config.Config) []guard.Protected {
	var out []guard.Protected
	for _, text := range judge.Rubrics() {
		out = append(out, guard.Protected{Name: "a rubric of the judge", Text: text})
	}
	limits := []float64{cfg.Evaluate.OutcomeThreshold, score.DefaultThreshold}
	for _, v := range cfg.Evaluate.Thresholds {
		limits = append(limits, v)
	}
	slices.Sort(limits)
	for _, v := range slices.Compact(limits) {
		if v > 0 && v < 1 { // 0 and 1 are in too many sentences
			out = append(out, guard.Protected{Name: "a threshold of the evaluation", Number: &v})
		}
	}
	for _, word := range cfg.Evaluate.Verifier {
		if strings.ContainsAny(word, "./") && !strings.HasPrefix(word, "-") {
			out = append(out, guard.Protected{Name: "the verifier's command", Text: word[strings.LastIndexByte(word, '/')+1:], Whole: true})
		}
	}
	return out
}
