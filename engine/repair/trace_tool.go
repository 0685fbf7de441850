package repair

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"vise/engine/guard"
	"vise/engine/rule"
	"vise/engine/rule/tools"
	"vise/engine/score"
	"vise/engine/trace"
	"vise/store"
)

// Bounds of an inspection, in code points and items. Together they keep it below
// about 12,000 tokens.
const (
	maxSpans     = 60
	maxSpanText  = 800
	maxInput     = 2000
	maxAnswer    = 2000
	maxSpanChars = 40000
	lastSpans    = 8 // the end of a turn always shows
	maxReasons   = 8
)

// inspectedSpan is one tool call as the repair agent sees it.
type inspectedSpan struct {
	N         int             `json:"n"` // position among the turn's tool calls, 1-based
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments,omitempty"`
	Result    string          `json:"result,omitempty"`
	Error     string          `json:"error,omitempty"`
	Pending   bool            `json:"pending,omitempty"`
}

// inspectedScore is a score without its threshold: what counts as good is not
// for the repair agent to know beyond the notice's own numbers.
type inspectedScore struct {
	Metric     string   `json:"metric"`
	Value      *float64 `json:"value"`
	Conditions []string `json:"conditions,omitempty"`
	Reasons    []string `json:"reasons,omitempty"`
}

// traceInspect shows one trace of the episode: what was asked, the tool calls,
// the answer, the scores.
func (t *toolset) traceInspect(ctx context.Context, args map[string]any) outcome {
	id, err := required(args, "trace_id")
	if err != nil {
		return refused(err)
	}
	if !slices.Contains(t.run.as.AllowedTraces, id) {
		return refused(refuse(rule.ErrTraceNotAllowed, "trace %q is not evidence of this episode", guard.Line(id, 80)))
	}
	if t.agent.Remote != nil {
		var stored bool
		if err := t.agent.Store.View(func(tx *store.Tx) (err error) {
			_, stored, err = tx.TurnByTrace(id)
			return err
		}); err == nil && !stored {
			return t.inspectRemote(ctx, id)
		}
	}
	data := map[string]any{"ok": true, "trace_id": id, "trace": nil, "tool_spans": nil, "scores": nil}
	missing := func(what string, err error) {
		data["note"] = fmt.Sprintf("the %s could not be read (%s)", what, guard.Line(err.Error(), 200))
	}
	var turn trace.Turn
	if err := t.look(func(tx *store.Tx) error {
		found := false
		if turn, found, err = tx.TurnByTrace(id); err == nil && !found {
			err = fmt.Errorf("no trace %s is stored", id)
		}
		return err
	}); err != nil {
		missing("trace", err)
	} else {
		data["trace"] = map[string]any{"turn_index": turn.Index, "input": t.quote(turn.Input, maxInput), "stop_reason": guard.Line(turn.StopReason, 60)}
		data["answer"] = t.quote(turn.Answer(), maxAnswer)
	}
	if err := t.look(nil); err != nil {
		missing("tool calls", err)
	} else if turn.TraceID != "" {
		spans, omitted := t.spans(turn)
		data["tool_spans"] = spans
		if omitted > 0 {
			data["omitted_tool_spans"] = omitted
		}
	}
	var report score.Report
	if err := t.look(func(tx *store.Tx) error {
		if turn.TraceID == "" {
			return nil
		}
		report, _, err = tx.Report(turn.SessionID, turn.Index)
		return err
	}); err != nil {
		missing("scores", err)
	} else {
		data["scores"] = t.scores(report, id)
	}
	if data["trace"] != nil || data["tool_spans"] != nil || data["scores"] != nil {
		t.found.traceInspected = true // a look at nothing is none
	}
	return outcome{ok: true, data: data}
}

// look runs one of the three look-ups of an inspection.
func (t *toolset) look(fn func(*store.Tx) error) error {
	if t.agent.inspected != nil {
		if err := t.agent.inspected(); err != nil {
			return err
		}
	}
	if fn == nil {
		return nil
	}
	return t.agent.Store.View(fn)
}

