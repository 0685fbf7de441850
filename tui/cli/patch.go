package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"vise/engine/config"
	"vise/engine/event"
	"vise/engine/guard"
	"vise/engine/model"
	"vise/engine/patch"
	"vise/engine/patch/risk"
	"vise/engine/patch/run"
	"vise/engine/process"
	"vise/engine/trace"
	"vise/replay/driver"
	"vise/store"
)

func (a *app) patchCmd() *cobra.Command {
	c := &cobra.Command{Use: "patch", Short: "Run a coding agent in a workspace, prove its patch, apply it"}
	c.AddCommand(a.patchRun(), a.patchLs(), a.patchShow(), a.patchDiff(), a.patchProve(), a.patchApply(), a.patchCancel(), a.patchRm(), a.patchSchema())
	return c
}

// patchPurpose is under what the ledger books coding agents.
const patchPurpose = "patch"

// bench opens the patch loop of a project over an open store.
func (a *app) bench(cfg *config.Config, st *store.Store, bus *event.Bus, ledger *model.Ledger) (*patch.Bench, error) {
	red, err := guard.NewRedactor(guard.RedactOptions{Keys: cfg.Redact.Keys, Values: cfg.Redact.Values, Extra: cfg.Redact.Extra})
	if err != nil {
		return nil, err
	}
	hosts, err := guard.ParseHosts(cfg.Agent.Egress)
	if err != nil {
		return nil, fmt.Errorf("agent.egress: %w", err)
	}
	return patch.New(patch.Options{
		Store: st, Bus: bus, Log: a.log, Root: cfg.Path("."), Dir: cfg.Path(cfg.Store.Path), PolicyFile: cfg.Path(cfg.Patch.Policy),
		AgentEnv: driver.Environ(cfg.Agent.Env, toolchain(a.env), a.env), PhaseEnv: driver.Environ(nil, toolchain(a.env), a.env),
		Home: a.getenv("HOME"), HomeEntries: cfg.Agent.Home, Sandbox: cfg.Agent.Sandbox, Hosts: hosts, MaxRuntime: cfg.Patch.MaxRuntime, PhaseTimeout: cfg.Patch.PhaseTimeout, Redactor: red,
		Reserve: func(likely trace.Usage) (patch.Reserved, error) {
			held, err := ledger.Hold(patchPurpose, likely)
			if err != nil {
				return patch.Reserved{}, err
			}
			return patch.Reserved{Over: held.Over, Settle: func(u *trace.Usage) {
				if u == nil {
					held.Settle(trace.Usage{}, false, 0)
					return
				}
				held.Settle(*u, true, 0)
			}}, nil
		},
		OnProcess: func(runID string, rec process.Record, gone bool) {
			// The record must outlive a cancelled context: it is what the next start reaps by.
			if err := recordProcess(context.Background(), st, runID, rec, gone); err != nil {
				a.log.Warn("process record", "run", runID, "err", err)
			}
		},
	})
}

// tellAgentSpent says on standard error what coding agents say that they used; that
// they say nothing matters only where a budget is set.
func (a *app) tellAgentSpent(h *harness) {
	for _, e := range h.ledger.Entries() {
		if e.Purpose != patchPurpose {
			continue
		}
		if told := e.Calls - e.Estimated; told > 0 {
			cost := fmt.Sprintf("$%.4f", e.USD)
			if e.Unpriced > e.Estimated {
				cost = "price unknown"
			}
			a.note("vise: the agent tells of %d tokens in, %d out, %s", e.Input, e.Output, cost)
		}
		if e.Estimated > 0 && (h.cfg.Budget.USD != nil || h.cfg.Budget.Tokens != nil) {
			a.note("vise: the budget does not count %s of the agent, which did not tell what it used", counted(e.Estimated, "run"))
		}
	}
}

// withBench opens the project as the store's owner with its patch loop.
func (a *app) withBench(ctx context.Context, narrate bool, fn func(*patch.Bench, *harness) error) error {
	err := a.withHarness(ctx, needs{narrate: narrate}, func(h *harness) error {
		defer func() { a.tellAgentSpent(h) }()
		b, err := a.bench(h.cfg, h.store, h.Events(), h.ledger)
		if err != nil {
			return err
		}
		a.sweepPatches(ctx, b)
		answerPatch(h.store, b, "vise patch or vise repair")
		return fn(b, h)
	})
	if errors.Is(err, patch.ErrCancelled) {
		return &exitErr{exitInterrupted, err}
	}
	return busyWith(ctx, err)
}

// sweepPatches clears up behind a killed process; what cannot be cleared up hinders nobody.
func (a *app) sweepPatches(ctx context.Context, b *patch.Bench) {
	if err := b.Sweep(ctx); err != nil {
		a.log.Warn("clear up patch runs", "err", err)
	}
}

