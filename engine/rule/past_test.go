package rule

import (
	"slices"
	"testing"
)

// TestPast: rules that were created later do not exist, those that moved are what they
// were whatever they are selected by, and a view's own rules hide stored ones.
func TestPast(t *testing.T) {
	at := func(id, created, text string, s Status) Rule {
		return Rule{ID: id, CreatedAt: created, Text: text, Status: s, Scope: "refunds"}
	}
	set := NewSet([]Rule{
		at("a", "1", "look at the lantern", Active),
		at("b", "2", "look at the kettle", Retired),     // was active
		at("c", "3", "look at the hammock", Active),     // was a candidate
		at("d", "9", "look at the compass", Active),     // later
		at("f", "5", "look at the lantern too", Active), // at that very time, and to be left out
		at("e", "4", "look at the whistle", Candidate),
	}, nil)
	v := Past{Until: "5", Gone: []string{"f"}, Was: map[string]Rule{
		"b": at("b", "2", "look at the kettle", Active), "c": at("c", "3", "look at the hammock", Candidate)},
		Own: []Rule{at("e", "6", "look at the blanket", Candidate)}}.View(set)
	ids := func(list []Rule, err error) []string {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		var out []string
		for _, r := range list {
			out = append(out, r.ID)
		}
		return out
	}
	for _, x := range []struct {
		name string
		got  []string
		want []string
	}{
		{"all", ids(v.Rules()), []string{"a", "b", "c", "e"}},
		{"active", ids(v.Rules(Active)), []string{"a", "b"}},
		{"candidates", ids(v.Rules(Candidate)), []string{"c", "e"}},
		{"retired", ids(v.Rules(Retired)), nil},
		{"of a scope", ids(v.RulesInScope("refunds", Active)), []string{"a", "b"}},
		{"of another scope", ids(v.RulesInScope("global")), nil},
		{"by a token", ids(v.RulesWithTokens([]string{"kettle", "compass", "whistle"})), []string{"b"}},
		{"by a token of its own", ids(v.RulesWithTokens([]string{"blanket"}, Candidate)), []string{"e"}},
	} {
		if !slices.Equal(x.got, x.want) {
			t.Errorf("%s: %v, want %v", x.name, x.got, x.want)
		}
	}
	if r, ok, _ := v.Rule("b"); !ok || r.Status != Active {
		t.Errorf("b: %+v", r)
	}
	if _, ok, _ := v.Rule("d"); ok {
		t.Error("a rule of later exists")
	}
	if r, _, _ := v.Rule("e"); r.Text != "look at the blanket" {
		t.Errorf("e: %+v", r)
	}
}
