package validate

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"vise/engine/event"
	"vise/engine/evidence"
	"vise/engine/internal/vectors"
	"vise/engine/rule"
	"vise/store"
)

// world is the script of one validation_engine case: a virtual clock that only
// replays move, and what they answer.
type world struct {
	t      *testing.T
	now    time.Time
	limit  time.Time // of a settle; zero = none
	cancel context.CancelFunc
	store  *store.Store
	v      *Validator
	script map[string][]answer
	asked  map[string]int
	min    int
}

type answer struct {
	Latency       float64  `json:"latency_s"`
	Outcome       string   `json:"outcome"`
	PendingReason string   `json:"pending_reason"`
	Cases         int      `json:"cases"`
	Raises        bool     `json:"raises"`
	During        []action `json:"during"`
}

type action struct {
	Op         string   `json:"op"`
	Session    string   `json:"session"`
	Signatures []string `json:"signatures"`
	ID         string   `json:"id"`
	Timeout    float64  `json:"timeout_s"`
}

type engineInput struct {
	Config struct {
		TrialMin int     `json:"trial_min_sessions"`
		Promote  float64 `json:"promote_margin"`
		Budget   float64 `json:"round_budget_s"`
	} `json:"config"`
	HasReplay bool                `json:"has_replay"`
	Script    map[string][]answer `json:"script"`
	Rules     []rule.Rule         `json:"rules"`
	Steps     []action            `json:"steps"`
}

var errScripted = errors.New("the replay raised")

func (w *world) replay(ctx context.Context, r rule.Rule) (evidence.Verdict, error) {
	list := w.script[r.ID]
	a := list[min(w.asked[r.ID], len(list)-1)]
	w.asked[r.ID]++
	w.now = w.now.Add(time.Duration(a.Latency * float64(time.Second)))
	if !w.limit.IsZero() && w.now.After(w.limit) {
		// The settle has run out of time while this replay was under way.
		w.cancel()
		return evidence.Verdict{}, context.Cause(ctx)
	}
	for _, d := range a.During {
		w.do(d)
	}
	if a.Raises {
		return evidence.Verdict{}, errScripted
	}
	v := evidence.Verdict{Outcome: evidence.Outcome(a.Outcome), PendingReason: a.PendingReason, Validator: "replay", Evidence: "seed"}
	for i := range a.Cases {
		v.Cases = append(v.Cases, evidence.CaseResult{CaseID: fmt.Sprintf("c-%d", i), Status: "scored"})
		if err := w.v.journalCase(ctx, r.ID, v.Cases[i]); err != nil {
			w.t.Fatal(err)
		}
	}
	return v, nil
}

func (w *world) do(a action) {
	w.t.Helper()
	if err := w.store.Update(w.t.Context(), func(tx *store.Tx) error {
		rules, err := tx.Rules(rule.Candidate)
		if err != nil {
			return err
		}
		for _, r := range rules {
			switch {
			case a.Op == "observe" && r.Trial != nil && evidence.Observe(r.Trial, r.Metric, a.Session, a.Signatures, w.min),
				a.Op == "retire" && r.ID == a.ID:
				if a.Op == "retire" {
					r.Status = rule.Retired
				}
				if err := tx.PutRule(r); err != nil {
					return err
				}
				if a.Op == "retire" {
					if err := tx.Emit(event.Event{Type: event.RuleRetire, RuleID: r.ID}); err != nil {
						return err
					}
				}
			}
		}
		return nil
	}); err != nil {
		w.t.Fatal(err)
	}
}

