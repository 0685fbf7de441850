package local

import (
	"fmt"
	"strings"

	"vise/engine/score"
	"vise/engine/trace"
)

// planLines is how many numbered lines naming a tool make a plan.
const planLines = 2

// PlanAdherence scores plan_adherence of one turn: if the agent wrote a numbered
// plan that names tools it has, the share of those tools it called afterwards.
// The first such plan of the turn counts. Without one, or with the tools
// unknown, the value is nil. The score is for display: it says little, and its
// threshold of 0 never alerts. known is Session.Tools.
func PlanAdherence(known []trace.Tool, t trace.Turn) score.Score {
	out := score.Score{Metric: score.PlanAdherence, TraceID: t.TraceID, By: Identity}
	plan, at := findPlan(known, t)
	if at < 0 {
		return out
	}
	called := map[string]bool{}
	for _, s := range t.Spans[at+1:] {
		if s.Kind == trace.TOOL {
			called[s.Name] = true
		}
	}
	kept := 0
	for _, name := range plan {
		if called[name] {
			kept++
			continue
		}
		out.Reasons = append(out.Reasons, fmt.Sprintf("%s: %s was planned and never called", note, name))
	}
	v := float64(kept) / float64(len(plan))
	out.Value = &v
	return out
}

// findPlan returns the tools of the first plan, in its order, and the index of
// the span that holds it, or -1.
func findPlan(known []trace.Tool, t trace.Turn) ([]string, int) {
	if len(known) == 0 {
		return nil, -1
	}
	names := map[string]bool{}
	for _, k := range known {
		names[k.Name] = true
	}
	for i, s := range t.Spans {
		if s.Kind != trace.LLM {
			continue
		}
		for _, text := range []string{s.Thought, s.Output} {
			if plan, lines := planned(text, names); lines >= planLines {
				return plan, i
			}
		}
	}
	return nil, -1
}

// planned returns the tools named on numbered lines, each once, and how many
// such lines name one.
func planned(text string, names map[string]bool) (plan []string, lines int) {
	taken := map[string]bool{}
	for line := range strings.Lines(text) {
		rest, ok := numbered(line)
		if !ok {
			continue
		}
		found := false
		for word := range strings.FieldsFuncSeq(rest, func(r rune) bool { return !isWord(r) && r != '-' && r != '.' }) {
			word = strings.Trim(word, ".-")
			if !names[word] {
				continue
			}
			found = true
			if !taken[word] {
				taken[word] = true
				plan = append(plan, word)
			}
		}
		if found {
			lines++
		}
	}
	return plan, lines
}

// numbered cuts "1." or "1)" off a line, after blanks and markup.
func numbered(line string) (string, bool) {
	line = strings.TrimLeft(line, " \t*#>-")
	rest := strings.TrimLeft(line, "0123456789")
	if n := len(line) - len(rest); n == 0 || n > 2 || rest == "" || rest[0] != '.' && rest[0] != ')' && rest[0] != ':' {
		return "", false
	}
	return rest[1:], true
}
