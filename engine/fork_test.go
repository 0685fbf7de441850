package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"vise/engine"
	"vise/engine/config"
	"vise/engine/episode"
	"vise/engine/event"
	"vise/engine/evidence"
	"vise/engine/model"
	"vise/engine/model/faults"
	"vise/engine/repair"
	"vise/engine/rule"
	"vise/engine/trace"
	"vise/store"
)

// ticking is a stepper that never waits, and lets the project's clock go on, so that
// what happens has an order; it cancels the run of one episode when it is told to.
type ticking struct {
	p      *project
	seen   []repair.Checkpoint
	cancel bool
}

func (s *ticking) At(ctx context.Context, c repair.Checkpoint) (repair.Action, error) {
	s.p.now = s.p.now.Add(time.Second)
	s.seen = append(s.seen, c)
	if s.cancel {
		return repair.ActionCancel, nil
	}
	return repair.ActionContinue, nil
}

// repairedProject is a project with one episode that the builtin has repaired. Forks may
// ask script/two, which plays the steps.
func repairedProject(t *testing.T, steps ...faults.Step) (*project, *ticking, *faults.Transport, episode.Episode) {
	clock, wire := &ticking{}, faults.New(steps...)
	p := open(t, func(c *config.Config, o *engine.Options) {
		builtin(t)(c, o)
		o.Stepper = clock
		o.ModelFor = func(_ context.Context, id string) (*model.Client, error) {
			if id != "script/two" {
				return nil, errors.New("no provider of that name")
			}
			return model.New(model.Options{Model: id, Retries: -1, Transport: wire, Providers: map[string]model.Provider{"script": {BaseURL: "http://script.invalid/v1"}}})
		}
	})
	clock.p = p
	p.begin("s", trace.Live)
	p.end(bad("s", 0))
	return p, clock, wire, p.onlyEpisode()
}

func (p *project) fork(s engine.ForkSpec) episode.Episode {
	p.t.Helper()
	ep, err := p.Fork(p.t.Context(), s)
	if err != nil {
		p.t.Fatal(err)
	}
	return ep
}

// live is everything that a fork must not change.
func (p *project) live() (out []any) {
	p.view(func(tx *store.Tx) error {
		for _, read := range []func() (any, error){
			func() (any, error) { return tx.Rules() },
			func() (any, error) { return tx.Notices(store.Window{}) },
			func() (any, error) { return tx.Cases("") },
			func() (any, error) { return tx.ScopeDescriptions() },
			func() (any, error) {
				var v any
				_, err := tx.State("breaker", &v)
				return v, err
			},
			func() (any, error) {
				list, err := tx.Episodes(store.Window{})
				return slices.DeleteFunc(list, func(e episode.Episode) bool { return e.Fork != nil }), err
			},
		} {
			v, err := read()
			if err != nil {
				return err
			}
			out = append(out, v)
		}
		return nil
	})
	return out
}

func (p *project) steps(id string) (list []episode.Step) {
	p.view(func(tx *store.Tx) (err error) {
		list, err = tx.Steps(id)
		return err
	})
	return list
}

func call(name, args string) faults.Step {
	return faults.Step{Lines: []string{faults.Call("0", "c0", name, args), faults.Finish("tool_calls"), "[DONE]"}}
}

