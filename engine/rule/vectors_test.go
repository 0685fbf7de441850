package rule_test

import (
	"encoding/json"
	"errors"
	"regexp"
	"strings"
	"testing"

	"vise/engine/internal/vectors"
	"vise/engine/rule"
)

// record is a rule as the reference stores it.
type record struct {
	ID                string      `json:"id"`
	CreatedAt         string      `json:"created_at"`
	Text              string      `json:"rule"`
	Rationale         string      `json:"rationale"`
	Status            string      `json:"status"`
	Scope             *string     `json:"scope"`
	Applicability     string      `json:"applicability"`
	Tags              []string    `json:"tags"`
	FailureSignatures []string    `json:"failure_signatures"`
	Metric            *string     `json:"metric"`
	Trial             *rule.Trial `json:"trial"`
}

func (r record) rule() rule.Rule {
	out := rule.Rule{ID: r.ID, CreatedAt: r.CreatedAt, Text: r.Text, Rationale: r.Rationale, Status: rule.Status(r.Status),
		Applicability: r.Applicability, Tags: r.Tags, FailureSignatures: r.FailureSignatures, Trial: r.Trial}
	if r.Scope != nil {
		out.Scope = *r.Scope
	}
	if r.Metric != nil {
		out.Metric = *r.Metric
	}
	return out
}

func rules(records []record) []rule.Rule {
	out := make([]rule.Rule, len(records))
	for i, r := range records {
		out[i] = r.rule()
	}
	return out
}

func set(records []record, descriptions map[string]string) *rule.Set {
	return rule.NewSet(rules(records), descriptions)
}

func class(t *testing.T, err error) string {
	t.Helper()
	var refusal *rule.Error
	if !errors.As(err, &refusal) {
		t.Fatalf("not a refusal: %v", err)
	}
	if refusal.Message == "" {
		t.Errorf("refusal %s says nothing", refusal.Class)
	}
	return refusal.Class
}

func TestVectorsScopes(t *testing.T) {
	type input struct {
		Op    string  `json:"op"`
		Value *string `json:"value"`
	}
	vectors.Run(t, "scopes", func(t *testing.T, in input) any {
		value := ""
		if in.Value != nil {
			value = *in.Value
		}
		switch in.Op {
		case "normalize":
			return map[string]any{"scope": rule.NormalizeScope(value)}
		case "normalize_or_none":
			if s, ok := rule.NormalizeScopeOrNone(value); ok {
				return map[string]any{"scope": s}
			}
			return map[string]any{"scope": nil}
		}
		if err := rule.ValidateScope(value); err != nil {
			return map[string]any{"error": class(t, err)}
		}
		return map[string]any{"scope": value}
	})
}

// description gives the expected shape: our default sentences are our own.
func description(text, scope string) any {
	switch text {
	case rule.GlobalDescription:
		return map[string]any{"default": "global"}
	case rule.ScopedDescription:
		return map[string]any{"default": "scoped"}
	case rule.ScopeLabel(scope) + " workflows.":
		return map[string]any{"label": rule.ScopeLabel(scope)}
	}
	return map[string]any{"text": text}
}

func TestVectorsScopeDescriptions(t *testing.T) {
	type input struct {
		Description *string `json:"description"`
		Scope       string  `json:"scope"`
	}
	vectors.Run(t, "scope_descriptions", func(t *testing.T, in input) any {
		text := ""
		if in.Description != nil {
			text = *in.Description
		}
		return description(rule.ScopeDescription(text, in.Scope), in.Scope)
	})
}

func TestVectorsResolveScope(t *testing.T) {
	type input struct {
		Recommended *string  `json:"recommended_scope"`
		Generic     []string `json:"generic_scopes"`
		Args        struct {
			Scope         any `json:"scope"`
			Applicability any `json:"applicability"`
		} `json:"args"`
	}
	vectors.Run(t, "resolve_scope", func(t *testing.T, in input) any {
		args := rule.ScopeArgs{Scope: in.Args.Scope, Applicability: in.Args.Applicability, Generic: in.Generic}
		if in.Recommended != nil {
			args.Recommended = *in.Recommended
		}
		scope, applicability, err := rule.ResolveScope(args)
		if err != nil {
			return map[string]any{"error": strings.TrimPrefix(class(t, err), "scope_")}
		}
		return map[string]any{"scope": scope, "applicability": applicability}
	})
}

func TestVectorsMetricValidation(t *testing.T) {
	type input struct {
		Value any `json:"value"`
	}
	vectors.Run(t, "metric_validation", func(t *testing.T, in input) any {
		metric, err := rule.ParseMetric(in.Value)
		switch {
		case err != nil:
			return map[string]any{"error": class(t, err)}
		case metric == "":
			return map[string]any{"metric": nil}
		}
		return map[string]any{"metric": metric}
	})
}

func TestVectorsNovelty(t *testing.T) {
	type text struct {
		Text              string   `json:"text"`
		Scope             string   `json:"scope"`
		Tags              []string `json:"tags"`
		FailureSignatures []string `json:"failure_signatures"`
	}
	type input struct {
		Op       string   `json:"op"`
		Existing text     `json:"existing"`
		Proposed text     `json:"proposed"`
		Rules    []record `json:"rules"`
	}
	plain := func(x text) rule.Rule {
		return rule.Rule{ID: "r", Text: x.Text, Scope: x.Scope, Tags: x.Tags, FailureSignatures: x.FailureSignatures, Status: rule.Active}
	}
	vectors.Run(t, "novelty", func(t *testing.T, in input) any {
		if in.Op == "coverage" {
			reason, similarity, containment := rule.Covers(plain(in.Existing), plain(in.Proposed))
			out := map[string]any{"reason": reason, "similarity": similarity, "containment": containment}
			if reason == "" {
				out["reason"] = nil
			}
			return out
		}
		reader := set(in.Rules, nil)
		candidates, err := rule.Comparable(reader, plain(in.Proposed))
		if err != nil {
			t.Fatal(err)
		}
		list := []any{}
		for _, c := range rule.Covering(candidates, plain(in.Proposed)) {
			list = append(list, map[string]any{"id": c.RuleID, "reason": c.Reason})
		}
		return map[string]any{"covering": list}
	})
}

