package repair

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"vise/engine/episode"
	"vise/engine/guard"
)

// A trace that only the platform has is shown by its evidence: bounded, sanitised,
// without credentials and thresholds, null where it could not be had.
func TestInspectRemote(t *testing.T) {
	s := memory(t, time.Now)
	long := make([]any, 300)
	for i := range long {
		long[i] = map[string]any{"name": "issue_refund", "output": strings.Repeat("very long ", 500)}
	}
	asked := ""
	a := &Agent{Store: s, Config: defaultConfig(), Remote: func(_ context.Context, id string) RemoteTrace {
		asked = id
		return RemoteTrace{
			Trace:     map[string]any{"input": "refund \x1b[31mit\x1b[0m", "api_key": "hunter2", "metadata": map[string]any{"threshold": 0.7, "turn": 3}},
			ToolSpans: long,
			Errs:      [3]error{2: errors.New("the scores are down")},
		}
	}}
	r := &run{agent: a, now: time.Now, deadline: time.Now().Add(time.Minute), as: episode.Assignment{AllowedTraces: []string{"t-9"}}}
	r.tools = &toolset{agent: a, run: r}
	r.redactor = guard.DefaultRedactor()
	out := r.tools.traceInspect(t.Context(), map[string]any{"trace_id": "t-9"})
	raw := string(out.encode())
	if !out.ok || asked != "t-9" || !r.tools.found.traceInspected || len(raw) > 3*maxRemote {
		t.Errorf("ok %v, asked %q, %d bytes", out.ok, asked, len(raw))
	}
	var got struct {
		Trace  map[string]any `json:"trace"`
		Spans  map[string]any `json:"tool_spans"`
		Scores any            `json:"scores"`
		Note   string         `json:"note"`
	}
	if err := json.Unmarshal([]byte(raw), &got); err != nil {
		t.Fatal(err)
	}
	if got.Trace["input"] != "refund it" || strings.Contains(raw, "hunter2") || strings.Contains(raw, "threshold") || got.Spans["summary"] == nil || got.Scores != nil || !strings.Contains(got.Note, "the scores are down") {
		t.Errorf("%.600s", raw)
	}
	asked = ""
	if out := r.tools.traceInspect(t.Context(), map[string]any{"trace_id": "t-10"}); out.ok || asked != "" {
		t.Errorf("a trace that is no evidence of the episode was fetched: %+v", out)
	}
	// A look at nothing is none.
	r.tools.found.traceInspected = false
	a.Remote = func(context.Context, string) RemoteTrace {
		e := errors.New("down")
		return RemoteTrace{Errs: [3]error{e, e, e}}
	}
	if out := r.tools.traceInspect(t.Context(), map[string]any{"trace_id": "t-9"}); !out.ok || r.tools.found.traceInspected {
		t.Errorf("%+v, inspected %v", out.data, r.tools.found.traceInspected)
	}
}