// TestAForkTouchesNothingLive: a what-if of a repair that wrote a rule writes its own,
// and rules, notices, cases and the breaker are those of before; so is its parent.
func TestAForkTouchesNothingLive(t *testing.T) {
	p, clock, _, parent := repairedProject(t)
	var before uint64
	p.view(func(tx *store.Tx) (err error) { before, err = tx.LastSeq(); return err })
	was := p.live()
	clock.seen = nil
	f := p.fork(engine.ForkSpec{Episode: parent.ID, Change: repair.Change{Turn: -1}})
	if f.Status != episode.CandidateAdded || f.Fork.Of != parent.ID || f.Fork.Turn != 3 || f.Fork.Candidate == nil || f.Fork.Resolution == nil || f.CandidateID != "" {
		t.Fatalf("fork %+v\n%+v", f, f.Fork)
	}
	if now := p.live(); !reflect.DeepEqual(now, was) {
		t.Errorf("the fork changed what is live:\n%+v\n%+v", was, now)
	}
	if len(clock.seen) == 0 || clock.seen[0].EpisodeID != f.ID || clock.seen[0].Point != repair.BeforeModel || clock.seen[0].Turn != 4 {
		t.Errorf("it was not held like an episode: %+v", clock.seen)
	}
	var types []event.Type
	p.view(func(tx *store.Tx) error {
		list, err := tx.Events(before, 0, store.EventFilter{})
		for _, e := range list {
			if types = append(types, e.Type); e.EpisodeID != f.ID || e.NoticeID != "" || e.Data["fork_of"] != parent.ID {
				t.Errorf("an event that is not marked as the fork's: %+v", e)
			}
		}
		return err
	})
	if want := []event.Type{event.EpisodeForked, event.RepairStarted, event.RepairModelTurn, event.RepairToolCall, event.RepairModelTurn,
		event.RepairToolCall, event.RepairCompleted}; !slices.Equal(types, want) {
		t.Errorf("journal %v", types)
	}
	steps := p.steps(f.ID)
	if len(steps) != 5 || !steps[2].Kept || steps[3].Kept || steps[2].Usage.Output != 0 || f.Result.Turns != 5 {
		t.Errorf("steps %+v", steps)
	}
	// Nobody waits for a fork: settling neither runs it nor takes it for the repair.
	if s := p.settle("s"); !s.Cached || s.Repair == nil || s.Repair.EpisodeID != parent.ID {
		t.Errorf("settled: %+v", s)
	}
	if _, err := p.RunRepair(t.Context(), f.ID); err == nil || !strings.Contains(err.Error(), "a fork is run once") {
		t.Errorf("run again: %v", err)
	}
}

// TestAForkSeesTheRulesOfThen: what was retired since is in force again for it, what was
// written since does not exist.
func TestAForkSeesTheRulesOfThen(t *testing.T) {
	p, _, _, parent := repairedProject(t, call("harness_rules_search", `{"query":"lantern"}`),
		call("harness_rule_status", `{"rule_id":"r-now"}`), call("harness_notice_resolve", `{}`))
	old, now := p.ruleOf("r-old", rule.Active), p.ruleOf("r-now", rule.Active)
	p.update(func(tx *store.Tx) error {
		old.Text, old.CreatedAt = "Check the lantern first.", "2020-01-01T00:00:00.000000000Z"
		now.Text, now.CreatedAt = "Check the lantern last.", p.store.Now().Add(time.Minute).UTC().Format("2006-01-02T15:04:05.000000000Z07:00")
		return errors.Join(tx.PutRule(old), tx.PutRule(now))
	})
	p.now = p.now.Add(time.Hour)
	if err := p.RetireRule(t.Context(), "r-old", "it did no good"); err != nil {
		t.Fatal(err)
	}
	f := p.fork(engine.ForkSpec{Episode: parent.ID, Model: "script/two", Change: repair.Change{Turn: 1}})
	steps := p.steps(f.ID)
	if len(steps) < 3 {
		t.Fatalf("steps %+v", steps)
	}
	if found := string(steps[1].Calls[0].Result); !strings.Contains(found, `"r-old"`) || !strings.Contains(found, "active") || strings.Contains(found, "r-now") {
		t.Errorf("found %s", found)
	}
	if said := string(steps[2].Calls[0].Result); !strings.Contains(said, `"ok":false`) {
		t.Errorf("a rule of later: %s", said)
	}
}