// readBench opens the project for reading.
func (a *app) readBench(ctx context.Context, fn func(*patch.Bench, *store.Store) error) error {
	cfg, _, err := a.load()
	if err != nil {
		return err
	}
	st, err := store.OpenRead(ctx, a.storeOptions(cfg, nil))
	if err != nil {
		return err
	}
	defer st.Close()
	b, err := a.bench(cfg, st, nil, nil)
	if err != nil {
		return err
	}
	if st.Owner() { // nobody is at work: what still says so was killed
		a.tellRecovery(st)
		a.reap(ctx, st)
		a.sweepPatches(ctx, b)
	}
	return fn(b, st)
}

func (a *app) patchRun() *cobra.Command {
	var task, policy string
	var noProve bool
	c := &cobra.Command{
		Use: "run [flags] -- AGENT ARG...", Short: "Run a coding agent on a copy of the project and prove its patch",
		Long: "The agent runs in a fresh workspace made from the project; the project itself is not touched. What it\n" +
			"changed is captured as a patch, every path is decided by the policy (patch.policy), and base and patch are\n" +
			"rebuilt in another clean workspace where the setup, build and test commands of the policy, or of the\n" +
			"project's own ecosystem, must pass. Exit code 0: proven, nobody is needed. 9: not proven; vise repair gives\n" +
			"the agent another try. 10: a person must look.",
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if strings.TrimSpace(args[0]) == "" {
				return usagef("patch run: the name of the program is empty; write it after --, as in vise patch run -- codex exec TEXT")
			}
			q := patch.Request{Task: task, Argv: config.Expand(args, a.self)}
			if policy != "" {
				q.PolicyFile = a.path(policy)
			}
			return a.withBench(cmd.Context(), true, func(b *patch.Bench, h *harness) error {
				r, err := b.Start(cmd.Context(), q)
				if err == nil && !noProve {
					r, err = b.Prove(cmd.Context(), r.ID)
				}
				if err != nil {
					return err
				}
				return a.patched(h, r, noProve)
			})
		},
	}
	c.Flags().StringVar(&task, "task", "", "what the agent was asked, for the failure packet")
	c.Flags().StringVar(&policy, "policy", "", "a policy file instead of patch.policy (TOML or JSON)")
	c.Flags().BoolVar(&noProve, "no-prove", false, "capture the patch and prove nothing")
	return c
}

// patched prints a run and ends with the code of where it goes next.
func (a *app) patched(h *harness, r run.Run, unproven bool) error {
	if err := errors.Join(h.narrator.flush(), a.printRun(r)); err != nil {
		return err
	}
	switch {
	case unproven && len(r.Causes) == 0 && r.Status == run.Passed:
		return a.out.err
	case r.Route != nil && r.Route.Kind == risk.Auto:
		return a.out.err
	case r.Route == nil || r.Route.Kind == risk.Human:
		return &exitErr{exitHuman, fmt.Errorf("patch run %s: a person must look: %s", r.ID, asked(r))}
	}
	return &exitErr{exitNotProven, fmt.Errorf("patch run %s: not proven: %s; vise repair %s gives the agent another try", r.ID, strings.Join(r.Proof.Reasons, "; "), r.ID)}
}

// asked is what a person has to look at, nothing of it twice.
func asked(r run.Run) string {
	var all, out []string
	for _, c := range r.Causes {
		all = append(all, c.Says())
	}
	if r.Proof != nil {
		all = append(all, r.Proof.Reasons...)
	}
	for i, s := range append(all, r.Error) {
		told := func(other string) bool { return strings.Contains(other, s) }
		if s != "" && !slices.ContainsFunc(out, told) && !slices.ContainsFunc(all[min(i+1, len(all)):], func(o string) bool { return len(o) > len(s) && told(o) }) {
			out = append(out, s)
		}
	}
	return cell(strings.Join(out, "; "))
}

func (a *app) patchLs() *cobra.Command {
	return &cobra.Command{
		Use: "ls", Short: "List runs, newest first", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.readBench(cmd.Context(), func(_ *patch.Bench, st *store.Store) error {
				var list []run.Run
				repaired := map[string]string{} // by which run
				if err := st.View(func(tx *store.Tx) (err error) {
					if list, err = tx.PatchRuns(store.Window{}); err != nil {
						return err
					}
					loops, err := tx.PatchLoops()
					for _, l := range loops {
						if l.Repaired != l.RunID {
							repaired[l.RunID] = l.Repaired
						}
					}
					return err
				}); err != nil {
					return err
				}
				return a.list("vise.patch_run/1", len(list), func(i int) any { return list[i] }, "no patch runs yet; vise patch run -- AGENT ARG... makes one",
					[]string{"RUN", "PROGRAM", "STATUS", "FILES", "PROOF", "NEXT", "TASK"}, func(i int) []string {
						r := list[i]
						next := nextOf(r)
						if by := repaired[r.ID]; by != "" && next != "applied" {
							next = "repaired by " + by
						}
						return []string{r.ID, show(program(r), 30), string(r.Status), strconv.Itoa(files(r)), verdictOf(r), next, show(r.Task, 60)}
					})
			})
		},
	}
}

