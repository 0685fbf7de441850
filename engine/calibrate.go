package engine

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"vise/engine/score"
	"vise/engine/score/calibrate"
	"vise/engine/score/local"
	"vise/engine/trace"
	"vise/store"
)

// CalibrateOptions say what to compare with what.
type CalibrateOptions struct {
	// Labels of a file; nil takes what the recordings say of themselves.
	Labels []calibrate.Label
	// Stored compares the stored scores instead of those of the offline evaluator,
	// which are computed afresh.
	Stored  bool
	Handoff string // of the offline evaluator
}

// Calibration is what scores and trivial counts tell about known outcomes.
type Calibration struct {
	EvaluatedBy string `json:"evaluated_by"`
	Labels      int    `json:"labels"`
	Matched     int    `json:"matched"`
	// LeftOut counts labels that could not be used, by reason.
	LeftOut map[string]int     `json:"left_out"`
	Groups  []CalibrationGroup `json:"groups"` // all sources together first, when there are several
	Places  []PlaceGroup       `json:"places"` // of sources with a labelled step
}

// CalibrationGroup is one source.
type CalibrationGroup struct {
	Source   string   `json:"source"` // "all" for all together
	Sessions int      `json:"sessions"`
	Failures int      `json:"failures"`
	Signals  []Signal `json:"signals"`
	// Lead is the first signal against the best of the trivial counts; nil when
	// nothing can be compared.
	Lead *calibrate.Difference `json:"lead,omitempty"`
}

// Signal is a score or a trivial count, condensed over a session.
type Signal struct {
	Name    string         `json:"signal"`
	Trivial bool           `json:"trivial,omitempty"` // a count: more of it is taken as worse; of a score, less is
	Area    calibrate.Area `json:"area"`
	// Threshold in units of the signal: a score of at most, or a count of at least, At
	// is called a failure.
	Threshold *calibrate.Threshold `json:"threshold,omitempty"`
}

// PlaceGroup tells how well the suspects of one source hit the labelled step.
type PlaceGroup struct {
	Source  string            `json:"source"`
	Guesses []calibrate.Guess `json:"guesses"`
}

// The ways of guessing where a session went wrong.
const (
	guessSuspects = "suspects"
	guessFirst    = "first step"
	guessLast     = "last step"
)

// trivial are the counts that any score must beat.
var trivial = []string{"turns", "model steps", "calls", "errors", "characters"}

// headline is the signal that is held against the trivial counts.
const headline = "health min"

// Calibrate compares scores with known outcomes of stored recordings. It changes nothing.
func Calibrate(ctx context.Context, st *store.Store, o CalibrateOptions) (Calibration, error) {
	fail := func(err error) (Calibration, error) { return Calibration{}, fmt.Errorf("calibrate: %w", err) }
	var heads []trace.Session
	if err := st.View(func(tx *store.Tx) (err error) {
		heads, err = tx.Sessions(store.Window{Origin: trace.Recorded, Oldest: true})
		return err
	}); err != nil {
		return fail(err)
	}
	out := Calibration{EvaluatedBy: local.Name(local.Options{Handoff: o.Handoff}), LeftOut: map[string]int{}, Groups: []CalibrationGroup{}, Places: []PlaceGroup{}}
	if o.Stored {
		by, err := commonIdentity(st, heads)
		if err != nil {
			return fail(err)
		}
		out.EvaluatedBy = by
	}
	labels, found := o.Labels, newFinder(heads)
	if labels == nil {
		labels = ownLabels(heads)
	}
	out.Labels = len(labels)
	var samples []calibrate.Sample
	places := map[string][]calibrate.Placed{}
	used := map[string]bool{}
	for _, l := range labels {
		if err := ctx.Err(); err != nil {
			return fail(context.Cause(ctx))
		}
		head, why := found.find(l)
		if why != "" {
			out.LeftOut[why]++
			continue
		}
		if used[head.ID] {
			out.LeftOut["session labelled already"]++
			continue
		}
		used[head.ID] = true
		out.Matched++
		turns, reports, err := wholeSession(st, head)
		if err != nil {
			return fail(err)
		}
		placeable := false
		if l.Step != "" {
			if p, ok := placed(head, turns, l.Step); ok {
				placeable = true
				places[head.Source] = append(places[head.Source], p)
			} else {
				out.LeftOut["labelled step is no step of the agent"]++
			}
		}
		failed, known := l.Failed()
		if !known {
			if !placeable {
				out.Matched-- // nothing of it was used
			}
			out.LeftOut[fmt.Sprintf("label %q is neither success nor failure", l.Label)]++
			continue
		}
		s := calibrate.Sample{Source: head.Source, Stratum: head.Source + "\x00" + head.File, Failed: failed}
		scores := reports
		if !o.Stored {
			scores = offline(head, turns, o.Handoff)
		} else {
			scores = by(scores, out.EvaluatedBy)
		}
		s.Risk = riskOf(head, turns, scores)
		samples = append(samples, s)
	}
	loosen(samples)
	out.Groups = groups(samples)
	for _, source := range sortedKeys(places) {
		out.Places = append(out.Places, PlaceGroup{source, calibrate.Place(places[source], []string{guessSuspects, guessFirst, guessLast})})
	}
	return out, nil
}

