package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sort"

	"github.com/spf13/cobra"

	"vise/engine/config"
	"vise/engine/event"
	"vise/engine/rule"
	"vise/engine/trace"
	"vise/store"
)

// demoFailing is the recorded session in which the sample agent forgets an argument.
const demoFailing = "torn-blanket"

func (a *app) demoCmd() *cobra.Command {
	var headless bool
	var keep, prepare string
	c := &cobra.Command{
		Use: "demo", Short: "Watch an agent fail, be repaired by a rule, and the rule earn its place", Args: cobra.NoArgs,
		Long: "A throw-away project with recorded sessions, the sample agent (a scripted toy over a refund desk, no\n" +
			"language model) and the built-in repairer (deterministic, free). Nothing else is needed: no account, no\n" +
			"key, no network. Everything it does can be done with the plain commands after demo --prepare DIR.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			switch {
			case prepare != "" && (keep != "" || headless):
				return usagef("demo: --prepare runs nothing and excludes --headless and --keep")
			case prepare != "":
				dir := a.path(prepare)
				if _, err := a.prepareDemo(cmd, dir); err != nil {
					return err
				}
				if !a.json {
					a.out.printf("prepared %s; next:", dir)
					a.out.printf("  cd %s", dir)
					a.out.printf("  vise replay %s --no-validate", demoFailing)
					a.out.printf("  vise validate --until-idle")
					a.out.printf("  vise rules ls")
				}
				return a.out.err
			case !headless:
				if err := a.needsTerminal("the demo", "vise demo --headless"); err != nil {
					return err
				}
			}
			dir, cleanup, err := demoDir(a, keep)
			if err != nil {
				return err
			}
			if headless {
				err = a.runDemo(cmd, dir)
			} else {
				err = a.screenDemo(cmd, dir)
			}
			return errors.Join(err, cleanup())
		},
	}
	c.Flags().BoolVar(&headless, "headless", false, "without a screen: print the events")
	c.Flags().StringVar(&keep, "keep", "", "make the project in this folder and keep it")
	c.Flags().StringVar(&prepare, "prepare", "", "write and import the project into this folder and run nothing")
	return c
}

// demoDir makes the demo's folder: a temporary one that is removed, or the one to keep.
func demoDir(a *app, keep string) (dir string, cleanup func() error, err error) {
	if keep != "" {
		return a.path(keep), func() error { return nil }, nil
	}
	dir, err = os.MkdirTemp("", "vise-demo-*")
	if err != nil {
		return "", nil, fmt.Errorf("demo: %w", err)
	}
	return dir, func() error {
		if err := os.RemoveAll(dir); err != nil {
			return fmt.Errorf("demo: remove the temporary project: %w", err)
		}
		return nil
	}, nil
}

// prepareDemo writes the project and imports its recordings.
func (a *app) prepareDemo(cmd *cobra.Command, dir string) (*config.Config, error) {
	if entries, err := os.ReadDir(dir); err == nil && len(entries) > 0 {
		return nil, fmt.Errorf("demo: %s is not empty; name a new folder", dir)
	}
	file := filepath.Join(dir, "vise.toml")
	if err := writeProject(file, config.ProjectOptions{Command: []string{"{vise}", "sample-agent"}}, false); err != nil {
		return nil, err
	}
	sessions := filepath.Join(dir, "sessions")
	if err := os.MkdirAll(sessions, 0o755); err != nil {
		return nil, fmt.Errorf("demo: %w", err)
	}
	if err := fs.WalkDir(a.demo, ".", func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(p) != ".jsonl" {
			return err
		}
		raw, err := fs.ReadFile(a.demo, p)
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(sessions, filepath.Base(p)), raw, 0o644)
	}); err != nil {
		return nil, fmt.Errorf("demo: write recordings: %w", err)
	}
	cfg, _, err := a.loadFile(file)
	if err != nil {
		return nil, err
	}
	return cfg, a.withProject(cmd.Context(), cfg, needs{}, func(h *harness) error {
		_, err := a.importPaths(cmd, h, []string{sessions}, "", true, false)
		return err
	})
}

