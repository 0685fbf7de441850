// Package validate lets evidence decide candidates: rounds over all candidates,
// counterfactual replay of cases, and the forward trial where no replay can decide.
//
// Semantics follow PandaProbe Harness 0.9 ("seed" evidence) with its known weak
// spots mended; each mended one is named where it is.
package validate

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"vise/engine/event"
	"vise/engine/evidence"
	"vise/engine/guard"
	"vise/engine/rule"
	"vise/engine/score"
	"vise/engine/trace"
	"vise/store"
)

// MaxAttempts is how often a candidate is replayed before the forward trial
// alone decides (PandaProbe Harness 0.9).
const MaxAttempts = 3

// Config bounds validation. Durations of zero mean "no limit" where noted.
type Config struct {
	TrialMin      int     // sessions a forward trial needs
	PromoteMargin float64 // gain of the target metric that promotes
	RegressMargin float64 // loss of a metric that retires
	ReplayTimeout time.Duration
	EnvWait       time.Duration // 0 = the replay timeout covers the wait
	RoundBudget   time.Duration // 0 = none
	Seed          int64         // enters the run seed of every replay
	// Evidence is what decides: seed, paired or auto; "" = seed.
	Evidence string
	Profile  string  // of a paired test: full or quick
	PairsCap int     // pairs of a paired test
	PromoteE float64 // e-value that decides a paired test
	Parallel int     // replays at once
}

// Replayer runs one case through the agent. Its error means that the context
// ended; everything else that went wrong is in the Run.
type Replayer interface {
	Replay(ctx context.Context, job evidence.Job) (evidence.Run, error)
}

// Scorer scores the last turn of a replayed session on the replay metrics
// (tier 1 and tier 2, and the outcome when a verifier answers).
type Scorer func(ctx context.Context, s trace.Session, turns []trace.Turn) ([]score.Score, error)

// Validator decides candidates. Rounds must not overlap: the harness serialises them.
type Validator struct {
	Store    *store.Store
	Config   Config
	Replayer Replayer // nil: no agent, the forward trial decides
	Score    Scorer
	// Redactor masks what a replay says before it is stored or scored; nil masks nothing.
	Redactor *guard.Redactor
	// Process looks at a whole replay with the offline evaluator, for the metrics
	// that it scores; nil when another evaluator scores them.
	Process func(s trace.Session, turns []trace.Turn) Process
	// Agent and EvaluatedBy identify what a verdict rests on: scores of different
	// identities are never compared. Surroundings names the agent with all that changes
	// what it does; "" = Agent.
	Agent        string
	Surroundings string
	EvaluatedBy  string

	// replay is the replay strategy; tests script it.
	replay func(ctx context.Context, r rule.Rule) (evidence.Verdict, error)
	// dispatcher is the pool of all replays.
	dispatcher *Dispatcher
	once       sync.Once
	// rounds counts the rounds that the last UntilIdle began; tests compare it.
	rounds int
	// tests are those under way, by their rules; Withdraw ends them.
	mu    sync.Mutex
	tests map[string]context.CancelCauseFunc
}

// Round is one pass over the candidates.
type Round struct {
	Verdicts        []evidence.Verdict `json:"verdicts"`
	Promoted        int                `json:"promoted"`
	Retired         int                `json:"retired"`
	Pending         int                `json:"pending"`
	BudgetExhausted bool               `json:"budget_exhausted"`
	// Confirmed and Flagged count rules in force that were tested again.
	Confirmed int `json:"confirmed,omitempty"`
	Flagged   int `json:"flagged,omitempty"`
	// Actives: it was a round over rules in force.
	Actives bool `json:"actives,omitempty"`
	// Stopped says why the round ended before all of its rules were tested: the agent did
	// not start, and would not for the next one. Those are pending.
	Stopped string `json:"stopped,omitempty"`
	// progress: a verdict was applied, or an attempt was used up that leaves others.
	progress bool
}

// cursor remembers where the last round began.
type cursor struct {
	RuleID    string `json:"rule_id"`
	CreatedAt string `json:"created_at"`
	// Announced: the one notice that no replay is wired has been journalled.
	Announced bool `json:"announced,omitempty"`
}

const cursorName = "cursor/validation"

// Round runs one round over all candidates, or over those named. Named rules
// that are no candidates are an error. Time that a round may take is shared out: each
// candidate has an equal part of what is left when its turn comes, so that a long test
// of one leaves time for the others, and goes on in the next round.
func (v *Validator) Round(ctx context.Context, o Options) (Round, error) {
	queue, err := v.queue(ctx, o.Rules)
	if err != nil || len(queue) == 0 {
		return Round{}, err
	}
	deadline := v.deadline(o)
	var round Round
	for i, id := range queue {
		if ctx.Err() != nil {
			return round, errors.Join(fmt.Errorf("validation round stopped at rule %s: %w", id, context.Cause(ctx)), v.end(ctx, round))
		}
		allow := deadline.IsZero() || v.Store.Now().Before(deadline)
		if !allow {
			round.BudgetExhausted = true
		}
		t := turn{options: o, allow: allow}
		if !deadline.IsZero() {
			now := v.Store.Now()
			t.deadline = now.Add(deadline.Sub(now) / time.Duration(len(queue)-i))
		}
		if err := v.candidate(ctx, id, t, &round); err != nil {
			return round, v.broken(ctx, round, err)
		}
		if round.Stopped != "" {
			round.Pending += len(queue) - i - 1
			break
		}
	}
	return round, v.end(ctx, round)
}

