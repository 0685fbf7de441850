package tui

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	tea "charm.land/bubbletea/v2"

	"vise/engine"
	"vise/engine/patch"
	"vise/engine/validate"
	"vise/tui/action"
	"vise/tui/style"
)

// Conductor owns what the workbench runs in the background: at most one run at a
// time, under a context, with an end. Its errors become incidents.
type Conductor struct {
	ctx     context.Context
	harness *engine.Harness
	replay  func(ctx context.Context, session string) error
	hold    *Hold
	patch   *patch.Bench
	errands map[action.ID]Errand
	// patchHold holds the patch loops that are started here.
	patchHold *PatchHold
	now       func() time.Time
	send      func(tea.Msg)
	crash     func(cause any, stack []byte)
	// auto: what a replay or repair leaves to decide is validated behind it.
	auto bool

	mu      sync.Mutex
	running Activity
	ending  bool       // its end is not told yet
	past    []Activity // the last ones that ended, for During; at most pastMost
	cancel  context.CancelCauseFunc
	work    sync.WaitGroup
}

// activityMsg tells that what runs has changed; Err is set when it ended badly.
type activityMsg struct {
	now   Activity
	ended Activity
	err   error
}

// errStopped is the cause of what a person cancelled.
var errStopped = errors.New("cancelled")

// Running is what is going on.
func (c *Conductor) Running() Activity {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.running
}

// telling reports whether the end of an activity is being told.
func (c *Conductor) telling() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.ending
}

// pastMost is how many ended activities During knows: their events are read within a
// few frames, and no person starts more of them meanwhile.
const pastMost = 8

// During is what ran at a time. Events are read in batches: a short activity has
// ended, and another may have begun, before its events are seen.
func (c *Conductor) During(at time.Time) Activity {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.running.Kind != Idle && !at.Before(c.running.Since) {
		return c.running
	}
	for _, a := range slices.Backward(c.past) {
		if !at.Before(a.Since) && !at.After(a.Until) {
			return a
		}
	}
	return c.running
}

// Over says that what ran at a time has ended, so that its events come late.
func (c *Conductor) Over(at time.Time) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.running.Kind != Idle {
		return at.Before(c.running.Since)
	}
	return slices.ContainsFunc(c.past, func(a Activity) bool { return !at.Before(a.Since) && !at.After(a.Until) })
}

// Busy says why nothing else can be started; "" when it can.
func (a Activity) Busy() string {
	switch {
	case a.Kind == Idle:
		return ""
	case a.Stopping:
		return "the last run is still ending"
	case a.Kind == Replaying:
		return "a replay is running; {run.cancel} cancels it"
	case a.Kind == Repairing:
		return "a repair is running; {run.cancel} cancels it"
	case a.Kind == Mending:
		return "a patch loop is running; {run.cancel} cancels it"
	case a.Kind == Importing:
		return "an import is running; {run.cancel} cancels it"
	case a.Kind == Scoring:
		return "a recording is being scored; {run.cancel} cancels it"
	case a.Kind == Patching:
		return "a coding agent is running; {run.cancel} cancels it"
	}
	return "a validation is running; {run.cancel} cancels it"
}

// Replay runs a session through the agent.
func (c *Conductor) Replay(session string) error {
	if c.replay == nil {
		return errors.New("no agent is configured: set agent.command in vise.toml; {run.score} scores the session as it was recorded")
	}
	return c.start(Activity{Kind: Replaying, Session: session}, func(ctx context.Context) error {
		return c.replay(ctx, session)
	})
}

// Validate runs rounds until idle, or one round over the rules named.
func (c *Conductor) Validate(rule string) error {
	return c.start(Activity{Kind: Validating, Rule: rule}, func(ctx context.Context) error {
		if rule == "" {
			rounds, err := c.harness.ValidateUntilIdle(ctx)
			return c.validated(ctx, rounds, err)
		}
		round, err := c.harness.Validate(ctx, rule)
		return c.validated(ctx, []validate.Round{round}, err)
	})
}

