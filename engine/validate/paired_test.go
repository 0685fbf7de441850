package validate

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"vise/engine/event"
	"vise/engine/evidence"
	"vise/engine/notice"
	"vise/engine/rule"
	"vise/engine/score"
	"vise/engine/trace"
	"vise/store"
)

// bench is a project whose agent is a function: the score of a run follows from what
// the job may see and from its seed.
type bench struct {
	t     *testing.T
	store *store.Store
	v     *Validator
	// agent scores a run.
	agent func(job evidence.Job, seen rule.Set, r *rand.Rand) evidence.Run

	mu   sync.Mutex
	runs []evidence.Job
}

// outcomeOf puts a run's outcome where the scorer of the bench finds it.
func outcomeOf(v float64) evidence.Run {
	return evidence.Run{Turns: []trace.Turn{{Input: "pay back", EndState: fmt.Appendf(nil, "%v", v)}}}
}

// Replay implements Replayer.
func (b *bench) Replay(ctx context.Context, job evidence.Job) (evidence.Run, error) {
	b.mu.Lock()
	b.runs = append(b.runs, job)
	b.mu.Unlock()
	var h uint64
	for _, c := range job.Seed {
		h = h*31 + uint64(c)
	}
	run := b.agent(job, *rule.NewSet(job.Rules, nil), rand.New(rand.NewPCG(h, 1)))
	run.RunID = job.RunID
	run.Session = trace.Session{ID: "x-" + job.RunID, Origin: trace.Replay, CaseID: job.CaseID}
	for i := range run.Turns {
		run.Turns[i].SessionID = run.Session.ID
	}
	run.Offered, run.Started = true, run.Infrastructure != "timeout" // a timeout of the bench comes before the agent is up
	for _, r := range job.Rules {
		run.Read = append(run.Read, r.ID)
	}
	if ctx.Err() != nil {
		return run, fmt.Errorf("case %s: %w", job.CaseID, context.Cause(ctx))
	}
	return run, nil
}

func newBench(t *testing.T, mode string, agent func(evidence.Job, rule.Set, *rand.Rand) evidence.Run) *bench {
	t.Helper()
	b := &bench{t: t, agent: agent}
	var err error
	if b.store, err = store.Open(t.Context(), store.Options{InMemory: true}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.store.Close() })
	b.v = &Validator{Store: b.store, Replayer: b, Agent: "bench", EvaluatedBy: "bench/1", Score: func(_ context.Context, _ trace.Session, turns []trace.Turn) ([]score.Score, error) {
		var v float64
		if _, err := fmt.Sscan(string(turns[len(turns)-1].EndState), &v); err != nil {
			return nil, errors.New("no outcome")
		}
		return []score.Score{{Metric: score.OutcomeCorrect, Value: &v, By: "bench/1"}}, nil
	}, Config: Config{TrialMin: 5, PromoteMargin: 0.05, RegressMargin: 0.05, ReplayTimeout: time.Minute, Seed: 1,
		Evidence: mode, Profile: evidence.Full, PairsCap: 30, PromoteE: 20, Parallel: 1}}
	b.update(func(tx *store.Tx) error {
		if err := tx.PutNotice(notice.Notice{ID: "n-1", CreatedAt: "2026-03-01T00:00:00Z", SessionID: "s-own", TurnIndex: 0, Status: notice.Acknowledged}); err != nil {
			return err
		}
		for _, c := range []evidence.Case{failing("c-own", "s-own"), failing("c-held", "s-held")} {
			if err := tx.PutCase(c); err != nil {
				return err
			}
		}
		return tx.PutRule(candidateOf("r-1"))
	})
	return b
}

func candidateOf(id string) rule.Rule {
	return rule.Rule{ID: id, CreatedAt: "2026-03-02T00:00:00Z-" + id, Text: "Pass the reason code " + id + ".", SourceNoticeID: "n-1", Status: rule.Candidate,
		Scope: "refunds", Applicability: rule.Topical, Metric: score.TaskCompletion, Tags: []string{"breach:task_completion"}, Trial: &rule.Trial{}}
}

func failing(id, session string) evidence.Case {
	return evidence.Case{ID: id, CreatedAt: "2026-03-01T00:00:00Z-" + id, SessionID: session, Kind: evidence.Failure, Signature: []string{"breach:task_completion"},
		Baseline: map[string]float64{score.OutcomeCorrect: 0}, Input: &evidence.Input{Turns: []string{"pay back " + id}, Digest: "digest-" + id}}
}