// TestAForkUnderOtherConditions: the other model is asked, within the other bounds,
// without the denied tool, and reads the changed message.
func TestAForkUnderOtherConditions(t *testing.T) {
	p, _, wire, parent := repairedProject(t, call("harness_rule_add", `{"rule":"x","rationale":"y"}`), call("harness_rules_list", `{}`))
	said := "The trace shows =========== nothing; the key is sk-live-0123456789abcdefghijkl"
	f := p.fork(engine.ForkSpec{Episode: parent.ID, Model: "script/two", MaxTurns: 4, MaxTokens: 77, Timeout: time.Minute, Deny: []string{"rule_*"},
		Change: repair.Change{Turn: 2, Text: &said}})
	if f.Status != episode.Failed || f.Result.ErrorCategory != repair.CategoryTurns || f.Result.Model != "script/two" || f.Fork.Model != "script/two" {
		t.Fatalf("fork %+v\n%+v", f.Result, f.Fork)
	}
	var asked struct {
		Model     string `json:"model"`
		MaxTokens int    `json:"max_tokens"`
		Messages  []struct {
			Role, Content string
		} `json:"messages"`
		Tools []struct {
			Function struct{ Name string } `json:"function"`
		} `json:"tools"`
	}
	if err := json.Unmarshal(wire.Requests()[0], &asked); err != nil {
		t.Fatal(err)
	}
	last := asked.Messages[len(asked.Messages)-1]
	if asked.Model != "two" || len(asked.Messages) != 6 || last.Role != "tool" || !strings.HasPrefix(last.Content, "The trace shows ======= nothing") || strings.Contains(last.Content, "sk-live") {
		t.Errorf("asked %s: %+v", asked.Model, last)
	}
	for _, x := range asked.Tools {
		if x.Function.Name == "harness_rule_add" || x.Function.Name == "harness_rule_status" {
			t.Errorf("the denied tool %s is offered", x.Function.Name)
		}
	}
	if len(asked.Tools) != 7 {
		t.Errorf("%d tools", len(asked.Tools))
	}
	steps := p.steps(f.ID)
	if !strings.Contains(string(steps[2].Calls[0].Result), "unsupported") || f.Fork.Candidate != nil {
		t.Errorf("the denied call: %s", steps[2].Calls[0].Result)
	}
	if e := f.Fork.Edited; e == nil || e.Message != 6 || e.Tool != "harness_trace_inspect" || strings.Contains(string(steps[1].Calls[0].Result), "sk-live") {
		t.Errorf("edited %+v: %s", f.Fork.Edited, steps[1].Calls[0].Result)
	}
	for _, bad := range []struct {
		spec engine.ForkSpec
		says string
	}{
		{engine.ForkSpec{Episode: "e-none"}, "no such episode"},
		{engine.ForkSpec{Episode: parent.ID, Model: "nobody/one"}, "no provider of that name"},
		{engine.ForkSpec{Episode: parent.ID, Deny: []string{"nothing"}}, "there is no tool nothing"},
		{engine.ForkSpec{Episode: parent.ID, Change: repair.Change{Turn: 3}, MaxTurns: 3}, "3 of its model turns are kept"},
		{engine.ForkSpec{Episode: parent.ID, Change: repair.Change{Turn: 5}}, "ended the episode"},
		{engine.ForkSpec{Episode: parent.ID, Change: repair.Change{Turn: 9}}, "choose 0 to 5"},
	} {
		if _, err := p.Fork(t.Context(), bad.spec); err == nil || !strings.Contains(err.Error(), bad.says) {
			t.Errorf("%+v: %v", bad.spec, err)
		}
	}
}