// runDemo leads the sample agent from a failure to a rule that holds.
func (a *app) runDemo(cmd *cobra.Command, dir string) error {
	ctx := cmd.Context()
	cfg, err := a.prepareDemo(cmd, dir)
	if err != nil {
		return err
	}
	return a.withProject(ctx, cfg, needs{agent: true, repair: true, narrate: true}, func(h *harness) error {
		head, inputs, err := demoSession(h.store)
		if err != nil {
			return err
		}
		h.heading(a, "1 · the agent is run on a recorded session and fails; the repair agent writes one candidate rule")
		first, err := a.demoRun(ctx, h, head, inputs, 0)
		if err != nil {
			return err
		}
		h.heading(a, "2 · validation replays the captured failure with only that rule visible")
		if _, err := h.ValidateUntilIdle(ctx); err != nil {
			return err
		}
		h.heading(a, "3 · the agent is run again on the same session")
		second, err := a.demoRun(ctx, h, head, inputs, 1)
		if err != nil {
			return err
		}
		return a.demoEnd(h, dir, first, second)
	})
}

// screenDemo opens the prepared project in the workbench at the failing session.
func (a *app) screenDemo(cmd *cobra.Command, dir string) error {
	quiet := *a // what the import has to say would stay behind under the screen
	quiet.out, quiet.errw = &output{w: io.Discard}, io.Discard
	cfg, err := quiet.prepareDemo(cmd, dir)
	if err != nil {
		return err
	}
	return a.openWorkbench(cmd.Context(), cfg, opening{name: "demo", session: demoFailing, fleeting: true})
}

// demoRun is one run of the agent; it returns the number of notices it raised.
func (a *app) demoRun(ctx context.Context, h *harness, head trace.Session, inputs []string, n int) (int, error) {
	before, err := lastSeq(h.store)
	if err != nil {
		return 0, err
	}
	if err := h.live(ctx, head, inputs, n, nil, trace.Session{}); err != nil {
		return 0, err
	}
	return countNotices(h.store, before)
}

// demoSession is the failing recording; should it be renamed, the one with most errors.
func demoSession(s *store.Store) (trace.Session, []string, error) {
	var heads []trace.Session
	if err := s.View(func(tx *store.Tx) (err error) {
		heads, err = tx.Sessions(store.Window{Origin: trace.Recorded, Oldest: true})
		return err
	}); err != nil {
		return trace.Session{}, nil, err
	}
	if len(heads) == 0 {
		return trace.Session{}, nil, errors.New("demo: the program holds no recorded sessions: it was built without testdata/demo")
	}
	sort.SliceStable(heads, func(i, j int) bool {
		if (heads[i].ID == demoFailing) != (heads[j].ID == demoFailing) {
			return heads[i].ID == demoFailing
		}
		return heads[i].Counts.Errors > heads[j].Counts.Errors
	})
	inputs, err := userInputs(s, heads[0].ID)
	return heads[0], inputs, err
}

// demoResult closes the demo's stream.
type demoResult struct {
	Before int       `json:"notices_before"`
	After  int       `json:"notices_after"`
	Rule   rule.Rule `json:"rule"`
	Kept   string    `json:"kept,omitempty"`
}

// heading prints a line for people between the events, in its place.
func (h *harness) heading(a *app, text string) {
	if err := h.narrator.flush(); err == nil {
		a.out.printf("\n%s", text)
	}
}

// demoEnd tells what happened, and fails when the demo did not show what it is for.
func (a *app) demoEnd(h *harness, dir string, before, after int) error {
	var active []rule.Rule
	promoted := 0
	if err := h.store.View(func(tx *store.Tx) (err error) {
		if active, err = tx.Rules(rule.Active); err != nil {
			return err
		}
		events, err := tx.LastEvents(100, event.RulePromote)
		promoted = len(events)
		return err
	}); err != nil {
		return err
	}
	if before == 0 || promoted == 0 || len(active) == 0 || after > 0 {
		return fmt.Errorf("demo: it did not go as it should: %d notices before, %d rules promoted, %d notices after", before, promoted, after)
	}
	r := demoResult{Before: before, After: after, Rule: active[0]}
	if _, err := os.Stat(filepath.Join(dir, "vise.toml")); err == nil {
		r.Kept = dir
	}
	if err := h.narrator.flush(); err != nil {
		return err
	}
	if a.json {
		return a.out.object("vise.demo/1", r)
	}
	a.out.printf("")
	a.out.printf("before: %d notice(s). The repair agent wrote, and evidence kept:", before)
	a.out.printf("  %s  %s", r.Rule.ID, show(r.Rule.Text, 0))
	a.out.printf("after: none. The agent reads the rule through its tools; nothing was put into its prompt.")
	return a.out.err
}