func (b *bench) update(fn func(*store.Tx) error) {
	b.t.Helper()
	if err := b.store.Update(b.t.Context(), fn); err != nil {
		b.t.Fatal(err)
	}
}

// round runs one round and returns the verdict on a rule.
func (b *bench) round(o Options) map[string]evidence.Verdict {
	b.t.Helper()
	r, err := b.v.Round(b.t.Context(), o)
	if err != nil {
		b.t.Fatal(err)
	}
	out := map[string]evidence.Verdict{}
	for _, v := range r.Verdicts {
		out[v.RuleID] = v
	}
	return out
}

func (b *bench) events(types ...event.Type) (out []event.Event) {
	b.t.Helper()
	if err := b.store.View(func(tx *store.Tx) (err error) {
		out, err = tx.LastEvents(1000, types...)
		return err
	}); err != nil {
		b.t.Fatal(err)
	}
	slices.Reverse(out)
	return out
}

// sees reports whether a run may read a rule.
func sees(s rule.Set, id string) bool { _, ok, _ := s.Rule(id); return ok }

// randomly is an agent that succeeds with one chance without the rule and another with it.
func randomly(without, with float64) func(evidence.Job, rule.Set, *rand.Rand) evidence.Run {
	return func(_ evidence.Job, s rule.Set, r *rand.Rand) evidence.Run {
		p := without
		if sees(s, "r-1") {
			p = with
		}
		if r.Float64() < p {
			return outcomeOf(1)
		}
		return outcomeOf(0)
	}
}

// The canaries: what is true of each of them the validator must say.
func TestCanaries(t *testing.T) {
	for _, c := range []struct {
		name    string
		agent   func(evidence.Job, rule.Set, *rand.Rand) evidence.Run
		outcome evidence.Outcome
		pending string
		grade   string
	}{
		{"a rule that helps", randomly(0.2, 0.9), evidence.Promote, "", "paired"},
		{"a rule that harms", randomly(0.9, 0.2), evidence.Retire, "", "paired"},
		{"a rule that does nothing (A/A)", randomly(0.5, 0.5), evidence.PendingStill, evidence.Inconclusive, "paired"},
		{"an agent that always says done", randomly(1, 1), evidence.PendingStill, evidence.Inconclusive, "paired"},
		{"a deterministic agent that a rule helps", randomly(0, 1), evidence.Promote, "", "deterministic"},
		{"a deterministic agent that does nothing", randomly(0, 0), evidence.Retire, "", "deterministic"},
		{"an agent that never answers", func(evidence.Job, rule.Set, *rand.Rand) evidence.Run {
			return evidence.Run{Error: "no answer", Infrastructure: "agent_exited"}
		}, evidence.PendingStill, evidence.Infrastructure, "paired"},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBench(t, "auto", c.agent)
			v := b.round(Options{})["r-1"]
			if v.Outcome != c.outcome || v.PendingReason != c.pending || v.Evidence != c.grade {
				t.Errorf("%s %q (%s): %s; want %s %q (%s)", v.Outcome, v.PendingReason, v.Evidence, v.Reason, c.outcome, c.pending, c.grade)
			}
			card := v.Card()
			if card.Found == "" || card.Sure == "" || card.Next == "" {
				t.Errorf("card %+v", card)
			}
			if v.Identity == nil {
				t.Error("the verdict does not say what it holds for")
			}
		})
	}
}

// Only the case it was written from: nothing is run until a person accepts that.
func TestB38NoHeldOutCase(t *testing.T) {
	b := newBench(t, "paired", randomly(0.1, 0.9))
	b.update(func(tx *store.Tx) error { return tx.DeleteCase("c-held") })
	v := b.round(Options{})["r-1"]
	if v.PendingReason != evidence.NoHeldOutCase || len(b.runs) != 0 || !strings.Contains(v.Card().Next, "--own-case") {
		t.Errorf("%s %q after %d runs: %+v", v.Outcome, v.PendingReason, len(b.runs), v.Card())
	}
	v = b.round(Options{OwnCase: true})["r-1"]
	if v.Outcome != evidence.Promote || !v.OwnCaseOnly || !strings.Contains(v.Card().Sure, "Own case only") {
		t.Errorf("%s, own case only %v: %s", v.Outcome, v.OwnCaseOnly, v.Card().Sure)
	}
}

