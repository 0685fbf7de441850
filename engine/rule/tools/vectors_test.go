package tools_test

import (
	"testing"
	"unicode/utf8"

	"vise/engine/internal/vectors"
	"vise/engine/rule"
	"vise/engine/rule/tools"
)

func TestVectorsTaskToolset(t *testing.T) {
	type input struct {
		Rules []struct {
			ID         string      `json:"id"`
			CreatedAt  string      `json:"created_at"`
			Text       string      `json:"rule"`
			Rationale  string      `json:"rationale"`
			Status     rule.Status `json:"status"`
			Scope      string      `json:"scope"`
			Tags       []string    `json:"tags"`
			Signatures []string    `json:"failure_signatures"`
			Metric     string      `json:"metric"`
			Trial      *rule.Trial `json:"trial"`
		} `json:"rules"`
		Visible  *[]string `json:"visible_candidates"`
		TrialMin int       `json:"trial_min_sessions"`
		Calls    []struct {
			Tool string         `json:"tool"`
			Args map[string]any `json:"args"`
		} `json:"calls"`
	}
	vectors.Run(t, "task_toolset", func(t *testing.T, in input) any {
		var rules []rule.Rule
		for _, r := range in.Rules {
			rules = append(rules, rule.Rule{ID: r.ID, CreatedAt: r.CreatedAt, Text: r.Text, Rationale: r.Rationale, Status: r.Status,
				Scope: r.Scope, Tags: r.Tags, FailureSignatures: r.Signatures, Metric: r.Metric, Trial: r.Trial})
		}
		o := tools.Options{TrialMin: in.TrialMin}
		if in.Visible != nil {
			o.Restricted, o.Candidates = true, *in.Visible
		}
		set := tools.New(rule.NewSet(rules, nil), o)
		results, surfaced := []any{}, []any{}
		for _, c := range in.Calls {
			results = append(results, shape(set.Call(c.Tool, c.Args)))
			surfaced = append(surfaced, append([]string{}, set.Surfaced()...))
		}
		return map[string]any{"results": results, "surfaced": surfaced}
	})
}

// shape leaves of an answer what the vectors compare.
func shape(r tools.Result) map[string]any {
	if !r.OK {
		return map[string]any{"ok": false, "error": r.Error}
	}
	m := map[string]any{"ok": true}
	for _, key := range []string{"scope", "path", "active", "provisional", "id", "status", "applicability", "lifecycle"} {
		if v, ok := r.Data[key]; ok {
			m[key] = v
		}
	}
	if hits, ok := r.Data["hits"].([]tools.Found); ok {
		out := []any{}
		for _, h := range hits {
			out = append(out, map[string]any{"id": h.ID, "scope": h.Scope, "status": h.Status, "score": h.Score, "snippet_len": utf8.RuneCountInString(h.Snippet)})
		}
		m["hits"] = out
	}
	if scopes, ok := r.Data["scopes"].([]rule.IndexEntry); ok {
		out := []any{}
		for _, s := range scopes {
			out = append(out, map[string]any{"scope": s.Scope, "active": s.Active, "provisional": s.Provisional})
		}
		m["scopes"] = out
	}
	return m
}