// TestAcceptAFork: what a person accepts is a candidate like any other, under the checks
// of any other, and its fork stays as its provenance.
func TestAcceptAFork(t *testing.T) {
	p, _, _, parent := repairedProject(t)
	ctx := t.Context()
	same := p.fork(engine.ForkSpec{Episode: parent.ID, Change: repair.Change{Turn: -1}})
	if _, err := p.AcceptFork(ctx, same.ID); err == nil || !strings.Contains(err.Error(), "says it already") {
		t.Errorf("a rule that is there: %v", err)
	}
	after := p.fork(engine.ForkSpec{Episode: parent.ID, Change: repair.Change{Turn: 4}})
	if _, err := p.AcceptFork(ctx, after.ID); err == nil || !strings.Contains(err.Error(), "is among the rules already") {
		t.Errorf("the parent's own rule: %v", err)
	}
	none := p.fork(engine.ForkSpec{Episode: parent.ID, Deny: []string{"rule_add"}, Change: repair.Change{Turn: -1}})
	if _, err := p.AcceptFork(ctx, none.ID); err == nil || !strings.Contains(err.Error(), "it wrote no rule") {
		t.Errorf("nothing to accept: %v", err)
	}
	if _, err := p.AcceptFork(ctx, parent.ID); err == nil || !strings.Contains(err.Error(), "is no fork") {
		t.Errorf("not a fork: %v", err)
	}

	f := p.fork(engine.ForkSpec{Episode: parent.ID, Change: repair.Change{Turn: -1,
		Arguments: `{"rule":"Ask the customer why before any money goes back.","rationale":"nobody asked","metric":"argument_correctness"}`}})
	if f.Status != episode.CandidateAdded || f.Fork.Turn != 4 || f.Fork.Edited == nil || f.Fork.Edited.Tool != "harness_rule_add" {
		t.Fatalf("fork %+v\n%+v", f, f.Fork)
	}
	if len(p.rules()) != 1 {
		t.Fatalf("rules %+v", p.rules())
	}
	notices := p.notices()
	r, err := p.AcceptFork(ctx, f.ID)
	if err != nil {
		t.Fatal(err)
	}
	if r.ID != f.Fork.Candidate.ID || r.Status != rule.Candidate || r.Trial == nil || r.ForkOf != parent.ID || r.EpisodeID != f.ID || r.Author != rule.Person {
		t.Errorf("rule %+v", r)
	}
	if stored := p.rule(r.ID); !strings.HasPrefix(stored.Text, "Ask the customer") || len(p.rules(rule.Candidate)) != 2 {
		t.Errorf("stored %+v", stored)
	}
	if !reflect.DeepEqual(p.notices(), notices) || p.count(event.ForkAccepted) != 1 {
		t.Errorf("accepting did more than it says: %+v", p.notices())
	}
	if _, err := p.AcceptFork(ctx, f.ID); err == nil || !strings.Contains(err.Error(), "accepted already") {
		t.Errorf("twice: %v", err)
	}
	if err := p.RemoveFork(ctx, f.ID); err == nil || !strings.Contains(err.Error(), "where rule "+r.ID+" comes from") {
		t.Errorf("removed: %v", err)
	}
	p.view(func(tx *store.Tx) error {
		why, _, err := engine.Why(tx, r.ID)
		if !slices.ContainsFunc(why, func(o engine.Origin) bool {
			return o.Kind == "episode" && strings.Contains(o.Text, "a fork of "+parent.ID)
		}) {
			t.Errorf("why: %+v", why)
		}
		return err
	})
	// What evidence or a person has retired does not come back through another fork.
	if err := p.RetireRule(ctx, r.ID, "taken back"); err != nil {
		t.Fatal(err)
	}
	again := p.fork(engine.ForkSpec{Episode: parent.ID, Change: repair.Change{Turn: -1,
		Arguments: `{"rule":"Ask the customer why before any money goes back.","rationale":"nobody asked"}`}})
	if _, err := p.AcceptFork(ctx, again.ID); err == nil || !strings.Contains(err.Error(), "is retired") {
		t.Errorf("a retired rule: %v", err)
	}
}

