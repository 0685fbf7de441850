package export

import (
	"cmp"
	"strings"
	"time"

	common "go.opentelemetry.io/proto/otlp/common/v1"
	otlp "go.opentelemetry.io/proto/otlp/trace/v1"

	"vise/engine/link"
	"vise/engine/score"
	"vise/engine/trace"
	"vise/store"
)

// turnTrace is the trace of a turn: a root span for what the agent was asked, with its
// scores as evaluation events, and a span for each of its steps.
func (x *Exporter) turnTrace(tx *store.Tx, head trace.Session, index int) ([]byte, error) {
	t, ok, err := tx.Turn(head.ID, index)
	if err != nil || !ok {
		return nil, err
	}
	report, _, err := tx.Report(head.ID, index)
	if err != nil {
		return nil, err
	}
	b := newBuilder(x.o.Redactor, traceName(head, t))
	b.turn(head, t, report)
	return b.encode("vise-agent", x.o.Version)
}

// traceName is what the ids of a turn's trace are made of.
func traceName(head trace.Session, t trace.Turn) string { return cmp.Or(t.TraceID, head.ID) }

// turn adds the spans of a turn.
func (b *builder) turn(head trace.Session, t trace.Turn, report score.Report) {
	start, end := turnTimes(head, t)
	root := b.span("", strings.TrimSpace("invoke_agent "+head.Agent), nil, trace.AGENT, start, end)
	b.label(root, "gen_ai.operation.name", "invoke_agent")
	b.label(root, "gen_ai.agent.name", cmp.Or(head.Agent, "agent"))
	b.label(root, "gen_ai.conversation.id", head.ID)
	b.label(root, "session.id", head.ID)
	b.label(root, "vise.trace_id", t.TraceID)
	b.number(root, "vise.turn_index", int64(t.Index))
	b.link(root, link.Turn(head.ID, t.Index))
	b.label(root, "vise.stop_reason", t.StopReason)
	b.label(root, "vise.label", head.Label)
	b.content(root, "vise.title", head.Title)
	if t.Synthetic {
		b.label(root, "vise.synthetic", "true")
	}
	b.messages(root, "gen_ai.input.messages", said("user", t.Input))
	b.messages(root, "gen_ai.output.messages", said("assistant", lastAnswer(t)))
	b.usage(root, t.Usage)
	if t.CutShort() {
		b.fail(root, t.StopReason, "the turn was cut short: "+t.StopReason)
	}
	b.scores(root, report)
	made := map[string]*otlp.Span{}
	for _, s := range t.Spans {
		parent := made[s.Parent]
		if parent == nil {
			parent = root
		}
		if span := b.step(s, parent); span != nil && s.ID != "" {
			made[s.ID] = span
		}
	}
}

// turnTimes are the bounds of a turn as far as anything tells of them.
func turnTimes(head trace.Session, t trace.Turn) (start, end time.Time) {
	start, end = t.Start, t.End
	for _, s := range t.Spans {
		if !s.Start.IsZero() && (start.IsZero() || s.Start.Before(start)) {
			start = s.Start
		}
		if s.End.After(end) {
			end = s.End
		}
	}
	if start.IsZero() {
		start = head.Started
	}
	return start, end
}

// step is the span of one step, named as the conventions have it.
func (b *builder) step(s trace.Span, parent *otlp.Span) *otlp.Span {
	var span *otlp.Span
	switch s.Kind {
	case trace.LLM:
		span = b.span(s.ID, strings.TrimSpace("chat "+s.Name), parent, s.Kind, s.Start, s.End)
		if span == nil {
			return nil
		}
		span.Kind = otlp.Span_SPAN_KIND_CLIENT
		b.label(span, "gen_ai.operation.name", "chat")
		b.label(span, "gen_ai.request.model", s.Name)
		b.messages(span, "gen_ai.input.messages", said("user", s.Input))
		b.messages(span, "gen_ai.output.messages", said("assistant", s.Output))
		b.content(span, "vise.reasoning", s.Thought)
	case trace.TOOL:
		span = b.span(s.ID, strings.TrimSpace("execute_tool "+s.Name), parent, s.Kind, s.Start, s.End)
		b.label(span, "gen_ai.operation.name", "execute_tool")
		b.label(span, "gen_ai.tool.name", s.Name)
		b.label(span, "gen_ai.tool.call.id", s.ID)
		b.content(span, "gen_ai.tool.call.arguments", s.Input)
		b.content(span, "gen_ai.tool.call.result", s.Output)
	case trace.AGENT:
		span = b.span(s.ID, strings.TrimSpace("invoke_agent "+s.Name), parent, s.Kind, s.Start, s.End)
		b.label(span, "gen_ai.operation.name", "invoke_agent")
		b.label(span, "gen_ai.agent.name", s.Name)
		b.content(span, "input.value", s.Input)
		b.content(span, "output.value", s.Output)
	default:
		span = b.span(s.ID, cmp.Or(s.Name, "chain"), parent, trace.CHAIN, s.Start, s.End)
		b.content(span, "input.value", s.Input)
		b.content(span, "output.value", s.Output)
	}
	b.label(span, "vise.span_id", s.ID)
	if s.Pending {
		b.label(span, "vise.pending", "true")
	}
	b.usage(span, s.Usage)
	switch {
	case s.Error != "":
		b.fail(span, "error", s.Error)
	case s.Pending:
		b.fail(span, "no_answer", "the call was never answered")
	}
	return span
}

// scores adds the evaluation events of a report to a span (semantic conventions:
// gen_ai.evaluation.result). A metric without a value is left out: it is no information.
func (b *builder) scores(span *otlp.Span, r score.Report) {
	for _, s := range r.Scores {
		if span == nil || s.Value == nil {
			continue
		}
		label := "pass"
		if *s.Value < s.Threshold {
			label = "fail"
		}
		e := &otlp.Span_Event{TimeUnixNano: span.EndTimeUnixNano, Name: "gen_ai.evaluation.result", Attributes: []*common.KeyValue{
			attribute("gen_ai.evaluation.name", s.Metric), double("gen_ai.evaluation.score.value", *s.Value),
			attribute("gen_ai.evaluation.score.label", label)}}
		if len(s.Reasons) > 0 {
			if why := b.text(s.Reasons[0]); why != "" {
				e.Attributes = append(e.Attributes, attribute("gen_ai.evaluation.explanation", why))
			}
		}
		if s.By != "" {
			e.Attributes = append(e.Attributes, attribute("vise.evaluated_by", s.By))
		}
		span.Events = append(span.Events, e)
	}
}

// lastAnswer is what the agent said last.
func lastAnswer(t trace.Turn) string {
	for i := len(t.Spans) - 1; i >= 0; i-- {
		if s := t.Spans[i]; s.Kind == trace.LLM && s.Parent == "" && s.Output != "" {
			return s.Output
		}
	}
	return ""
}