func program(r run.Run) string {
	if len(r.Command) == 0 {
		return "–"
	}
	return r.Command[0]
}

func files(r run.Run) int {
	if r.Patch == nil {
		return 0
	}
	return len(r.Patch.Entries)
}

func verdictOf(r run.Run) string {
	switch {
	case r.Proving:
		return "…"
	case r.Proof == nil && r.ProofCut:
		return "cut off"
	case r.Proof == nil:
		return "–"
	case r.Proof.Class != "":
		return fmt.Sprintf("%s (%s)", r.Proof.Verdict, r.Proof.Class)
	}
	return r.Proof.Verdict
}

func nextOf(r run.Run) string {
	switch {
	case r.Applied != nil && !r.Applied.At.IsZero() && r.Applied.Undone.IsZero():
		return "applied"
	case r.Proving:
		return "is proven now"
	case r.ProofCut:
		return "vise patch prove"
	case r.Route == nil && r.Status == run.Error:
		return "run it again"
	case r.Route == nil && r.Status != run.Running && r.Status != run.Cancelled:
		return "vise patch prove"
	case r.Route == nil:
		return "–"
	}
	return r.Route.Kind
}

func (a *app) patchProve() *cobra.Command {
	return &cobra.Command{
		Use: "prove RUN", Short: "Prove a run again in a clean workspace", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withBench(cmd.Context(), true, func(b *patch.Bench, h *harness) error {
				id, err := b.Find(args[0])
				if err != nil {
					return err
				}
				r, err := b.Prove(cmd.Context(), id)
				if err != nil {
					return err
				}
				return a.patched(h, r, false)
			})
		},
	}
}

func (a *app) patchApply() *cobra.Command {
	var undo, reviewed bool
	c := &cobra.Command{
		Use: "apply RUN", Short: "Write a proven patch to the project, or take it back", Args: cobra.ExactArgs(1),
		Long: "Refused when the commands of the proof did not pass, when the policy denies a path, when the project is\n" +
			"not what the proof was made on, and, without --reviewed, when a person must look at it (also where the\n" +
			"policy says review). All of it is written or nothing; --undo takes it back.\n" +
			"Of a run that was repaired the repaired patch is meant.",
		RunE: func(cmd *cobra.Command, args []string) error {
			if undo && reviewed {
				return usagef("patch apply: --undo and --reviewed exclude each other")
			}
			return a.withBench(cmd.Context(), false, func(b *patch.Bench, _ *harness) error {
				id, err := a.meant(b, args[0])
				if err != nil {
					return err
				}
				if undo {
					_, err := b.Undo(cmd.Context(), id)
					if err == nil {
						a.done("undone", id)
					}
					return err
				}
				if _, err := b.Apply(cmd.Context(), id, reviewed); err != nil {
					return err
				}
				a.done("applied", id)
				return nil
			})
		},
	}
	c.Flags().BoolVar(&undo, "undo", false, "take an applied patch back")
	c.Flags().BoolVar(&reviewed, "reviewed", false, "you looked at a patch that asks for a person")
	return c
}

func (a *app) patchRm() *cobra.Command {
	var force bool
	c := &cobra.Command{
		Use: "rm RUN...", Short: "Remove runs with their repairs and files", Args: cobra.MinimumNArgs(1),
		Long: "Refused while a run is at work, and, without --force, when its patch or that of a repair of it is applied\n" +
			"to the project: it could not be taken back any more.",
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withBench(cmd.Context(), false, func(b *patch.Bench, _ *harness) error {
				var errs []error
				for _, id := range args {
					if err := b.Remove(cmd.Context(), id, force); err != nil {
						errs = append(errs, err)
						continue
					}
					a.done("removed", id)
				}
				return errors.Join(errs...)
			})
		},
	}
	c.Flags().BoolVar(&force, "force", false, "remove a run whose patch is applied, too")
	return c
}

func (a *app) patchSchema() *cobra.Command {
	return &cobra.Command{
		Use: "schema", Short: "Print the JSON Schema of failure packets", Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			if !a.json {
				return a.out.write(patch.PacketSchema)
			}
			var line bytes.Buffer
			if err := json.Compact(&line, patch.PacketSchema); err != nil {
				return fmt.Errorf("patch schema: %w", err)
			}
			return a.out.write(append(line.Bytes(), '\n'))
		},
	}
}