// TestVectorsValidationEngine runs the rounds suite of the conformance vectors.
func TestVectorsValidationEngine(t *testing.T) {
	vectors.Run(t, "validation_engine", func(t *testing.T, in engineInput) any {
		w := &world{t: t, now: time.Date(2026, 2, 1, 0, 0, 0, 0, time.UTC), script: in.Script, asked: map[string]int{}, min: in.Config.TrialMin}
		var err error
		w.store, err = store.Open(t.Context(), store.Options{InMemory: true, Now: func() time.Time { return w.now }})
		if err != nil {
			t.Fatal(err)
		}
		defer w.store.Close()
		w.v = &Validator{Store: w.store, Config: Config{TrialMin: in.Config.TrialMin, PromoteMargin: in.Config.Promote,
			RegressMargin: 0.05, RoundBudget: time.Duration(in.Config.Budget * float64(time.Second))}}
		if in.HasReplay {
			w.v.replay = w.replay
		}
		if err := w.store.Update(t.Context(), func(tx *store.Tx) error {
			for _, r := range in.Rules {
				if err := tx.PutRule(r); err != nil {
					return err
				}
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		steps := []any{}
		for _, s := range in.Steps {
			steps = append(steps, w.step(s))
		}
		return map[string]any{"steps": steps, "final": w.final(in.Rules)}
	})
}

func (w *world) step(s action) any {
	before := w.lastSeq()
	switch s.Op {
	case "round":
		r, err := w.v.Round(w.t.Context(), Options{})
		if err != nil {
			w.t.Fatal(err)
		}
		return map[string]any{"verdicts": verdicts(r.Verdicts), "events": w.events(before)}
	case "settle":
		ctx, cancel := context.WithCancel(w.t.Context())
		defer cancel()
		w.cancel, w.limit = cancel, w.now.Add(time.Duration(s.Timeout*float64(time.Second)))
		defer func() { w.limit = time.Time{} }()
		if s.Timeout <= 0 {
			return map[string]any{"verdicts": []any{}, "events": []any{}, "settled": false, "rounds": 0}
		}
		rounds, err := w.v.UntilIdle(ctx, Options{})
		out := []evidence.Verdict{}
		for _, r := range rounds {
			out = append(out, r.Verdicts...)
		}
		return map[string]any{"verdicts": verdicts(out), "events": w.events(before), "settled": err == nil,
			"rounds": w.v.rounds}
	default:
		w.do(s)
		return nil
	}
}

func verdicts(list []evidence.Verdict) []any {
	out := []any{}
	for _, v := range list {
		out = append(out, map[string]any{"rule_id": v.RuleID, "outcome": v.Outcome, "validator": v.Validator, "pending_reason": orNull(v.PendingReason)})
	}
	return out
}

func orNull(s string) any {
	if s == "" {
		return nil
	}
	return s
}

func (w *world) lastSeq() (seq uint64) {
	if err := w.store.View(func(tx *store.Tx) (err error) {
		seq, err = tx.LastSeq()
		return err
	}); err != nil {
		w.t.Fatal(err)
	}
	return seq
}

// events are the journal entries of a step in the shape of the suite.
func (w *world) events(after uint64) []any {
	out := []any{}
	if err := w.store.View(func(tx *store.Tx) error {
		list, err := tx.Events(after, 0, store.EventFilter{})
		for _, e := range list {
			x := map[string]any{"type": e.Type}
			if e.RuleID != "" {
				x["rule_id"] = e.RuleID
			}
			if e.CaseID != "" {
				x["case_id"] = e.CaseID
			}
			for _, k := range eventFields[e.Type] {
				x[k] = e.Data[k]
			}
			switch e.Type {
			case event.ValidationVerdict:
				x["pending_reason"] = e.Data["pending_reason"]
			case event.Skip:
				continue // ours: a candidate that could not be tested
			case event.ValidationRoundEnded:
				if e.Data["cancelled"] == true {
					continue // ours: the reference's round goes on detached, ours ends and says so
				}
			}
			out = append(out, x)
		}
		return err
	}); err != nil {
		w.t.Fatal(err)
	}
	return out
}

var eventFields = map[event.Type][]string{
	event.ValidationRoundStarted: {"queued"},
	event.ValidationCandidate:    {"validator", "replay_attempts"},
	event.ValidationVerdict:      {"outcome", "validator"},
	event.ValidationRoundEnded:   {"decided", "pending", "promoted", "retired", "budget_exhausted"},
}

func (w *world) final(rules []rule.Rule) any {
	out := map[string]any{}
	if err := w.store.View(func(tx *store.Tx) error {
		for _, in := range rules {
			r, _, err := tx.Rule(in.ID)
			if err != nil {
				return err
			}
			x := map[string]any{"status": r.Status, "replay_attempts": nil, "observed": nil, "verdict": nil}
			if r.Trial != nil {
				observed := r.Trial.ObservedSessions
				if observed == nil {
					observed = []string{}
				}
				x["replay_attempts"], x["observed"], x["verdict"] = r.Trial.ReplayAttempts, observed, r.Trial.Verdict
			}
			out[in.ID] = x
		}
		return nil
	}); err != nil {
		w.t.Fatal(err)
	}
	return out
}
