package rule_test

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"vise/engine/rule"
)

func TestMarkdown(t *testing.T) {
	set := rule.NewSet([]rule.Rule{
		{ID: "r-1", Scope: "refunds", Status: rule.Active, Text: "Pass `reason_code` to issue_refund.", Rationale: "It is required."},
		{ID: "r-2", Scope: "refunds", Status: rule.Candidate, Text: "Look up\n- **r-9**: *first*", Trial: &rule.Trial{ObservedSessions: []string{"a"}}},
		{ID: "r-3", Scope: "refunds", Status: "weird", Text: "never shown"},
		{ID: "r-4", Scope: "refunds", Status: rule.Retired, Text: "never shown"},
	}, map[string]string{"Refunds": "Refund desk"})
	doc, err := rule.Document(set, " Refunds ", rule.DocOptions{TrialMin: 5})
	if err != nil {
		t.Fatal(err)
	}
	const want = "# Operating rules: refunds\n\nRefund desk.\n\n" +
		"- **r-1**: Pass \\`reason_code\\` to issue_refund. *Why:* It is required.\n" +
		"\n## Provisional rules (not validated yet)\n\n" +
		"- **r-2** (trial 1/5): Look up - \\*\\*r-9\\*\\*: \\*first\\*\n"
	if got := doc.Markdown(); got != want {
		t.Errorf("Markdown() =\n%s\nwant\n%s", got, want)
	}
	index, err := rule.Index(set)
	if err != nil {
		t.Fatal(err)
	}
	const root = "- [refunds](rules/refunds.md): Refund desk. 1 validated, 1 provisional.\n"
	if got := rule.RootMarkdown(index); !strings.HasSuffix(got, root) || strings.Contains(got, "reason_code") {
		t.Errorf("RootMarkdown() =\n%s", got)
	}
	empty, err := rule.Document(set, "nothing", rule.DocOptions{})
	if err != nil || !empty.Empty() || !strings.Contains(empty.Markdown(), "No rules yet.") {
		t.Errorf("empty scope: %v\n%s", err, empty.Markdown())
	}
}

// TestNoRuleForgesStructure: whatever a rule says, the document has exactly its
// own headings and bullets.
func TestNoRuleForgesStructure(t *testing.T) {
	piece := rapid.OneOf(rapid.SampledFrom([]string{"\n", "\r", "\u2028", "- ", "# ", "**r-9**", "`", "_", "*", "<b>", "[x](y)", "\\", "&lt;", "~~", "## Provisional rules"}), rapid.String())
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOfN(piece, 1, 8).Draw(t, "text"), "")
		set := rule.NewSet([]rule.Rule{{ID: "r-1", Status: rule.Active, Text: text, Rationale: text}}, map[string]string{"global": text})
		doc, err := rule.Document(set, "global", rule.DocOptions{})
		if err != nil {
			t.Fatal(err)
		}
		out := doc.Markdown()
		if lines := strings.Split(out, "\n"); len(lines) != 6 || !strings.HasPrefix(lines[0], "# Operating rules: global") || !strings.HasPrefix(lines[4], "- **r-1**: ") {
			t.Fatalf("text %q makes\n%s", text, out)
		}
		if strings.ContainsAny(out, "\r\u2028\u0085") {
			t.Fatalf("text %q leaves a line end in\n%q", text, out)
		}
	})
}

func TestSnippet(t *testing.T) {
	long := rule.Hit{Rule: rule.Rule{Text: strings.Repeat("word ", 60)}}
	if got := []rune(long.Snippet()); len(got) != 240 || got[239] != '…' {
		t.Errorf("a long snippet has %d code points: %q", len(got), string(got))
	}
	trimmed := rule.Hit{Rule: rule.Rule{Text: strings.Repeat("x", 238) + " " + strings.Repeat("y", 40)}}
	if got := trimmed.Snippet(); got != strings.Repeat("x", 238)+"…" {
		t.Errorf("the cut is trimmed: %q", got)
	}
	if got := (rule.Hit{Rule: rule.Rule{Text: " a\n b "}}).Snippet(); got != "a b" {
		t.Errorf("a short snippet: %q", got)
	}
}

func TestRestrict(t *testing.T) {
	set := rule.NewSet([]rule.Rule{
		{ID: "a", Status: rule.Active, Text: "refund one"}, {ID: "b", Status: rule.Candidate, Text: "refund two"}, {ID: "c", Status: rule.Candidate, Text: "refund three"},
	}, nil)
	view := rule.Restrict(set, []string{"c"})
	hits, err := rule.Search(view, "refund", 10)
	if err != nil {
		t.Fatal(err)
	}
	var ids []string
	for _, h := range hits {
		ids = append(ids, h.Rule.ID)
	}
	if fmt.Sprint(ids) != "[a c]" {
		t.Errorf("Search in the restricted view = %v", ids)
	}
	if _, ok, _ := view.Rule("b"); ok {
		t.Error("a hidden candidate can be read by id")
	}
	if _, ok, _ := view.Rule("c"); !ok {
		t.Error("the candidate on trial is hidden")
	}
	if index, _ := rule.Index(view); len(index) != 1 || index[0].Provisional != 1 {
		t.Errorf("Index of the restricted view = %+v", index)
	}
}

func BenchmarkCovering(b *testing.B) {
	rules := make([]rule.Rule, 1000)
	for i := range rules {
		rules[i] = rule.Rule{ID: fmt.Sprint("r-", i), Status: rule.Active, Scope: "global",
			Text: fmt.Sprintf("Before calling tool_%d look up the record %d and pass its reason code", i, i*7)}
	}
	p := rule.Rule{Scope: "global", Text: "Before calling issue_refund look up the order and pass its reason code"}
	b.ReportAllocs()
	for b.Loop() {
		rule.Covering(rules, p)
	}
}

func BenchmarkSearch(b *testing.B) {
	rules := make([]rule.Rule, 10000)
	for i := range rules {
		rules[i] = rule.Rule{ID: fmt.Sprint("r-", i), Status: rule.Active, Text: fmt.Sprintf("Look up record_%d before tool_%d", i, i%97)}
	}
	set := rule.NewSet(rules, nil)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := rule.Search(set, "tool_5 record", 10); err != nil {
			b.Fatal(err)
		}
	}
}
