package repair

import (
	"strings"
	"testing"

	"vise/engine/episode"
	"vise/engine/notice"
	"vise/engine/trace"
)

func TestBreakpoint(t *testing.T) {
	value, cents := 0.4, 0.02
	notices := []notice.Notice{{Metrics: []notice.Metric{{Name: "tool_correctness", Value: &value}}}}
	call := func(point Point, name, args string) Checkpoint {
		return Checkpoint{Point: point, Turn: 4, Notices: notices, Call: &episode.Call{Name: name, Arguments: args},
			Spent: trace.Usage{Input: 900, Output: 200, CostUSD: &cents}}
	}
	add := call(BeforeTool, "harness_rule_add", `{"scope":"Refunds","metric":"argument_correctness","tags":["a b"],"rule":"pass reason_code"}`)
	ask := Checkpoint{Point: BeforeModel, Turn: 2, Notices: notices}
	ack := call(BeforeResolve, "harness_notice_ack", `{"notice_id":"n-1","rule_id":"r-1"}`)
	give := call(BeforeResolve, "harness_notice_resolve", `{"resolution":"unactionable"}`)
	read := call(AfterTool, "harness_rule_add", `{}`)
	for _, c := range []struct {
		text string
		at   Checkpoint
		want bool
	}{
		{"tool:harness_rule_add", add, true}, {"tool:rule_add", add, true}, {"tool:*rule*", add, true}, {"tool:harness_notice_ack", add, false},
		{"tool:harness_rule_add", ask, false}, {"tool:harness_rule_add", read, false},
		{"arg:REASON_CODE", add, true}, {"arg:scope=refunds", add, true}, {"arg:rule=refunds", add, false}, {"arg:nothing=x", add, false},
		{`arg:tags="a b"`, add, true}, {`tool:rule_add arg:scope=refunds`, add, true}, {"tool:rule_add arg:scope=other", add, false},
		{"metric:tool_correctness", ask, true}, {"metric:tool_correctness<0.5", ask, true}, {"metric:tool_correctness>0.5", ask, false},
		{"metric:argument_correctness", ask, false}, {"metric:argument_correctness", add, true}, {"metric:argument_correctness<1", add, false},
		{"verdict:candidate", ack, true}, {"verdict:unactionable", ack, false}, {"verdict:unactionable", give, true}, {"verdict:*", give, true}, {"verdict:*", add, false},
		{"cost>0.01", add, true}, {"cost>0.02", add, false}, {"cost>0", ask, false}, {"tokens>1000", add, true}, {"tokens>1100", add, false}, {"turn>3", add, true}, {"turn>3", ask, false},
	} {
		b, err := ParseBreakpoint(c.text)
		if err != nil {
			t.Errorf("%s: %v", c.text, err)
			continue
		}
		if got := b.At(c.at); got != c.want {
			t.Errorf("%s at %s %+v: %v, want %v", c.text, c.at.Point, c.at.Call, got, c.want)
		}
		if b.String() != c.text {
			t.Errorf("%s reads back as %s", c.text, b)
		}
	}
	for text, want := range map[string]bool{"cost>1": true, "metric:coherence": true, "turn>2 tool:rule_add": false, "verdict:*": false} {
		if b, err := ParseBreakpoint(text); err != nil || b.Lasting() != want {
			t.Errorf("%s: lasting %v (%v), want %v", text, b.Lasting(), err, want)
		}
	}
}

// One that could never hold is refused, with what could be meant.
func TestBreakpointRefused(t *testing.T) {
	for text, want := range map[string]string{
		"": "it is empty", "tool:harness_rule_ad": "the repair agent has harness_notice_ack", "metric:argumnt": "known are", "verdict:promoted": "an episode ends as candidate",
		"cost>much": "no number", "cost>nan": "no number", "turn>NaN": "no number", "metric:coherence<nan": "no number", "cost<1": "write tool:NAME", "nothing:x": "there is no nothing", `arg:"a b`: "quote is not closed", "arg:scope=": "to contain",
		"metric:coherence<x": "no number", strings.Repeat("x", 400): "longer than",
	} {
		if _, err := ParseBreakpoint(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

func FuzzBreakpoint(f *testing.F) {
	for _, s := range []string{"tool:*", `arg:a="b c"`, "cost>0.1 turn>2", "metric:coherence<0.5", `"`, "verdict:*"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		b, err := ParseBreakpoint(text)
		if err != nil {
			return
		}
		b.At(Checkpoint{Point: BeforeTool, Call: &episode.Call{Name: "harness_rule_add", Arguments: text}})
		if again, err := ParseBreakpoint(b.String()); err != nil || len(again.terms) != len(b.terms) {
			t.Errorf("%q reads back as %q: %v", text, b, err)
		}
	})
}
