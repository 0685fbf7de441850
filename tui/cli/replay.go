package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"vise/engine"
	"vise/engine/event"
	"vise/engine/model/cassette"
	"vise/engine/score"
	"vise/engine/trace"
	"vise/store"
)

// replayFlags are the settings of one replay.
type replayFlags struct {
	recorded     bool
	observeOnly  bool
	noValidate   bool
	failOnNotice bool
	offline      bool
	dryRun       bool
	resume       bool
	repeat       int
	all          bool
	taskSummary  string
	scopeHints   []string
	breaks       []string
}

func (a *app) replayCmd() *cobra.Command {
	var f replayFlags
	c := &cobra.Command{
		Use: "replay SESSION...", Short: "Run recorded sessions through your agent and score every turn",
		Long: "Replay feeds the user inputs of recorded sessions to your agent, one prompt per recorded turn. Every turn\n" +
			"is scored and settled; notices are repaired by the repair agent; at the end candidates are validated until\n" +
			"nothing can be decided any more. With --recorded no agent runs: the recorded turns themselves are scored.",
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 && !f.all {
				return usagef("replay: name a session or use --all; vise sessions ls lists them")
			}
			if f.resume && (f.recorded || f.offline || f.all || f.repeat > 1) {
				return usagef("replay: --resume goes on with one run each, with the agent; leave out --recorded, --offline, --all and --repeat")
			}
			if f.recorded && f.dryRun {
				return usagef("replay: --recorded runs no agent and asks no model, so there is nothing to foresee; use one of them")
			}
			if f.recorded && f.offline {
				return usagef("replay: --recorded runs no agent, so there is nothing for --offline to answer; use one of them")
			}
			if f.repeat < 1 {
				return usagef("--repeat %d: give a number of at least 1", f.repeat)
			}
			cfg, _, err := a.load()
			if err != nil {
				return err
			}
			if f.observeOnly {
				cfg.Evaluate.ObserveOnly = true
			}
			if len(f.breaks) > 0 && (cfg.Evaluate.ObserveOnly || cfg.Repair.Model == "") {
				return usagef("--break holds a repair, and there is none: repair is off (repair.model, evaluate.observe_only)")
			}
			ctx, b, err := breakAt(cmd.Context(), f.breaks)
			if err != nil {
				return err
			}
			n := needs{agent: !f.recorded, mayAgent: true, repair: true, narrate: true, stepper: b.stepper()}
			return a.withProject(cmd.Context(), cfg, n, func(h *harness) error { return a.broke(b, h, a.replay(ctx, h, args, f)) })
		},
	}
	c.Flags().BoolVar(&f.recorded, "recorded", false, "score the recorded turns themselves, without an agent")
	c.Flags().BoolVar(&f.offline, "offline", false, "answer the agent's model calls from the recording of the session")
	c.Flags().BoolVar(&f.resume, "resume", false, "SESSION is a run that ended early: have the agent load it and go on with what it has not had")
	c.Flags().BoolVar(&f.dryRun, "dry-run", false, "say what is recorded, what would go out and what it would cost, and run nothing")
	c.Flags().BoolVar(&f.observeOnly, "observe-only", false, "score and journal, store no notice, repair nothing")
	c.Flags().BoolVar(&f.noValidate, "no-validate", false, "do not validate candidates at the end")
	c.Flags().BoolVar(&f.failOnNotice, "fail-on-notice", false, "exit 3 when a notice was raised")
	c.Flags().BoolVar(&f.all, "all", false, "every recorded session")
	c.Flags().IntVar(&f.repeat, "repeat", 1, "run each session N times")
	c.Flags().StringArrayVar(&f.breaks, "break", nil, breakHelp)
	c.Flags().StringVar(&f.taskSummary, "task-summary", "", "what the task is, for the repair agent")
	c.Flags().StringArrayVar(&f.scopeHints, "scope-hint", nil, "a scope a rule could belong to, KEY or KEY=DESCRIPTION (repeatable)")
	return c
}

