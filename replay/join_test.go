package replay

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"vise/engine/trace"
)

func TestJoin(t *testing.T) {
	at := func(s int) time.Time { return time.Unix(int64(s), 0).UTC() }
	line := func(spans []trace.Span) string {
		var out []string
		for _, s := range spans {
			l := fmt.Sprintf("%s %s(%s)", s.ID, s.Name, s.Output)
			if s.Usage.Input > 0 {
				l += fmt.Sprintf(" %d", s.Usage.Input)
			}
			out = append(out, l)
		}
		return strings.Join(out, "; ")
	}
	llm := func(id, name, out string, start int, in int64) trace.Span {
		return trace.Span{ID: id, Kind: trace.LLM, Name: name, Output: out, Start: at(start), Usage: trace.Usage{Input: in}}
	}
	tool := func(id, name, out string, start int) trace.Span {
		return trace.Span{ID: id, Kind: trace.TOOL, Name: name, Output: out, Start: at(start)}
	}
	for _, c := range []struct {
		name         string
		turn, others []trace.Span
		want         string
		input        int64
	}{
		{"nothing else was seen", []trace.Span{llm("a", "", "hi", 1, 5)}, nil, "a (hi) 5", 5},
		{"a protocol and the wire", []trace.Span{llm("a", "", "I look.", 1, 0), tool("c1", "Look up the order", "found", 2), llm("b", "", "Shipped.", 4, 0)},
			[]trace.Span{llm("w1", "m", "I look.", 1, 10), tool("c1", "lookup", "found", 2), llm("w2", "m", "Shipped.", 3, 20)},
			"a m(I look.) 10; c1 lookup(found); b m(Shipped.) 20", 30},
		{"the same answer twice", []trace.Span{llm("a", "", "ok", 1, 0), llm("b", "", "ok", 2, 0)},
			[]trace.Span{llm("w1", "m", "ok", 1, 1), llm("w2", "m", "ok", 2, 2)}, "a m(ok) 1; b m(ok) 2", 3},
		{"a script that says nothing of its calls", []trace.Span{{ID: "out", Kind: trace.LLM, Name: "agent.py", Output: "Done: shipped", Start: at(0), Attrs: map[string]any{"source": "stdout"}}},
			[]trace.Span{llm("w1", "m", "", 1, 10), tool("c1", "lookup", "found", 2), llm("w2", "m", "shipped", 3, 20)},
			"w1 m() 10; c1 lookup(found); w2 m(shipped) 20; out agent.py(Done: shipped)", 30},
		{"an agent's own telemetry", []trace.Span{tool("c1", "Refund", "", 1), tool("x", "lookup", "found", 2)},
			[]trace.Span{{ID: "f00d", Kind: trace.TOOL, Name: "refund", Output: "done", Start: at(1), Attrs: map[string]any{"call_id": "c1"}}, tool("beef", "lookup", "found", 2)},
			"c1 refund(done); x lookup(found)", 5},
		{"a stream without usage takes none away", []trace.Span{llm("a", "", "hi", 1, 12)}, []trace.Span{llm("w", "m", "hi", 1, 0)}, "a m(hi) 12", 12},
		{"the same arguments, written otherwise",
			[]trace.Span{{ID: "a", Kind: trace.TOOL, Name: "refund", Input: `{"order": "A-1", "sum": 12345678901234567890}`, Start: at(1)}},
			[]trace.Span{{ID: "w", Kind: trace.TOOL, Name: "refund", Input: `{"sum":12345678901234567890,"order":"A-1"}`, Output: "done", Start: at(1)}},
			"a refund(done)", 5},
		{"a model call that the protocol did not tell", []trace.Span{llm("a", "", "one", 1, 0), llm("b", "", "two", 5, 0)},
			[]trace.Span{llm("w", "m", "a title", 3, 7)}, "a (one); w m(a title) 7; b (two)", 7},
	} {
		t.Run(c.name, func(t *testing.T) {
			turn := trace.Turn{Spans: c.turn, Usage: trace.Usage{Input: 5}}
			got := join(turn, c.others)
			if line(got.Spans) != c.want || got.Usage.Input != c.input {
				t.Errorf("got  %s, input %d\nwant %s", line(got.Spans), got.Usage.Input, c.want)
			}
			if again := join(got, c.others); !reflect.DeepEqual(again.Spans, got.Spans) {
				t.Errorf("joined again: %s", line(again.Spans))
			}
		})
	}
}

// Every span is looked at once, not against every other.
func BenchmarkJoin(b *testing.B) {
	var turn trace.Turn
	var other []trace.Span
	for i := range 5_000 {
		s := trace.Span{ID: fmt.Sprint("d", i), Kind: trace.TOOL, Name: "look_up", Input: fmt.Sprintf(`{"order":%d}`, i)}
		turn.Spans = append(turn.Spans, s)
		s.ID, s.Output = fmt.Sprint("w", i), "found"
		other = append(other, s)
	}
	b.ReportAllocs()
	for b.Loop() {
		if got := join(turn, other); len(got.Spans) != 5_000 || got.Spans[4_999].Output != "found" {
			b.Fatal(len(got.Spans))
		}
	}
}
