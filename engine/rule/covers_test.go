package rule_test

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"vise/engine/rule"
)

// TestCoversProperties: a rule covers itself, however it is spaced, cased or ended; the
// figures are shares, containment is never less than similarity; another scope is
// covered by equal wording only; more in common never makes two rules less alike.
func TestCoversProperties(t *testing.T) {
	word := rapid.SampledFrom([]string{"verify", "payment", "status", "retry", "the", "before", "reason_code", "Straße", "é", "先に確認", "x"})
	list := rapid.SliceOfN(word, 0, 8)
	make := func(t *rapid.T, label string) rule.Rule {
		return rule.Rule{Text: strings.Join(list.Draw(t, label), " "), Scope: rapid.SampledFrom([]string{"global", "desk"}).Draw(t, label+" scope"),
			Tags:              rapid.SliceOfN(rapid.SampledFrom([]string{"desk", "refund", "breach"}), 0, 3).Draw(t, label+" tags"),
			FailureSignatures: rapid.SliceOfN(rapid.SampledFrom([]string{"breach:coherence", "stall:coherence"}), 0, 2).Draw(t, label+" signatures")}
	}
	rapid.Check(t, func(t *rapid.T) {
		a, b := make(t, "a"), make(t, "b")
		again := a
		again.Text = "  " + strings.ToUpper(strings.ReplaceAll(a.Text, " ", " \t ")) + rapid.SampledFrom([]string{"", ".", "!;", " . "}).Draw(t, "end")
		again.Scope = b.Scope
		if strings.TrimSpace(a.Text) != "" {
			if reason, _, _ := rule.Covers(a, again); reason != rule.ExactText {
				t.Fatalf("%q and %q: %q", a.Text, again.Text, reason)
			}
		}
		reason, similarity, containment := rule.Covers(a, b)
		if similarity < 0 || similarity > 1 || containment < similarity || containment > 1 {
			t.Fatalf("%q and %q: similarity %v, containment %v", a.Text, b.Text, similarity, containment)
		}
		if a.Scope != b.Scope && reason != "" && reason != rule.ExactText {
			t.Fatalf("across scopes: %q", reason)
		}
		_, s2, c2 := rule.Covers(b, a)
		if s2 != similarity || c2 != containment {
			t.Fatalf("the figures depend on the order: %v %v, %v %v", similarity, containment, s2, c2)
		}
		b.Text += " " + a.Text
		if reason != "" && reason != rule.ExactText {
			if _, _, more := rule.Covers(a, b); more < containment {
				t.Fatalf("with more in common containment falls from %v to %v", containment, more)
			}
		}
	})
}
