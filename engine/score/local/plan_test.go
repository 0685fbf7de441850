package local

import (
	"slices"
	"testing"

	"vise/engine/score"
	"vise/engine/trace"
)

func TestPlanAdherence(t *testing.T) {
	known := []trace.Tool{{Name: "web_search"}, {Name: "final_answer"}, {Name: "read-file"}}
	const plan = "Plan:\n1. Use `web_search` for it.\n **2)** then web_search again, or read-file.\n3. Think.\n4. `final_answer`."
	call := func(name string) trace.Span { return trace.Span{Kind: trace.TOOL, Name: name} }
	half := 2.0 / 3
	for _, c := range []struct {
		name    string
		known   []trace.Tool
		spans   []trace.Span
		want    *float64
		reasons []string
	}{
		{"two of three tools", known, []trace.Span{says(plan), call("web_search"), call("final_answer")}, &half,
			[]string{"note: read-file was planned and never called"}},
		{"calls before the plan do not count", known, []trace.Span{call("web_search"), says(plan), call("read-file"), call("final_answer")}, &half,
			[]string{"note: web_search was planned and never called"}},
		{"in a thought", known, []trace.Span{{Kind: trace.LLM, Thought: plan}, call("web_search"), call("read-file")}, &half,
			[]string{"note: final_answer was planned and never called"}},
		{"tools unknown", nil, []trace.Span{says(plan), call("web_search")}, nil, nil},
		{"no numbers", known, []trace.Span{says("- web_search\n- final_answer"), call("web_search")}, nil, nil},
		{"one line is no plan", known, []trace.Span{says("1. web_search and final_answer"), call("web_search")}, nil, nil},
		{"years are no numbers", known, []trace.Span{says("2024. web_search\n2025. web_search")}, nil, nil},
		{"nothing", known, nil, nil, nil},
	} {
		got := PlanAdherence(c.known, trace.Turn{TraceID: "t", Spans: c.spans})
		if got.Metric != score.PlanAdherence || got.TraceID != "t" || got.By != Identity || got.Threshold != 0 {
			t.Errorf("%s: %+v", c.name, got)
		}
		if (got.Value == nil) != (c.want == nil) || c.want != nil && *got.Value != *c.want || !slices.Equal(got.Reasons, c.reasons) {
			t.Errorf("%s: value %v, reasons %q", c.name, got.Value, got.Reasons)
		}
	}
}

func TestSummarize(t *testing.T) {
	v := func(f float64) *float64 { return &f }
	turn := func(completion, tools *float64) []score.Score {
		return []score.Score{{Metric: score.TaskCompletion, Value: completion}, {Metric: score.ToolCorrectness, Value: tools}}
	}
	s := Summarize([][]score.Score{turn(v(1), nil), turn(v(0.5), v(0.25)), turn(v(0.75), nil)})
	if s.Mean[score.TaskCompletion] != 0.75 || s.Min[score.TaskCompletion] != 0.5 || s.Mean[score.ToolCorrectness] != 0.25 {
		t.Errorf("%+v", s)
	}
	if *s.MeanHealth != 0.5 || *s.MinHealth != 0.375 {
		t.Errorf("health mean %v min %v", *s.MeanHealth, *s.MinHealth)
	}
	if _, ok := s.Min[score.Coherence]; ok {
		t.Error("a metric nobody scored has a value")
	}
	if empty := Summarize(nil); empty.MeanHealth != nil || empty.MinHealth != nil {
		t.Error("no turns have a health")
	}
}
