package engine_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"vise/engine"
	"vise/engine/config"
	"vise/engine/event"
	"vise/engine/evidence"
	"vise/engine/rule"
	"vise/engine/trace"
	"vise/store"
)

// promoted is an active rule that evidence of a kind let in.
func (p *project) promoted(id, kind string) {
	p.t.Helper()
	p.update(func(tx *store.Tx) error {
		v := evidence.Verdict{ID: "v-" + id, RuleID: id, At: p.now, Outcome: evidence.Promote, Evidence: kind, Applied: true}
		if err := tx.PutVerdict(v); err != nil {
			return err
		}
		r := rule.Rule{ID: id, CreatedAt: "2026-03-01T08:00:00Z", Text: "Mind " + id, Status: rule.Active, Scope: "global", Metric: "argument_correctness", VerdictID: v.ID}
		if err := tx.PutRule(r); err != nil {
			return err
		}
		return tx.Emit(event.Event{Type: event.RulePromote, RuleID: id, Data: map[string]any{"verdict_id": v.ID}})
	})
}

// A rule that paired evidence promoted is hidden in its share of live sessions, and
// retired once sessions go better without it.
func TestHoldbackRetiresAHarmfulRule(t *testing.T) {
	p := open(t, func(cfg *config.Config, _ *engine.Options) {
		cfg.Validate.Holdback, cfg.Validate.Evidence = 0.4, "auto"
	})
	p.promoted("r-bad", "paired")
	p.promoted("r-sure", "deterministic")
	hidden, sessions := 0, 0
	for i := range 200 {
		s := trace.Session{ID: fmt.Sprintf("s-%03d", i), Origin: trace.Live, Source: "acp", ReplayOf: "x", Started: p.now}
		ids, err := p.Hidden(t.Context(), s)
		if err != nil {
			t.Fatal(err)
		}
		if slices.Contains(ids, "r-sure") {
			t.Fatal("a rule is hidden although its evidence is deterministic")
		}
		if p.rule("r-bad").Status == rule.Retired {
			if len(ids) > 0 {
				t.Errorf("a retired rule is hidden still: %v", ids)
			}
			break
		}
		s.RulesHidden = ids
		turn := good(s.ID, 0)
		if len(ids) == 0 {
			turn = bad(s.ID, 0) // with the rule the agent goes wrong
		} else {
			hidden++
		}
		sessions++
		if err := p.BeginSession(t.Context(), s, event.Event{Type: event.AgentStarted, SessionID: s.ID}); err != nil {
			t.Fatal(err)
		}
		turn.SessionID = s.ID
		p.end(turn)
		// One that was cut off is no evidence.
		e := event.Event{Type: event.AgentExited, SessionID: s.ID}
		if i%7 == 3 {
			e.Data = map[string]any{"error": "killed"}
		}
		if err := p.EndSession(t.Context(), s, e); err != nil {
			t.Fatal(err)
		}
	}
	r := p.rule("r-bad")
	if r.Status != rule.Retired || !strings.Contains(r.Reason, "went better without it") || sessions > 60 {
		t.Fatalf("after %d sessions, %d without it: %s %q", sessions, hidden, r.Status, r.Reason)
	}
	p.view(func(tx *store.Tx) error {
		hb, ok, err := engine.Holdback(tx, "r-bad")
		if !ok || hb.Ended != evidence.HoldbackHarm || hb.Loss < evidence.HoldbackE || hb.With+hb.Without >= sessions || len(hb.Shown) != 0 {
			t.Errorf("state %+v", hb)
		}
		v, _, _ := tx.Verdict(r.VerdictID)
		if v.Validator != "holdback" || v.Outcome != evidence.Retire || !v.Applied {
			t.Errorf("verdict %+v", v)
		}
		last, _ := tx.LastEvents(2, event.HoldbackEnded, event.RuleRetire)
		if len(last) != 2 || last[1].Data["outcome"] != "harmful" {
			t.Errorf("journal %+v", last)
		}
		return err
	})
}

func TestHoldbackIsOff(t *testing.T) {
	for name, configure := range map[string]func(*config.Config){
		"share 0":       func(c *config.Config) { c.Validate.Holdback, c.Validate.Evidence = 0, "auto" },
		"seed evidence": func(c *config.Config) { c.Validate.Holdback, c.Validate.Evidence = 1, "seed" },
	} {
		p := open(t, func(cfg *config.Config, _ *engine.Options) { configure(cfg) })
		p.promoted("r1", "paired")
		if ids, err := p.Hidden(t.Context(), trace.Session{ID: "s"}); err != nil || len(ids) != 0 {
			t.Errorf("%s: hidden %v, %v", name, ids, err)
		}
	}
	p := open(t, func(cfg *config.Config, _ *engine.Options) {
		cfg.Validate.Holdback, cfg.Validate.Evidence = 1, "paired"
	})
	p.promoted("r1", "paired")
	if ids, err := p.Hidden(t.Context(), trace.Session{ID: "s"}); err != nil || !slices.Equal(ids, []string{"r1"}) {
		t.Errorf("share 1: hidden %v, %v", ids, err)
	}
}
