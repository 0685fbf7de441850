package patch

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"vise/engine/event"
	"vise/engine/patch/policy"
	"vise/engine/patch/risk"
	"vise/engine/patch/run"
	"vise/engine/patch/tree"
	"vise/store"
)

// Prove rebuilds the run's base and patch in a clean workspace and runs the plan
// there. The verdict is stored with the run, and so is where the run goes next.
func (b *Bench) Prove(ctx context.Context, id string) (run.Run, error) {
	free, err := b.claim(id)
	if err != nil {
		return run.Run{}, err
	}
	defer free()
	r, err := b.Run(id)
	if err != nil {
		return r, err
	}
	if r.Status == run.Running {
		return r, fmt.Errorf("prove %s: its agent is still running, or was cut off; start the run again", id)
	}
	ctx, end := b.stoppable(ctx, id)
	defer end()
	r.Proving, r.ProofCut = true, false
	if err := b.put(ctx, r, event.Event{Type: event.PatchState, Data: map[string]any{"state": string(run.StateProve)}}); err != nil {
		return r, err
	}
	done, err := b.proveTwice(ctx, r)
	if err != nil {
		return r, errors.Join(err, b.proofCut(ctx, id))
	}
	return done, nil
}

// proveTwice makes the proof of a run, and another one when tests fail: that may be
// chance. Both are stored.
func (b *Bench) proveTwice(ctx context.Context, r run.Run) (run.Run, error) {
	how := proving{limit: b.o.PhaseTimeout, profile: risk.Default}
	p, err := b.prove(ctx, r, how)
	if err != nil {
		return r, err
	}
	if r.Proof != nil {
		p = remembered(*r.Proof, p)
	}
	again := p.Verdict != run.Proven && p.Class == risk.Tests
	if r, err = b.proved(ctx, r, p, again); err != nil || !again {
		return r, err
	}
	how.again = true
	once, err := b.prove(ctx, r, how)
	if err != nil {
		return r, err
	}
	return b.proved(ctx, r, second(p, once), false)
}

// remembered is a proof that holds, with what failed in an earlier one of the same patch by
// the same commands: proving again until chance is kind makes no patch steadier.
func remembered(before, p run.Proof) run.Proof {
	if !p.Passes() || before.PatchDigest != p.PatchDigest || before.PlanDigest != p.PlanDigest {
		return p
	}
	switch {
	case before.Flaky != "":
		p.Flaky, p.FirstFailure, p.Repeated = before.Flaky, before.FirstFailure, before.Repeated
		p.Reasons = append(p.Reasons, flakyCause(before.Flaky).Says())
		if p.Verdict == run.Proven {
			p.Class = risk.Flaky
		}
	case !before.Passes() && before.Class == risk.Tests:
		return second(before, p)
	}
	return p
}

// proofCut stores that a proof was not made to its end.
func (b *Bench) proofCut(ctx context.Context, id string) error {
	ctx = context.WithoutCancel(ctx)
	r, err := b.Run(id)
	if err != nil || !r.Proving {
		return err
	}
	r.Proving, r.ProofCut = false, true
	return b.put(ctx, r, event.Event{Type: event.PatchState, Data: map[string]any{"state": "cut_off"}})
}

// second is the proof that counts after a failure was proven once more: one that
// holds is labelled, and tells what had failed. What failed at first is kept with it,
// unless the same failed again.
func second(before, again run.Proof) run.Proof {
	again.Repeated = true
	if n := len(before.Phases); n > 0 && !before.Phases[n-1].Passed {
		first := before.Phases[n-1]
		if m := len(again.Phases); again.Passes() || m != n || steady(again.Phases[m-1].Output) != steady(first.Output) {
			first.Output = clip(first.Output, maxFirstFailure)
			again.FirstFailure = &first
		}
	}
	if !again.Passes() {
		return again
	}
	if again.Verdict == run.Proven {
		again.Class = risk.Flaky
	}
	what := strings.Join(before.Reasons, "; ")
	if n := len(before.FailedTests); n > 0 {
		what += ": " + strings.Join(before.FailedTests[:min(n, 5)], ", ")
		if n > 5 {
			what += fmt.Sprintf(" and %d more", n-5)
		}
	}
	again.Flaky = what
	again.Reasons = append(again.Reasons, flakyCause(what).Says())
	return again
}

