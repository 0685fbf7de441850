package local

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"vise/engine/score"
	"vise/engine/trace"
)

func says(text string) trace.Span {
	return trace.Span{ID: "m", Kind: trace.LLM, Output: text}
}

// fired returns the check ids of a turn and the values as text.
func fired(scores []score.Score) (checks []string, values string) {
	var v []string
	for _, s := range scores {
		for _, c := range s.Checks {
			if !slices.Contains(checks, c) {
				checks = append(checks, c)
			}
		}
		if s.Value == nil {
			v = append(v, "-")
		} else {
			v = append(v, fmt.Sprintf("%.4g", *s.Value))
		}
	}
	slices.Sort(checks)
	return checks, strings.Join(v, " ")
}

// TestTurn has what the conformance vectors leave out, one or two turns per
// case; the last turn is looked at.
func TestTurn(t *testing.T) {
	type turns []trace.Turn
	spans := func(input string, s ...trace.Span) trace.Turn { return trace.Turn{Input: input, Spans: s} }
	flagged := tool("get_a", `{}`, "")
	flagged.Error = "connection reset"
	pending := tool("get_a", `{}`, "")
	pending.Pending = true
	pendingSet := pending
	pendingSet.Name = "set_a"
	for _, c := range []struct {
		name   string
		turns  turns
		checks string
		values string // completion coherence tools arguments efficiency
	}{
		{"a synthetic turn of other spans", turns{spans("", trace.Span{ID: "c", Kind: trace.CHAIN, Output: "x"})}, "no_activity", "0.4 - - - -"},
		{"the format flags an error", turns{spans("x", flagged, says("It failed."))}, "last_call_failed", "0.4 1 0.4 - 0"},
		{"the last call may be pending", turns{spans("x", pending, says("Waiting here."))}, "", "1 1 1 - 1"},
		{"an answer before the last call is none", turns{spans("x", says("Look:"), tool("get_a", `{}`, "a"))}, "no_answer", "0.4 0.4 1 - 1"},
		{"without model spans the agent's output is the answer", turns{spans("x", trace.Span{ID: "r", Kind: trace.AGENT, Output: "It is a."}, tool("get_a", `{}`, "a"))}, "", "1 1 1 - 1"},
		{"an agent below another does not answer", turns{spans("x", trace.Span{ID: "r", Parent: "p", Kind: trace.AGENT, Output: "a"}, tool("get_a", `{}`, "a"))}, "no_answer", "0.4 0.4 1 - 1"},
		{"a check counts three times", turns{spans("x", tool("add_a", `{"a":"K1111"}`, "ok"), tool("add_a", `{"a":"K2222"}`, "ok"),
			tool("add_a", `{"a":"K3333"}`, "ok"), tool("add_a", `{"a":"K4444"}`, "ok"), says("Added."))}, "arg_unseen", "1 1 1 0.6141 1"},
		{"an identifier of a result was seen", turns{spans("x", tool("get_a", `{}`, "id: k-11_11"), tool("add_a", `{"a":"K 11#11","b":"#k-1111"}`, "ok"), says("Added."))},
			"arg_unseen", "1 1 1 0.85 1"},
		{"a change in between makes a repeat worthwhile", turns{spans("x", tool("get_a", `{}`, "1"), tool("set_a", `{}`, "ok"), tool("get_a", `{}`, "2"), says("Set."))}, "", "1 1 1 - 1"},
		{"a failed change changes nothing", turns{spans("x", tool("get_a", `{}`, "1"), tool("set_a", `{}`, "Error: no"), tool("get_a", `{}`, "1"), says("Not set."))},
			"unrecovered", "0.65 1 0.65 - 0.3333"},
		{"a repeat in a later turn", turns{spans("x", tool("get_a", `{}`, "1"), says("One.")), spans("y", tool("get_a", `{}`, "1"), says("Still one."))}, "", "1 1 1 - 0"},
		{"a failure is remembered over turns", turns{spans("x", tool("get_a", `{"a":1}`, "Error: no"), says("No.")), spans("y", tool("get_a", `{"a":1}`, "Error: no"), says("No."))},
			"last_call_failed repeat_failed", "0.4 1 0.26 0.65 0"},
		{"a number of the arguments was not read", turns{spans("x", tool("set_a", `{"n":451}`, "ok"), says("It is 451 now."))}, "num_unsupported", "1 0.85 1 1 1"},
		{"numbers need a call in the session", turns{spans("x", says("It is 451 now."))}, "", "1 1 - - -"},
		{"a curly apostrophe promises too", turns{spans("x", says("I’ll look into it."))}, "promise", "0.65 1 - - -"},
		{"a promise on a condition is none", turns{spans("x", says("Once you agree, I’ll look into it."))}, "", "1 1 - - -"},
		{"a promise kept by a hand-off", turns{spans("x", says("I will transfer this now; connecting you to a human agent."))}, "handoff", "1 1 - - -"},
		{"a promise to be kept by somebody else", turns{spans("x", says("I will look into it, then transfer you to a human agent."))}, "handoff", "1 1 - - -"},
		{"done before, told now", turns{spans("x", tool("cancel_a", `{}`, "ok"), says("Fine.")), spans("y", says("I’ve cancelled it."))}, "", "1 1 - - -"},
		{"an answer repeated", turns{spans("x", says("Alpha beta gamma delta epsilon zeta eta theta iota.")), spans("y", says("Alpha beta gamma delta epsilon zeta eta theta iota!"))},
			"answer_repeat", "0.85 0.65 - - 0.65"},
		{"text arguments are no object", turns{spans("x", tool("get_a", `ls`, "a"), says("Done."))}, "arg_parse", "1 1 1 0.4 1"},
		{"the system prompt was read", turns{spans("x", tool("get_a", `{"id":"POL-9000"}`, "a"), says("See 9000."))}, "", "1 1 1 1 1"},
		{"a change may answer nothing", turns{spans("x", tool("set_a", `{}`, "[]"), says("Set."))}, "", "1 1 1 - 1"},
		{"what is handed in promises nothing", turns{spans("x", tool("submit", `{"text":"I will look into it."}`, "ok"))}, "final_unsupported", "0.65 1 1 1 1"},
		{"a value of one character is no fact", turns{spans("x", tool("submit", `{"text":"q"}`, "ok"))}, "", "1 1 1 1 1"},
		{"a yes that is acted on", turns{spans("x", says("Shall I proceed?")), spans("yes", tool("set_a", `{}`, "ok"), says("Set."))}, "", "1 1 1 - 1"},
		{"a yes that is not", turns{spans("x", says("Shall I proceed?")), spans("yes", says("Well."))}, "confirm_no_call", "0.85 1 - - -"},
		{"an earlier answer counts as read", turns{spans("x", tool("get_a", `{}`, "a"), says("It is 4711.")), spans("y", says("As told, 4711."))}, "", "1 1 - - -"},
		{"small numbers are in every text", turns{spans("x", tool("get_a", `{}`, "a"), says("There are 7."))}, "", "1 1 1 - 1"},
		{"the user asks much the same", turns{spans("red blue green grey", says("One.")), spans("red blue green grey pink gold", says("Two."))}, "user_repeat", "0.85 0.65 - - -"},
		{"an unanswered change is none", turns{spans("x", pendingSet, says("I have updated it."))}, "done_unsupported", "0.85 1 1 - 1"},
		{"a command that answered and failed", turns{{Input: "x", StopReason: "exit status 7", Spans: []trace.Span{says("partial")}}}, "command_failed", "0.4 1 - - -"},
		{"another language stays silent", turns{spans("x", says("Ich werde das gleich nachsehen und melde mich."))}, "", "1 1 - - -"},
	} {
		t.Run(c.name, func(t *testing.T) {
			e := New(trace.Session{System: "Policy POL-9000 applies."}, Options{})
			var out []score.Score
			for _, turn := range c.turns {
				out = e.Turn(turn)
			}
			checks, values := fired(out)
			if s := strings.Join(checks, " "); s != c.checks || values != c.values {
				t.Errorf("checks %q values %q, want %q %q", s, values, c.checks, c.values)
			}
		})
	}
}

