package patch

import (
	"errors"
	"fmt"

	"vise/engine/patch/run"
	"vise/engine/trace"
)

// Reserved is what was set aside of a larger budget for one agent.
type Reserved struct {
	// Over reports that the budget is used up when the agent has used u.
	Over func(u trace.Usage) bool
	// Settle books what it used; nil = it did not say. It is called once.
	Settle func(u *trace.Usage)
}

// errCost is the cause of a context that the use of the agent ended.
var errCost = errors.New("it used more than it may")

// noRoom tells that another attempt is not paid for.
type noRoom struct{ code, why string }

// Error is why.
func (e *noRoom) Error() string { return e.why }

// room checks whether the cap of a loop leaves room for another attempt: what the
// dearest run of the loop used is set aside for it. Where a cap is set and an agent
// does not say what it uses, there is none: nothing would hold it.
func (s *shop) room(l *run.Loop) (likely trace.Usage, err error) {
	var used run.Used
	for i, id := range l.Runs {
		r, err := s.Run(id)
		if err != nil {
			return likely, err
		}
		if i > 0 { // the first run was not the loop's
			used.Add(r.Usage)
		}
		if r.Usage == nil {
			if l.Cap != (run.Cap{}) {
				return likely, &noRoom{"cost_unknown", fmt.Sprintf("run %s does not say what it used, so nothing would hold the cap; let the agent write its JSON output (claude --output-format json, codex exec --json, opencode run --format json), or leave the cap out", id)}
			}
			continue
		}
		if r.Usage.CostUSD == nil && l.Cap.USD > 0 {
			return likely, &noRoom{"cost_unknown", fmt.Sprintf("run %s tells its tokens and no cost, so nothing would hold --max-cost; use --max-tokens", id)}
		}
		likely = most(likely, *r.Usage)
	}
	l.Used = used
	if over := l.Cap.Over(used.Usage.Add(likely)); over != "" {
		return likely, &noRoom{"cost_exceeded", "another attempt would need " + over + " when it uses what the dearest one did"}
	}
	return likely, nil
}

// costly is the error of a run whose agent was ended for what it used.
func costly(r run.Run, l *run.Loop) error {
	if r.Status != run.Costly {
		return nil
	}
	return &noRoom{"cost_exceeded", fmt.Sprintf("the agent of run %s was ended when it had used %d tokens, %s", r.ID, r.Usage.Input+r.Usage.Output, l.Used.Money())}
}

// most is the larger of two uses, part by part.
func most(a, b trace.Usage) trace.Usage {
	a.Input, a.Output = max(a.Input, b.Input), max(a.Output, b.Output)
	if a.CostUSD == nil || b.CostUSD != nil && *b.CostUSD > *a.CostUSD {
		a.CostUSD = b.CostUSD
	}
	return a
}

// left is what a cap leaves beside what is used.
func left(c run.Cap, used trace.Usage) run.Cap {
	if c.USD > 0 && used.CostUSD != nil {
		c.USD = max(1e-9, c.USD-*used.CostUSD)
	}
	if c.Tokens > 0 {
		c.Tokens = max(1, c.Tokens-used.Input-used.Output)
	}
	return c
}