// proved stores a proof and where the run goes next. going tells that it is proven
// once more at once.
func (b *Bench) proved(ctx context.Context, r run.Run, p run.Proof, going bool) (run.Run, error) {
	r.Proof, r.Proving, r.ProofCut = &p, going, false
	r.Causes = doubted(r.Causes, p)
	class := p.Class
	if p.Verdict == run.Proven {
		class = risk.NoClass // a flaky proof is a proof, and is labelled
	}
	routed := risk.Route(r.Causes, r.Outcome, p.Verdict, class)
	r.Route = &routed
	err := b.o.Store.Update(context.WithoutCancel(ctx), func(tx *store.Tx) error {
		now, found, err := tx.PatchRun(r.ID)
		if err == nil && !found {
			err = errors.New("it was removed meanwhile")
		}
		if err != nil {
			return err
		}
		r.Applied = now.Applied // a person may have applied it, or taken it back, meanwhile
		if err := tx.PutPatchRun(r); err != nil {
			return err
		}
		data := map[string]any{"verdict": p.Verdict, "phases": len(p.Phases), "plan": p.PlanSource, "sandbox": p.Sandbox, "ms": p.Ended.Sub(p.Started).Milliseconds()}
		if p.Class != "" {
			data["class"] = string(p.Class)
		}
		if p.Repeated {
			data["again"] = true // a failure before it was proven once more
		}
		if n := len(p.FailedTests); n > 0 {
			data["failed_tests"] = n
		}
		if err := tx.Emit(event.Event{Type: event.PatchProved, RunID: r.ID, Data: data}); err != nil {
			return err
		}
		if going {
			return nil // where it goes is not known yet
		}
		return tx.Emit(event.Event{Type: event.PatchRouted, RunID: r.ID, Data: map[string]any{"kind": routed.Kind, "code": routed.Code, "causes": len(routed.Causes)}})
	})
	if err != nil {
		return r, fmt.Errorf("store the proof of %s: %w", r.ID, err)
	}
	return r, nil
}

// proving is how a proof is made.
type proving struct {
	limit   time.Duration // of every command
	profile risk.Profile
	again   bool // a failure is proven once more
}

