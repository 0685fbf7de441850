package acp_test

import (
	"context"
	"os"
	"strings"
	"testing"

	"vise/engine/rule"
	"vise/engine/rule/tools"
	"vise/engine/score"
	"vise/engine/score/local"
	"vise/engine/trace"
	"vise/replay/driver"
	"vise/replay/ruleserver"
	"vise/replay/sample"
)

// oneRule is a set of rules with one candidate; none if the text is empty. The
// rationale names the argument in every case: it must not count.
func oneRule(text string) *rule.Set {
	if text == "" {
		return rule.NewSet(nil, nil)
	}
	return rule.NewSet([]rule.Rule{{ID: "r1", CreatedAt: "2026-03-01T00:00:00Z", Text: text, Status: rule.Candidate, Scope: "refunds", Applicability: rule.Topical,
		Rationale: "The call failed: missing required argument 'reason_code'."}}, nil)
}

// serveRules serves it as a run of the harness gets it.
func serveRules(t *testing.T, text string) (driver.MCPServer, *tools.Toolset) {
	t.Helper()
	s, err := ruleserver.Start(t.Context(), ruleserver.Options{Source: oneRule(text)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	g := s.Grant(ruleserver.Run{RunID: "run-1", Tools: tools.Options{Restricted: true, Candidates: []string{"r1"}}})
	return driver.MCPServer{Name: "vise", URL: s.URL(), Token: g.Token}, g.Toolset
}

// scoresOf evaluates the turns as the engine does.
func scoresOf(turns []trace.Turn) []map[string]float64 {
	e := local.New(trace.Session{ID: "s1"}, local.Options{})
	var out []map[string]float64
	for _, turn := range turns {
		m := map[string]float64{}
		for _, s := range e.Turn(turn) {
			if s.Value != nil {
				m[s.Metric] = *s.Value
			}
		}
		out = append(out, m)
	}
	return out
}

// What the agent does with rules is the heart of the demo: it does well, then
// badly; a rule that names the argument helps, a rule that does not changes nothing.
func TestRulesDecideTheThirdTurn(t *testing.T) {
	long := "When issue_refund is called, " + strings.Repeat("take great care of every detail, ", 10) + "and pass reason_code."
	for _, c := range []struct {
		name, rule string
		none       bool
		calls      int  // rule tool calls in the third turn
		read       bool // the rule was read
		helps      bool
	}{
		{name: "no server", none: true},
		{name: "no rule", rule: "", calls: 1},
		{name: "useless rule", rule: "Check issue_refund carefully before calling it again.", calls: 1, read: true},
		{name: "rule for another tool, shown because there was room", rule: "notify_customer needs no reason_code.", calls: 1, read: true},
		{name: "helpful rule", rule: "Always pass `reason_code` to `issue_refund`.", calls: 1, read: true, helps: true},
		{name: "helpful rule in capitals", rule: "ISSUE_REFUND NEEDS REASON_CODE.", calls: 1, read: true, helps: true},
		{name: "helpful rule longer than a snippet", rule: long, calls: 2, read: true, helps: true},
		{name: "useless rule longer than a snippet", rule: "When issue_refund is called, " + strings.Repeat("take great care of every detail, ", 10) + "and hope.", calls: 2, read: true},
		{name: "longer name is another argument", rule: "issue_refund takes no reason_codes.", calls: 1, read: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			cfg := agentConfig(t, sample.Options{})
			var read *tools.Toolset
			if !c.none {
				var server driver.MCPServer
				server, read = serveRules(t, c.rule)
				cfg.MCP = []driver.MCPServer{server}
			}
			turns := play(t, start(t, cfg), failing...)
			calls, failed := 0, 0
			for _, s := range turns[2].Spans {
				if strings.HasPrefix(s.Name, "harness_rules_") {
					calls++
					if s.Error != "" {
						t.Errorf("rule call failed: %+v", s)
					}
				} else if s.Error != "" {
					failed++
				}
			}
			if calls != c.calls {
				t.Errorf("third turn has %d rule calls, want %d", calls, c.calls)
			}
			if want := map[bool]int{true: 0, false: 2}[c.helps]; failed != want {
				t.Errorf("third turn has %d failed calls, want %d:\n%s", failed, want, strings.Join(lines(turns[2]), "\n"))
			}
			if read != nil && (len(read.Surfaced()) == 1) != c.read {
				t.Errorf("ledger holds %v, want the rule: %v", read.Surfaced(), c.read)
			}
			scores := scoresOf(turns)
			good := scores[:2]
			if c.helps {
				good = scores
			}
			for i, m := range good {
				for metric, v := range m {
					if v < 0.85 {
						t.Errorf("turn %d: %s = %v in a turn that went well", i, metric, v)
					}
				}
			}
			if c.helps {
				return
			}
			bad := scores[2]
			for _, metric := range []string{score.TaskCompletion, score.ToolCorrectness, score.ArgumentCorrectness, score.StepEfficiency} {
				if v, ok := bad[metric]; !ok || v >= 0.5 {
					t.Errorf("third turn: %s = %v, want below 0.5", metric, v)
				}
			}
		})
	}
}

func TestBridgeWhenTheAgentTakesStdio(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cfg := agentConfig(t, sample.Options{})
	cfg.MCP = []driver.MCPServer{{Name: "vise", Command: []string{self}, Env: []string{"TEST_BRIDGE=pass reason_code to issue_refund", "TEST_SAMPLE_AGENT="}}}
	turns := play(t, start(t, cfg), failing...)
	if got := strings.Join(lines(turns[2]), "\n"); !strings.Contains(got, `"reason_code":"damaged_item"`) {
		t.Errorf("third turn:\n%s", got)
	}
}