// A test that is cut off goes on where it was: with its scale, its seeds and its pairs.
func TestTestGoesOn(t *testing.T) {
	whole := newBench(t, "paired", randomly(0.3, 0.8))
	want := whole.round(Options{})["r-1"]
	if want.Outcome != evidence.Promote {
		t.Fatalf("%s: %s", want.Outcome, want.Reason)
	}
	b := newBench(t, "paired", nil)
	ctx, kill := context.WithCancel(t.Context())
	agent := randomly(0.3, 0.8)
	b.agent = func(j evidence.Job, s rule.Set, r *rand.Rand) evidence.Run {
		if len(b.runs) == 8 { // in the middle of the fourth pair
			kill()
		}
		return agent(j, s, r)
	}
	if _, err := b.v.Round(ctx, Options{}); !errors.Is(err, context.Canceled) {
		t.Fatalf("round: %v", err)
	}
	var stored []evidence.Pair
	var begun []evidence.Test
	read := func() {
		t.Helper()
		if err := b.store.View(func(tx *store.Tx) (err error) {
			if begun, err = tx.Tests("r-1"); err != nil || len(begun) != 1 {
				return errors.Join(err, fmt.Errorf("%d tests", len(begun)))
			}
			stored, err = tx.Pairs(begun[0].ID)
			return err
		}); err != nil {
			t.Fatal(err)
		}
	}
	read()
	if len(stored) != 3 {
		t.Fatalf("%d pairs are stored, want the 3 that were whole", len(stored))
	}
	for _, p := range stored {
		if p.Control.RunID == "" || p.Treatment.RunID == "" || p.Control.Seed == "" {
			t.Errorf("pair %d is not whole: %+v", p.Number, p)
		}
	}
	b.agent = agent
	before := len(b.runs)
	got := b.round(Options{})["r-1"]
	if got.Outcome != evidence.Promote || got.Paired.EGain != want.Paired.EGain || got.Paired.TestID != begun[0].ID || got.Paired.Pairs[0].At != stored[0].At {
		t.Errorf("%s by test %s after %d pairs, E⁺ %v; want as much as without a break: %d, %v", got.Outcome, got.Paired.TestID,
			got.Paired.Counted, got.Paired.EGain, want.Paired.Counted, want.Paired.EGain)
	}
	if again := len(b.runs) - before; again > 2*(len(got.Paired.Pairs)-3) {
		t.Errorf("%d runs for %d more pairs", again, len(got.Paired.Pairs)-3)
	}
}

// An undecided test is not run again: that would raise the rate of false promotions. Its
// verdict expires with the agent, and then it is.
func TestNoSecondChance(t *testing.T) {
	b := newBench(t, "paired", randomly(0.5, 0.5))
	v := b.round(Options{})["r-1"]
	if v.PendingReason != evidence.Inconclusive {
		t.Fatalf("%s %q", v.Outcome, v.PendingReason)
	}
	n := len(b.runs)
	again := b.round(Options{})["r-1"]
	if len(b.runs) != n || again.Paired.TestID != v.Paired.TestID || again.Paired.Counted != v.Paired.Counted {
		t.Errorf("%d more runs, test %s after %s", len(b.runs)-n, again.Paired.TestID, v.Paired.TestID)
	}
	b.v.Surroundings = "bench, another version"
	now, err := evidence.Identity{}, error(nil)
	if err = b.store.View(func(tx *store.Tx) (err error) { now, err = b.v.Identity(tx, "r-1"); return err }); err != nil {
		t.Fatal(err)
	}
	if v.Expired(now) == "" {
		t.Error("the verdict holds for another agent")
	}
	fresh := b.round(Options{})["r-1"]
	if len(b.runs) == n || fresh.Paired.TestID == v.Paired.TestID {
		t.Error("the rule was not tested again")
	}
	if fresh.Paired.Tests != 2 || fresh.Paired.Bound != 0.1 {
		t.Errorf("%d tests, bound %v", fresh.Paired.Tests, fresh.Paired.Bound)
	}
}

