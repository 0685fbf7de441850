package evidence_test

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"vise/engine/event"
	"vise/engine/evidence"
	"vise/engine/internal/vectors"
	"vise/engine/rule"
	"vise/engine/score"
)

// caseRecord is a case as the reference stores it.
type caseRecord struct {
	ID        string             `json:"id"`
	CreatedAt string             `json:"created_at"`
	SessionID string             `json:"session_id"`
	Kind      string             `json:"kind"`
	Signature []string           `json:"signature"`
	Baseline  map[string]float64 `json:"baseline_scores"`
	Input     json.RawMessage    `json:"replay_input"`
}

func (c caseRecord) record() evidence.Case {
	out := evidence.Case{ID: c.ID, CreatedAt: c.CreatedAt, SessionID: c.SessionID, Kind: evidence.Failure, Signature: c.Signature, Baseline: c.Baseline}
	if c.Kind == "win" {
		out.Kind = evidence.Win
	}
	if len(c.Input) > 0 && string(c.Input) != "null" {
		out.Input = &evidence.Input{Raw: c.Input}
	}
	return out
}

func records(list []caseRecord) []evidence.Case {
	out := make([]evidence.Case, len(list))
	for i, c := range list {
		out[i] = c.record()
	}
	return out
}

type margins struct {
	Promote float64 `json:"promote_margin"`
	Regress float64 `json:"regress_margin"`
}

func (m margins) margins() evidence.Margins {
	return evidence.Margins{Promote: m.Promote, Regress: m.Regress}
}

// host is how a simulated replay behaves, on a virtual clock that starts at zero.
type host struct {
	ReadyAfter *float64            `json:"ready_after_s"`
	Reads      string              `json:"reads"`
	Runs       float64             `json:"runs_s"`
	Result     string              `json:"result"`
	Scores     map[string]*float64 `json:"scores"`
	ScoreError bool                `json:"score_error"`
	Verifier   any                 `json:"verifier"`
}

// poll is how often the readiness of the environment is looked at, in seconds.
const poll = 0.25

// run plays one replay within its time limits: without a wait budget everything
// must end within the timeout; with one the environment has that long to become
// ready (a replay that ends meanwhile is fine), and the timeout counts from the
// moment readiness was seen.
func (h host) run(timeout, wait float64) (finished, reached, waited bool) {
	reads, end := 0.0, h.Runs
	if h.ReadyAfter != nil {
		reads, end = *h.ReadyAfter, *h.ReadyAfter+h.Runs
	}
	if h.Result == "hang" {
		end = math.Inf(1)
	}
	limit := timeout
	if wait > 0 {
		limit = wait
		if h.ReadyAfter != nil && *h.ReadyAfter < wait {
			limit = math.Ceil(*h.ReadyAfter/poll)*poll + timeout
		} else {
			waited = end > wait
		}
	}
	return end <= limit && h.Result == "ok", reads <= limit, waited
}

func TestVectorsReplayValidator(t *testing.T) {
	type input struct {
		Config struct {
			margins
			Timeout float64 `json:"replay_timeout_s"`
			EnvWait float64 `json:"env_wait_s"`
		} `json:"config"`
		Rule struct {
			Metric            *string  `json:"metric"`
			Tags              []string `json:"tags"`
			FailureSignatures []string `json:"failure_signatures"`
			Scope             string   `json:"scope"`
		} `json:"rule"`
		Cases   []caseRecord    `json:"cases"`
		Replays map[string]host `json:"replays"`
	}
	vectors.Run(t, "replay_validator", func(t *testing.T, in input) any {
		r := rule.Rule{ID: "r-0001", Tags: in.Rule.Tags, FailureSignatures: in.Rule.FailureSignatures, Scope: in.Rule.Scope, Status: rule.Candidate}
		if in.Rule.Metric != nil {
			r.Metric = *in.Rule.Metric
		}
		failures, wins := evidence.SelectCases(r, records(in.Cases))
		ledger := false // what the run has read so far: reported, not decisive
		surfaced := map[string]bool{}
		var replays []evidence.Replayed
		replayed := []string{}
		if len(failures) == 0 {
			wins = nil // nothing to compare a win with
		}
		for _, c := range slices.Concat(failures, wins) {
			h := in.Replays[c.ID]
			finished, reached, waited := h.run(in.Config.Timeout, in.Config.EnvWait)
			x := evidence.Replayed{Case: c, WaitTimedOut: waited}
			x.Read = reached && (h.Reads == "scope" || h.Reads == "search")
			ledger = ledger || x.Read
			surfaced[c.ID] = ledger
			if finished && !h.ScoreError {
				x.Scores = map[string]float64{}
				for m, v := range h.Scores {
					if v != nil {
						x.Scores[m] = *v
					}
				}
				if v := score.Outcome(h.Verifier); v != nil {
					x.Scores[score.OutcomeCorrect] = *v
				}
				if len(x.Scores) == 0 {
					x.Scores = nil
				}
			}
			replays = append(replays, x)
			replayed = append(replayed, c.ID)
		}
		d := evidence.DecideReplay(r, replays, in.Config.margins.margins())
		cases := []any{}
		for _, c := range d.Verdict.Cases {
			outcome := c.Status
			switch c.Status {
			case evidence.StatusImproved, evidence.StatusNoGain, evidence.StatusRegressed, evidence.StatusUnchanged:
				outcome = "scored"
			}
			cases = append(cases, map[string]any{"case_id": c.CaseID, "kind": c.Kind, "outcome": outcome,
				"candidate_surfaced": surfaced[c.CaseID], "deltas": c.Deltas})
		}
		reason := map[string]any{"kind": d.Kind}
		switch d.Kind {
		case evidence.KindRegression:
			reason["case_id"], reason["metric"], reason["delta"] = d.CaseID, d.Metric, fmt.Sprintf("%+.2f", d.Delta)
		case evidence.KindImproved:
			reason["metric"] = nil
			if d.Metric != "" {
				reason["metric"] = d.Metric
			}
		case evidence.KindNoImprovement:
			failed := []string{}
			for _, c := range failures {
				failed = append(failed, c.ID)
			}
			reason["cases"] = failed
		}
		out := map[string]any{"outcome": d.Verdict.Outcome, "pending_reason": nil, "reason": reason, "replayed": replayed, "cases": cases}
		if d.Verdict.PendingReason != "" {
			out["pending_reason"] = d.Verdict.PendingReason
		}
		if d.Kind == evidence.KindNoCase {
			out["target_signatures"] = evidence.TargetSignatures(r)
			return out
		}
		out["inconclusive"], out["unexercised"], out["env_wait_timeouts"] = d.Inconclusive, d.Unexercised, d.WaitTimeouts
		out["retire_on"] = evidence.RetireOn(r)
		return out
	})
}