// spans lists the agent's tool calls, bounded: failing ones and the last ones
// stay, what goes is in the middle.
func (t *toolset) spans(turn trace.Turn) (list []inspectedSpan, omitted int) {
	users := map[string]bool{}
	for _, s := range turn.Spans {
		if s.Kind == trace.AGENT && strings.EqualFold(s.Name, "user") {
			users[s.ID] = true
		}
	}
	var calls []trace.Span
	for _, s := range turn.Spans {
		// Calls of a simulated user are not the agent's, and our own rule tools no evidence.
		if s.Kind == trace.TOOL && !users[s.Parent] && !ruleTool(s.Name) {
			calls = append(calls, s)
		}
	}
	// What to show is chosen before anything is redacted: a turn may hold 200,000 calls.
	size := func(s trace.Span) int {
		return len(s.Name) + 40 + min(len(s.Input), 2*maxSpanText) + min(len(s.Output), maxSpanText) + min(len(s.Error), maxSpanText)
	}
	total, kept := 0, len(calls)
	for _, s := range calls {
		total += size(s)
	}
	drop := make([]bool, len(calls))
	for _, failing := range []bool{false, true} {
		for i := range max(0, len(calls)-lastSpans) {
			if kept <= maxSpans && total <= maxSpanChars {
				break
			}
			if drop[i] || (calls[i].Error != "") != failing {
				continue
			}
			drop[i] = true
			kept--
			total -= size(calls[i])
		}
	}
	list = make([]inspectedSpan, 0, kept)
	for i, s := range calls {
		if !drop[i] {
			list = append(list, inspectedSpan{N: i + 1, Name: guard.Line(s.Name, 120), Arguments: t.arguments(s.Input),
				Result: t.quote(s.Output, maxSpanText), Error: t.quote(s.Error, maxSpanText), Pending: s.Pending})
		}
	}
	return list, len(calls) - kept
}

// ruleTool recognises our own rule tools, also behind the prefix of a server.
func ruleTool(name string) bool {
	for _, d := range tools.Definitions() {
		if strings.HasSuffix(name, d.Name) {
			return true
		}
	}
	return false
}

// arguments shows a call's arguments: as JSON when they are small enough JSON,
// else as a bounded text.
func (t *toolset) arguments(input string) json.RawMessage {
	if blank(input) {
		return nil
	}
	if len(input) > 64*maxSpanText {
		input = strings.ToValidUTF8(input[:8*maxSpanText], "")
	}
	redacted, _, err := t.run.redactor.JSON([]byte(input))
	if err == nil {
		var v any
		if json.Unmarshal(redacted, &v) == nil {
			if raw, err := json.Marshal(tame(t.run.redactor, v, 400, maxList, 0)); err == nil && len(raw) <= 2*maxSpanText {
				return raw
			}
		}
	}
	raw, err := json.Marshal(t.quote(input, maxSpanText))
	if err != nil {
		return nil
	}
	return raw
}

// quote redacts, sanitises and bounds a text of the trace.
func (t *toolset) quote(s string, limit int) string {
	// Redacting megabytes to show a few hundred characters would be wasted.
	if cut := 8 * limit; len(s) > cut {
		s = strings.ToValidUTF8(s[:cut], "") + "…"
	}
	s, _ = t.run.redactor.Text(s)
	return guard.Sanitize(s, limit)
}

func (t *toolset) scores(report score.Report, traceID string) []inspectedScore {
	out := []inspectedScore{}
	for _, s := range report.Scores {
		if s.TraceID != "" && s.TraceID != traceID {
			continue
		}
		x := inspectedScore{Metric: s.Metric, Value: s.Value}
		for _, c := range s.Conditions() {
			x.Conditions = append(x.Conditions, string(c))
		}
		// The developer's verifier may say what the right answer would have been.
		if s.Metric != score.OutcomeCorrect {
			for _, r := range head(s.Reasons, maxReasons) {
				x.Reasons = append(x.Reasons, t.quote(r, 300))
			}
		}
		out = append(out, x)
	}
	return out
}