// Candidates share control runs, and see no other candidate; a promotion renews the bank.
func TestSharedControls(t *testing.T) {
	b := newBench(t, "paired", randomly(0.5, 0.5))
	b.update(func(tx *store.Tx) error { return tx.PutRule(candidateOf("r-2")) })
	verdicts := b.round(Options{})
	first, second := verdicts["r-1"].Paired, verdicts["r-2"].Paired
	if first.Shared != 0 || second.Shared == 0 || second.Shared > len(first.Pairs) {
		t.Errorf("shared %d of %d, then %d of %d", first.Shared, len(first.Pairs), second.Shared, len(second.Pairs))
	}
	controls := map[string]string{}
	for _, j := range b.runs {
		want := 0
		if j.Arm == "treatment" {
			want = 1
		}
		if len(j.Rules) != want || j.Rules == nil {
			t.Fatalf("%s run of %s sees %d rules", j.Arm, j.CaseID, len(j.Rules))
		}
		if j.Arm == "control" {
			if at := controls[j.Seed]; at != "" {
				t.Errorf("control runs %s and %s have one seed", at, j.RunID)
			}
			controls[j.Seed] = j.RunID
		}
	}
	n := len(controls)
	active := candidateOf("r-3")
	active.Status = rule.Active
	b.update(func(tx *store.Tx) error { return tx.PutRule(active) })
	if third := b.round(Options{Rules: []string{"r-1"}})["r-1"].Paired; third.TestID == first.TestID || third.Shared != 0 {
		t.Errorf("after a promotion: test %s, %d shared", third.TestID, third.Shared)
	}
	for _, j := range b.runs {
		if j.Arm == "control" {
			controls[j.Seed] = j.RunID
		}
	}
	if len(controls) == n {
		t.Error("the control runs were not drawn anew")
	}
}

// Workers at once change nothing but the time.
func TestParallelDecidesAlike(t *testing.T) {
	decide := func(parallel int) evidence.Verdict {
		b := newBench(t, "paired", randomly(0.2, 0.8))
		b.v.Config.Parallel = parallel
		v := b.round(Options{})["r-1"]
		v.Identity = nil
		return v
	}
	one, four := decide(1), decide(4)
	if one.Outcome != evidence.Promote || four.Outcome != one.Outcome || four.Paired.EGain != one.Paired.EGain || four.Paired.Counted != one.Paired.Counted {
		t.Errorf("one worker: %s after %d; four: %s after %d", one.Outcome, one.Paired.Counted, four.Outcome, four.Paired.Counted)
	}
}

// The time of a round is shared out, and holds; what is cut off goes on in the next one.
func TestBudgetIsShared(t *testing.T) {
	b := newBench(t, "paired", nil)
	var last time.Time
	var stood time.Duration // the longest time between the ends of two runs
	b.agent = func(evidence.Job, rule.Set, *rand.Rand) evidence.Run {
		time.Sleep(20 * time.Millisecond)
		ended := time.Now()
		stood = max(stood, ended.Sub(last))
		last = ended
		return outcomeOf(0.5)
	}
	b.update(func(tx *store.Tx) error { return tx.PutRule(candidateOf("r-2")) })
	start := time.Now()
	last = start
	const budget = 600 * time.Millisecond
	verdicts := b.round(Options{Budget: budget})
	took := time.Since(start)
	if took > time.Minute { // without the bound it is as long as its pairs: see the end
		t.Errorf("a round of %s took %s", budget, took)
	}
	tested := map[string]bool{}
	for _, j := range b.runs {
		tested[j.RuleID] = true
	}
	// A machine that stood still for a quarter of the budget may have left none for the second.
	if v := verdicts["r-1"]; v.PendingReason != evidence.RoundBudgetExhausted || (!tested["r-1"] || !tested["r-2"]) && stood < budget/4 {
		t.Errorf("%s %q; tested %v", v.Outcome, v.PendingReason, tested)
	}
	b.v.Config.PairsCap = 10
	b.agent = func(evidence.Job, rule.Set, *rand.Rand) evidence.Run { return outcomeOf(0.5) }
	for range 20 {
		if v := b.round(Options{})["r-1"]; v.PendingReason == evidence.Inconclusive {
			return
		}
	}
	t.Error("the test never came to its end")
}

// Every pair has its event, and a verdict carries its pairs.
func TestPairEvents(t *testing.T) {
	b := newBench(t, "paired", randomly(0.1, 0.9))
	v := b.round(Options{})["r-1"]
	events := b.events(event.ValidationPair)
	if len(events) != len(v.Paired.Pairs) || len(events) == 0 {
		t.Fatalf("%d events for %d pairs", len(events), len(v.Paired.Pairs))
	}
	orders := map[string]int{}
	for i, p := range v.Paired.Pairs {
		orders[p.Order]++
		if e := events[i]; e.RuleID != "r-1" || e.CaseID != p.CaseID || e.RunID != p.Treatment.RunID {
			t.Errorf("event %+v of pair %+v", e, p)
		}
		if p.Own || p.CaseID != "c-held" {
			t.Errorf("pair %d is on %s", p.Number, p.CaseID)
		}
	}
	if orders[evidence.ControlFirst] == 0 || orders[evidence.TreatmentFirst] == 0 {
		t.Errorf("orders %v: they are to be drawn", orders)
	}
}
