package patch

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"vise/engine/patch/drive"
	"vise/engine/patch/policy"
	"vise/engine/patch/risk"
	"vise/engine/patch/run"
)

// signal is what the effect of a state came to.
type signal string

const (
	ok       signal = "ok"
	over     signal = "over"    // the budget is used up
	proven   signal = "proven"  // the proof holds
	failed   signal = "failed"  // it does not, and the agent may try again
	repeat   signal = "repeat"  // it does not, and it is tried once more first
	crossed  signal = "crossed" // a person must look
	limit    signal = "limit"   // no attempt is left
	stuck    signal = "stuck"   // no progress
	human    signal = "human"   // nothing an agent could mend
	noDriver signal = "no_driver"
)

// table is the state machine as data: from each state, by signal, to the next.
// A signal that leads to StateDone ends the loop with the status in ends.
type table map[run.State]map[signal]run.State

// tables are the two profiles. In the default one the boundary comes before
// success and before the attempt limit, a failed proof is repeated before an
// agent is paid, and a repair is looked at for progress. The seed's order is
// budget, proof, success, attempt limit, boundary, packet, driver, repair,
// boundary.
var tables = map[risk.Profile]table{
	risk.Default: {
		run.StateBudget:   {ok: run.StateProve, over: run.StateDone},
		run.StateProve:    {ok: run.StateBoundary, repeat: run.StateAgain, over: run.StateDone},
		run.StateAgain:    {ok: run.StateBoundary, over: run.StateDone},
		run.StateBoundary: {ok: run.StateJudge, crossed: run.StateDone},
		run.StateJudge:    {proven: run.StateDone, failed: run.StatePacket, human: run.StateDone, limit: run.StateDone, stuck: run.StateDone},
		run.StatePacket:   {ok: run.StateDrive},
		run.StateDrive:    {ok: run.StateRepair, noDriver: run.StateDone, human: run.StateDone},
		run.StateRepair:   {ok: run.StateInspect, over: run.StateDone},
		run.StateInspect:  {ok: run.StateBudget, crossed: run.StateDone, stuck: run.StateDone, human: run.StateDone},
	},
	risk.Seed: {
		run.StateBudget:   {ok: run.StateProve, over: run.StateDone},
		run.StateProve:    {ok: run.StateJudge, repeat: run.StateJudge, over: run.StateDone},
		run.StateJudge:    {proven: run.StateDone, failed: run.StateBoundary, human: run.StateBoundary, stuck: run.StateBoundary, limit: run.StateDone},
		run.StateBoundary: {ok: run.StatePacket, crossed: run.StateDone},
		run.StatePacket:   {ok: run.StateDrive},
		run.StateDrive:    {ok: run.StateRepair, noDriver: run.StateDone},
		run.StateRepair:   {ok: run.StateInspect, over: run.StateDone},
		run.StateInspect:  {ok: run.StateBudget, crossed: run.StateDone, stuck: run.StateBudget, human: run.StateBudget},
	},
}

// world is what the machine acts on: the bench, or the scripts of the vectors.
type world interface {
	// Prove proves the loop's current run. The context carries the budget.
	Prove(ctx context.Context, l *run.Loop) (run.Proof, error)
	// Content identifies the patch of a run; empty tells that it changes nothing.
	Content(l *run.Loop, runID string) (digest string, empty bool, err error)
	// Boundary returns why a person must look at the current run's patch.
	Boundary(l *run.Loop) ([]risk.Cause, error)
	// Packet writes the failure packet of the current run and returns its path.
	Packet(ctx context.Context, l *run.Loop) (string, error)
	// Drive makes the repair command, to be used by Repair; drive.ErrNoCommand when there is none, *movedBase when it would be for nothing.
	Drive(ctx context.Context, l *run.Loop) error
	// Repair runs the agent and returns the id of its run; asks is what it needs of a person, "" for nothing.
	Repair(ctx context.Context, l *run.Loop) (runID, asks string, err error)
	// Moved says what the loop was bound to and is not any more; "" when all is as it was.
	Moved(l *run.Loop) (string, error)
	// Save stores the loop with the journal event of its state before the effect begins.
	Save(ctx context.Context, l *run.Loop) error
	// Hold is asked before every effect and may wait, or cancel with errCancelled.
	Hold(ctx context.Context, l *run.Loop) error
	Now() time.Time
}

// errCancelled tells that a person cancelled the loop.
var errCancelled = errors.New("cancelled")

// machine runs a loop to its end.
type machine struct {
	world
	// exact makes the budget strict while an effect runs; the seed only looks
	// between effects.
	exact bool
	last  time.Time // when the running effect began
}

