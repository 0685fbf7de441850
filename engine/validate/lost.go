package validate

import (
	"context"
	"fmt"

	"vise/engine/evidence"
	"vise/engine/rule"
)

// notStarted ends a round: the agent's program could not be started at all.
type notStarted struct{ said string }

// Error is what the replay said.
func (n notStarted) Error() string { return n.said }

// lost leaves a candidate as it is, without an attempt used up, and stops the round.
func (v *Validator) lost(ctx context.Context, r rule.Rule, n notStarted, round *Round) error {
	verdict := evidence.Verdict{ID: v.Store.NewID("v"), RuleID: r.ID, At: v.Store.Now(), Agent: v.Agent, Outcome: evidence.PendingStill, Validator: "replay", Evidence: "paired",
		PendingReason: evidence.Infrastructure, Reason: short(n.said, 300), Cases: []evidence.CaseResult{}, EvaluatedBy: v.EvaluatedBy}
	if v.seedRule() {
		verdict.Evidence = "seed"
	}
	if err := v.identify(&verdict); err != nil {
		return err
	}
	_, alive, err := v.apply(ctx, &verdict)
	if err != nil {
		return err
	}
	round.Stopped = verdict.Reason
	if alive {
		round.Verdicts = append(round.Verdicts, verdict)
		round.Pending++
	}
	return nil
}

// Told says in one line how rounds ended, and whether the last was stopped.
func Told(rounds []Round) (said string, stopped bool) {
	if len(rounds) == 0 {
		return "no candidate is pending", false
	}
	last := rounds[len(rounds)-1]
	var sum Round
	for _, r := range rounds {
		sum.Promoted, sum.Retired, sum.Confirmed, sum.Flagged = sum.Promoted+r.Promoted, sum.Retired+r.Retired, sum.Confirmed+r.Confirmed, sum.Flagged+r.Flagged
	}
	said = fmt.Sprintf("%d promoted", sum.Promoted)
	for _, x := range []struct {
		n    int
		word string
	}{{sum.Retired, "retired"}, {sum.Confirmed, "confirmed"}, {sum.Flagged, "flagged"}, {pending(rounds), "pending"}} {
		if x.n > 0 {
			said += fmt.Sprintf(", %d %s", x.n, x.word)
		}
	}
	if last.Stopped != "" {
		return said + ": " + last.Stopped, true
	}
	return said, false
}

// pending are the rules that the last round of each kind left open.
func pending(rounds []Round) int {
	candidates, inForce := 0, 0
	for _, r := range rounds {
		if r.Actives {
			inForce = r.Pending
		} else {
			candidates = r.Pending
		}
	}
	return candidates + inForce
}