// prove makes one proof. An error is ours or the context's; whatever lies in the
// patch, the project or the machine's tools is a verdict with its class.
func (b *Bench) prove(ctx context.Context, r run.Run, how proving) (run.Proof, error) {
	p := run.Proof{Verdict: run.NotProven, Reasons: []string{}, Phases: []run.Phase{}, Started: b.now(), Sandbox: "nothing was run"}
	end := func(class risk.Class, reasons ...string) (run.Proof, error) {
		p.Reasons = append(p.Reasons, reasons...)
		if p.Class == "" {
			p.Class = class
		}
		p.Ended = b.now()
		return p, nil
	}
	if r.Patch != nil {
		p.PatchDigest = r.Patch.Digest
	}
	switch r.Status {
	case run.Blocked:
		return end(risk.PolicyClass, "the policy denies the program; it was never started")
	case run.Error:
		return end(risk.Environment, "the agent could not be run, or what it made not be taken: "+r.Error)
	}
	base, err := tree.Open(b.bases(), r.BaseDigest)
	if err != nil {
		return p, fmt.Errorf("prove %s: %w", r.ID, err)
	}
	pl := plan(r.Policy, base, *r.Patch, how.profile)
	p.Plan, p.PlanSource, p.PlanTrusted = b.shownPlan(pl.Plan), pl.Source, pl.Trusted
	if p.PlanDigest, err = pl.Plan.Digest(); err != nil {
		return p, fmt.Errorf("prove %s: %w", r.ID, err)
	}
	if !pl.Trusted {
		return end(risk.Untrusted, pl.Why)
	}
	if !r.Patch.Complete || len(r.Unseen) > 0 {
		return end(risk.PolicyClass, "the patch is not complete: something could not be captured")
	}
	dir := filepath.Join(b.home(r.ID), "proof")
	if err := removeTree(dir); err != nil { // of a proof that was cut off
		return p, fmt.Errorf("prove %s: %w", r.ID, err)
	}
	defer removeTree(dir)
	ws := filepath.Join(dir, "project")
	if err := base.Materialise(ctx, ws); err != nil {
		if ctx.Err() != nil {
			return p, context.Cause(ctx)
		}
		return end(risk.Environment, b.mask(err.Error(), 500))
	}
	if err := tree.Apply(ws, r.Patch.Entries, tree.Objects(b.objects(r.ID))); err != nil {
		return end(risk.Inapplicable, b.mask(err.Error(), 500))
	}
	if pl.Source != "policy" {
		if p.PlanKept, err = keepPlan(ws, pl.Source, base, r.Patch.Entries, b.objects(r.ID)); err != nil {
			return end(risk.Untrusted, "the patch changes what its tests are, and the base's could not be put back: "+b.mask(err.Error(), 300))
		}
	}
	if err := b.phases(ctx, &p, r, pl.Plan, ws, filepath.Join(dir, "tmp"), how, false); err != nil {
		return p, err
	}
	if n := len(p.Phases); n > 0 && !p.Phases[n-1].Passed {
		bad := p.Phases[n-1]
		report := ReadTests(bad.Output)
		if bad.Phase == run.Tests {
			p.FailedTests = report.Failed
		}
		p.Class = classify(bad, dependencies(r.Patch.Entries) != "")
		p.Signature = signature(bad.Phase, report.Failed, bad.Output+bad.Detail)
		reasons := []string{says(bad)}
		if file := dependencies(r.Patch.Entries); file != "" && bad.Phase == run.Setup {
			reasons = append(reasons, "the patch touches "+file+", which the setup reads")
		}
		if gone := named(r.NotTaken, bad.Output); gone != "" {
			reasons = append(reasons, "it may lack "+gone+", which cannot be in a workspace: "+r.NotTaken[gone])
		}
		if left := missed(b.o.Root, r.LeftOut, bad.Output); left != "" && (p.Class == risk.Tests || p.Class == risk.BuildFailed) {
			why := "it lacks " + left + ", which is ignored and in no workspace; name the command that makes it in proof.setup of the policy"
			same, err := b.baseLacks(ctx, r, base, pl.Plan, how, bad.Phase, left)
			if err != nil {
				return p, err
			}
			if same { // no agent can mend it: what a person has to do comes first
				p.Class, reasons = risk.Environment, []string{why, says(bad)}
			} else { // the patch alone asks for it
				reasons = append(reasons, why)
			}
		}
		if r.Status != run.Passed { // its work may be half done
			reasons = append(reasons, badEnd(r))
		}
		return end(p.Class, reasons...)
	}
	if r.Status != run.Passed {
		p.Signature = signature("agent", nil, string(r.Status))
		return end(risk.AgentFailed, badEnd(r))
	}
	if p.BaseTests, p.BaseDoubt, err = b.baseTests(ctx, r, base, pl.Plan, p.PlanDigest, how); err != nil {
		return p, err
	}
	if r.Outcome != policy.Allow {
		return end(risk.PolicyClass, fmt.Sprintf("the policy says %s", r.Outcome))
	}
	p.Verdict, p.Ended = run.Proven, b.now()
	return p, nil
}

// badEnd tells that an agent failed, or was ended.
func badEnd(r run.Run) string {
	s := fmt.Sprintf("the agent did not end well: %s %s", strings.ReplaceAll(string(r.Status), "_", " "), r.Exit)
	if r.Error != "" {
		s += "; " + r.Error
	}
	return s
}

func says(f run.Phase) string {
	what := f.Detail
	if what == "" && f.ReturnCode != nil {
		what = fmt.Sprintf("exited %d", *f.ReturnCode)
	}
	return fmt.Sprintf("%s: %s %s", f.Phase, strings.Join(f.Command, " "), what)
}

func (b *Bench) shownPlan(p run.Plan) run.Plan {
	mask := func(list [][]string) [][]string {
		out := make([][]string, len(list))
		for i := range list {
			out[i] = b.shown(list[i])
		}
		return out
	}
	return run.Plan{Setup: mask(p.Setup), Build: mask(p.Build), Tests: mask(p.Tests)}
}