// drive runs the loop until it is done, or a person cancels it, also in the midst of an
// effect. An error leaves the loop where it is, to be taken up again.
func (m *machine) drive(ctx context.Context, l *run.Loop) error {
	err := m.states(ctx, l)
	if err != nil && l.State != run.StateDone && errors.Is(context.Cause(ctx), errCancelled) {
		m.end(l, run.Stopped, run.Reason{Code: "cancelled"})
		err = m.Save(ctx, l)
	}
	return err
}

func (m *machine) states(ctx context.Context, l *run.Loop) error {
	t := tables[l.Profile]
	for l.State != run.StateDone {
		if err := m.Save(ctx, l); err != nil {
			return err
		}
		switch err := m.Hold(ctx, l); {
		case errors.Is(err, errCancelled):
			m.end(l, run.Stopped, run.Reason{Code: "cancelled"})
			return m.Save(ctx, l)
		case err != nil:
			return err
		}
		m.last = m.Now()
		sig, err := m.effect(ctx, l)
		if l.State != run.StateDone { // the effect may have ended the loop
			l.Spent += m.Now().Sub(m.last)
		}
		if err != nil {
			return err
		}
		next, known := t[l.State][sig]
		if !known {
			return fmt.Errorf("repair %s: state %s does not know the signal %s", l.RunID, l.State, sig)
		}
		l.State = next
	}
	return m.Save(ctx, l)
}

func (m *machine) end(l *run.Loop, status string, r run.Reason) {
	l.Status, l.Reason, l.State, l.Ended = status, r, run.StateDone, m.Now()
}

// budgeted returns a context that ends with the budget.
func (m *machine) budgeted(ctx context.Context, l *run.Loop) (context.Context, context.CancelFunc) {
	if !m.exact {
		return context.WithCancel(ctx)
	}
	return context.WithTimeoutCause(ctx, max(0, l.MaxRuntime-l.Spent), errBudget)
}

// errBudget is the cause of a context that the budget ended.
var errBudget = errors.New("its time is up (patch.max_runtime, --max-runtime)")

// late reports that the budget, and nobody else, ended an effect.
func late(ctx context.Context) bool { return errors.Is(context.Cause(ctx), errBudget) }

func (m *machine) effect(ctx context.Context, l *run.Loop) (signal, error) {
	switch l.State {
	case run.StateBudget:
		if l.Spent > l.MaxRuntime {
			return over, m.over(l)
		}
		return ok, nil
	case run.StateProve, run.StateAgain:
		return m.prove(ctx, l)
	case run.StateBoundary, run.StateInspect:
		return m.boundary(l)
	case run.StateJudge:
		return m.judge(l)
	case run.StatePacket:
		path, err := m.Packet(ctx, l)
		if err != nil {
			return "", err
		}
		l.Packet = path
		l.Attempts[len(l.Attempts)-1].Packet = path
		return ok, nil
	case run.StateDrive:
		err := m.Drive(ctx, l)
		if errors.Is(err, drive.ErrNoCommand) {
			l.Status, l.Reason, l.Ended = run.NeedsAgent, run.Reason{Code: "no_driver"}, m.Now()
			return noDriver, nil
		}
		if moved := (*movedBase)(nil); errors.As(err, &moved) {
			l.Status, l.Reason, l.Ended = run.NeedsHuman, run.Reason{Code: "base_moved", Detail: moved.Error()}, m.Now()
			return human, nil
		}
		return ok, err
	case run.StateRepair:
		return m.repair(ctx, l)
	}
	return "", fmt.Errorf("repair %s: there is no state %q", l.RunID, l.State)
}

func (m *machine) over(l *run.Loop) error {
	l.Status, l.Reason, l.Ended = run.OutOfTime, run.Reason{Code: "budget_exceeded"}, m.Now()
	return nil
}

// prove records one proof. A failure that may be chance is proven once more
// before anybody is asked; the second proof takes the place of the first.
func (m *machine) prove(ctx context.Context, l *run.Loop) (signal, error) {
	limited, stop := m.budgeted(ctx, l)
	defer stop()
	begun := m.Now()
	p, err := m.Prove(limited, l)
	if err != nil {
		if late(limited) {
			return over, m.over(l)
		}
		return "", err
	}
	content, _, err := m.Content(l, l.Current)
	if err != nil {
		return "", err
	}
	a := run.Attempt{Attempt: l.Attempt, RunID: l.Current, Verdict: p.Verdict, Reasons: p.Reasons, Class: p.Class, Signature: p.Signature,
		Content: content, Failed: p.FailedTests, Millis: m.Now().Sub(begun).Milliseconds()}
	n := len(l.Attempts)
	switch again := n > 0 && l.Attempts[n-1].Attempt == l.Attempt; {
	case again && l.State == run.StateAgain:
		l.Repeat = true
		if p.Verdict == run.Proven {
			a.Class = risk.Flaky // it failed, and then it did not
		}
		l.Attempts[n-1] = a
	default:
		l.Attempts = append(l.Attempts, a)
	}
	if l.State == run.StateProve && p.Verdict != run.Proven && p.Class == risk.Tests {
		return repeat, nil
	}
	return ok, nil
}

