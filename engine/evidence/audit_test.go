package evidence_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"vise/engine/evidence"
	"vise/engine/rule"
	"vise/engine/trace"
)

func at(minute int) time.Time { return time.Date(2026, 3, 1, 9, minute, 0, 0, time.UTC) }

func TestExpose(t *testing.T) {
	rules := []rule.Rule{
		{ID: "r1", Status: rule.Active, CreatedAt: at(10).Format(time.RFC3339Nano), Metric: "coherence"},
		{ID: "r2", Status: rule.Candidate, CreatedAt: at(0).Format(time.RFC3339Nano)},
	}
	live := func(minute int, read, hidden []string, signatures ...string) evidence.Exposing {
		return evidence.Exposing{Session: trace.Session{Origin: trace.Live, Started: at(minute), RulesRead: read, RulesHidden: hidden}, Signatures: signatures}
	}
	got := evidence.Expose(rules, []evidence.Exposing{
		live(5, nil, nil),                                        // r1 did not exist yet
		live(9, []string{"r1"}, nil),                             // it came while the run was on
		live(11, []string{"r1"}, nil, "breach:coherence"),        // read, and failed all the same
		live(12, []string{"r1"}, nil, "breach:tool_correctness"), // failed otherwise
		live(13, nil, []string{"r1"}),                            // hidden
		{Session: trace.Session{Origin: trace.Replay, Started: at(14), RuleID: "r2", RulesRead: []string{"r1", "gone"}}},
		{Session: trace.Session{Origin: trace.Recorded, Started: at(15), RulesRead: []string{"r1"}}},
	})
	if x := got["r1"]; x.Live.Offered != 3 || x.Live.Read != 3 || x.Live.Recurred != 1 || !x.Live.LastRead.Equal(at(12)) || x.Replay.Offered != 1 || x.Replay.Read != 1 {
		t.Errorf("r1: %+v", x)
	}
	if x := got["r2"]; x.Live.Offered != 5 || x.Live.Read != 0 || x.Replay.Offered != 1 || x.Replay.Read != 0 {
		t.Errorf("r2: %+v", x)
	}
	if _, known := got["gone"]; known {
		t.Error("a rule that was not asked for is counted")
	}
}

func TestAuditRules(t *testing.T) {
	mk := func(id, scope, text string, change ...func(*rule.Rule)) rule.Rule {
		r := rule.Rule{ID: id, Status: rule.Active, Scope: scope, Text: text}
		for _, f := range change {
			f(&r)
		}
		return r
	}
	rules := []rule.Rule{
		mk("r1", "global", "Always pass the argument reason_code when calling issue_refund."),
		mk("r2", "payments", "Always pass the argument reason_code to issue_refund when calling it."), // another scope name
		mk("r3", "global", "Never pass the argument reason_code when calling issue_refund."),
		mk("r4", "desk", "Ask for the order number before anything is looked up.", func(r *rule.Rule) { r.Flag = &rule.Flag{Why: "1 of its cases got worse"} }),
		mk("r5", "desk", "Tell the customer when the parcel will arrive.", func(r *rule.Rule) { r.Status = rule.Candidate }),
	}
	got := evidence.AuditRules(evidence.AuditInput{Rules: rules, Compare: 100, MaxRules: 4, MaxLength: 100,
		Expired: map[string]string{"r1": "the agent has changed"},
		Uptake: map[string]evidence.Uptake{
			"r5": {Live: evidence.Exposed{Offered: 6}, Replay: evidence.Exposed{Offered: 4}},
			"r4": {Live: evidence.Exposed{Offered: 9, Read: 3, Recurred: 3}},
			"r1": {Live: evidence.Exposed{Offered: 9, Read: 3, Recurred: 2}},
		}})
	var have []string
	for _, f := range got.Findings {
		have = append(have, f.Kind+" "+strings.Join(f.Rules, "+"))
		if f.Text == "" || f.Do == "" {
			t.Errorf("%s says nothing or not what to do: %+v", f.Kind, f)
		}
	}
	want := []string{"flagged r4", "expired r1", "never_followed r4", "never_read r5", "contradiction r1+r3", "contradiction r2+r3",
		"near_duplicate r1+r2", "over_budget r1+r3", "over_budget "}
	if !slices.Equal(have, want) {
		t.Errorf("found\n%s\nwant\n%s", strings.Join(have, "\n"), strings.Join(want, "\n"))
	}
	few := evidence.AuditRules(evidence.AuditInput{Rules: rules, Compare: 2})
	if few.Compared != 2 || few.Rules != 5 {
		t.Errorf("compared %d of %d, want 2 of 5", few.Compared, few.Rules)
	}
}

func BenchmarkAudit(b *testing.B) {
	var rules []rule.Rule
	words := strings.Fields("order refund parcel number customer reason code desk look ask tell check argument call state carrier price note item date")
	for i := range 1000 {
		text := ""
		for j := range 12 {
			text += words[(i*7+j*j*3+i/20)%len(words)] + " "
		}
		rules = append(rules, rule.Rule{ID: text, Status: rule.Active, Scope: "global", Text: text})
	}
	b.ReportAllocs()
	for b.Loop() {
		evidence.AuditRules(evidence.AuditInput{Rules: rules, Compare: 1000})
	}
}