// wholeSession reads the turns of a session and their reports, page by page.
func wholeSession(st *store.Store, head trace.Session) (turns []trace.Turn, reports [][]score.Score, err error) {
	const page = 16
	for from := 0; ; {
		var some []trace.Turn
		if err := st.View(func(tx *store.Tx) (err error) {
			if some, err = tx.Turns(head.ID, from, page); err != nil {
				return err
			}
			for _, t := range some {
				r, _, err := tx.Report(head.ID, t.Index)
				if err != nil {
					return err
				}
				reports = append(reports, r.Scores)
			}
			return nil
		}); err != nil {
			return nil, nil, fmt.Errorf("read session %s: %w", head.ID, err)
		}
		turns = append(turns, some...)
		if len(some) < page {
			return turns, reports, nil
		}
		from = some[page-1].Index + 1 // not from+page: turns may be missing
	}
}

func offline(head trace.Session, turns []trace.Turn, handoff string) (out [][]score.Score) {
	eval := local.New(head, local.Options{Handoff: handoff})
	for _, t := range turns {
		out = append(out, eval.Turn(t))
	}
	return out
}

// commonIdentity is the evaluator that gave most of the stored scores; scores of
// different ones are not compared.
func commonIdentity(st *store.Store, heads []trace.Session) (string, error) {
	count := map[string]int{}
	for _, h := range heads {
		if err := st.View(func(tx *store.Tx) error {
			r, _, err := tx.Report(h.ID, 0)
			for _, s := range r.Scores {
				if s.Value != nil && s.Metric != score.OutcomeCorrect {
					count[s.By]++
					break
				}
			}
			return err
		}); err != nil {
			return "", err
		}
	}
	best := ""
	for _, name := range sortedKeys(count) {
		if best == "" || count[name] > count[best] {
			best = name
		}
	}
	if best == "" {
		return "", fmt.Errorf("no recorded session has stored scores; vise replay --recorded --all scores them")
	}
	return best, nil
}

// by keeps the scores of one evaluator, and the outcome.
func by(turns [][]score.Score, identity string) [][]score.Score {
	out := make([][]score.Score, len(turns))
	for i, t := range turns {
		for _, s := range t {
			if s.By == identity || s.Metric == score.OutcomeCorrect {
				out[i] = append(out[i], s)
			}
		}
	}
	return out
}

// riskOf condenses a session to its signals, more meaning worse.
func riskOf(head trace.Session, turns []trace.Turn, scores [][]score.Score) map[string]float64 {
	risk := map[string]float64{"turns": float64(head.Counts.Turns), "model steps": float64(head.Counts.Steps),
		"calls": float64(head.Counts.Calls), "errors": float64(head.Counts.Errors)}
	chars := 0
	for _, t := range turns {
		chars += len(t.Input)
		for _, s := range t.Spans {
			chars += len(s.Input) + len(s.Output)
		}
	}
	risk["characters"] = float64(chars)
	sum := local.Summarize(scores)
	for m, v := range sum.Min {
		risk[m+" min"] = 1 - v
	}
	for m, v := range sum.Mean {
		risk[m+" mean"] = 1 - v
	}
	if sum.MinHealth != nil {
		risk[headline], risk["health mean"] = 1-*sum.MinHealth, 1-*sum.MeanHealth
	}
	return risk
}