func TestTurnCarriesItsIdentity(t *testing.T) {
	e := New(trace.Session{Tools: []trace.Tool{{Name: "get_a"}}}, Options{})
	out := e.Turn(trace.Turn{TraceID: "s.0", Spans: []trace.Span{
		{ID: "1", Kind: trace.TOOL, Name: "gte_a", Output: "unknown tool"}, {ID: "2", Kind: trace.LLM, Output: "I will look again."}}})
	for _, s := range out {
		if s.By != Identity || s.TraceID != "s.0" || s.Threshold != 0.5 || s.Tier != 0 {
			t.Errorf("%s: by %q trace %q threshold %v tier %d", s.Metric, s.By, s.TraceID, s.Threshold, s.Tier)
		}
	}
	want := []score.Finding{{Check: "promise", Severity: "sign", Reason: "ends with a promise, no call followed: 'I will look again.'", N: 1, SpanID: "2"}}
	if d := cmp.Diff(want, out[completion].Findings); d != "" {
		t.Errorf("findings of task_completion (-want +got)\n%s", d)
	}
	if f := out[tools].Findings; len(f) != 1 || f[0].SpanID != "1" || f[0].Severity != "fault" {
		t.Errorf("findings of tool_correctness: %+v", f)
	}
}

// TestRuleToolsAreInvisible: reading rules changes no score, but what a rule
// says counts as read.
func TestRuleToolsAreInvisible(t *testing.T) {
	read := tool("mcp__vise__harness_rules_read", `{"scope":"nonsense-9x9"}`, "use code ZX-4711 for refunds")
	read.Error = "flagged"
	plain := []trace.Span{tool("get_a", `{}`, "fine"), says("All fine.")}
	with := []trace.Span{plain[0], read, plain[1], read}
	a := New(trace.Session{Tools: []trace.Tool{{Name: "get_a"}}}, Options{})
	b := New(trace.Session{Tools: []trace.Tool{{Name: "get_a"}}}, Options{})
	if d := cmp.Diff(a.Turn(trace.Turn{Spans: plain}), b.Turn(trace.Turn{Spans: with})); d != "" {
		t.Errorf("rule calls change the scores (-without +with)\n%s", d)
	}
	next := trace.Turn{Spans: []trace.Span{tool("get_a", `{"code":"ZX-4711"}`, "ok"), says("The code is 4711.")}}
	if checks, _ := fired(a.Turn(next)); !slices.Equal(checks, []string{"arg_unseen", "num_unsupported"}) {
		t.Errorf("without the rule: %q", checks)
	}
	if checks, _ := fired(b.Turn(next)); len(checks) != 0 {
		t.Errorf("with the rule read: %q", checks)
	}
	only := New(trace.Session{}, Options{}).Turn(trace.Turn{Spans: []trace.Span{read}})
	if checks, _ := fired(only); !slices.Equal(checks, []string{"no_activity"}) {
		t.Errorf("nothing but a rule call: %q", checks)
	}
}

