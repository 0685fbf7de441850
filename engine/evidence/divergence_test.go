package evidence_test

import (
	"strings"
	"testing"

	"vise/engine/evidence"
	"vise/engine/trace"
)

func TestDiverge(t *testing.T) {
	call := func(name, args string, failed ...string) trace.Span {
		s := trace.Span{Kind: trace.TOOL, Name: name, Input: args, Output: "ok"}
		if len(failed) > 0 {
			s.Error = failed[0]
		}
		return s
	}
	says := func(s string) trace.Span { return trace.Span{Kind: trace.LLM, Output: s} }
	turns := func(list ...[]trace.Span) (out []trace.Turn) {
		for i, spans := range list {
			out = append(out, trace.Turn{Index: i, Input: "go on", Spans: spans})
		}
		return out
	}
	type spans = []trace.Span
	ours := func(name string) bool { return strings.HasPrefix(name, "harness_") }
	for _, c := range []struct {
		name    string
		a, b    []trace.Turn
		what    string // "" = they did the same
		turn, n int
		words   string
	}{
		{"the same", turns(spans{call("look", `{"a":1,"b":2}`), says("done")}), turns(spans{call("look", `{"b":2, "a":1}`), says(" done ")}), "", 0, 0, ""},
		{"a rule was read", turns(spans{says("x")}), turns(spans{call("harness_rules_read", `{}`), says("x")}), "", 0, 0, ""},
		{"arguments", turns(spans{says("x")}, spans{call("pay", `{}`)}), turns(spans{says("x")}, spans{call("pay", `{"reason":"r"}`)}), "arguments", 1, 1,
			`turn 1, call 1 (arguments): without the rule pay {}; with it pay {"reason":"r"}`},
		{"another call", turns(spans{call("pay", `{}`)}), turns(spans{call("ask", `{}`)}), "call", 0, 1, "with it ask {}"},
		{"one call more", turns(spans{call("pay", `{}`)}), turns(spans{call("pay", `{}`), call("tell", `{}`)}), "call", 0, 2, "without the rule nothing; with it tell {}"},
		{"it failed", turns(spans{call("pay", `{}`, "refused")}), turns(spans{call("pay", `{}`)}), "result", 0, 1, "pay failed: refused"},
		{"the answer", turns(spans{says("no")}), turns(spans{says("yes")}), "answer", 0, 0, "turn 0, the answer: without the rule no; with it yes"},
		{"another order, by a digit that no float64 keeps", turns(spans{call("pay", `{"order":9007199254740993}`)}), turns(spans{call("pay", `{"order": 9007199254740992}`)}),
			"arguments", 0, 1, "9007199254740992"},
		{"a number written otherwise", turns(spans{call("pay", `{"sums":[1,2.50]}`)}), turns(spans{call("pay", `{"sums":[1.0, 2.5]}`)}), "", 0, 0, ""},
		{"ended early", turns(spans{says("x")}, spans{says("y")}), turns(spans{says("x")}), "end", 1, 0, "only one of them reached"},
	} {
		d := evidence.Diverge(c.a, c.b, ours)
		if d == nil || c.what == "" {
			if d != nil || c.what != "" {
				t.Errorf("%s: %+v", c.name, d)
			}
			continue
		}
		if d.What != c.what || d.Turn != c.turn || d.Call != c.n || !strings.Contains(d.Words(), c.words) {
			t.Errorf("%s: %+v: %s", c.name, d, d.Words())
		}
	}
}
