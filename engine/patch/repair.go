package patch

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"vise/engine/patch/drive"
	"vise/engine/patch/risk"
	"vise/engine/patch/run"
	"vise/engine/patch/tree"
	"vise/store"
)

// Stepper is asked before every effect of a loop and may wait there; the budget
// stands still meanwhile. Returning Cancel's error ends the loop as cancelled.
type Stepper interface {
	At(ctx context.Context, l run.Loop) error
}

// ErrHeld is for a Stepper that leaves the loop where it is, to be taken up later.
var ErrHeld = errors.New("held")

// ErrRepaired tells that a run has a repaired patch; Again makes another.
var ErrRepaired = errors.New("it is repaired already")

// Cancel is what a Stepper returns to end a loop.
func Cancel() error { return errCancelled }

// Repair runs the loop of a run to its end: REPAIRED, FAILED, NEEDS_HUMAN,
// NEEDS_AGENT, BLOCKED or CANCELLED. A loop that was cut off goes on where it
// was, with its own bounds; of one that ended REPAIRED nothing is done without
// Again (ErrRepaired, with the loop). The outcome is stored, and written to outcome.json
// beside the packets. An error leaves the loop to be taken up again.
func (b *Bench) Repair(ctx context.Context, q RepairRequest) (run.Loop, error) {
	fail := func(l run.Loop, err error) (run.Loop, error) { return l, fmt.Errorf("repair %s: %w", q.RunID, err) }
	if err := q.check(); err != nil {
		return fail(run.Loop{}, err)
	}
	b.mu.Lock()
	busy := b.loops[q.RunID]
	if !busy {
		b.loops[q.RunID] = true
	}
	b.mu.Unlock()
	if busy {
		return fail(run.Loop{}, errors.New("it is being repaired already"))
	}
	defer func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		delete(b.loops, q.RunID)
	}()
	r, err := b.Run(q.RunID)
	if err != nil {
		return fail(run.Loop{}, err)
	}
	if r.Status == run.Running {
		return fail(run.Loop{}, errors.New("its agent is still running, or was cut off; start the run again"))
	}
	l, err := b.loop(q, r)
	if err != nil {
		return fail(l, err)
	}
	ctx, end := b.stoppable(ctx, q.RunID)
	defer end()
	m := &machine{world: &shop{Bench: b, q: q}, exact: l.Profile == risk.Default}
	if err := m.drive(ctx, &l); err != nil {
		return fail(l, err)
	}
	return l, nil
}

// loop returns the run's unfinished loop, or a new one.
func (b *Bench) loop(q RepairRequest, r run.Run) (run.Loop, error) {
	var l run.Loop
	found := false
	err := b.o.Store.View(func(tx *store.Tx) (err error) {
		l, found, err = tx.PatchLoop(q.RunID)
		return err
	})
	if err != nil || found && l.Status == "" {
		return l, err
	}
	if found && l.Status == run.Repaired && !q.Again {
		return l, fmt.Errorf("%w by %s; vise repair %s --again starts over", ErrRepaired, l.Repaired, r.ID)
	}
	profile := q.Profile
	if profile == "" {
		profile = risk.Default
	}
	if tables[profile] == nil {
		return l, fmt.Errorf("there is no profile %q; use default or seed", profile)
	}
	return run.Loop{RunID: r.ID, Profile: profile, MaxAttempts: q.MaxAttempts, MaxRuntime: q.MaxRuntime, Cap: q.Cap, PhaseLimit: b.o.PhaseTimeout, State: run.StateBudget,
		Current: r.ID, Attempts: []run.Attempt{}, Runs: []string{r.ID}, Started: b.now(), PolicyDigest: r.PolicyDigest, BaseDigest: r.BaseDigest}, nil
}

// Loop returns the repair loop of a run, if there was one.
func (b *Bench) Loop(runID string) (run.Loop, bool, error) {
	var l run.Loop
	found := false
	err := b.o.Store.View(func(tx *store.Tx) (err error) {
		l, found, err = tx.PatchLoop(runID)
		return err
	})
	return l, found, err
}