func (m *machine) boundary(l *run.Loop) (signal, error) {
	code := "boundary_before_repair"
	if l.State == run.StateInspect {
		code = "boundary_after_repair"
	}
	causes, err := m.Boundary(l)
	if err != nil {
		return "", err
	}
	if len(causes) > 0 {
		l.Status, l.Reason, l.Ended = run.NeedsHuman, run.Reason{Code: code, Causes: causes}, m.Now()
		return crossed, nil
	}
	moved, err := m.Moved(l)
	if err != nil {
		return "", err
	}
	if moved != "" {
		l.Status, l.Reason, l.Ended = run.NeedsHuman, run.Reason{Code: "policy_moved", Detail: moved}, m.Now()
		return crossed, nil
	}
	if l.State == run.StateBoundary {
		return ok, nil
	}
	if l.Reason.Code == "needs_scope" {
		l.Status, l.Ended = run.NeedsHuman, m.Now()
		return human, nil
	}
	if l.Profile == risk.Default {
		if why, err := m.noProgress(l); err != nil || why != "" {
			l.Status, l.Reason, l.Ended = run.GaveUp, run.Reason{Code: "no_progress", Detail: why}, m.Now()
			return stuck, err
		}
	}
	l.Attempt++
	l.Repeat = false
	return ok, nil
}

// noProgress compares the patch of the repair with those of all earlier attempts.
func (m *machine) noProgress(l *run.Loop) (string, error) {
	content, empty, err := m.Content(l, l.Current)
	if err != nil {
		return "", err
	}
	if empty {
		if _, was, err := m.Content(l, l.RunID); err != nil || !was {
			return "empty_patch", err
		}
	}
	for _, a := range l.Attempts {
		if a.Content == content {
			return "same_patch", nil
		}
	}
	return "", nil
}

// judge says what the latest proof means.
func (m *machine) judge(l *run.Loop) (signal, error) {
	a := l.Attempts[len(l.Attempts)-1]
	if a.Verdict == run.Proven {
		l.Status, l.Repaired, l.Ended = run.Repaired, l.Current, m.Now()
		if l.Profile == risk.Default && l.Attempt == 0 {
			l.Reason = run.Reason{Code: "already_proven"}
		}
		return proven, nil
	}
	if l.Profile == risk.Default {
		// The boundary was passed on the way here, so outcome and causes are fine.
		if r := risk.Route(nil, policy.Allow, a.Verdict, a.Class); r.Kind == risk.Human {
			l.Status, l.Reason, l.Ended = run.NeedsHuman, run.Reason{Code: r.Code, Detail: first(a.Reasons)}, m.Now()
			return human, nil
		}
		earlier := l.Attempts[:len(l.Attempts)-1]
		if a.Signature != "" && slices.ContainsFunc(earlier, func(e run.Attempt) bool { return e.Signature == a.Signature }) {
			l.Status, l.Reason, l.Ended = run.GaveUp, run.Reason{Code: "no_progress", Detail: "same_failure"}, m.Now()
			return stuck, nil
		}
	}
	if l.Attempt >= l.MaxAttempts-1 {
		l.Status, l.Reason, l.Ended = run.GaveUp, run.Reason{Code: "attempts_exhausted", Attempt: l.Attempt + 1}, m.Now()
		return limit, nil
	}
	return failed, nil
}

func (m *machine) repair(ctx context.Context, l *run.Loop) (signal, error) {
	limited, stop := m.budgeted(ctx, l)
	defer stop()
	id, asks, err := m.Repair(limited, l)
	if id != "" {
		if !slices.Contains(l.Runs, id) {
			l.Runs = append(l.Runs, id)
		}
		l.Current, l.Next = id, ""
	}
	if late(limited) && m.exact {
		return over, m.over(l)
	}
	if none := (*noRoom)(nil); errors.As(err, &none) {
		l.Status, l.Reason, l.Ended = run.OutOfTime, run.Reason{Code: none.code, Detail: none.why}, m.Now()
		return over, nil
	}
	if err != nil {
		return "", err
	}
	if asks != "" && l.Profile == risk.Default {
		l.Reason = run.Reason{Code: "needs_scope", Detail: asks}
	}
	return ok, nil
}

func first(list []string) string {
	if len(list) == 0 {
		return ""
	}
	return list[0]
}