// deadline is when a round that begins now must end; zero = none.
func (v *Validator) deadline(o Options) time.Time {
	budget := v.Config.RoundBudget
	if o.Budget > 0 {
		budget = o.Budget
	}
	if budget <= 0 {
		return time.Time{}
	}
	return v.Store.Now().Add(budget)
}

// turn is one candidate's turn of a round.
type turn struct {
	options  Options
	allow    bool      // replays are allowed: the budget is not used up
	deadline time.Time // of paired tests; zero = none
}

// broken journals the end of a round that an error ended, and returns the error. A store
// that takes no writes does not take this one either: the error says so.
func (v *Validator) broken(ctx context.Context, round Round, err error) error {
	if ctx.Err() != nil {
		return errors.Join(err, v.end(ctx, round))
	}
	round.Stopped = err.Error()
	if v.Redactor != nil {
		round.Stopped, _ = v.Redactor.Text(round.Stopped)
	}
	_ = v.end(ctx, round)
	return err
}

// end journals the end of a round, also of one that was cancelled: its context has
// ended then, its story has not.
func (v *Validator) end(ctx context.Context, round Round) error {
	data := map[string]any{
		"decided": round.Promoted + round.Retired, "pending": round.Pending, "promoted": round.Promoted,
		"retired": round.Retired, "budget_exhausted": round.BudgetExhausted,
	}
	if ctx.Err() != nil {
		data["cancelled"] = true
		data["why"] = guard.Line(context.Cause(ctx).Error(), 80) // a person, or the end of the program
	}
	if round.Stopped != "" {
		data["stopped"] = short(round.Stopped, 300)
	}
	if err := v.Store.Update(context.WithoutCancel(ctx), func(tx *store.Tx) error {
		return tx.Emit(event.Event{Type: event.ValidationRoundEnded, Data: data})
	}); err != nil {
		return fmt.Errorf("end validation round: %w", err)
	}
	return nil
}

// UntilIdle runs rounds until one makes no progress: no verdict was applied and
// no candidate used an attempt that leaves another one. (The reference stops at
// the first round without a terminal verdict although attempts are left.)
func (v *Validator) UntilIdle(ctx context.Context, o Options) ([]Round, error) {
	var rounds []Round
	v.rounds = 0
	for {
		v.rounds++
		r, err := v.Round(ctx, o)
		if err != nil {
			return rounds, err
		}
		if len(r.Verdicts) > 0 || r.Stopped != "" {
			rounds = append(rounds, r)
		}
		if !r.progress || r.BudgetExhausted || r.Stopped != "" {
			return rounds, nil
		}
	}
}

// queue picks the candidates in the order of this round, moves the cursor and
// journals the start.
func (v *Validator) queue(ctx context.Context, only []string) ([]string, error) {
	var ids []string
	err := v.Store.Update(ctx, func(tx *store.Tx) error {
		candidates, err := tx.Rules(rule.Candidate)
		if err != nil {
			return err
		}
		if len(only) > 0 {
			if candidates, err = named(tx, only); err != nil {
				return err
			}
		}
		if len(candidates) == 0 {
			return nil
		}
		var c cursor
		if _, err := tx.State(cursorName, &c); err != nil {
			return err
		}
		if !v.canReplay() && !c.Announced {
			c.Announced = true
			if err := tx.Emit(event.Event{Type: event.Validation, Data: map[string]any{
				"mode": "forward_trial", "reason": "no agent is configured: candidates are decided by the forward trial, which is weak evidence",
			}}); err != nil {
				return err
			}
		}
		if len(only) == 0 {
			candidates = rotate(candidates, c)
			c.RuleID, c.CreatedAt = candidates[0].ID, candidates[0].CreatedAt
		}
		if err := tx.PutState(cursorName, c); err != nil {
			return err
		}
		for _, r := range candidates {
			ids = append(ids, r.ID)
		}
		return tx.Emit(event.Event{Type: event.ValidationRoundStarted, Data: map[string]any{"queued": ids}})
	})
	if err != nil {
		return nil, fmt.Errorf("start validation round: %w", err)
	}
	return ids, nil
}

func named(tx *store.Tx, only []string) ([]rule.Rule, error) {
	var rules []rule.Rule
	for _, id := range only {
		r, ok, err := tx.Rule(id)
		if err != nil {
			return nil, err
		}
		if !ok {
			return nil, fmt.Errorf("no rule %q; vise rules ls lists them", id)
		}
		if r.Status != rule.Candidate {
			return nil, fmt.Errorf("rule %s is %s; only candidates are validated", id, r.Status)
		}
		rules = append(rules, r)
	}
	return rules, nil
}

// rotate starts after the head of the last round, in listing order and
// wrapping, so that no candidate starves behind slow ones. It does so also when
// that head has been decided since (the reference starts over at the oldest).
func rotate(candidates []rule.Rule, c cursor) []rule.Rule {
	if c.RuleID == "" {
		return candidates
	}
	for i, r := range candidates {
		if r.CreatedAt > c.CreatedAt || r.CreatedAt == c.CreatedAt && r.ID > c.RuleID {
			return append(append([]rule.Rule(nil), candidates[i:]...), candidates[:i]...)
		}
	}
	return candidates
}

// pool is the dispatcher of this validator.
func (v *Validator) pool() *Dispatcher {
	v.once.Do(func() { v.dispatcher = NewDispatcher(v.Replayer, v.Config.Parallel) })
	return v.dispatcher
}

func (v *Validator) canReplay() bool { return v.replay != nil || v.Replayer != nil }