// shop is the world of a real loop.
type shop struct {
	*Bench
	q RepairRequest
}

// Now is the clock of the budget.
func (s *shop) Now() time.Time { return s.now() }

// Prove proves the current run and stores the proof with it.
func (s *shop) Prove(ctx context.Context, l *run.Loop) (run.Proof, error) {
	free, err := s.claim(l.Current)
	if err != nil {
		return run.Proof{}, err
	}
	defer free()
	r, err := s.Run(l.Current)
	if err != nil {
		return run.Proof{}, err
	}
	p, err := s.prove(ctx, r, proving{l.PhaseLimit, l.Profile, l.State == run.StateAgain})
	if err != nil {
		return p, err
	}
	if l.State == run.StateAgain {
		before := run.Proof{} // a crash may have lost it
		if r.Proof != nil {
			before = *r.Proof
		}
		p = second(before, p)
	}
	_, err = s.proved(ctx, r, p, false)
	return p, err
}

// Content identifies the patch of a run of the loop.
func (s *shop) Content(_ *run.Loop, id string) (string, bool, error) {
	r, err := s.Run(id)
	switch {
	case err != nil || r.Patch == nil:
		return "", true, err
	case r.Status == run.Error: // nothing was captured: that is no empty patch
		return "", false, nil
	}
	return r.ContentDigest, len(r.Patch.Entries) == 0, nil
}

// Boundary returns the causes that were found when the patch was captured. The
// patch is against the first base, so they are about the whole change.
func (s *shop) Boundary(l *run.Loop) ([]risk.Cause, error) {
	r, err := s.Run(l.Current)
	if err != nil {
		return nil, err
	}
	if l.Profile == risk.Seed { // its own rules, on what was captured under ours
		if r.Patch == nil {
			return nil, nil
		}
		var changes []risk.Change
		for _, e := range r.Patch.Entries {
			changes = append(changes, risk.Change{Path: e.Path, Type: e.ChangeType, Decision: e.Decision})
		}
		cause, err := risk.ScopeChange(changes, r.Future.Level)
		if cause == nil {
			return nil, err
		}
		return []risk.Cause{*cause}, nil
	}
	return r.Causes, nil
}

// Packet writes the packet of the current run.
func (s *shop) Packet(_ context.Context, l *run.Loop) (string, error) {
	r, err := s.Run(l.Current)
	if err != nil {
		return "", err
	}
	list, err := s.eachDiff(r)
	if err != nil {
		return "", err
	}
	var text strings.Builder
	for d := range list {
		if d.Note != "" {
			fmt.Fprintf(&text, "# %s %s: %s\n", d.Entry.ChangeType, d.Entry.Path, d.Note)
		}
		text.WriteString(d.Text)
		if text.Len() > 4*maxPacketDiff {
			break
		}
	}
	p, err := newPacket(r, *l, text.String(), s.o.Redactor)
	if err != nil {
		return "", err
	}
	raw, err := p.Encode()
	if err != nil {
		return "", err
	}
	name := filepath.Join(s.RepairDir(l.RunID), fmt.Sprintf("attempt-%d-packet.json", l.Attempt+1))
	if err := tree.WriteFile(name, raw); err != nil {
		return "", fmt.Errorf("write the failure packet: %w", err)
	}
	return name, nil
}

// Drive makes the repair command and chooses the id of the coming run. Before an
// agent is paid it looks whether the project is still what the run was made on
// (*movedBase): a repaired patch could not be applied to another.
func (s *shop) Drive(ctx context.Context, l *run.Loop) error {
	next := *l
	next.Next = s.newID()
	if _, _, err := s.build(&next); err != nil {
		return err
	}
	if l.Profile == risk.Default {
		base, err := tree.Open(s.bases(), l.BaseDigest)
		if err != nil {
			return err
		}
		moved, err := s.moved(ctx, base, settings)
		if err != nil {
			return err
		}
		if moved != "" {
			return &movedBase{moved}
		}
	}
	l.Next = next.Next
	return nil
}

