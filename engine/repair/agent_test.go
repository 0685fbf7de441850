package repair

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"vise/engine/episode"
	"vise/engine/event"
	"vise/engine/guard"
	"vise/engine/model"
	"vise/engine/notice"
	"vise/engine/rule"
	"vise/engine/rule/tools"
	"vise/engine/score"
	"vise/engine/trace"
	"vise/store"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("github.com/golang/glog.(*fileSink).flushDaemon"))
}

// desk is a store with one failing turn of a refund desk and its notice.
func desk(t testing.TB) (*store.Store, episode.Episode, episode.Assignment) {
	t.Helper()
	s := memory(t, time.Now)
	ep, as := furnish(t, s)
	return s, ep, as
}

func furnish(t testing.TB, s *store.Store) (episode.Episode, episode.Assignment) {
	t.Helper()
	return furnishAs(t, s, "1")
}

// furnishAs is furnish for the session s+k, whose notice is n-k and whose episode e-k.
func furnishAs(t testing.TB, s *store.Store, k string) (episode.Episode, episode.Assignment) {
	t.Helper()
	session, traceID := "s"+k, "s"+k+".2"
	failing := func(id string) trace.Span {
		return trace.Span{ID: id, Kind: trace.TOOL, Name: "issue_refund", Input: `{"order_id":"A-17","api_key":"sk-live-0123456789abcdefghijkl"}`,
			Output: "validation error: missing required argument 'reason_code'", Error: "failed"}
	}
	turn := trace.Turn{SessionID: session, Index: 2, TraceID: traceID, Input: "Please refund order A-17.", Spans: []trace.Span{
		{ID: "1", Kind: trace.TOOL, Name: "harness_rules_search", Input: `{"query":"issue_refund"}`, Output: `{"ok":true,"hits":[]}`},
		failing("2"), failing("3"), {ID: "4", Kind: trace.LLM, Output: "I was not able to refund it."}}}
	putTurn(t, s, turn)
	low := 0.4
	report := score.Report{SessionID: session, TurnIndex: 2, Scores: []score.Score{
		{Metric: score.ArgumentCorrectness, Value: &low, Threshold: 0.5, Tier: 2, TraceID: traceID, Reasons: []string{"sign: issue_refund: the error is about an argument"}},
		{Metric: score.OutcomeCorrect, Value: &low, Threshold: 0.9, Reasons: []string{"EXPECTED-ANSWER"}}}}
	n := notice.FromReport(report, turn, "n-"+k, "2026-01-01T00:00:00Z")
	if err := s.Update(t.Context(), func(tx *store.Tx) error { return errors.Join(tx.PutReport(report), tx.PutNotice(n)) }); err != nil {
		t.Fatal(err)
	}
	ep := episode.Episode{ID: "e-" + k, SessionID: session, TurnIndex: 2, NoticeIDs: []string{"n-" + k}, AllowedTraces: []string{traceID}, CreatedAt: "2026-01-01T00:00:00Z"}
	return ep, BuildAssignment(Input{Episode: ep, Notices: []notice.Notice{n}, Turn: turn})
}