// replay runs sessions one after the other and validates at the end.
func (a *app) replay(ctx context.Context, h *harness, ids []string, f replayFlags) error {
	if f.all {
		all, err := recordedSessions(h.store)
		if err != nil {
			return err
		}
		ids = append(ids, all...)
		if len(ids) == 0 {
			return errors.New("replay: no recorded sessions; vise import PATH... brings some in")
		}
	}
	// Every name is checked before the first run costs anything.
	heads := make([]trace.Session, len(ids))
	if err := h.store.View(func(tx *store.Tx) (err error) {
		for i, id := range ids {
			if heads[i], err = findSession(tx, id); err != nil {
				return err
			}
		}
		return nil
	}); err != nil {
		return err
	}
	if err := a.tellForecast(h, heads, f); err != nil || f.dryRun {
		return err
	}
	before, err := lastSeq(h.store)
	if err != nil {
		return err
	}
	for _, head := range heads {
		if err := f.describe(&head); err != nil {
			return err
		}
		for n := range f.repeat {
			if f.recorded {
				if n > 0 {
					break // the same recording scores the same
				}
				from, err := lastSeq(h.store)
				if err != nil {
					return err
				}
				done, err := h.ReplayRecorded(ctx, head)
				if err != nil {
					return err
				}
				if err := a.tellRecorded(h, done, from); err != nil {
					return err
				}
				continue
			}
			var resumed trace.Session
			if f.resume {
				resumed = head
				if head, err = resumable(h.store, head); err != nil {
					return err
				}
			}
			inputs, err := userInputs(h.store, head.ID)
			if err != nil {
				return err
			}
			if f.resume {
				done, err := finished(h.store, resumed.ID)
				if err != nil {
					return err
				}
				if done >= len(inputs) {
					return fmt.Errorf("replay --resume: session %s has had all of its %d inputs", resumed.ID, len(inputs))
				}
				inputs = inputs[done:]
			}
			var tape *cassette.Tape
			if f.offline {
				from, err := taped(h.store, head)
				if err != nil {
					return err
				}
				if tape, _, err = recording(h.store, from.ID); err != nil {
					return err
				}
			}
			if err := h.live(ctx, head, inputs, n, tape, resumed); err != nil {
				return err
			}
			if tape != nil {
				if left, again := tape.Left(); left+again > 0 {
					a.note("vise: %s of the recording not asked for, %d in another order", counted(left, "model call"), again)
				}
			}
		}
	}
	// Validation runs the agent: not where it was asked for none.
	if !f.noValidate && !f.recorded && !h.cfg.Evaluate.ObserveOnly {
		if _, err := h.ValidateUntilIdle(ctx); err != nil {
			return err
		}
	}
	since, paused, err := a.tellPaused(h)
	if err != nil {
		return err
	}
	if f.failOnNotice {
		n, err := countNotices(h.store, before)
		if err != nil {
			return err
		}
		if paused && n == 0 {
			// What the open breaker swallowed cannot be counted, so it cannot pass.
			return gatef("replay: the circuit breaker is open since %s, notices are suppressed (--fail-on-notice)", since)
		}
		if n > 0 {
			return gatef("replay: %s raised (--fail-on-notice)", counted(n, "notice"))
		}
	}
	return nil
}

// tellRecorded says in a line what scoring one recording brought since an event.
func (a *app) tellRecorded(h *harness, r engine.Recorded, since uint64) error {
	if err := h.narrator.flush(); err != nil {
		return err
	}
	notices, err := countNotices(h.store, since)
	if err != nil {
		return err
	}
	if a.json {
		return a.out.object("vise.recorded/1", struct {
			engine.Recorded
			Notices int `json:"notices"`
		}{r, notices})
	}
	a.out.printf("%s", recordedWords(r, notices))
	return a.out.err
}