// TestForksOfForks: a fork can be forked, cancelled, cut off with its process, removed.
func TestForksOfForks(t *testing.T) {
	p, clock, _, parent := repairedProject(t, call("harness_rules_list", `{}`), call("harness_notice_resolve", `{"notice_id":"@","resolution":"no_proposal","note":"x"}`))
	ctx := t.Context()
	first := p.fork(engine.ForkSpec{Episode: parent.ID, Model: "script/two", MaxTurns: 3, Change: repair.Change{Turn: 2}})
	if first.Status != episode.Failed || first.Result.Turns != 3 {
		t.Fatalf("first %+v", first.Result)
	}
	second := p.fork(engine.ForkSpec{Episode: first.ID, Change: repair.Change{Turn: 3}})
	if second.Status != episode.CandidateAdded || second.Fork.Of != first.ID || !second.Fork.AsOf.Equal(first.Fork.AsOf) {
		t.Fatalf("second %+v\n%+v", second.Result, second.Fork)
	}
	if steps := p.steps(second.ID); len(steps) < 4 || steps[2].Calls[0].Name != "harness_rules_list" || !steps[2].Kept {
		t.Errorf("steps %+v", steps)
	}
	third := p.fork(engine.ForkSpec{Episode: second.ID, Change: repair.Change{Turn: -1}})
	if third.Fork.Turn != 4 || third.Status != episode.CandidateAdded {
		t.Errorf("third %+v", third.Fork)
	}

	clock.cancel = true
	held := p.fork(engine.ForkSpec{Episode: parent.ID, Change: repair.Change{Turn: 1}})
	if held.Status != episode.Cancelled || held.Failures != 0 {
		t.Errorf("cancelled %+v", held)
	}
	clock.cancel = false
	// The process ended while it ran: the next one closes it and counts nothing.
	held.Status, held.Result = episode.Running, nil
	p.update(func(tx *store.Tx) error { return tx.PutEpisode(held) })
	if _, err := p.Fork(ctx, engine.ForkSpec{Episode: held.ID}); err == nil || !strings.Contains(err.Error(), "it is running") {
		t.Errorf("fork of a running one: %v", err)
	}
	p.start(engine.Options{Config: p.cfg, Store: p.store})
	p.view(func(tx *store.Tx) (err error) { held, _, err = tx.Episode(held.ID); return err })
	if held.Status != episode.Cancelled || held.Failures != 0 || held.Result.ErrorCategory != "interrupted" {
		t.Errorf("interrupted %+v", held)
	}

	for _, id := range []string{first.ID, held.ID} {
		if err := p.RemoveFork(ctx, id); err != nil {
			t.Fatal(err)
		}
		if len(p.steps(id)) != 0 {
			t.Errorf("steps of %s stay", id)
		}
	}
	if err := p.RemoveFork(ctx, parent.ID); err == nil || !strings.Contains(err.Error(), "is no fork") {
		t.Errorf("removed a repair: %v", err)
	}
	if p.count(event.ForkRemoved) != 2 || len(p.steps(parent.ID)) == 0 {
		t.Error("removal went wrong")
	}
}

// TestAForkBesideItsParent: what both did is no difference, also where the ids of what
// they wrote are not the same.
func TestAForkBesideItsParent(t *testing.T) {
	p, _, _, parent := repairedProject(t)
	same := p.fork(engine.ForkSpec{Episode: parent.ID, Change: repair.Change{Turn: -1}})
	other := p.fork(engine.ForkSpec{Episode: parent.ID, Deny: []string{"rule_add"}, Change: repair.Change{Turn: 2}})
	p.view(func(tx *store.Tx) error {
		rows, err := engine.EpisodesBeside(tx, parent.ID, same.ID)
		if i := evidence.FirstDifference(rows); i >= 0 || len(rows) == 0 {
			t.Errorf("the same run differs: %+v", rows)
		}
		more, err2 := engine.EpisodesBeside(tx, parent.ID, other.ID)
		if i := evidence.FirstDifference(more); i < 0 || more[i].Turn != 4 {
			t.Errorf("first difference at %d of %+v", i, more)
		}
		return errors.Join(err, err2)
	})
}
