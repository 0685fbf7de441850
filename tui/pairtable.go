package tui

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"vise/engine/event"
	"vise/engine/evidence"
	"vise/tui/style"
)

// numeral reads a number of an event's data, which comes as it was sent or as JSON.
func numeral(d map[string]any, key string) float64 {
	switch x := d[key].(type) {
	case float64:
		return x
	case int:
		return float64(x)
	}
	return 0
}

// take folds one pair into the trial that runs.
func (l *liveTrial) take(e event.Event) bool {
	if e.RuleID != l.rule || l.rule == "" {
		return false
	}
	l.pairs++
	l.counted, l.cap = int(numeral(e.Data, "counted")), int(numeral(e.Data, "cap"))
	l.gain, l.harm, l.decides = numeral(e.Data, "e_gain"), numeral(e.Data, "e_harm"), numeral(e.Data, "threshold")
	x := l.cases[e.CaseID]
	x.state = caseReplayed
	switch {
	case e.Data["excluded"] != nil:
		x.lost++
	case e.Data["guard"] != nil:
		l.guard = numeral(e.Data, "e_guard")
		x.pairs++
		x.result.CaseID, x.result.Read = e.CaseID, e.Data["read"] == true
	default:
		x.pairs++
		metric, _ := e.Data["metric"].(string)
		c, t := numeral(e.Data, "control"), numeral(e.Data, "treatment")
		switch g := numeral(e.Data, "credit"); {
		case g > 0:
			x.better++
		case g < 0:
			x.worse++
		}
		x.result = evidence.CaseResult{CaseID: e.CaseID, RunID: e.RunID, Target: metric, Read: e.Data["read"] == true,
			Baseline: map[string]float64{metric: c}, Scores: map[string]float64{metric: t}, Deltas: map[string]float64{metric: t - c}}
	}
	l.cases[e.CaseID] = x
	return true
}

// words say what the pairs of a case brought so far.
func (x liveCase) words() string {
	s := fmt.Sprintf("%s: %d better, %d worse", count(x.pairs, "pair"), x.better, x.worse)
	if x.lost > 0 {
		s += fmt.Sprintf(", %d left out", x.lost)
	}
	return s
}

// stands is where a paired test stands.
func (l liveTrial) stands() string {
	return fmt.Sprintf("paired: evidence of a gain %s, of harm %s, of harm to wins %s; %.0f decides", eWords(l.gain), eWords(l.harm), eWords(l.guard), l.decides)
}

// numberRows are the numbers behind a verdict, and a row per pair.
func (p *validationPane) numberRows(v evidence.Verdict) []string {
	var rows []string
	say := func(name, text string) {
		for i, l := range p.part(max(1, p.w-13)).wrapped(style.Text, text, 0, 0, 0) {
			if i > 0 {
				name = ""
			}
			rows = append(rows, p.st().Row(13, style.Plain).Space(1).Cell(style.Heading, name, 12).String()+l)
		}
	}
	say("sure", v.Card().Sure)
	if id := v.Identity; id != nil {
		say("holds for", fmt.Sprintf("agent %s, evaluator %s, active rules %s, seed %d", id.Agent, id.Evaluator, id.Rules, id.Seed))
	}
	for _, d := range p.data.differs {
		text := "the runs did the same"
		if !d.Same {
			text = d.Words()
		}
		say("differ in", tag(d.CaseID)+" "+text)
	}
	n := v.Paired
	if n == nil {
		return p.measuredOf(v, say, &rows)
	}
	say("e-values", fmt.Sprintf("gain %.2f (highest %.2f), harm %.2f, harm to wins %.2f, more tokens %.2f; %.0f decides, profile %s",
		n.EGain, n.TopGain, n.EHarm, n.EGuard, n.ECost, n.Threshold, n.Profile))
	say("effect", fmt.Sprintf("%s %s; better %d, worse %d, equal %d", n.Metric, spanned(n.Effect, "%+.2f"), n.Better, n.Worse, n.Same))
	say("exposure", fmt.Sprintf("on offer in %d, read in %d of %d runs; followed in %d, unknown in %d", n.Exposure.Offered, n.Exposure.Read, n.Exposure.Runs,
		n.Exposure.Followed, n.Exposure.Unknown))
	cost := "steps " + spanned(n.Cost.Steps, "%+.1f") + ", seconds " + spanned(n.Cost.Seconds, "%+.2f")
	for _, x := range []struct {
		name, form string
		i          *evidence.Interval
	}{{"tokens", "%+.0f", n.Cost.Tokens}, {"USD", "%+.4f", n.Cost.USD}} {
		if x.i != nil {
			cost += ", " + x.name + " " + spanned(*x.i, x.form)
		} else {
			cost += ", " + x.name + " unknown"
		}
	}
	say("cost", cost)
	say("runs", fmt.Sprintf("%d made, %d control runs shared, %s left out; test %d of the project: at most %.2f false promotions to be expected",
		n.Runs, n.Shared, count(n.Excluded, "pair"), n.Tests, n.Bound))
	p.measuredOf(v, say, &rows)
	for _, x := range n.Pairs {
		rows = append(rows, p.pairRow(x))
	}
	return rows
}

// measuredOf says what vise noise found of the metrics that a verdict rests on.
func (p *validationPane) measuredOf(v evidence.Verdict, say func(name, text string), rows *[]string) []string {
	metrics := map[string]bool{}
	for _, c := range v.Cases {
		if c.Target != "" {
			metrics[c.Target] = true
		}
	}
	if v.Paired != nil && v.Paired.Metric != "" {
		metrics[v.Paired.Metric] = true
	}
	for _, m := range slices.Sorted(maps.Keys(metrics)) {
		if r, ok := p.data.noise.Reading(m); ok {
			say("noise", m+": "+noiseWords(r))
		}
	}
	return *rows
}

func spanned(i evidence.Interval, form string) string {
	if i.N == 0 {
		return "unknown"
	}
	return fmt.Sprintf(form+" ["+form+", "+form+"]", i.Mean, i.Low, i.High)
}

// pairRow is one pair.
func (p *validationPane) pairRow(x evidence.Pair) string {
	row := p.line().Space(1).Cell(style.Dim, fmt.Sprintf("%d", x.Number), 4).Cell(style.Text, tag(x.CaseID), 10)
	if p.w >= 84 {
		row.Cell(style.Dim, strings.ReplaceAll(x.Order, "_", " "), 17)
	}
	switch {
	case x.Excluded != "":
		return row.Put(style.Warn, "left out: "+strings.ReplaceAll(x.Excluded, "_", " ")).String()
	case x.Kind == evidence.Win:
		row.Cell(style.Dim, "win", 22)
		for _, m := range slices.Sorted(maps.Keys(x.Guard)) {
			if g := x.Guard[m]; g != 0 {
				row.Put(changeRole(signed(g)), m+" "+signed(g)+"  ")
			}
		}
		return row.String()
	}
	row.Cell(style.Text, x.Metric, 22).Right(style.Number, two(x.Control.Scores[x.Metric]), 5).Right(style.Number, two(x.Treatment.Scores[x.Metric]), 6).
		Right(changeRole(signed(x.Credit)), signed(x.Credit), 7).Space(2)
	if !x.Treatment.Read {
		row.Put(style.Warn, "not read  ")
	}
	if x.Credit != x.Graded {
		row.Put(style.Warn, "no gain counted: the check fired again")
	}
	return row.String()
}
