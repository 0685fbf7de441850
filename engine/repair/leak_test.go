package repair

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"vise/engine/episode"
	"vise/engine/guard"
	"vise/engine/notice"
	"vise/engine/rule"
	"vise/engine/score"
	"vise/engine/trace"
	"vise/store"
)

// A rule that quotes a rubric, a threshold or an expected answer is refused with the
// fragment named, and nothing that the repair agent is shown holds any of them.
func TestB36RepairSeesAndWritesNoProtectedText(t *testing.T) {
	s := memory(t, time.Now)
	low, limit := 0.0, 0.87
	turn := trace.Turn{SessionID: "s1", Index: 0, TraceID: "s1.0", Input: "Where is my parcel?",
		EndState: json.RawMessage(`{"benchmark":"desk","expected_answer":"the blue depot of Lyon","task":{"ground_truth":"depot seven"},"open":true}`),
		Spans:    []trace.Span{{ID: "1", Kind: trace.LLM, Output: "I do not know."}}}
	putTurn(t, s, turn)
	report := score.Report{SessionID: "s1", Scores: []score.Score{
		{Metric: score.OutcomeCorrect, Value: &low, Threshold: limit, Flagged: []string{"s1.0"}, Reasons: []string{"the right answer is depot seven"}}}}
	n := notice.FromReport(report, turn, "n-1", "2026-01-01T00:00:00Z")
	if !strings.Contains(n.Summary, "threshold 0.87") {
		t.Fatalf("the notice itself says %q", n.Summary)
	}
	if err := s.Update(t.Context(), func(tx *store.Tx) error {
		if err := tx.PutSession(trace.Session{ID: "s1", Origin: trace.Live, Attrs: map[string]any{"gold": "warehouse nine"}}); err != nil {
			return err
		}
		if err := tx.PutReport(report); err != nil {
			return err
		}
		return tx.PutNotice(n)
	}); err != nil {
		t.Fatal(err)
	}
	ep := episode.Episode{ID: "e-1", SessionID: "s1", NoticeIDs: []string{"n-1"}, AllowedTraces: []string{"s1.0"}, CreatedAt: "2026-01-01T00:00:00Z"}
	as := BuildAssignment(Input{Episode: ep, Notices: []notice.Notice{n}, Turn: turn})
	config := defaultConfig()
	config.Protected = []guard.Protected{
		{Name: "a rubric of the judge", Text: "Full marks when every claim of the answer rests on what a tool returned in this session."},
		{Name: "a threshold of the evaluation", Number: &limit},
	}
	add := func(text string) []string {
		raw, _ := json.Marshal(map[string]string{"rule": text, "rationale": "the notice says so"})
		return says(toolRuleAdd, string(raw))
	}
	c, m := serve(t,
		says(toolNoticeRead, `{"notice_id":"n-1"}`), says(toolTraceInspect, `{"trace_id":"s1.0"}`),
		add("Make sure every claim of the answer rests on what a tool returned, always."),
		add("Reach a score of 0.87."),
		add("Say that it is at The Blue Depot of Lyon."),
		add("Look at warehouse nine first."),
		add("Look up the parcel before you answer."),
		says(toolNoticeAck, `{"notice_id":"n-1","rule_id":"none"}`))
	config.MaxTurns = 8
	res := (&Agent{Store: s, Model: m, Config: config}).Run(t.Context(), ep, as)
	if len(res.CandidateRuleIDs) != 1 {
		t.Fatalf("result %+v", res)
	}
	shown, _ := json.Marshal(c.asked[:3]) // assignment, notice, trace: what it saw before it wrote anything
	for _, secret := range []string{"0.87", "blue depot", "depot seven", "warehouse nine", "Full marks"} {
		if strings.Contains(string(shown), secret) {
			t.Errorf("the repair agent was shown %q:\n%s", secret, shown)
		}
	}
	if !strings.Contains(string(shown), `outcome_correct=0.00 [breach]`) {
		t.Errorf("the notice without its threshold is not shown:\n%s", shown)
	}
	if err := s.View(func(tx *store.Tx) error {
		steps, err := tx.Steps("e-1")
		for i, fragment := range []string{"every claim of the answer rests on what a tool returned", "0.87", "the blue depot of lyon", "warehouse nine"} {
			call := steps[2+i].Calls[0]
			if call.OK || !strings.Contains(string(call.Result), rule.ErrLeak) || !strings.Contains(string(call.Result), fragment) {
				t.Errorf("rule %d: %s, want a refusal that names %q", i, call.Result, fragment)
			}
		}
		r, _, _ := tx.Rule(res.CandidateRuleIDs[0])
		if r.Text != "Look up the parcel before you answer." {
			t.Errorf("the rule that was kept: %q", r.Text)
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
}