func builtin(t testing.TB, id string) *model.Client {
	t.Helper()
	c, err := model.New(model.Options{Model: id, Ledger: model.NewLedger(model.Budget{})})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func types(events []event.Event) []event.Type {
	var out []event.Type
	for _, e := range events {
		out = append(out, e.Type)
	}
	return out
}

// The built-in repairs a missing argument like any model: through the tools alone.
func TestBuiltinRepairsEndToEnd(t *testing.T) {
	s, ep, as := desk(t)
	bus := event.NewBus()
	sub := bus.Subscribe(4096)
	defer sub.Close()
	a := &Agent{Store: s, Model: builtin(t, "builtin/heuristic"), Config: defaultConfig(), Bus: bus}
	res := a.Run(t.Context(), ep, as)
	if res.Status != episode.CandidateAdded || len(res.CandidateRuleIDs) != 1 || res.Turns != 5 || res.ToolCalls != 5 {
		t.Fatalf("result %+v", res)
	}
	if res.Usage.CostUSD == nil || *res.Usage.CostUSD != 0 || res.Usage.Output == 0 || res.Model != "builtin/heuristic" {
		t.Errorf("usage %+v", res.Usage)
	}
	err := s.View(func(tx *store.Tx) error {
		r, found, err := tx.Rule(res.CandidateRuleIDs[0])
		if err != nil || !found {
			t.Fatalf("rule: %v %v", found, err)
		}
		if r.Status != rule.Candidate || r.Metric != score.ArgumentCorrectness || r.Scope != "issue_refund" || r.Trial == nil ||
			r.SourceNoticeID != "n-1" || r.EpisodeID != "e-1" || r.Author != "builtin/heuristic" {
			t.Errorf("rule %+v", r)
		}
		if !strings.Contains(r.Text, "issue_refund") || !strings.Contains(r.Text, "reason_code") {
			t.Errorf("the rule names neither tool nor argument: %s", r.Text)
		}
		stored, _, err := tx.Episode("e-1")
		if err != nil || stored.Status != episode.CandidateAdded || stored.CandidateID != r.ID || stored.Attempts != 1 || stored.Result == nil {
			t.Errorf("episode %+v %v", stored, err)
		}
		steps, err := tx.Steps("e-1")
		if err != nil || len(steps) != 5 {
			t.Fatalf("%d steps, %v", len(steps), err)
		}
		all, _ := json.Marshal(steps)
		for _, secret := range []string{"sk-live-0123456789abcdefghijkl", "EXPECTED-ANSWER"} {
			if strings.Contains(string(all), secret) {
				t.Errorf("the transcript holds %q", secret)
			}
		}
		if len(steps[0].Messages) != 2 || steps[0].Messages[0].Role != "system" || !steps[0].Calls[0].Ran || steps[0].Calls[0].Result == nil || steps[0].Reasoning == "" {
			t.Errorf("first step %+v", steps[0])
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	want := []event.Type{event.RepairStarted, event.RepairModelTurn, event.RepairToolCall, event.RepairModelTurn, event.RepairToolCall,
		event.RepairModelTurn, event.RepairToolCall, event.RepairModelTurn, event.RuleAdd, event.RepairToolCall, event.RepairCandidateAdded,
		event.RepairModelTurn, event.RepairNoticeResolved, event.RepairToolCall, event.RepairCompleted}
	if got := types(journal(t, s)); !slices.Equal(got, want) {
		t.Errorf("journal %v", got)
	}
	deltas, reasoning := 0, 0
	b, _ := sub.TryNext()
	for _, e := range b.Events {
		if e.Type == event.RepairDelta {
			deltas++
			if e.Data["reasoning"] != nil {
				reasoning++
			}
		}
	}
	if deltas < 20 || reasoning < 5 {
		t.Errorf("%d deltas, %d of reasoning", deltas, reasoning)
	}

	// The same failure again: the rule covers it, no second one is written.
	ep.ID, ep.NoticeIDs = "e-2", []string{"n-2"}
	err = s.Update(t.Context(), func(tx *store.Tx) error {
		n, _, err := tx.Notice("n-1")
		n.ID, n.Status, n.Resolution = "n-2", notice.Pending, nil
		return errors.Join(err, tx.PutNotice(n))
	})
	if err != nil {
		t.Fatal(err)
	}
	as.EpisodeID, as.Notices[0].ID = "e-2", "n-2"
	if res := a.Run(t.Context(), ep, as); res.Status != episode.AlreadyCovered || res.ExistingRuleID == "" || len(res.CandidateRuleIDs) != 0 {
		t.Errorf("result %+v", res)
	}
}

func TestBuiltinVague(t *testing.T) {
	s, ep, as := desk(t)
	res := (&Agent{Store: s, Model: builtin(t, "builtin/vague"), Config: defaultConfig()}).Run(t.Context(), ep, as)
	if res.Status != episode.CandidateAdded {
		t.Fatalf("result %+v", res)
	}
	_ = s.View(func(tx *store.Tx) error {
		r, _, err := tx.Rule(res.CandidateRuleIDs[0])
		if err != nil || strings.Contains(r.Text+r.Rationale+strings.Join(r.Tags, " "), "reason_code") || !strings.Contains(r.Text, "issue_refund") {
			t.Errorf("rule %+v %v", r, err)
		}
		return nil
	})
}

func TestBuiltinRecognisesNothing(t *testing.T) {
	s, ep, as := desk(t)
	as.AllowedTraces, ep.AllowedTraces = nil, nil
	res := (&Agent{Store: s, Model: builtin(t, "builtin/heuristic"), Config: defaultConfig()}).Run(t.Context(), ep, as)
	if res.Status != episode.Unactionable || res.Turns != 2 {
		t.Fatalf("result %+v", res)
	}
}

// TestAnInspectionOfNothingIsNone: only evidence that was seen counts as such.
func TestAnInspectionOfNothingIsNone(t *testing.T) {
	for _, broken := range []bool{false, true} {
		s, ep, as := desk(t)
		a := &Agent{Store: s, Config: defaultConfig(), inspected: func() error {
			if broken {
				return errors.New("no evidence")
			}
			return nil
		}}
		r := &run{agent: a, now: time.Now, redactor: guard.DefaultRedactor(), turn: 1, ep: ep, as: as}
		r.tools = &toolset{agent: a, run: r, reads: tools.New(s, tools.Options{})}
		out, err := r.tools.call(t.Context(), toolTraceInspect, map[string]any{"trace_id": "s1.2"}, func(*store.Tx, outcome) error { return nil })
		if err != nil || !out.ok || r.tools.found.traceInspected == broken {
			t.Errorf("broken %v: %+v, %v; inspected %v", broken, out.data, err, r.tools.found.traceInspected)
		}
	}
}

// TestAFailedWriteOfARuleLeavesNoTrace: neither in the store nor in the run.
func TestAFailedWriteOfARuleLeavesNoTrace(t *testing.T) {
	s, ep, as := desk(t)
	a := &Agent{Store: s, Config: defaultConfig()}
	r := &run{agent: a, now: time.Now, redactor: guard.DefaultRedactor(), turn: 1, ep: ep, as: as}
	r.tools = &toolset{agent: a, run: r, reads: tools.New(s, tools.Options{})}
	args := map[string]any{"rule": "Pass reason_code with every refund.", "rationale": "It is required."}
	failing := errors.New("the step could not be stored")
	if _, err := r.tools.call(t.Context(), toolRuleAdd, args, func(*store.Tx, outcome) error { return failing }); !errors.Is(err, failing) {
		t.Fatal(err)
	}
	_, _, rules := look(t, s)
	if len(rules) != 0 || r.ep.CandidateID != "" || len(r.tools.found.candidates) != 0 {
		t.Fatalf("rules %+v, episode %+v, found %+v", rules, r.ep, r.tools.found)
	}
	out, err := r.tools.call(t.Context(), toolRuleAdd, args, func(*store.Tx, outcome) error { return nil })
	if err != nil || out.created == "" {
		t.Errorf("tried again: %+v, %v", out.data, err)
	}
}
