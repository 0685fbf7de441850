package evidence

import (
	"math"
	"slices"
	"time"

	"vise/engine/score"
	"vise/engine/trace"
)

// Orders of the two arms of a pair.
const (
	ControlFirst   = "control_first"
	TreatmentFirst = "treatment_first"
	// ControlShared: the control run was made for another candidate under the same
	// identity.
	ControlShared = "control_shared"
)

// Arm is one run of a pair, reduced to what the decision needs.
type Arm struct {
	RunID     string `json:"run_id"`
	SessionID string `json:"session_id,omitempty"`
	Seed      string `json:"seed"` // VISE_RUN_SEED
	// Scores are the outcomes by metric: 0 to 1, higher is better.
	Scores map[string]float64 `json:"scores"`
	// Trace is the fingerprint of all turns of the run; "" where it did not reach its end.
	Trace string `json:"trace,omitempty"`
	// Process holds for metrics of the offline evaluator that they are means over the
	// turns, so that the checks below have a say; the last turn alone is never one.
	Process bool `json:"process,omitempty"`
	// Triggered: a check that had fired in the case has fired again.
	Triggered bool `json:"triggered,omitempty"`
	// Faults are the ids of the checks of weight (sign, fault) that fired, sorted.
	Faults []string `json:"faults,omitempty"`
	// Offered: the agent asked our rule server for its tools. Read: it was handed the
	// text of the rule in this very run. Followed: a judge says so; nil = unknown.
	Offered   bool        `json:"offered"`
	Read      bool        `json:"read"`
	Followed  *bool       `json:"followed,omitempty"`
	Usage     trace.Usage `json:"usage,omitzero"`
	Steps     int         `json:"steps"` // model steps and tool calls
	ElapsedMS int64       `json:"elapsed_ms"`
	// Late: it ran out of time after execution had begun, which is a failed run and
	// no infrastructure.
	Late bool `json:"late,omitempty"`
	// Infrastructure names why the run says nothing about the agent; "" = it counts.
	Infrastructure string `json:"infrastructure,omitempty"`
	Error          string `json:"error,omitempty"`
}

// Repeats reports whether two runs did the same in every turn and got the same scores
// (within 1e-9), and both or neither read the rule. Runs that were cut off never do.
func (a Arm) Repeats(b Arm) bool {
	if a.Trace == "" || a.Trace != b.Trace || a.Read != b.Read || len(a.Scores) != len(b.Scores) {
		return false
	}
	for m, v := range a.Scores {
		if w, ok := b.Scores[m]; !ok || math.Abs(v-w) > 1e-9 {
			return false
		}
	}
	return true
}

// Pair is one run without the rule and one with it, of the same case.
type Pair struct {
	TestID string `json:"test_id"`
	RuleID string `json:"rule_id"`
	// Number within the test, from 1. Decisions are taken in this order, whatever
	// the order in which runs ended.
	Number int    `json:"number"`
	CaseID string `json:"case_id"`
	Kind   Kind   `json:"kind"`
	// Repeat numbers the pairs of its case, from 1; the seeds of both arms come from it.
	// 0 in pairs of before it was kept.
	Repeat int `json:"repeat,omitempty"`
	// Own: the case is the one the rule was written from.
	Own bool `json:"own,omitempty"`
	// Turns of the case: a mean over them varies less than one score does.
	Turns int `json:"turns,omitempty"`
	// Order in which the arms ran, drawn at random.
	Order     string    `json:"order"`
	At        time.Time `json:"at"`
	Control   Arm       `json:"control"`
	Treatment Arm       `json:"treatment"`

	// Metric the failure case is judged by, Difference treatment − control, Graded the
	// difference as a share of the noise scale, cut to [-1, 1].
	Metric     string  `json:"metric,omitempty"`
	Difference float64 `json:"difference"`
	Graded     float64 `json:"graded"`
	// Credit is Graded as E⁺ counts it: with the offline evaluator there is no gain
	// while the check that had fired still fires.
	Credit float64 `json:"credit"`
	// Guard are the graded differences of a win case, by metric.
	Guard map[string]float64 `json:"guard,omitempty"`
	// Excluded says why the pair does not count; "" = it counts.
	Excluded string `json:"excluded,omitempty"`
}

// Why pairs do not count beside the names of infrastructure results.
const ExcludedNoScore = "no_shared_score"

// Judge fills in what follows from the two arms: preference are the metrics in the
// order of trust, scales the noise scale by metric (DefaultScale where there is none).
//
// Swapping the arms turns Graded and Guard round exactly. That is what makes their
// mean zero when the rule does nothing.
func (p *Pair) Judge(preference []string, scales map[string]float64) {
	p.Metric, p.Difference, p.Graded, p.Credit, p.Guard, p.Excluded = "", 0, 0, 0, nil, ""
	for _, a := range []Arm{p.Control, p.Treatment} {
		if a.Infrastructure != "" {
			p.Excluded = a.Infrastructure
			return
		}
	}
	metrics := shared(p.Control.Scores, p.Treatment.Scores)
	if len(metrics) == 0 {
		p.Excluded = ExcludedNoScore
		return
	}
	if p.Kind == Win {
		p.Guard = map[string]float64{}
		for _, m := range metrics {
			p.Guard[m] = p.grade(m, scales)
		}
		return
	}
	p.Metric = metrics[0]
	for _, m := range preference {
		if slices.Contains(metrics, m) {
			p.Metric = m
			break
		}
	}
	p.Difference = p.Treatment.Scores[p.Metric] - p.Control.Scores[p.Metric]
	p.Graded = p.grade(p.Metric, scales)
	p.Credit = p.Graded
	if p.process(p.Metric) && p.Graded > 0 && p.Treatment.Triggered {
		p.Credit = 0
	}
}

// process reports whether a metric is judged together with the checks behind it.
func (p *Pair) process(metric string) bool {
	return metric != score.OutcomeCorrect && p.Control.Process && p.Treatment.Process
}

// grade is the difference in one metric, as a share of its scale: for a mean over n turns
// the scale of one score divided by √n. Offline scores count
// only where the checks that fired agree: one arm is free of something that the other
// one shows, and shows nothing new itself.
func (p *Pair) grade(metric string, scales map[string]float64) float64 {
	s := scales[metric]
	if s <= 0 {
		s = DefaultScale
	}
	if p.process(metric) && p.Turns > 1 {
		s = max(s/math.Sqrt(float64(p.Turns)), MinScale)
	}
	g := (p.Treatment.Scores[metric] - p.Control.Scores[metric]) / s
	if math.IsNaN(g) {
		return 0
	}
	g = min(max(g, -1), 1)
	if !p.process(metric) {
		return g
	}
	better, worse := shows(p.Control, p.Treatment), shows(p.Treatment, p.Control)
	if better && !worse && g > 0 || worse && !better && g < 0 {
		return g
	}
	return 0
}

// shows reports whether a shows something that b is free of.
func shows(a, b Arm) bool {
	return a.Late && !b.Late || a.Triggered && !b.Triggered ||
		slices.ContainsFunc(a.Faults, func(f string) bool { return !slices.Contains(b.Faults, f) })
}

// shared are the metrics that both maps hold, in registry order.
func shared(a, b map[string]float64) []string {
	both := map[string]float64{}
	for m, v := range a {
		if w, ok := b[m]; ok && !math.IsNaN(v) && !math.IsNaN(w) {
			both[m] = v
		}
	}
	return metricOrder(both)
}