func TestVectorsRuleSearch(t *testing.T) {
	type input struct {
		Rules    []record `json:"rules"`
		Searches []struct {
			Query    string        `json:"query"`
			Limit    int           `json:"limit"`
			Statuses []rule.Status `json:"statuses"`
		} `json:"searches"`
	}
	vectors.Run(t, "rule_search", func(t *testing.T, in input) any {
		results := []any{}
		for _, s := range in.Searches {
			if len(s.Statuses) == 0 { // a search that wants no status; ours defaults to live rules
				s.Statuses = []rule.Status{""}
			}
			hits, err := rule.Search(set(in.Rules, nil), s.Query, s.Limit, s.Statuses...)
			if err != nil {
				t.Fatal(err)
			}
			list := []any{}
			for _, h := range hits {
				list = append(list, map[string]any{"id": h.Rule.ID, "score": h.Score})
			}
			results = append(results, list)
		}
		return map[string]any{"results": results}
	})
}

func TestVectorsRuleRelevant(t *testing.T) {
	type input struct {
		Rules []record `json:"rules"`
		Query *string  `json:"query"`
		K     int      `json:"k"`
	}
	vectors.Run(t, "rule_relevant", func(t *testing.T, in input) any {
		found, err := rule.Relevant(set(in.Rules, nil), in.Query, in.K)
		if err != nil {
			t.Fatal(err)
		}
		ids := []string{}
		for _, r := range found {
			ids = append(ids, r.ID)
		}
		return map[string]any{"ids": ids}
	})
}

var (
	docTitle     = regexp.MustCompile(`(?m)^# Operating rules: (.*)$`)
	docRule      = regexp.MustCompile(`^- \*\*([^*]+)\*\*(?: \(trial (\d+)/(\d+)\))?:`)
	docOmitted   = regexp.MustCompile(`(?m)^(\d+) more validated rules`)
	docHeading   = "## Provisional rules"
	docEmptyNote = "No rules yet."
)

// TestVectorsScopeMarkdown reads the rendered text back, as an agent would.
func TestVectorsScopeMarkdown(t *testing.T) {
	type input struct {
		Rules  []record `json:"rules"`
		Scope  string   `json:"scope"`
		Query  *string  `json:"query"`
		Config struct {
			Retrieval bool `json:"retrieval"`
			TopK      int  `json:"topk"`
			TrialMin  int  `json:"trial_min_sessions"`
		} `json:"config"`
	}
	vectors.Run(t, "scope_markdown", func(t *testing.T, in input) any {
		doc, err := rule.Document(set(in.Rules, nil), in.Scope, rule.DocOptions{Query: in.Query,
			Retrieval: in.Config.Retrieval, TopK: in.Config.TopK, TrialMin: in.Config.TrialMin})
		if err != nil {
			t.Fatal(err)
		}
		text := doc.Markdown()
		validated, provisional, heading := strings.Cut(text, docHeading)
		active := []string{}
		for line := range strings.Lines(validated) {
			if m := docRule.FindStringSubmatch(line); m != nil {
				active = append(active, m[1])
			}
		}
		candidates := []any{}
		for line := range strings.Lines(provisional) {
			if m := docRule.FindStringSubmatch(line); m != nil {
				trial := any(nil)
				if m[2] != "" {
					trial = []json.Number{json.Number(m[2]), json.Number(m[3])}
				}
				candidates = append(candidates, map[string]any{"id": m[1], "trial": trial})
			}
		}
		omitted := any(nil)
		if m := docOmitted.FindStringSubmatch(text); m != nil {
			omitted = json.Number(m[1])
		}
		return map[string]any{"title": docTitle.FindStringSubmatch(text)[1], "empty_note": strings.Contains(text, docEmptyNote),
			"active": active, "omitted": omitted, "provisional_heading": heading, "provisional": candidates}
	})
}

func TestVectorsScopeIndex(t *testing.T) {
	type input struct {
		Rules         []record                   `json:"rules"`
		Metadata      map[string]json.RawMessage `json:"metadata"`
		Registrations []struct {
			Scope       string `json:"scope"`
			Description string `json:"description"`
		} `json:"registrations"`
	}
	vectors.Run(t, "scope_index", func(t *testing.T, in input) any {
		descriptions := map[string]string{}
		for scope, raw := range in.Metadata {
			var entry struct {
				Description *string `json:"description"`
			}
			if json.Unmarshal(raw, &entry) == nil && entry.Description != nil {
				descriptions[scope] = *entry.Description
			}
		}
		for _, reg := range in.Registrations {
			if scope, sentence, ok := describeScope(reg.Scope, reg.Description); ok {
				descriptions[scope] = sentence
			}
		}
		entries, err := rule.Index(set(in.Rules, descriptions))
		if err != nil {
			t.Fatal(err)
		}
		scopes := []any{}
		for _, e := range entries {
			scopes = append(scopes, map[string]any{"scope": e.Scope, "path": e.Path, "active": e.Active,
				"provisional": e.Provisional, "description": description(e.Description, e.Scope)})
		}
		return map[string]any{"scopes": scopes}
	})
}
