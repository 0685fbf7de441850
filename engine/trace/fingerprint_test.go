package trace

import (
	"testing"
	"time"
)

func TestFingerprint(t *testing.T) {
	run := func(change func(turns []Turn)) string {
		turns := []Turn{
			{Index: 0, Input: "hello", Spans: []Span{{ID: "a", Kind: LLM, Output: "hi"}}},
			{Index: 1, Input: "pay back", StopReason: "end_turn", Spans: []Span{{ID: "b", Kind: TOOL, Name: "refund", Input: `{"id":1}`, Output: "ok"}, {Kind: LLM, Output: "done"}}},
		}
		change(turns)
		return Fingerprint(turns)
	}
	same := run(func([]Turn) {})
	for _, c := range []struct {
		name   string
		change func(turns []Turn)
		equal  bool
	}{
		{"ids, times, usage", func(x []Turn) {
			x[0].SessionID, x[0].TraceID, x[0].Start = "s-2", "t", time.Unix(1, 0)
			x[1].Spans[0].ID, x[1].Spans[0].End, x[1].Spans[0].Usage.Input, x[1].Spans[1].Thought = "z", time.Unix(2, 0), 7, "hm"
		}, true},
		{"another word in an early turn", func(x []Turn) { x[0].Spans[0].Output = "hi!" }, false},
		{"other arguments", func(x []Turn) { x[1].Spans[0].Input = `{"id":2}` }, false},
		{"another result", func(x []Turn) { x[1].Spans[0].Output = "no" }, false},
		{"a failed call", func(x []Turn) { x[1].Spans[0].Error = "failed" }, false},
		{"one call more", func(x []Turn) { x[0].Spans = append(x[0].Spans, Span{Kind: TOOL, Name: "refund"}) }, false},
		{"another end state", func(x []Turn) { x[1].EndState = []byte("{}") }, false},
	} {
		if got := run(c.change) == same; got != c.equal {
			t.Errorf("%s: equal %v, want %v", c.name, got, c.equal)
		}
	}
	if Fingerprint(nil) != "" {
		t.Error("no turns have a fingerprint")
	}
}
