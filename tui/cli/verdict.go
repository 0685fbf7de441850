package cli

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"vise/engine"
	"vise/engine/evidence"
)

// toldVerdict is a verdict with its words, as --json writes it.
type toldVerdict struct {
	evidence.Verdict
	Card evidence.Card `json:"card"`
	// Differs is where runs without and with the rule first did something else.
	Differs []engine.CaseDivergence `json:"differs,omitempty"`
}

func told(v evidence.Verdict) toldVerdict { return toldVerdict{Verdict: v, Card: v.Card()} }

// grade is how a verdict was reached, in a few words.
func grade(v evidence.Verdict) string {
	s := v.Evidence + " evidence"
	if v.Paired != nil && v.Paired.Profile == evidence.Quick {
		s = "quick " + s
	}
	if v.OwnCaseOnly {
		s += ", own case only"
	}
	return s
}

// printVerdict writes a verdict in words, what it rests on, and with all the pairs too.
func (a *app) printVerdict(v evidence.Verdict, card evidence.Card, all bool) {
	outcome := string(v.Outcome)
	if v.Validator == evidence.Retested {
		outcome = v.Result()
	}
	if v.PendingReason != "" {
		outcome += " (" + strings.ReplaceAll(v.PendingReason, "_", " ") + ")"
	}
	a.out.printf("%s  %s by %s, %s", v.At.Local().Format("2006-01-02 15:04:05"), outcome, strings.ReplaceAll(v.Validator, "_", " "), grade(v))
	for _, line := range []struct{ name, text string }{{"found", card.Found}, {"sure", card.Sure}, {"next", card.Next}} {
		a.out.printf("  %-6s %s", line.name, show(line.text, 400))
	}
	a.printNumbers(v)
	a.printCases(v)
	if all && v.Paired != nil {
		a.printPairs(v.Paired.Pairs)
	}
}

// printNumbers writes what a paired verdict was computed from.
func (a *app) printNumbers(v evidence.Verdict) {
	p := v.Paired
	if p == nil {
		return
	}
	a.out.printf("  evidence of a gain %.2f (highest %.2f), of harm %.2f, of harm to wins %.2f, of more tokens %.2f; %.0f decides",
		p.EGain, p.TopGain, p.EHarm, p.EGuard, p.ECost, p.Threshold)
	a.out.printf("  %d of at most %d pairs on failures, %d on wins, %d left out (control %d, with the rule %d)",
		p.Counted, p.Cap, p.Guarded, p.Excluded, p.ExcludedControl, p.ExcludedTreatment)
	a.out.printf("  effect on %s %s; better in %d, worse in %d, equal in %d; share better %s", show(p.Metric, 40), interval(p.Effect, "%+.2f"),
		p.Better, p.Worse, p.Same, interval(p.Share, "%.2f"))
	e := p.Exposure
	a.out.printf("  the rule was on offer in %d, read in %d of %d runs; followed in %d, unknown in %d", e.Offered, e.Read, e.Runs, e.Followed, e.Unknown)
	costs := []string{"steps " + interval(p.Cost.Steps, "%+.1f"), "seconds " + interval(p.Cost.Seconds, "%+.2f")}
	for _, c := range []struct {
		name, form string
		i          *evidence.Interval
	}{{"tokens", "%+.0f", p.Cost.Tokens}, {"USD", "%+.4f", p.Cost.USD}} {
		if c.i == nil {
			costs = append(costs, c.name+" unknown")
			continue
		}
		costs = append(costs, c.name+" "+interval(*c.i, c.form))
	}
	a.out.printf("  cost of a run with the rule: %s", strings.Join(costs, "; "))
	a.out.printf("  %d runs made, %d control runs shared; test %d of the project, which bounds expected false promotions by %.2f",
		p.Runs, p.Shared, p.Tests, p.Bound)
}

func interval(i evidence.Interval, form string) string {
	if i.N == 0 {
		return "unknown"
	}
	return fmt.Sprintf(form+" ["+form+", "+form+"]", i.Mean, i.Low, i.High)
}

// printCases writes a row per case and metric.
func (a *app) printCases(v evidence.Verdict) {
	if len(v.Cases) == 0 {
		return
	}
	before := "STORED"
	if v.Evidence == "paired" || v.Evidence == "deterministic" {
		before = "CONTROL"
	}
	var rows [][]string
	for _, c := range v.Cases {
		metrics := slices.Sorted(maps.Keys(c.Deltas))
		result := c.Status
		if v.Paired != nil || len(metrics) == 0 {
			result += "  " + show(c.Reason, 80)
		}
		if len(metrics) == 0 {
			rows = append(rows, []string{"  " + c.CaseID, string(c.Kind), "–", "", "", "", yes(c.Read), result})
		}
		for i, m := range metrics {
			row := []string{"", "", m, fmt.Sprintf("%.2f", c.Baseline[m]), fmt.Sprintf("%.2f", c.Scores[m]), fmt.Sprintf("%+.2f", c.Deltas[m]), "", ""}
			if i == 0 {
				row[0], row[1], row[6], row[7] = "  "+c.CaseID, string(c.Kind), yes(c.Read), result
			}
			rows = append(rows, row)
		}
	}
	_ = a.out.table([]string{"  CASE", "KIND", "METRIC", before, "CANDIDATE", "CHANGE", "READ", "RESULT"}, rows)
}

// printPairs writes a row per pair.
func (a *app) printPairs(pairs []evidence.Pair) {
	if len(pairs) == 0 {
		return
	}
	var rows [][]string
	for _, p := range pairs {
		row := []string{fmt.Sprintf("  %d", p.Number), p.CaseID, string(p.Kind), strings.ReplaceAll(p.Order, "_", " "), p.Metric, "", "", "", yes(p.Treatment.Read), ""}
		switch {
		case p.Excluded != "":
			row[9] = "left out: " + strings.ReplaceAll(p.Excluded, "_", " ")
		case p.Kind == evidence.Win:
			row[4] = "all"
			var worst []string
			for _, m := range slices.Sorted(maps.Keys(p.Guard)) {
				if p.Guard[m] != 0 {
					worst = append(worst, fmt.Sprintf("%s %+.2f", m, p.Guard[m]))
				}
			}
			row[7] = strings.Join(worst, ", ")
		default:
			row[5], row[6] = fmt.Sprintf("%.2f", p.Control.Scores[p.Metric]), fmt.Sprintf("%.2f", p.Treatment.Scores[p.Metric])
			row[7] = fmt.Sprintf("%+.2f", p.Credit)
			if p.Credit != p.Graded {
				row[9] = "no gain counted: the check fired again"
			}
		}
		rows = append(rows, row)
	}
	_ = a.out.table([]string{"  PAIR", "CASE", "KIND", "ORDER", "METRIC", "CONTROL", "WITH RULE", "GRADE", "READ", ""}, rows)
}

// printDiffers writes where runs without and with the rule first did something else.
func (a *app) printDiffers(list []engine.CaseDivergence) {
	for _, d := range list {
		if d.Same {
			a.out.printf("  first difference on %s: none, both runs did the same", d.CaseID)
			continue
		}
		a.out.printf("  first difference on %s: %s", d.CaseID, show(d.Words(), 500))
	}
}