func TestHandoffSeverity(t *testing.T) {
	turn := trace.Turn{Spans: []trace.Span{tool("transfer_to_human", `{"why":"asked"}`, "ok")}}
	for o, want := range map[string]struct {
		value float64
		by    string
	}{
		"":      {1, "local/1"},
		"note":  {1, "local/1"},
		"hint":  {0.85, "local/1+handoff=hint"}, // not the same metric any more
		"sign":  {0.65, "local/1+handoff=sign"},
		"fault": {0.4, "local/1+handoff=fault"},
		"other": {1, "local/1"},
	} {
		s := New(trace.Session{System: "asked"}, Options{Handoff: o}).Turn(turn)[completion]
		if *s.Value != want.value || s.By != want.by {
			t.Errorf("handoff %q: %v by %s, want %v by %s", o, *s.Value, s.By, want.value, want.by)
		}
	}
}

func TestSchemaFault(t *testing.T) {
	s := trace.Session{Tools: []trace.Tool{{Name: "get_a", Schema: []byte(`{"properties":{"id":{"type":"string"}},"required":["id"]}`)}}}
	e := New(s, Options{})
	got := e.Turn(trace.Turn{Spans: []trace.Span{tool("get_a", `{"id":4}`, "x"), tool("get_a", ``, "x"), says("Done.")}})[arguments]
	if *got.Value != 0.4 || !slices.Equal(got.Reasons, []string{"fault: get_a.id: want string, got number"}) {
		t.Errorf("value %v reasons %q", *got.Value, got.Reasons)
	}
}

// TestMonotone: whatever was found already, a further finding never raises a
// score.
func TestMonotone(t *testing.T) {
	var checks []string
	for c := range effects {
		checks = append(checks, c)
	}
	slices.Sort(checks)
	rng := rand.New(rand.NewPCG(5, 6))
	for range 1000 {
		base := tally{calls: 1 + rng.IntN(5), steps: rng.IntN(2), argued: 1}
		base.wasted = rng.IntN(base.calls + 1)
		for range rng.IntN(12) {
			base.hit(checks[rng.IntN(len(checks))], 1+rng.IntN(5), nil, "x")
		}
		more := base
		more.hits = slices.Clone(base.hits)
		extra := checks[rng.IntN(len(checks))]
		at := rng.IntN(len(more.hits) + 1)
		more.hit(extra, 1+rng.IntN(5), nil, "y")
		added := more.hits[len(more.hits)-1]
		more.hits = slices.Insert(more.hits[:len(more.hits)-1], at, added)
		before, after := base.scores(note), more.scores(note)
		for m := range metrics {
			if b, a := before[m].Value, after[m].Value; b == nil || a == nil || *a > *b*(1+1e-12) { // rounding only
				t.Fatalf("%s rises from %v to %v by %s after %+v", metricNames[m], *b, *a, extra, base.hits)
			}
			if e := effects[extra][m]; e > note && counts(base.hits, extra) < most && *after[m].Value >= *before[m].Value && *before[m].Value > 0 {
				t.Fatalf("%s does not fall by %s", metricNames[m], extra)
			}
		}
	}
}

func counts(hits []hit, check string) (n int) {
	for _, h := range hits {
		if h.check == check {
			n += h.n
		}
	}
	return n
}

func TestFindingsAreBounded(t *testing.T) {
	var w tally
	w.calls = 1
	for i := range 1000 {
		w.hit("arg_unseen", 1, nil, "%d", i)
	}
	w.hit("arg_parse", 1, nil, "last")
	f := w.scores(note)[arguments].Findings
	if len(f) != maxFindings+1 || f[len(f)-1].Check != "arg_parse" || f[2].N != 1 || f[3].N != 0 {
		t.Errorf("%d findings, last %+v", len(f), f[len(f)-1])
	}
}