// settings is vise's own file in a project: a budget may be raised between a run and
// its repair. To apply the patch it has to be as it was.
const settings = "vise.toml"

// movedBase tells that the project is not what a run was made on; paths names what changed.
type movedBase struct{ paths string }

func (e *movedBase) Error() string {
	return "the project is not what the run was made on: " + e.paths + " changed since; run the agent again on it, or put that back"
}

// build makes the repair command and reads the packet it is about.
func (s *shop) build(l *run.Loop) (drive.Command, []byte, error) {
	if s.q.NoAgent {
		return drive.Command{}, nil, drive.ErrNoCommand
	}
	argv := s.q.Agent
	if len(argv) == 0 {
		var err error
		if argv, err = s.argv(l.RunID); err != nil {
			return drive.Command{}, nil, err
		}
	}
	p, err := ReadPacket(l.Packet)
	if err != nil {
		return drive.Command{}, nil, err
	}
	raw, err := p.Encode()
	if err != nil {
		return drive.Command{}, nil, err
	}
	q := drive.Request{Argv: argv, Prompt: prompt(s.packetCopy(l.Next)), Packet: raw}
	if s.q.Resume {
		r, err := s.Run(l.Current)
		if err != nil {
			return drive.Command{}, nil, err
		}
		if q.SessionID = r.SessionID; !drive.Resumable(q.SessionID) {
			s.o.Log.Warn("the agent begins a new session: its run told none that can be resumed", "run", r.ID)
		}
	}
	builder := s.o.Builder
	if l.Profile == risk.Seed {
		builder = drive.Seed
	}
	c, err := builder(q)
	return c, raw, err
}

// Repair runs the agent in a fresh workspace of base and failed patch, under the
// policy and the sandbox of the first run.
func (s *shop) Repair(ctx context.Context, l *run.Loop) (string, string, error) {
	if done, found, err := s.finished(l.Next); err != nil || found { // taken up after a crash
		if found {
			l.Used.Add(done.Usage)
			err = costly(done, l)
		}
		return done.ID, done.NeedsScope, err
	}
	likely, err := s.room(l)
	if err != nil {
		return "", "", err
	}
	c, packet, err := s.build(l)
	if err != nil {
		return "", "", err
	}
	from, err := s.Run(l.Current)
	if err != nil {
		return "", "", err
	}
	base, err := tree.Open(s.bases(), l.BaseDigest)
	if err != nil {
		return "", "", err
	}
	r := run.Run{ID: l.Next, Task: from.Task, Command: s.shown(c.Argv), RepairOf: l.RunID, Attempt: l.Attempt + 1, Created: s.now(), Status: run.Running,
		BaseDigest: from.BaseDigest, BaseFiles: from.BaseFiles, LeftOut: from.LeftOut, NotTaken: from.NotTaken, PolicyDigest: from.PolicyDigest, PolicyFile: from.PolicyFile, Policy: from.Policy, Decision: from.Policy.Command(c.Argv)}
	start := &from
	if l.Profile == risk.Seed {
		start = nil // the seed's repairs begin blind, from the bare base
	}
	purse, err := s.o.Reserve(likely)
	if err != nil {
		return "", "", &noRoom{"cost_exceeded", err.Error()}
	}
	r, err = s.execute(ctx, r, work{base: base, from: start, command: c, profile: l.Profile, packet: packet, cap: left(l.Cap, l.Used.Usage), purse: purse})
	if errors.Is(err, errBudget) {
		err = nil
	}
	l.Used.Add(r.Usage)
	if l.AgentEnd = ""; r.Status != run.Passed {
		l.AgentEnd = badEnd(r)
	}
	if err == nil {
		err = costly(r, l)
	}
	return r.ID, r.NeedsScope, err
}