// validated tells how rounds ended; those that the agent did not start for are an error.
func (c *Conductor) validated(ctx context.Context, rounds []validate.Round, err error) error {
	if err != nil || context.Cause(ctx) != nil || c.auto && len(rounds) == 0 {
		return err
	}
	said, stopped := validate.Told(rounds)
	if stopped {
		return errors.New(said)
	}
	c.send(sayMsg{"validated: " + said, style.Good})
	return nil
}

// Repair runs the repair agent on an episode that has not ended well.
func (c *Conductor) Repair(episode string) error {
	if !c.harness.RepairOn() {
		return errors.New("repair is off: set repair.model in vise.toml, e.g. \"builtin/heuristic\"")
	}
	return c.start(Activity{Kind: Repairing, Episode: episode}, func(ctx context.Context) error {
		_, err := c.harness.RunRepair(ctx, episode)
		return err
	})
}

// Fork lets a repair go on under other conditions, and tells how it ended.
func (c *Conductor) Fork(s engine.ForkSpec) error {
	return c.start(Activity{Kind: Repairing, Episode: s.Episode, Fork: true}, func(ctx context.Context) error {
		ep, err := c.harness.Fork(ctx, s)
		if err == nil && context.Cause(ctx) == nil {
			c.send(forkEnded{ep})
		}
		return err
	})
}

// Mend runs the patch loop of a run, held at its first state.
func (c *Conductor) Mend(q patch.RepairRequest) error {
	if c.patch == nil {
		return errors.New("there is no project; vise init writes one")
	}
	q.Stepper = c.patchHold
	return c.start(Activity{Kind: Mending, Run: q.RunID}, func(ctx context.Context) error {
		c.patchHold.begin()
		_, err := c.patch.Repair(ctx, q)
		return err
	})
}

func (c *Conductor) start(a Activity, run func(context.Context) error) error {
	if c.harness == nil {
		return errors.New("there is no project; vise init writes one")
	}
	c.mu.Lock()
	if why := c.running.Busy(); why != "" {
		c.mu.Unlock()
		return errors.New(why)
	}
	if err := c.ctx.Err(); err != nil {
		c.mu.Unlock()
		return err
	}
	ctx, cancel := context.WithCancelCause(c.ctx)
	a.Since = c.now()
	c.running, c.cancel = a, cancel
	c.work.Add(1)
	c.mu.Unlock()
	go func() {
		defer c.work.Done()
		defer cancel(nil)
		c.send(activityMsg{now: a})
		err := c.guarded(ctx, run)
		if errors.Is(context.Cause(ctx), errStopped) || c.ctx.Err() != nil {
			err = nil // it ended because somebody wanted it to
		}
		c.mu.Lock()
		c.running, c.cancel, c.ending = Activity{}, nil, true
		a.Until = c.now()
		c.past = append(c.past[max(0, len(c.past)-pastMost+1):], a)
		c.mu.Unlock()
		c.send(activityMsg{ended: a, err: err})
		c.mu.Lock()
		c.ending = false
		c.mu.Unlock()
		if c.auto && err == nil && context.Cause(ctx) == nil && (a.Kind == Replaying || a.Kind == Repairing && !a.Fork) {
			// Who has started something else in between goes first; it comes back here.
			_ = c.Validate("")
		}
	}()
	return nil
}

// guarded turns a panic of a run into a report: the terminal is restored first.
func (c *Conductor) guarded(ctx context.Context, run func(context.Context) error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
			c.crash(p, debug.Stack())
		}
	}()
	return run(ctx)
}

// Cancel ends a held repair (the run around it goes on) or else what is running.
// It says what it did; "" when there was nothing.
func (c *Conductor) Cancel() string {
	if c.patchHold.Cancel() {
		return "the patch loop is cancelled; {patch.repair} starts it again"
	}
	if c.hold.Waiting() != nil && c.hold.Cancel() {
		return "repair cancelled; nothing was acknowledged"
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.cancel == nil || c.running.Stopping {
		return ""
	}
	c.running.Stopping = true
	c.cancel(errStopped)
	return cancelling(c.running.Kind)
}

// Close ends everything and waits for it.
func (c *Conductor) Close() {
	c.mu.Lock()
	if c.cancel != nil {
		c.cancel(context.Canceled)
	}
	c.mu.Unlock()
	c.work.Wait()
}