func TestVectorsForwardTrial(t *testing.T) {
	type input struct {
		Op     string `json:"op"`
		Config struct {
			MinSessions int     `json:"trial_min_sessions"`
			Margin      float64 `json:"promote_margin"`
		} `json:"config"`
		Metric  *string `json:"metric"`
		Journal []struct {
			Type       event.Type `json:"type"`
			SessionID  any        `json:"session_id"`
			Signatures any        `json:"signatures"`
			Count      int        `json:"count"`
		} `json:"journal"`
		Observations []struct {
			Session    string   `json:"session"`
			Signatures []string `json:"signatures"`
		} `json:"observations"`
		Trial map[string]any `json:"trial"`
	}
	verdict := func(v evidence.Verdict) map[string]any {
		out := map[string]any{"outcome": v.Outcome, "pending_reason": nil, "reason": "in_progress"}
		switch v.Outcome {
		case evidence.Promote:
			out["reason"] = "improved"
		case evidence.Retire:
			out["reason"] = "not_improved"
		default:
			out["pending_reason"] = v.PendingReason
		}
		return out
	}
	vectors.Run(t, "forward_trial", func(t *testing.T, in input) any {
		if in.Op == "verdict" {
			var trial *rule.Trial
			if in.Trial != nil {
				trial = readTrial(in.Trial)
			}
			v := evidence.TrialVerdict("r-0001", trial, in.Config.MinSessions, in.Config.Margin)
			out := verdict(v)
			if trial != nil {
				out["trial_rate"], out["baseline_rate"] = *v.TrialRate, *v.BaselineRate
			}
			return map[string]any{"verdict": out}
		}
		metric := ""
		if in.Metric != nil {
			metric = *in.Metric
		}
		var events []event.Event
		for _, e := range in.Journal {
			for i := range max(1, e.Count) {
				session := strings.ReplaceAll(rule.TextOf(e.SessionID), "#", fmt.Sprint(i))
				events = append(events, event.Event{Type: e.Type, SessionID: session, Data: map[string]any{"signatures": e.Signatures}})
			}
		}
		slices.Reverse(events)
		trial := evidence.Baseline(events, metric)
		for _, o := range in.Observations {
			evidence.Observe(&trial, metric, o.Session, o.Signatures, in.Config.MinSessions)
		}
		return map[string]any{
			"baseline": map[string]any{"breached_sessions": trial.BaselineBreachedSessions, "sessions": trial.BaselineSessions,
				"window": trial.BaselineWindow, "rate": evidence.BaselineRate(trial)},
			"trial":   map[string]any{"observed": trial.ObservedSessions, "breached": trial.BreachedSessions, "rate": evidence.TrialRate(trial)},
			"verdict": verdict(evidence.TrialVerdict("r-0001", &trial, in.Config.MinSessions, in.Config.Margin)),
		}
	})
}

// readTrial reads a damaged record as the reference does: what is no integer is 0,
// what is no list is empty.
func readTrial(raw map[string]any) *rule.Trial {
	number := func(key string) int {
		if n, ok := raw[key].(json.Number); ok {
			if i, err := n.Int64(); err == nil {
				return int(i)
			}
		}
		return 0
	}
	list := func(key string) []string {
		var out []string
		items, _ := raw[key].([]any)
		for _, v := range items {
			out = append(out, fmt.Sprint(v))
		}
		return out
	}
	return &rule.Trial{BaselineBreachedSessions: number("baseline_breached_sessions"), BaselineSessions: number("baseline_sessions"),
		ObservedSessions: list("observed_sessions"), BreachedSessions: list("breached_sessions")}
}
