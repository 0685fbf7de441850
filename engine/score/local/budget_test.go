package local

import (
	"fmt"
	"strings"
	"testing"

	"vise/engine/trace"
)

// longTurn is a turn of ordinary size: four calls with 3 KB results each and
// two answers. Every identifier and wording varies with i.
func longTurn(i int) trace.Turn {
	t := trace.Turn{TraceID: fmt.Sprint("t", i), Input: fmt.Sprintf("Please look at order W%06d and ticket %d, colour %s, it is late again", i, i*7, strings.Repeat("x", i%9))}
	for c := range 4 {
		var out strings.Builder
		for row := range 50 {
			fmt.Fprintf(&out, `{"id":"R-%d-%d-%d","name":"item number %d","price":%d.%02d,"state":"open"},`, i, c, row, row*i, row*13+i, row)
		}
		t.Spans = append(t.Spans,
			trace.Span{ID: fmt.Sprint("l", c), Kind: trace.LLM, Output: "Looking at the next page of the list."},
			trace.Span{ID: fmt.Sprint("c", c), Kind: trace.TOOL, Name: "get_page", Input: fmt.Sprintf(`{"order":"W%06d","page":%d,"cursor":"C%dX%d"}`, i, c, i, c), Output: out.String()})
	}
	t.Spans = append(t.Spans, trace.Span{ID: "end", Kind: trace.LLM, Output: fmt.Sprintf(
		"Order W%06d holds item %d at %d.00 and ticket %d stays open, delivered to depot %d on route %d with carrier number %d.", i, i*31, i*17, i*7, i%97, i%89, i%83)})
	return t
}

// BenchmarkTurn measures one more turn after so many: the cost must not follow
// the length of the session. Memory per turn is what the turn adds to the text
// that was read.
func BenchmarkTurn(b *testing.B) {
	for _, history := range []int{0, 100, 1000, 4000} {
		b.Run(fmt.Sprint(history), func(b *testing.B) {
			e := New(trace.Session{}, Options{})
			for i := range history {
				e.Turn(longTurn(i))
			}
			turns := make([]trace.Turn, 64)
			for i := range turns {
				turns[i] = longTurn(history + i)
			}
			b.ReportAllocs()
			n := 0
			for b.Loop() {
				e.Turn(turns[n%len(turns)])
				n++
			}
		})
	}
}

// TestTurnLooksAtLittle counts instead of timing: after 500 turns an unknown
// value is searched for in next to no page, and an answer compared with next to
// no earlier one.
func TestTurnLooksAtLittle(t *testing.T) {
	e := New(trace.Session{}, Options{})
	for i := range 500 {
		e.Turn(longTurn(i))
	}
	pages := len(e.seen.sealed)
	if pages < 50 {
		t.Fatalf("only %d pages of history", pages)
	}
	passed := 0
	for i := range 100 {
		v := []byte(norm(fmt.Sprintf("Q%dJ%dZ", i*7919, i)))
		for _, p := range e.seen.sealed {
			if p.mayHold(v) {
				passed++
			}
		}
	}
	if limit := pages; passed > limit { // 1 % of 100 values times all pages
		t.Errorf("%d of %d page tests let an unknown value through", passed, 100*pages)
	}
	next := longTurn(500)
	e.answers.best(words(next.Spans[len(next.Spans)-1].Output))
	compared := 0
	for _, q := range e.answers.stamp {
		if q == e.answers.query {
			compared++
		}
	}
	if compared > 20 {
		t.Errorf("a new answer is compared with %d of %d earlier ones", compared, len(e.answers.texts))
	}
}

func FuzzTurn(f *testing.F) {
	f.Add("find W1", "get_a", `{"id":"W1"}`, "Error: no", "I’ll look 4711", `{"properties":{"id":{}}}`, uint8(0))
	f.Add("", "mcp__vise__harness_rules_read", "", "", "", "", uint8(255))
	f.Add("yes", "submit", `{"a":[1,null]}`, "exit code 1", "<tool_call>", "{}", uint8(7))
	f.Fuzz(func(t *testing.T, input, name, args, out, text, schema string, bits uint8) {
		s := trace.Session{System: out}
		if bits&1 > 0 {
			s.Tools = []trace.Tool{{Name: name, Schema: []byte(schema)}}
		}
		e := New(s, Options{Handoff: text})
		call := trace.Span{ID: "c", Kind: trace.TOOL, Name: name, Input: args, Output: out, Pending: bits&2 > 0}
		if bits&4 > 0 {
			call.Error = text
		}
		answer := trace.Span{ID: "m", Kind: trace.LLM, Output: text}
		turns := []trace.Turn{{Input: input, Spans: []trace.Span{call, answer}}, {Input: text, Spans: []trace.Span{answer, call}}, {Input: input}}
		for _, turn := range turns {
			got := e.Turn(turn)
			if len(got) != int(metrics) {
				t.Fatalf("%d scores", len(got))
			}
			for _, sc := range got {
				if sc.Value != nil && !(*sc.Value >= 0 && *sc.Value <= 1) {
					t.Fatalf("%s = %v", sc.Metric, *sc.Value)
				}
				if sc.Value != nil && *sc.Value < 1 && len(sc.Reasons) == 0 {
					t.Fatalf("%s = %v without a reason", sc.Metric, *sc.Value)
				}
			}
			PlanAdherence(s.Tools, turn)
		}
	})
}