// recordedWords say what scoring one recording brought.
func recordedWords(r engine.Recorded, notices int) string {
	s := fmt.Sprintf("%s: %s scored by %s, %s", show(r.SessionID, 128), counted(r.Scored, "turn"), show(r.EvaluatedBy, 100), counted(notices, "notice"))
	switch {
	case r.Again != "":
		s += "; scored again: " + show(r.Again, 200)
	case r.Scored == 0 && r.Unscored < r.Turns:
		s = fmt.Sprintf("%s: %s, all scored before by %s", show(r.SessionID, 128), counted(r.Turns, "turn"), show(r.EvaluatedBy, 100))
	}
	if r.Unscored > 0 {
		s += fmt.Sprintf("; %s without a score, vise journal --type skip says why", counted(r.Unscored, "turn"))
	}
	return s
}

// tellPaused says on standard error that repair waits for a person: without it a
// suppressed alert would look like success.
func (a *app) tellPaused(h *harness) (since string, paused bool, err error) {
	id, since, paused, err := h.Paused()
	if err != nil || !paused {
		return "", false, err
	}
	if err := h.narrator.flush(); err != nil {
		return "", false, err
	}
	a.note("vise: too many notices at once: the circuit breaker is open since %s (notice %s), further alerts are suppressed and repair is paused; vise notices resume lets it go on", since, id)
	return since, true, nil
}

// live runs one session through the agent. A validation round never runs beside it.
func (h *harness) live(ctx context.Context, head trace.Session, inputs []string, n int, tape *cassette.Tape, resumed trace.Session) error {
	done, err := h.LiveTurn(ctx)
	if err != nil {
		return err
	}
	defer done()
	_, err = h.runner.Live(ctx, h.Harness, head, inputs, n, tape, resumed)
	return err
}

// resumable returns the session that a run was made of.
func resumable(s *store.Store, run trace.Session) (from trace.Session, err error) {
	if run.Origin != trace.Live || run.ReplayOf == "" {
		return from, fmt.Errorf("replay --resume: %s is no run of the agent; vise sessions ls --origin live lists them", run.ID)
	}
	err = s.View(func(tx *store.Tx) error {
		from, err = findSession(tx, run.ReplayOf)
		return err
	})
	return from, err
}

// finished counts the turns of a run that the agent has ended itself.
func finished(s *store.Store, id string) (n int, err error) {
	err = eachTurn(s, id, shownBytes, func(t trace.Turn, _ *score.Report) error {
		if !t.CutShort() {
			n++
		}
		return nil
	})
	return n, err
}

// describe puts what the command line says about the task into the head.
func (f replayFlags) describe(s *trace.Session) error {
	if f.taskSummary != "" {
		s.TaskSummary = f.taskSummary
	}
	for _, hint := range f.scopeHints {
		h, err := scopeHint(hint)
		if err != nil {
			return err
		}
		s.ScopeHints = append(s.ScopeHints, h)
	}
	return nil
}

// userInputs are the external user inputs of a session, in order.
func userInputs(s *store.Store, id string) (inputs []string, err error) {
	err = eachTurn(s, id, 0, func(t trace.Turn, _ *score.Report) error {
		if !t.Synthetic && t.Input != "" {
			inputs = append(inputs, t.Input)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("replay: read inputs of session %s: %w", id, err)
	}
	return inputs, nil
}

func recordedSessions(s *store.Store) ([]string, error) {
	var ids []string
	err := s.View(func(tx *store.Tx) error {
		heads, err := tx.Sessions(store.Window{Origin: trace.Recorded, Oldest: true})
		for _, h := range heads {
			ids = append(ids, h.ID)
		}
		return err
	})
	return ids, err
}

func lastSeq(s *store.Store) (seq uint64, err error) {
	err = s.View(func(tx *store.Tx) error {
		events, err := tx.LastEvents(1)
		if len(events) > 0 {
			seq = events[0].Seq
		}
		return err
	})
	return seq, err
}

func countNotices(s *store.Store, after uint64) (n int, err error) {
	err = s.View(func(tx *store.Tx) error {
		events, err := tx.LastEvents(1_000_000, event.Notice)
		for _, e := range events {
			if e.Seq > after {
				n++
			}
		}
		return err
	})
	return n, err
}
