package gate

import "time"

// Admission bounds how many finished turns are evaluated.
type Admission struct {
	MaxEvals    int           // per run, 0 = no limit
	SampleEvery int           // every nth turn of a session, 0 and 1 = all
	MinInterval time.Duration // between two admitted turns of a session, 0 = none
}

// RunState counts the evaluations of a run.
type RunState struct {
	Launched int `json:"launched"`
	// BudgetSkipped is set by the first turn skipped for the budget.
	BudgetSkipped bool `json:"budget_skipped,omitempty"`
}

// SessionState is what admission remembers of one session.
type SessionState struct {
	Turns    int       `json:"turns"`
	Admitted time.Time `json:"admitted,omitzero"` // the last admitted turn
}

// Reasons for a skipped turn.
const (
	SkipBudget    = "budget"
	SkipSampling  = "sampling"
	SkipRateLimit = "rate_limit"
)

// Admit decides about one finished turn and updates both states. It returns ""
// when the turn is admitted, else why not. journal asks for a skip event: only the
// first turn beyond the budget is worth one.
func (a Admission) Admit(run *RunState, session *SessionState, now time.Time) (skip string, journal bool) {
	if a.MaxEvals > 0 && run.Launched >= a.MaxEvals {
		journal = !run.BudgetSkipped
		run.BudgetSkipped = true
		return SkipBudget, journal
	}
	session.Turns++
	if (session.Turns-1)%max(1, a.SampleEvery) != 0 {
		return SkipSampling, false
	}
	if a.MinInterval > 0 && !session.Admitted.IsZero() && now.Sub(session.Admitted) < a.MinInterval {
		return SkipRateLimit, false
	}
	session.Admitted = now
	run.Launched++
	return "", false
}
