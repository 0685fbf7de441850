package cli

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"vise/engine/config"
	"vise/engine/patch"
	"vise/engine/patch/risk"
	"vise/engine/patch/run"
)

// seconds is a duration that may be written as a plain number of seconds.
type seconds struct{ d *time.Duration }

func (s seconds) String() string {
	if s.d == nil {
		return ""
	}
	return s.d.String()
}

func (s seconds) Set(text string) error {
	if n, err := strconv.ParseFloat(text, 64); err == nil {
		if n *= float64(time.Second); !(math.Abs(n) < math.MaxInt64) {
			return fmt.Errorf("%s seconds are no time that could be waited for", text)
		}
		*s.d = time.Duration(n)
		return nil
	}
	d, err := time.ParseDuration(text)
	if err != nil {
		return fmt.Errorf("write seconds, or a duration as 30m")
	}
	*s.d = d
	return nil
}

func (s seconds) Type() string { return "seconds" }

func (a *app) repairCmd() *cobra.Command {
	var q patch.RepairRequest
	var profile string
	var agent []string
	var steps int
	var cancel bool
	c := &cobra.Command{
		Use: "repair RUN [-- AGENT ARG...]", Short: "Give the agent of a run a failure packet and another try",
		Long: "Prove the run; while it fails, write a failure packet, run the same agent on it in a fresh workspace, and\n" +
			"prove again, at most --max-attempts proofs and --max-runtime in all. A patch that touches protected paths,\n" +
			"weakens tests or needs review stops the loop for a person. A loop that was cut off goes on where it was.\n" +
			"Exit codes: 0 REPAIRED · 9 FAILED · 10 NEEDS_HUMAN · 11 NEEDS_AGENT (the packet is written) · 12 BLOCKED (out of time).",
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			q.RunID, q.Profile = args[0], risk.Profile(profile)
			switch {
			case len(args) > 1 && cmd.ArgsLenAtDash() != 1:
				return usagef("repair: one run at a time; write the agent's command behind --")
			case len(args) > 1 && len(agent) > 0:
				return usagef("repair: give the agent once: with --agent or behind --")
			case len(args) > 1:
				agent = args[1:]
			}
			if q.NoAgent && len(agent) > 0 {
				return usagef("repair: --no-agent and an agent exclude each other")
			}
			q.Agent = config.Expand(agent, a.self)
			if cmd.Flags().Changed("max-attempts") && q.MaxAttempts < 1 || cmd.Flags().Changed("max-runtime") && q.MaxRuntime <= 0 {
				return usagef("repair: --max-attempts must be 1 or more, --max-runtime positive")
			}
			if !(q.Cap.USD >= 0 && q.Cap.USD <= math.MaxFloat64) || q.Cap.Tokens < 0 {
				return usagef("repair: --max-cost and --max-tokens must be numbers from 0")
			}
			if profile != "default" && profile != "seed" {
				return usagef("repair: --profile %q: use default or seed", profile)
			}
			if steps < 0 || cancel && steps > 0 {
				return usagef("repair: --steps takes a positive number, and not with --cancel")
			}
			if cancel {
				id, l, _, err := a.cancelled(cmd.Context(), q.RunID)
				if err != nil {
					return err
				}
				if l.RunID == "" {
					a.done("cancelled", id) // its agent or its proof
					return nil
				}
				return a.repaired(l)
			}
			if steps > 0 {
				q.Stepper = &stepsThen{steps, patch.ErrHeld}
			}
			return a.withBench(cmd.Context(), true, func(b *patch.Bench, h *harness) error {
				if q.MaxAttempts == 0 {
					q.MaxAttempts = h.cfg.Patch.MaxAttempts
				}
				if q.MaxRuntime == 0 {
					q.MaxRuntime = h.cfg.Patch.MaxRuntime
				}
				id, err := b.Find(q.RunID)
				if err != nil {
					return err
				}
				q.RunID = id
				l, err := b.Repair(cmd.Context(), q)
				if flushed := h.narrator.flush(); err == nil {
					err = flushed
				}
				if errors.Is(err, patch.ErrRepaired) {
					a.note("%v", err)
					return a.printLoop(l)
				}
				if errors.Is(err, patch.ErrHeld) {
					a.note("repair %s: held before %s; call it again to go on", l.RunID, l.State)
					return a.printLoop(l)
				}
				if err != nil {
					return err
				}
				return a.repaired(l)
			})
		},
	}
	f := c.Flags()
	f.IntVar(&q.MaxAttempts, "max-attempts", 0, "proofs at most: 2 is the original one plus one repair (default: patch.max_attempts)")
	f.Var(seconds{&q.MaxRuntime}, "max-runtime", "time for all of it (default: patch.max_runtime)")
	f.Float64Var(&q.Cap.USD, "max-cost", 0, "dollars that the repairs may cost together, as the agent itself tells; 0 = no bound but budget.usd")
	f.Int64Var(&q.Cap.Tokens, "max-tokens", 0, "tokens that the repairs may use together; 0 = no bound but budget.tokens")
	f.StringArrayVar(&agent, "agent", nil, "the agent's command, a word each time, instead of the original run's")
	f.BoolVar(&q.NoAgent, "no-agent", false, "write the packet and drive nobody")
	f.BoolVar(&q.Resume, "resume-session", false, "continue the agent's own session where its program can")
	f.StringVar(&profile, "profile", "default", "default, or seed: AgentDiff 0.4's order and rules")
	f.IntVar(&steps, "steps", 0, "hold after so many states; called again, it goes on")
	f.BoolVar(&q.Again, "again", false, "start over where the run is repaired already")
	f.BoolVar(&cancel, "cancel", false, "end the loop: one that is held or was cut off, or goes on in another process")
	return c
}

