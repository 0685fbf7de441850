package repair

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"vise/engine/episode"
	"vise/engine/event"
	"vise/engine/guard"
	"vise/engine/internal/vectors"
	"vise/engine/model"
	"vise/engine/notice"
	"vise/engine/rule"
	"vise/engine/rule/tools"
	"vise/engine/trace"
	"vise/store"
)

// clock is a virtual clock that moves only when told.
type clock struct{ at time.Time }

func newClock() *clock          { return &clock{time.Date(2026, 6, 1, 0, 0, 0, 0, time.UTC)} }
func (c *clock) now() time.Time { return c.at }
func (c *clock) advance(seconds float64) {
	c.at = c.at.Add(time.Duration(seconds * float64(time.Second)))
}

// memory opens an in-memory store with counted ids.
func memory(t testing.TB, now func() time.Time) *store.Store {
	t.Helper()
	return roomy(t, now, nil)
}

// roomy is memory on a disk whose free space the test decides.
func roomy(t testing.TB, now func() time.Time, free func(string) (uint64, error)) *store.Store {
	t.Helper()
	n := 0
	s, err := store.Open(t.Context(), store.Options{InMemory: true, Now: now, Free: free, NewID: func(prefix string) string {
		n++
		return fmt.Sprintf("%s-%04d", prefix, n)
	}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

type vectorRule struct {
	ID                string      `json:"id"`
	CreatedAt         string      `json:"created_at"`
	Rule              string      `json:"rule"`
	Rationale         string      `json:"rationale"`
	Status            string      `json:"status"`
	Scope             string      `json:"scope"`
	Applicability     string      `json:"applicability"`
	Tags              []string    `json:"tags"`
	FailureSignatures []string    `json:"failure_signatures"`
	Metric            string      `json:"metric"`
	Trial             *rule.Trial `json:"trial"`
}

type vectorNotice struct {
	ID               string            `json:"id"`
	SessionID        string            `json:"session_id"`
	TurnIndex        int               `json:"turn_index"`
	Severity         string            `json:"severity"`
	Signatures       []string          `json:"signatures"`
	FlaggedTraces    []string          `json:"flagged_traces"`
	RecommendedScope *string           `json:"recommended_scope"`
	ScopeHints       []trace.ScopeHint `json:"scope_hints"`
}

func seed(t testing.TB, s *store.Store, rules []vectorRule, notices []vectorNotice, traces []string) {
	t.Helper()
	err := s.Update(t.Context(), func(tx *store.Tx) error {
		for _, r := range rules {
			if err := tx.PutRule(rule.Rule{ID: r.ID, CreatedAt: r.CreatedAt, Text: r.Rule, Rationale: r.Rationale, Status: rule.Status(r.Status), Scope: r.Scope,
				Applicability: r.Applicability, Tags: r.Tags, FailureSignatures: r.FailureSignatures, Metric: r.Metric, Trial: r.Trial}.Normalized()); err != nil {
				return err
			}
		}
		for _, n := range notices {
			x := notice.Notice{ID: n.ID, CreatedAt: "2026-05-01T00:00:00Z", SessionID: n.SessionID, TurnIndex: n.TurnIndex, Severity: notice.Severity(n.Severity),
				Signatures: n.Signatures, FlaggedTraces: n.FlaggedTraces, ScopeHints: n.ScopeHints, Status: notice.Pending}
			for _, sig := range n.Signatures {
				if _, m, ok := cutSignature(sig); ok && !slices.ContainsFunc(x.Metrics, func(y notice.Metric) bool { return y.Name == m }) {
					x.Metrics = append(x.Metrics, notice.Metric{Name: m})
				}
			}
			if err := tx.PutNotice(x); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for i, id := range traces {
		putTurn(t, s, trace.Turn{SessionID: "task", Index: i, TraceID: id, Input: "do it", Spans: []trace.Span{{ID: "s1", Kind: trace.LLM, Output: "done"}}})
	}
}

func cutSignature(s string) (condition, metric string, ok bool) {
	for i := range s {
		if s[i] == ':' {
			return s[:i], s[i+1:], true
		}
	}
	return "", "", false
}

func putTurn(t testing.TB, s *store.Store, turn trace.Turn) {
	t.Helper()
	staged, err := s.StageTurn(t.Context(), turn)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Update(t.Context(), func(tx *store.Tx) error { return tx.PutTurn(staged) }); err != nil {
		t.Fatal(err)
	}
}

// nullable is null for the empty text, as the vectors write it.
func nullable(s string) any {
	if s == "" {
		return nil
	}
	return s
}

func list(s []string) []string {
	if s == nil {
		return []string{}
	}
	return s
}

// pending and acknowledged read the notices back.
func noticeStates(t testing.TB, s *store.Store) (pending []string, acknowledged []any) {
	t.Helper()
	pending, acknowledged = []string{}, []any{}
	err := s.View(func(tx *store.Tx) error {
		all, err := tx.Notices(store.Window{})
		slices.SortFunc(all, func(a, b notice.Notice) int {
			if a.ID < b.ID {
				return -1
			}
			return 1
		})
		for _, n := range all {
			if n.Status == notice.Pending {
				pending = append(pending, n.ID)
				continue
			}
			acknowledged = append(acknowledged, map[string]any{"id": n.ID, "kind": n.Resolution.Kind, "rule_id": nullable(n.Resolution.RuleID), "note": n.Resolution.Note})
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return pending, acknowledged
}

func journal(t testing.TB, s *store.Store) []event.Event {
	t.Helper()
	var out []event.Event
	if err := s.View(func(tx *store.Tx) (err error) { out, err = tx.Events(0, 0, store.EventFilter{}); return err }); err != nil {
		t.Fatal(err)
	}
	return out
}

type toolsetInput struct {
	Rules   []vectorRule   `json:"rules"`
	Notices []vectorNotice `json:"notices"`
	Toolset struct {
		NoticeIDs        []string          `json:"notice_ids"`
		AllowedTraces    []string          `json:"allowed_trace_ids"`
		RecommendedScope *string           `json:"recommended_scope"`
		GenericScopes    []string          `json:"generic_scopes"`
		ScopeHints       []trace.ScopeHint `json:"scope_hints"`
		MaxActive        int               `json:"max_active_rules"`
		EvidenceFails    bool              `json:"evidence_fails"`
	} `json:"toolset"`
	Calls []struct {
		Tool string         `json:"tool"`
		Args map[string]any `json:"args"`
	} `json:"calls"`
}

// essential reduces a tool's answer to what the vectors compare.
func essential(t *testing.T, tool string, out outcome) any {
	t.Helper()
	var m map[string]any
	vectors.Decode(t, out.encode(), &m)
	if !out.ok {
		return map[string]any{"ok": false, "error": m["error"]}
	}
	pick := func(m map[string]any, keys ...string) map[string]any {
		x := map[string]any{}
		for _, k := range keys {
			x[k] = m[k]
		}
		return x
	}
	each := func(key string, keys ...string) []any {
		x := []any{}
		for _, v := range m[key].([]any) {
			x = append(x, pick(v.(map[string]any), keys...))
		}
		return x
	}
	switch tool {
	case toolNoticeRead:
		return pick(m, "ok", "notice_id", "notice_ids", "status")
	case toolTraceInspect:
		return map[string]any{"ok": true, "trace_id": m["trace_id"], "evidence": m["trace"] != nil}
	case tools.RulesSearch:
		return map[string]any{"ok": true, "hits": each("hits", "id", "scope", "status", "score")}
	case tools.RulesRead:
		return pick(m, "ok", "scope", "path", "active", "provisional")
	case tools.RulesList:
		return map[string]any{"ok": true, "scopes": each("scopes", "scope", "active", "provisional")}
	case tools.RuleStatus:
		return pick(m, "ok", "id", "scope", "status", "applicability", "lifecycle")
	case toolRuleAdd:
		if m["created"] == true {
			r := m["rule"].(map[string]any)
			if r["metric"] == "" {
				r["metric"] = nil
			}
			return pick(m, "ok", "created", "rule")
		}
		x := pick(m, "ok", "created", "suppression_reason", "recommended_resolution")
		x["existing"] = pick(m["existing"].(map[string]any), "id", "scope", "status")
		return x
	}
	return pick(m, "ok", "notice_ids")
}

func TestVectorsRepairToolset(t *testing.T) {
	vectors.Run(t, "repair_toolset", func(t *testing.T, in toolsetInput) any {
		c := newClock()
		s := memory(t, c.now)
		seed(t, s, in.Rules, in.Notices, in.Toolset.AllowedTraces)
		cfg := defaultConfig()
		cfg.MaxActive = in.Toolset.MaxActive
		a := &Agent{Store: s, Config: cfg, Now: c.now}
		if in.Toolset.EvidenceFails {
			a.inspected = func() error { return errors.New("no evidence") }
		}
		r := &run{agent: a, now: c.now, redactor: guard.DefaultRedactor(), turn: 1,
			ep: episode.Episode{ID: "e-1", SessionID: "task", NoticeIDs: in.Toolset.NoticeIDs, AllowedTraces: in.Toolset.AllowedTraces},
			as: episode.Assignment{AllowedTraces: in.Toolset.AllowedTraces, GenericLabels: in.Toolset.GenericScopes, ScopeHints: in.Toolset.ScopeHints}}
		if in.Toolset.RecommendedScope != nil {
			r.as.RecommendedScope = *in.Toolset.RecommendedScope
		}
		r.tools = &toolset{agent: a, run: r, reads: tools.New(s, tools.Options{TrialMin: 5})}
		results := []any{}
		for _, call := range in.Calls {
			c.advance(1)
			out, err := r.tools.call(t.Context(), call.Tool, call.Args, func(*store.Tx, outcome) error { return nil })
			if err != nil {
				t.Fatal(err)
			}
			results = append(results, essential(t, call.Tool, out))
		}
		types := []string{}
		for _, e := range journal(t, s) {
			if e.Type != event.RepairToolCall && e.Type != event.RepairCandidateAdded {
				types = append(types, string(e.Type))
			}
		}
		f := r.tools.found
		pending, acknowledged := noticeStates(t, s)
		return map[string]any{"results": results, "final": map[string]any{
			"candidate_ids": list(f.candidates), "resolution": nullable(f.resolution), "existing_rule_id": nullable(f.existingRule),
			"considered_rule_ids": list(f.considered), "selected_scope": nullable(f.selectedScope), "scope_rationale": nullable(f.scopeRationale),
			"suppression_reason": nullable(f.suppression), "surfaced_rule_ids": list(r.tools.reads.Surfaced()),
			"pending": pending, "acknowledged": acknowledged, "journal": types}}
	})
}

type loopInput struct {
	Config struct {
		Timeout   float64 `json:"timeout_s"`
		MaxTurns  int     `json:"max_turns"`
		MaxTokens int     `json:"max_tokens"`
	} `json:"config"`
	Rules           []vectorRule       `json:"rules"`
	Notices         []vectorNotice     `json:"notices"`
	EvidenceLatency float64            `json:"evidence_latency_s"`
	Completions     []vectorCompletion `json:"completions"`
}

type vectorCompletion struct {
	Latency   float64 `json:"latency_s"`
	Raise     string  `json:"raise"`
	Content   string  `json:"content"`
	ToolCalls []struct {
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	} `json:"tool_calls"`
	Usage *struct {
		Input  int64    `json:"input_tokens"`
		Output int64    `json:"output_tokens"`
		Total  int64    `json:"total_tokens"`
		Cost   *float64 `json:"cost"`
	} `json:"usage"`
}

// script answers like the vectors' completions, on the virtual clock.
type script struct {
	clock *clock
	left  []vectorCompletion
	seen  int // messages of the question before
	calls []any
}

func (s *script) ask(_ context.Context, timeout time.Duration, q model.Request, onDelta func(model.Delta)) (model.Reply, error) {
	nudges := []string{}
	for _, m := range q.Messages[s.seen:] {
		switch m.Content {
		case nudgeAck:
			nudges = append(nudges, "ack")
		case nudgeDecide:
			nudges = append(nudges, "decide")
		}
	}
	s.seen = len(q.Messages)
	s.calls = append(s.calls, map[string]any{"max_tokens": q.MaxTokens, "timeout_s": timeout.Seconds(), "nudges": nudges})
	if len(s.left) == 0 {
		return model.Reply{}, errors.New("the script has no further completion")
	}
	c := s.left[0]
	s.left = s.left[1:]
	if c.Latency > timeout.Seconds() {
		s.clock.advance(timeout.Seconds())
		return model.Reply{}, &model.Error{Kind: model.KindTimeout}
	}
	s.clock.advance(c.Latency)
	switch c.Raise {
	case "error":
		return model.Reply{}, errors.New("boom")
	case "timeout":
		return model.Reply{}, &model.Error{Kind: model.KindTimeout}
	}
	r := model.Reply{Text: c.Content, Finish: "tool_calls"}
	size := len(c.Content)
	for i, call := range c.ToolCalls {
		r.Calls = append(r.Calls, model.Call{ID: fmt.Sprintf("c%d", i), Name: call.Name, Arguments: call.Arguments})
		size += len(call.Name) + len(call.Arguments)
	}
	r.Estimate = int64(size+3) / 4
	if u := c.Usage; u != nil {
		r.UsageKnown, r.Total = true, u.Total
		r.Usage = trace.Usage{Input: u.Input, Output: u.Output, CostUSD: u.Cost}
	}
	return r, nil
}

func TestVectorsRepairLoop(t *testing.T) {
	vectors.Run(t, "repair_loop", func(t *testing.T, in loopInput) any {
		c := newClock()
		s := memory(t, c.now)
		ep := episode.Episode{ID: "e-1", SessionID: "task", TurnIndex: 1, Status: episode.Open, CreatedAt: "2026-05-01T00:00:00Z"}
		var traces []string
		for _, n := range in.Notices {
			ep.NoticeIDs = append(ep.NoticeIDs, n.ID)
			for _, id := range n.FlaggedTraces {
				if !slices.Contains(traces, id) {
					traces = append(traces, id)
				}
			}
		}
		ep.AllowedTraces = traces
		seed(t, s, in.Rules, in.Notices, traces)
		sc := &script{clock: c, left: in.Completions, calls: []any{}}
		cfg := defaultConfig()
		cfg.Timeout, cfg.MaxTurns, cfg.MaxTokens = time.Duration(in.Config.Timeout*float64(time.Second)), in.Config.MaxTurns, in.Config.MaxTokens
		a := &Agent{Store: s, Config: cfg, Now: c.now, ask: sc.ask, inspected: func() error { c.advance(in.EvidenceLatency); return nil }}
		var stored []notice.Notice
		if err := s.View(func(tx *store.Tx) (err error) { stored, err = tx.Notices(store.Window{Oldest: true}); return err }); err != nil {
			t.Fatal(err)
		}
		res := a.Run(t.Context(), ep, BuildAssignment(Input{Episode: ep, Notices: stored}))
		events := []any{}
		for _, e := range journal(t, s) {
			x := map[string]any{"type": string(e.Type)}
			switch e.Type {
			case event.RepairToolCall:
				x["tool"], x["ok"] = e.Data["tool"], e.Data["ok"]
			case event.RepairCandidateAdded:
				x["rule_id"], x["created"] = e.RuleID, e.Data["created"]
			}
			events = append(events, x)
		}
		var cost any
		if res.Usage.CostUSD != nil {
			cost = *res.Usage.CostUSD
		}
		pending, _ := noticeStates(t, s)
		return map[string]any{"status": string(res.Status), "error_category": nullable(res.ErrorCategory), "turns": res.Turns, "tool_calls": res.ToolCalls,
			"usage":              map[string]any{"input_tokens": res.Usage.Input, "output_tokens": res.Usage.Output, "total_tokens": res.TotalTokens, "cost": cost},
			"candidate_rule_ids": res.CandidateRuleIDs, "existing_rule_id": nullable(res.ExistingRuleID), "resolution_kind": res.ResolutionKind,
			"model_calls": sc.calls, "events": events, "pending": pending}
	})
}