// loosen makes one stratum per source of the files that cannot be compared within
// themselves, because they hold one class only.
func loosen(samples []calibrate.Sample) {
	seen := map[string][2]bool{}
	for _, s := range samples {
		c := seen[s.Stratum]
		if s.Failed {
			c[1] = true
		} else {
			c[0] = true
		}
		seen[s.Stratum] = c
	}
	for i, s := range samples {
		if c := seen[s.Stratum]; !c[0] || !c[1] {
			samples[i].Stratum = s.Source
		}
	}
}

func groups(samples []calibrate.Sample) []CalibrationGroup {
	bySource := map[string][]calibrate.Sample{}
	for _, s := range samples {
		bySource[s.Source] = append(bySource[s.Source], s)
	}
	out := []CalibrationGroup{}
	if len(bySource) > 1 {
		out = append(out, group("all", samples))
	}
	for _, source := range sortedKeys(bySource) {
		out = append(out, group(source, bySource[source]))
	}
	return out
}

func group(source string, samples []calibrate.Sample) CalibrationGroup {
	g := CalibrationGroup{Source: source, Sessions: len(samples), Signals: []Signal{}}
	have := map[string]bool{}
	for _, s := range samples {
		if s.Failed {
			g.Failures++
		}
		for name := range s.Risk {
			have[name] = true
		}
	}
	names := []string{headline, "health mean"}
	for _, m := range score.Metrics() {
		names = append(names, m+" min", m+" mean")
	}
	best, bestAUC := "", 0.0
	for _, name := range slices.Concat(names, trivial) {
		if !have[name] {
			continue
		}
		s := Signal{Name: name, Trivial: slices.Contains(trivial, name), Area: calibrate.AreaOf(samples, name), Threshold: calibrate.ThresholdOf(samples, name)}
		if t := s.Threshold; t != nil && !s.Trivial {
			t.At, t.Low, t.High = 1-t.At, 1-t.High, 1-t.Low
		}
		if s.Trivial && s.Area.AUC != nil && *s.Area.AUC > bestAUC {
			best, bestAUC = name, *s.Area.AUC
		}
		g.Signals = append(g.Signals, s)
	}
	if best != "" && have[headline] {
		d := calibrate.Compare(samples, headline, best)
		g.Lead = &d
	}
	return g
}

func sortedKeys[V any](m map[string]V) []string {
	out := make([]string, 0, len(m))
	for k := range m {
		out = append(out, k)
	}
	slices.Sort(out)
	return out
}

// placed resolves a labelled step: a span id, or a position in the recording. It
// is not ok when the agent took no such step.
func placed(head trace.Session, turns []trace.Turn, label string) (calibrate.Placed, bool) {
	suspects := local.Suspects(head, turns)
	if len(suspects) == 0 {
		return calibrate.Placed{}, false
	}
	order := map[string]int{} // span → which step of the agent, in order of time
	position := map[string]int{}
	at, steps := 0, 0
	acting := map[string]bool{}
	for _, s := range suspects {
		acting[s.SpanID] = true
	}
	for _, t := range turns {
		if !t.Synthetic {
			at++
		}
		for _, s := range t.Spans {
			position[s.ID] = at
			if n, err := strconv.Atoi(value(s.Attrs["step"])); err == nil {
				position[s.ID] = n // the format knows better
			}
			at++
			switch {
			case acting[s.ID]:
				order[s.ID] = steps
				steps++
			case s.Kind == trace.TOOL && steps > 0:
				order[s.ID] = steps - 1 // a call is the step's that made it
			}
		}
	}
	p := calibrate.Placed{Steps: steps, Label: -1, Guesses: map[string][]int{guessFirst: {0, 1, 2}, guessLast: {steps - 1, steps - 2, steps - 3}}}
	for _, s := range suspects {
		p.Guesses[guessSuspects] = append(p.Guesses[guessSuspects], order[s.SpanID])
	}
	for part := range strings.SplitSeq(label, "|") {
		part = strings.TrimPrefix(part, "span:")
		if n, ok := order[part]; ok {
			p.Label = n
			break
		}
		if n, ok := order["h"+part]; ok { // Who&When names its spans by their place in the history
			p.Label = n
			break
		}
		if want, err := strconv.Atoi(part); err == nil {
			for id, n := range order {
				if position[id] == want {
					p.Label = n
				}
			}
		}
	}
	return p, p.Label >= 0
}
