package local

import (
	"testing"

	"vise/engine/trace"
)

// TestSuspects: the step that caused an error comes first, then invented data and
// numbers out of thin air; equals in order of time.
func TestSuspects(t *testing.T) {
	llm := func(id, who, text string) trace.Span {
		return trace.Span{ID: id, Kind: trace.LLM, Name: who, Output: text}
	}
	got := Suspects(trace.Session{System: "The budget is 4711."}, []trace.Turn{
		{Index: 0, Input: "Plan the trip.", Spans: []trace.Span{
			llm("a", "planner", "I read the calendar first."),
			{ID: "b", Kind: trace.TOOL, Name: "calendar", Output: "free on 23 May"},
			llm("c", "planner", "It is free on the 23rd, the budget is 4711. Let us assume sample data for the hotel."),
			llm("d", "coder", "run()"),
			llm("e", "terminal", "exit code: 1\nTraceback (most recent call last)"),
			llm("f", "planner", "It costs 815 and 333 in all."),
		}},
		{Index: 1, Spans: []trace.Span{
			llm("g", "planner", "Fine."),
			llm("h", "planner (final)", "Error: nothing"), // its own words are no result
		}},
	})
	want := []struct {
		id     string
		weight float64
	}{{"c", 1}, {"d", 1}, {"f", 0.4}, {"a", 0}, {"e", 0}, {"g", 0}, {"h", 0}}
	if len(got) != len(want) {
		t.Fatalf("%+v", got)
	}
	for i, w := range want {
		if got[i].SpanID != w.id || got[i].Weight != w.weight {
			t.Errorf("%d: %+v, want %+v", i, got[i], w)
		}
	}
	if len(got[0].Reasons) != 1 || len(got[1].Reasons) != 1 || got[6].Turn != 1 {
		t.Errorf("%+v", got)
	}
}
