package cli

import (
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"vise/engine/patch"
	"vise/engine/patch/risk"
	"vise/engine/patch/run"
	"vise/store"
)

func (a *app) patchShow() *cobra.Command {
	return &cobra.Command{
		Use: "show RUN", Short: "Show a run: its patch, the decision about every path, its proof", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.readBench(cmd.Context(), func(b *patch.Bench, _ *store.Store) error {
				id, err := b.Find(args[0])
				if err != nil {
					return err
				}
				r, err := b.Run(id)
				if err != nil {
					return err
				}
				if err := a.printRun(r); err != nil {
					return err
				}
				l, found, err := b.Loop(r.ID)
				if err != nil || !found {
					return err
				}
				return a.printLoop(l)
			})
		},
	}
}

func (a *app) printRun(r run.Run) error {
	if a.json {
		return a.out.object("vise.patch_run/1", r)
	}
	a.out.printf("%s  %s  %s", r.ID, r.Status, show(strings.Join(r.Command, " "), 120))
	if r.Task != "" {
		a.out.printf("task       %s", show(r.Task, 300))
	}
	if r.Exit != "" || r.Error != "" {
		a.out.printf("agent      %s", show(strings.TrimSpace(r.Exit+" "+r.Error), 300))
	}
	if r.Usage != nil {
		a.out.printf("used       %s", run.Words(*r.Usage))
	}
	if r.Sandbox != "" {
		a.out.printf("held       %s", show(r.Sandbox, 300))
	}
	a.out.printf("base       %s, %s", counted(float64(r.BaseFiles), "file"), short(r.BaseDigest))
	if n := len(r.LeftOut); n > 0 {
		more := ""
		if n > 5 {
			more = fmt.Sprintf(" and %d more", n-5)
		}
		a.out.printf("left out   %s%s: ignored, and in no workspace", show(strings.Join(r.LeftOut[:min(n, 5)], ", "), 300), more)
	}
	if n := len(r.NotTaken); n > 0 {
		a.out.printf("not taken  %s", show(r.NotTakenWords(3), 300))
	}
	if r.Patch != nil {
		a.out.printf("patch      %s, blast radius %d (%s), later %s", counted(float64(len(r.Patch.Entries)), "file"), r.Blast.Score, r.Blast.Level, r.Future.Level)
		var rows [][]string
		for _, e := range r.Patch.Entries {
			kind := ""
			if k, is := risk.Protected(e.Path); is {
				kind = "protected: " + string(k)
			}
			what := e.ChangeType
			if e.RenamedFrom != "" {
				what += " from " + show(e.RenamedFrom, 60)
			}
			rows = append(rows, []string{"  " + show(e.Path, 80), what, string(e.Decision), kind})
		}
		if len(rows) > 0 {
			if err := a.out.table([]string{"  PATH", "CHANGE", "POLICY", "RISK"}, rows); err != nil {
				return err
			}
		}
		if r.Ignored > 0 {
			a.out.printf("           %s ignored by the base's own rules: no part of the patch", counted(float64(r.Ignored), "new file"))
		}
	}
	switch {
	case r.Proving:
		a.out.printf("proof      goes on")
	case r.ProofCut:
		a.out.printf("proof      was cut off before its end; vise patch prove %s makes it", r.ID)
	case r.Proof == nil && r.Status == run.Passed:
		a.out.printf("proof      none yet; vise patch prove %s makes it", r.ID)
	}
	if p := r.Proof; p != nil {
		a.out.printf("proof      %s in %s, plan from %s, %s", verdictOf(r), p.Ended.Sub(p.Started).Round(time.Millisecond), orNone(p.PlanSource), show(p.Sandbox, 200))
		for _, f := range p.Phases {
			mark := "ok"
			if !f.Passed {
				mark = "FAILED"
			}
			argv := show(strings.Join(f.Command, " "), 80)
			if f.TestsPassed != nil && f.TestsTotal != nil {
				a.out.printf("  %-16s %-6s %6d ms  %s  %d/%d tests", f.Phase, mark, f.Millis, argv, *f.TestsPassed, *f.TestsTotal)
				continue
			}
			a.out.printf("  %-16s %-6s %6d ms  %s", f.Phase, mark, f.Millis, argv)
		}
		for _, why := range p.Reasons {
			a.out.printf("  because  %s", show(why, 300))
		}
		for _, name := range p.FailedTests {
			a.out.printf("  failing  %s", show(name, 200))
		}
		if n := len(p.Phases); n > 0 && !p.Phases[n-1].Passed {
			a.printTail("  │ ", p.Phases[n-1])
		}
		if f := p.FirstFailure; f != nil {
			a.out.printf("at first   %s failed, and was proven once more: %s", f.Phase, show(strings.Join(f.Command, " "), 80))
			a.printTail("  at first │ ", *f)
		}
	}
	if r.Route != nil {
		a.out.printf("next       %s (%s)", r.Route.Kind, r.Route.Code)
	}
	for _, c := range r.Causes {
		a.out.printf("  look     %s", show(c.Says(), 300))
	}
	return a.out.err
}

// printTail prints the end of what a phase wrote.
func (a *app) printTail(before string, f run.Phase) {
	for _, line := range lastLines(f.Output, 12) {
		a.out.printf("%s%s", before, line)
	}
}

func lastLines(s string, n int) []string {
	lines := strings.Split(strings.TrimRight(s, "\n"), "\n")
	return lines[max(0, len(lines)-n):]
}

func orNone(s string) string {
	if s == "" {
		return "nowhere"
	}
	return s
}

// short is the head of a digest.
func short(digest string) string { return digest[:min(12, len(digest))] }

// meant is the run whose patch a person names, and says so when that is a repair.
func (a *app) meant(b *patch.Bench, name string) (string, error) {
	id, by, err := b.Meant(name)
	if by != "" {
		a.note("%s was repaired: its patch is that of %s", by, id)
	}
	return id, err
}