// repaired prints a loop that ended, and ends with its code.
func (a *app) repaired(l run.Loop) error {
	if err := a.printLoop(l); err != nil {
		return err
	}
	if code := run.Exit(l.Status); code != exitDone {
		return &exitErr{code, fmt.Errorf("repair %s: %s: %s", l.RunID, l.Status, patch.Says(l))}
	}
	return nil
}

// stepsThen lets a number of states pass and then ends with an error.
type stepsThen struct {
	left int
	err  error
}

// At counts.
func (s *stepsThen) At(ctx context.Context, _ run.Loop) error {
	if s.left--; s.left < 0 {
		return s.err
	}
	return ctx.Err()
}

func (a *app) printLoop(l run.Loop) error {
	if a.json {
		if l.Status == "" {
			return a.out.object("vise.patch_loop/1", l)
		}
		return a.out.object("vise.patch_outcome/1", patch.OutcomeOf(l))
	}
	for _, t := range l.Attempts {
		what := t.Verdict
		if t.Class != "" {
			what += " (" + string(t.Class) + ")"
		}
		a.out.printf("attempt %d  %s  %s  %d ms  %s", t.Attempt, t.RunID, what, t.Millis, show(firstOf(t.Reasons), 200))
		if t.Packet != "" {
			a.out.printf("           packet %s", t.Packet)
		}
	}
	if l.Status == "" {
		a.out.printf("%s before %s, %s of %s used", "held", l.State, l.Spent.Round(time.Millisecond), l.MaxRuntime)
		return a.out.err
	}
	a.out.printf("%s after %s, %s of %s", l.Status, counted(float64(len(l.Attempts)), "proof"), l.Spent.Round(time.Millisecond), l.MaxRuntime)
	if used := l.UsedWords(); used != "" {
		a.out.printf("the repairs used %s", used)
	}
	if l.Repaired != "" {
		a.out.printf("vise patch diff %s shows the patch, vise patch apply %s writes it to the project", l.Repaired, l.Repaired)
	} else if says := patch.Says(l); says != "" {
		a.out.printf("%s", block(says))
	}
	return a.out.err
}

func firstOf(list []string) string {
	if len(list) == 0 {
		return ""
	}
	return list[0]
}
