package evidence_test

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"testing"

	"vise/engine/evidence"
	"vise/engine/guard"
	"vise/engine/internal/vectors"
)

func TestVectorsRegression(t *testing.T) {
	type input struct {
		Op     string `json:"op"`
		Config struct {
			margins
			Timeout       float64 `json:"replay_timeout_s"`
			DefaultSample int     `json:"default_sample"`
		} `json:"config"`
		Deltas    map[string]float64 `json:"deltas"`
		Cases     []caseRecord       `json:"cases"`
		Sample    *int               `json:"sample"`
		HasReplay bool               `json:"has_replay"`
		Replays   map[string]host    `json:"replays"`
	}
	vectors.Run(t, "regression", func(t *testing.T, in input) any {
		m := in.Config.margins.margins()
		if in.Op == "classify" {
			return map[string]any{"status": evidence.ClassifyDeltas(in.Deltas, m)}
		}
		sample := in.Config.DefaultSample
		if in.Sample != nil {
			sample = *in.Sample
		}
		var results []evidence.CaseResult
		list := []any{}
		for _, c := range evidence.RegressionCases(records(in.Cases), sample) {
			h := in.Replays[c.ID]
			skip, scores := "", map[string]float64{}
			finished, _, _ := h.run(in.Config.Timeout, 0)
			switch {
			case !in.HasReplay:
				skip = evidence.SkipNoReplay
			case !finished:
				skip = evidence.SkipReplay
			case h.ScoreError:
				skip = evidence.SkipScoring
			default:
				for metric, v := range h.Scores {
					if v != nil {
						scores[metric] = *v
					}
				}
			}
			r := evidence.JudgeRegression(c, scores, skip, m)
			if !in.HasReplay {
				r.Reason = evidence.SkipNoReplay
			}
			results = append(results, r)
			list = append(list, map[string]any{"case_id": r.CaseID, "status": r.Status, "reason": r.Reason, "deltas": r.Deltas})
		}
		totals := evidence.Totals(results)
		return map[string]any{"results": list, "totals": totals, "clean": totals.Clean()}
	})
}

func TestVectorsEvalset(t *testing.T) {
	type op struct {
		caseRecord
		Op      string          `json:"op"`
		Notes   string          `json:"notes"`
		Payload json.RawMessage `json:"payload"`
	}
	type input struct {
		MaxCases int  `json:"max_cases"`
		Ops      []op `json:"ops"`
	}
	vectors.Run(t, "evalset", func(t *testing.T, in input) any {
		var stored []evidence.Case
		results, created, skips := []any{}, 0, 0
		find := func(id string) int {
			return slices.IndexFunc(stored, func(c evidence.Case) bool { return c.ID == id })
		}
		ids := func(cases []evidence.Case) any {
			out := []string{}
			for _, c := range cases {
				out = append(out, c.ID)
			}
			return map[string]any{"ids": out}
		}
		for _, o := range in.Ops {
			at := find(o.ID)
			switch o.Op {
			case "capture":
				c := o.record()
				c.ID, c.CreatedAt = fmt.Sprintf("c-%04d", created+1), fmt.Sprintf("2026-02-%04d", created+1)
				c.Notes = guard.Sanitize(o.Notes, 2000)
				got := evidence.Admit(stored, c, in.MaxCases)
				if got.Refused {
					skips++
					results = append(results, map[string]any{"id": nil})
					continue
				}
				for _, id := range got.Evict {
					stored = slices.Delete(stored, find(id), find(id)+1)
				}
				if got.New {
					created++
					stored = append(stored, got.Case)
				} else {
					stored[find(got.Case.ID)] = got.Case
				}
				results = append(results, map[string]any{"id": got.Case.ID, "new": got.New})
			case "attach":
				switch {
				case !safeID.MatchString(o.ID) || o.ID == "." || o.ID == "..":
					results = append(results, map[string]any{"error": "invalid_id"})
				case at < 0:
					results = append(results, map[string]any{"error": "missing"})
				default:
					stored[at].Input = (caseRecord{Input: o.Payload}).record().Input
					results = append(results, map[string]any{"ok": true})
				}
			case "remove":
				if at >= 0 {
					stored = slices.Delete(stored, at, at+1)
				}
				results = append(results, map[string]any{"removed": at >= 0})
			case "get":
				if at < 0 {
					results = append(results, nil)
					continue
				}
				c := stored[at]
				results = append(results, map[string]any{"id": c.ID, "kind": c.Kind, "replayable": c.Replayable(),
					"signature": c.Signature, "notes": c.Notes, "baseline_scores": c.Baseline})
			case "list":
				results = append(results, ids(slices.DeleteFunc(slices.Clone(stored), func(c evidence.Case) bool {
					return o.Kind != "" && string(c.Kind) != o.Kind
				})))
			case "matching":
				results = append(results, ids(evidence.Matching(stored, o.Signature, evidence.Kind(o.Kind))))
			}
		}
		return map[string]any{"results": results, "journal_skips": skips}
	})
}

// safeID are the ids that the PandaProbe harness takes, but for "." and "..".
var safeID = regexp.MustCompile(`\A[A-Za-z0-9._-]{1,128}\z`)
