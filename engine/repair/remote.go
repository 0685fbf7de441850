package repair

import (
	"context"
	"encoding/json"
	"fmt"

	"vise/engine/guard"
)

// maxRemote bounds each part of a remote trace, in code points of JSON.
const maxRemote = 8000

// RemoteTrace is what the evaluator's platform knows of a trace that is not in the
// store: decoded JSON values, nil for what could not be had, with the reason.
type RemoteTrace struct {
	Trace, ToolSpans, Scores any
	Errs                     [3]error // of the three, in this order
}

// inspectRemote shows a trace of the platform. Its three look-ups together may take
// what is left of the run's time. A failing one leaves its evidence null.
func (t *toolset) inspectRemote(ctx context.Context, id string) outcome {
	ctx, stop := context.WithTimeout(ctx, max(0, t.run.deadline.Sub(t.run.now())))
	defer stop()
	found := t.agent.Remote(ctx, id)
	data := map[string]any{"ok": true, "trace_id": id}
	for i, part := range []struct {
		name  string
		value any
	}{{"trace", found.Trace}, {"tool_spans", found.ToolSpans}, {"scores", found.Scores}} {
		data[part.name] = remoteEvidence(t.run.redactor, part.value)
		if err := found.Errs[i]; err != nil {
			data[part.name] = nil
			data["note"] = fmt.Sprintf("the %s could not be read (%s)", part.name, guard.Line(clean(t.run.redactor, err.Error(), 200), 200))
		} else if part.value != nil {
			t.found.traceInspected = true // a look at nothing is none
		}
	}
	return outcome{ok: true, data: data}
}

// remoteEvidence is a foreign JSON value, safe and bounded. What counts as good is
// not for the repair agent to know.
func remoteEvidence(red *guard.Redactor, v any) any {
	if v == nil {
		return nil
	}
	v = tame(red, without(v, "threshold", 0), maxSpanText, maxList, 0)
	raw, err := json.Marshal(v)
	if err != nil {
		return nil
	}
	if text := string(raw); len(guard.Head(text, maxRemote)) < len(text) {
		return map[string]any{"summary": guard.Sanitize(text, maxRemote)}
	}
	return v
}

// without takes a member out of every object of a JSON value.
func without(v any, name string, depth int) any {
	if depth > 12 {
		return v // tame cuts it there
	}
	switch v := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for k, x := range v {
			if k != name {
				out[k] = without(x, name, depth+1)
			}
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, x := range v {
			out[i] = without(x, name, depth+1)
		}
		return out
	}
	return v
}
