package local

import (
	"fmt"
	"math"
	"slices"

	"vise/engine/score"
)

// severity says how much a finding weighs.
type severity uint8

const (
	none severity = iota
	note
	hint
	sign
	fault
)

var severities = [...]string{none: "", note: "note", hint: "hint", sign: "sign", fault: "fault"}

// weights: one fault takes a score below the alert line of 0.5, one sign drops
// it further than the gate's 0.15, one hint does not. How well the scores tell
// failures apart hardly depends on them.
var weights = [...]float64{none: 0, note: 0, hint: 0.15, sign: 0.35, fault: 0.60}

func (s severity) String() string { return severities[s] }

func parseSeverity(s string) (severity, bool) {
	for i, name := range severities {
		if i > 0 && name == s {
			return severity(i), true
		}
	}
	return none, false
}

// most is how often one check counts per turn.
const most = 3

// maxFindings bounds the findings listed per score; beyond it only those that
// count are listed.
const maxFindings = 64

// metric indexes a score of this evaluator.
type metric uint8

const (
	completion metric = iota
	coherence
	tools
	arguments
	efficiency
	metrics
)

var metricNames = [metrics]string{score.TaskCompletion, score.Coherence, score.ToolCorrectness,
	score.ArgumentCorrectness, score.StepEfficiency}

// effect is what one check does to the five scores.
type effect [metrics]severity

// effects is the evaluator: which check lowers which score by how much. It was
// fixed by meaning, not fitted: nothing learned from one set of recordings held
// on another. Repaired errors weigh little, errors nobody repaired a lot;
// handing over and giving up are right in some domains and wrong in others, so
// they are notes.
var effects = map[string]effect{
	"no_activity":       {completion: fault},
	"no_answer":         {completion: fault, coherence: fault},
	"command_failed":    {completion: fault},
	"last_call_failed":  {completion: fault, tools: fault},
	"unrecovered":       {completion: sign, tools: sign},
	"repeat_failed":     {tools: sign, arguments: sign},
	"recovered":         {tools: hint},
	"empty_result":      {tools: hint},
	"unknown_tool":      {tools: fault},
	"unanswered":        {tools: sign},
	"arg_parse":         {arguments: fault},
	"arg_schema":        {arguments: fault},
	"arg_message":       {arguments: sign},
	"arg_unseen":        {arguments: hint},
	"arg_placeholder":   {arguments: hint},
	"num_unsupported":   {coherence: hint},
	"final_unsupported": {completion: sign},
	"answer_repeat":     {coherence: sign, completion: hint, efficiency: sign},
	"user_repeat":       {coherence: sign, completion: hint},
	"markup":            {coherence: hint},
	"promise":           {completion: sign},
	"confirm_no_call":   {completion: hint},
	"done_unsupported":  {completion: hint},
	"giveup":            {completion: note},
	"handoff":           {completion: note},
}

// hit is one firing of a check.
type hit struct {
	check  string
	reason string
	n      int // how often it counts, up to most
	span   string
}

// tally is what the checks found in a turn.
type tally struct {
	hits   []hit
	calls  int
	steps  int // LLM spans
	argued int // calls with arguments
	wasted int // calls that failed or repeated one with no change in between
}

func (t *tally) hit(check string, n int, span *string, format string, args ...any) {
	h := hit{check: check, n: min(n, most), reason: fmt.Sprintf(format, args...)}
	if span != nil {
		h.span = *span
	}
	t.hits = append(t.hits, h)
}

// reason is a text with the factor it took off, for ordering.
type reason struct {
	text string
	cost float64
}

// scores turns findings into values: the product of (1 - weight) over the
// findings of a metric, so that a further finding can only lower it. 1.0 says
// "nothing wrong seen", never "task done".
func (t *tally) scores(handoff severity) []score.Score {
	var (
		value   [metrics]float64
		reasons [metrics][]reason
		out     = make([]score.Score, metrics)
		left    = map[string]int{}
	)
	for m := range metrics {
		value[m] = 1
		out[m] = score.Score{Metric: metricNames[m], Threshold: 0.5}
	}
	for _, h := range t.hits {
		if _, ok := left[h.check]; !ok {
			left[h.check] = most
		}
		n := min(h.n, left[h.check])
		left[h.check] -= n
		e := effects[h.check]
		if h.check == "handoff" {
			e[completion] = handoff
		}
		for m, s := range e {
			if s == none {
				continue
			}
			if n > 0 || len(out[m].Findings) < maxFindings {
				out[m].Findings = append(out[m].Findings, score.Finding{Check: h.check, Severity: s.String(), Reason: h.reason, N: n, SpanID: h.span})
			}
			if n == 0 {
				continue
			}
			value[m] *= math.Pow(1-weights[s], float64(n))
			reasons[m] = append(reasons[m], reason{s.String() + ": " + h.reason, weights[s]})
			if !slices.Contains(out[m].Checks, h.check) {
				out[m].Checks = append(out[m].Checks, h.check)
			}
		}
	}
	if t.calls > 0 && t.wasted > 0 {
		share := float64(t.wasted) / float64(t.calls)
		value[efficiency] *= 1 - share
		reasons[efficiency] = append(reasons[efficiency], reason{fmt.Sprintf(
			"share: %d of %d calls failed or repeated an identical call with no change in between", t.wasted, t.calls), share})
	}
	for m := range metrics {
		slices.SortStableFunc(reasons[m], func(a, b reason) int {
			switch {
			case a.cost > b.cost:
				return -1
			case a.cost < b.cost:
				return 1
			}
			return 0
		})
		for _, r := range reasons[m] {
			out[m].Reasons = append(out[m].Reasons, r.text)
		}
		if t.says(m, len(reasons[m]) > 0) {
			v := value[m]
			out[m].Value = &v
		}
	}
	return out
}

// says reports whether a metric has anything to go by. Without it the value is
// null: never averaged, never an alert.
func (t *tally) says(m metric, found bool) bool {
	switch m {
	case coherence:
		return t.calls > 0 || t.steps > 0
	case tools:
		return t.calls > 0
	case arguments:
		return t.calls > 0 && (t.argued > 0 || found)
	case efficiency:
		return t.calls > 0 || found
	}
	return true
}
