package notice_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"vise/engine/notice"
	"vise/engine/rule"
	"vise/engine/score"
	"vise/engine/trace"
)

func alerting() score.Report {
	low, fine := 0.2, 0.9
	return reportOf(
		score.Score{Metric: score.TaskCompletion, Value: &low, Threshold: 0.5, Tier: 1, Regressed: true, TraceID: "s.3", Reasons: []string{"fault: gave\nup"}},
		score.Score{Metric: score.Coherence, Value: &fine, Threshold: 0.5, Tier: 1, TraceID: "s.3"},
		score.Score{Metric: score.ArgumentCorrectness, Value: &low, Threshold: 0.5, Tier: 2, TraceID: "s.3", Flagged: []string{"s.2"}},
	)
}

func TestFromReport(t *testing.T) {
	no := false
	turn := trace.Turn{TaskSummary: " refund\n an order ", ScopeHints: []trace.ScopeHint{
		{Key: "///"}, {Key: "Benchmark", Recommended: &no}, {Key: "global"}, {Key: "Refund Desk", Description: "refunds and orders"}, {Key: "refund desk"},
	}}
	n := notice.FromReport(alerting(), turn, "n-1", "2026-01-01T00:00:00Z")
	const summary = "task_completion=0.20 [regression, threshold 0.50]; argument_correctness=0.20 [breach, threshold 0.50] · traces s.3, s.2"
	if n.Summary != summary {
		t.Errorf("Summary = %q\nwant      %q", n.Summary, summary)
	}
	if n.Severity != notice.Breach || fmt.Sprint(n.Signatures) != "[breach:argument_correctness regression:task_completion]" || fmt.Sprint(n.FlaggedTraces) != "[s.3 s.2]" {
		t.Errorf("severity %s, signatures %v, traces %v", n.Severity, n.Signatures, n.FlaggedTraces)
	}
	if len(n.Metrics) != 2 || n.Metrics[0].Reasons[0] != "fault: gave up" || n.TaskSummary != "refund an order" {
		t.Errorf("metrics %+v, task %q", n.Metrics, n.TaskSummary)
	}
	if n.RecommendedScope != "refund-desk" || len(n.ScopeHints) != 3 || n.ScopeHints[2].Applicability != rule.Topical {
		t.Errorf("scope %q of hints %+v", n.RecommendedScope, n.ScopeHints)
	}
	if n.Signals["s.3"][score.Coherence] != 0.9 {
		t.Errorf("signals %v", n.Signals)
	}
	human := notice.AskHuman(n, notice.Config{MaxNotices: 5, Window: 10 * time.Minute})
	if human.Severity != notice.NeedsHuman || !strings.Contains(human.Summary, "resumes") {
		t.Errorf("AskHuman = %+v", human)
	}
}

func TestRecommendedScopeFallsBackToReserved(t *testing.T) {
	hints := notice.CleanHints([]trace.ScopeHint{{Key: "global"}})
	if got := notice.RecommendedScope(hints); got != "global" {
		t.Errorf("RecommendedScope = %q", got)
	}
	if got := notice.RecommendedScope(nil); got != "" {
		t.Errorf("RecommendedScope of nothing = %q", got)
	}
}

func TestSuppressedAlertIsToldAfterTheStorm(t *testing.T) {
	c := notice.Config{MaxNotices: 1, Window: time.Minute}
	var a, b notice.Dedup
	var breaker notice.Breaker
	var d notice.Decision
	now := time.Unix(0, 0)
	alert := []string{"breach:tool_correctness"}
	_, breaker, _ = c.Step(a, breaker, "x", alert, now)
	_, breaker, d = c.Step(a, breaker, "a", alert, now)
	if d.Result != notice.Human || !breaker.Open {
		t.Fatalf("the second notice must open the breaker: %+v", d)
	}
	if b, breaker, d = c.Step(b, breaker, "b", alert, now); d.Result != notice.Suppressed {
		t.Fatalf("result %s", d.Result)
	}
	if _, _, d = c.Step(b, breaker, "b", alert, now.Add(2*time.Minute)); d.Result != notice.Post {
		t.Errorf("after the window: %s, want a notice", d.Result)
	}
	if _, _, d = c.Step(b, breaker, "b", nil, now.Add(2*time.Minute)); !d.Recovered {
		t.Error("a suppressed spell ends with a recovery too")
	}
}

// TestGroupsPartition: every pending notice of the session is in exactly one group,
// groups do not depend on the order given, related notices are never apart.
func TestGroupsPartition(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var pending []notice.Notice
		for i := range rapid.IntRange(0, 12).Draw(t, "n") {
			pending = append(pending, notice.Notice{ID: fmt.Sprintf("n-%02d", i), SessionID: "s", TurnIndex: rapid.IntRange(0, 1).Draw(t, "turn"),
				Severity:      rapid.SampledFrom([]notice.Severity{notice.Trend, notice.Breach, notice.NeedsHuman}).Draw(t, "severity"),
				Signatures:    rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "c"}), 0, 2).Draw(t, "signatures"),
				FlaggedTraces: rapid.SliceOfN(rapid.SampledFrom([]string{"t1", "t2", "t3"}), 0, 2).Draw(t, "traces")})
		}
		groups := notice.Groups("s", pending)
		in := map[string]string{}
		for _, g := range groups {
			for _, id := range g.NoticeIDs {
				if in[id] != "" {
					t.Fatalf("%s is in two groups", id)
				}
				in[id] = g.EpisodeID
			}
		}
		for i, a := range pending {
			if (a.Severity == notice.NeedsHuman) != (in[a.ID] == "") {
				t.Fatalf("%s (%s) in group %q", a.ID, a.Severity, in[a.ID])
			}
			for _, b := range pending[:i] {
				related := a.TurnIndex == b.TurnIndex && slices.ContainsFunc(append(a.Signatures, a.FlaggedTraces...), func(s string) bool {
					return slices.Contains(append(slices.Clone(b.Signatures), b.FlaggedTraces...), s)
				})
				if related && in[a.ID] != "" && in[b.ID] != "" && in[a.ID] != in[b.ID] {
					t.Fatalf("%s and %s are related and apart", a.ID, b.ID)
				}
			}
		}
		shuffled := rapid.Permutation(pending).Draw(t, "order")
		if got, want := fmt.Sprint(notice.Groups("s", shuffled)), fmt.Sprint(groups); got != want {
			t.Fatalf("order changes the groups: %s, %s", got, want)
		}
	})
}
