package rule_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"vise/engine/rule"
)

func TestNormalizeScopeIsIdempotent(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := rapid.OneOf(rapid.String(), rapid.StringMatching(`[a-zA-Z0-9._/ -]{0,80}`)).Draw(t, "scope")
		once := rule.NormalizeScope(in)
		if twice := rule.NormalizeScope(once); twice != once {
			t.Fatalf("%q → %q → %q", in, once, twice)
		}
		if err := rule.ValidateScope(once); err != nil {
			t.Fatalf("a normalised scope is refused: %v", err)
		}
	})
}

func TestRefusalsMatchByClass(t *testing.T) {
	_, _, err := rule.ResolveScope(rule.ScopeArgs{Scope: "../etc"})
	if !errors.Is(err, &rule.Error{Class: rule.ErrScopePath}) || errors.Is(err, &rule.Error{Class: rule.ErrScopeUnsafe}) {
		t.Errorf("ResolveScope of a path: %v", err)
	}
	_, err = rule.ParseMetric("vibes")
	if !errors.Is(err, &rule.Error{Class: rule.ErrUnknownMetric}) || !strings.Contains(err.Error(), "task_completion") {
		t.Errorf("an unknown metric must name the known ones: %v", err)
	}
}

func TestDescribeScope(t *testing.T) {
	for _, c := range []struct {
		label, text     string
		scope, sentence string
		ok              bool
	}{
		{"Venmo Payments", "paying people", "venmo-payments", "paying people.", true},
		{"///", "catch all", "", "", false},
		{"venmo", " \u200b ", "venmo", "", false},
	} {
		scope, sentence, ok := describeScope(c.label, c.text)
		if scope != c.scope || sentence != c.sentence || ok != c.ok {
			t.Errorf("describeScope(%q, %q) = %q, %q, %v", c.label, c.text, scope, sentence, ok)
		}
	}
}

// TestAGlobalRuleHidesNoUnsafeScope: what would be refused is refused, also when
// the rule is to be global anyway.
func TestAGlobalRuleHidesNoUnsafeScope(t *testing.T) {
	for scope, want := range map[any]string{"../etc": rule.ErrScopePath, "日本": rule.ErrScopeUnsafe, "payments": "", nil: "", " ": ""} {
		got, applicability, err := rule.ResolveScope(rule.ScopeArgs{Scope: scope, Applicability: rule.Global})
		class := ""
		if e := (*rule.Error)(nil); errors.As(err, &e) {
			class = e.Class
		}
		if class != want || err == nil && (got != rule.ScopeGlobal || applicability != rule.Global) {
			t.Errorf("scope %v: %q %q, %v", scope, got, applicability, err)
		}
	}
}

// TestPunctuationAloneIsNotAllTheSame: only equal texts are equal.
func TestPunctuationAloneIsNotAllTheSame(t *testing.T) {
	for _, tt := range []struct {
		a, b string
		want string
	}{{"...", "!!!", ""}, {"...", " ... ", rule.ExactText}, {"", "", rule.ExactText}, {"", ".", ""}} {
		if got, _, _ := rule.Covers(rule.Rule{Text: tt.a}, rule.Rule{Text: tt.b}); got != tt.want {
			t.Errorf("%q and %q: %q, want %q", tt.a, tt.b, got, tt.want)
		}
	}
}

func TestRetiredRuleDoesNotComeBack(t *testing.T) {
	rules := []rule.Rule{
		{ID: "r-1", Text: "Always pass reason_code.", Status: rule.Retired, Scope: "refunds", CreatedAt: "2026-01-01"},
		{ID: "r-2", Text: "always  pass REASON_CODE", Status: rule.Retired, Scope: "global", CreatedAt: "2026-01-02"},
	}
	proposal := rule.Rule{Text: "Always pass reason_code", Scope: "global"}
	if c := rule.Covering(rules, proposal); len(c) != 0 {
		t.Errorf("retired rules cover nothing, got %v", c)
	}
	c, ok := rule.Disproved(rules, proposal)
	if !ok || c.RuleID != "r-2" || c.Reason != rule.RetiredText {
		t.Errorf("Disproved = %+v, %v; want the newest, r-2", c, ok)
	}
	if _, ok := rule.Disproved(rules, rule.Rule{Text: "Pass reason_code when refunding"}); ok {
		t.Error("another wording is a new proposal")
	}
}

// TestComparableMissesNothing: what the token index leaves out is never covering.
func TestComparableMissesNothing(t *testing.T) {
	word := rapid.SampledFrom([]string{"verify", "payment", "status", "retry", "the", "a", "é", "e\u0301", "先に", "先に確認する", "確認します", "проверь", "СТАТУС", "статус", "straße", "STRASSE", "İzmir", "i\u0307zmir", "reason_code", "."})
	text := rapid.Custom(func(t *rapid.T) string {
		return strings.Join(rapid.SliceOfN(word, 0, 5).Draw(t, "words"), " ")
	})
	rapid.Check(t, func(t *rapid.T) {
		var rules []rule.Rule
		for i := range rapid.IntRange(0, 6).Draw(t, "n") {
			rules = append(rules, rule.Rule{ID: fmt.Sprint("r-", i), Text: text.Draw(t, "rule"), Status: rapid.SampledFrom([]rule.Status{rule.Candidate, rule.Active, rule.Retired}).Draw(t, "status"),
				Scope: "global", FailureSignatures: []string{"breach:coherence"}, Tags: []string{"x", "y"}})
		}
		set := rule.NewSet(rules, nil)
		p := rule.Rule{Text: text.Draw(t, "proposal"), Scope: "global", FailureSignatures: []string{"breach:coherence"}, Tags: []string{"x", "y"}}
		all, _ := set.Rules()
		some, err := rule.Comparable(set, p)
		if err != nil {
			t.Fatal(err)
		}
		if got, want := fmt.Sprint(rule.Covering(some, p)), fmt.Sprint(rule.Covering(all, p)); got != want {
			t.Fatalf("Covering over Comparable = %s, over all = %s", got, want)
		}
		got, gotOK := rule.Disproved(some, p)
		want, wantOK := rule.Disproved(all, p)
		if got != want || gotOK != wantOK {
			t.Fatalf("Disproved over Comparable = %v %v, over all = %v %v", got, gotOK, want, wantOK)
		}
	})
}

// describeScope prepares a description a host registers for a scope: the
// normalised key and the cleaned sentence. ok is false when the label names no
// scope or the text says nothing; nothing must be stored then, in particular
// nothing for global.
func describeScope(label, description string) (scope, sentence string, ok bool) {
	scope, ok = rule.NormalizeScopeOrNone(label)
	if !ok {
		return "", "", false
	}
	sentence, ok = rule.CleanDescription(description)
	return scope, sentence, ok
}
