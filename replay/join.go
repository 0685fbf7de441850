package replay

import (
	"cmp"
	"slices"
	"strings"

	"vise/engine/trace"
)

// join adds to a turn what another source saw of it: the recording proxy, or the
// agent's own telemetry. The driver's spans keep their order and their words; the
// other source knows better what was asked of the model, how many tokens it took and
// what a tool is called (a protocol may give only a title).
//
// Tool calls are joined by their id, else by name and arguments, model calls by what was answered. What has no
// counterpart comes in by its time. It is pure, and joining again changes nothing.
func join(turn trace.Turn, other []trace.Span) trace.Turn {
	if len(other) == 0 {
		return turn
	}
	spans := slices.Clone(turn.Spans)
	byID := map[string]int{}
	for i, s := range spans {
		byID[s.ID] = i
	}
	joined := map[int]bool{}
	var rest []trace.Span
	for _, o := range other {
		at, ok := byID[o.ID]
		if call, is := o.Attrs["call_id"].(string); is && !ok {
			at, ok = byID[call]
		}
		if !ok {
			at, ok = counterpart(spans, o, joined)
		}
		if !ok || spans[at].Kind != o.Kind {
			rest = append(rest, o)
			continue
		}
		joined[at] = true
		spans[at] = enrich(spans[at], o)
	}
	// Each newcomer stands before the first span that begins after it.
	slices.SortStableFunc(rest, func(a, b trace.Span) int { return cmp.Compare(a.Start.UnixNano(), b.Start.UnixNano()) })
	for _, o := range rest {
		at := len(spans)
		if !o.Start.IsZero() {
			if i := slices.IndexFunc(spans, func(s trace.Span) bool { return s.Start.After(o.Start) }); i >= 0 {
				at = i
			}
		}
		// What a command writes to standard output is the end of its turn, whenever it began.
		if n := len(spans); at == n && n > 0 && spans[n-1].Attrs["source"] == "stdout" {
			at = n - 1
		}
		spans = slices.Insert(spans, at, o)
	}
	turn.Spans = spans
	var sum trace.Usage
	for _, s := range spans {
		if s.Kind == trace.LLM {
			sum = sum.Add(s.Usage)
		}
	}
	// A protocol's total may be that of the last call alone, or of the whole session.
	if sum.Input+sum.Output > 0 {
		turn.Usage = sum
	}
	return turn
}

// counterpart finds the span that tells of the same thing and has none yet: a model
// call with the same answer, a tool call with the same name and arguments.
func counterpart(spans []trace.Span, o trace.Span, joined map[int]bool) (int, bool) {
	said := strings.TrimSpace(o.Output)
	for i, s := range spans {
		if s.Kind != o.Kind || joined[i] {
			continue
		}
		if s.Kind == trace.LLM && said != "" && strings.TrimSpace(s.Output) == said ||
			s.Kind == trace.TOOL && s.Name == o.Name && s.Input == o.Input {
			return i, true
		}
	}
	return 0, false
}

// enrich fills a driver's span with what the other source knows.
func enrich(s, o trace.Span) trace.Span {
	if o.Name != "" {
		s.Name = o.Name
	}
	if s.Input == "" || s.Input == "{}" {
		s.Input = o.Input
	}
	if s.Output == "" {
		s.Output = o.Output
	}
	if s.Thought == "" {
		s.Thought = o.Thought
	}
	if s.Error == "" {
		s.Error = o.Error
	}
	if s.Kind == trace.LLM || o.Usage != (trace.Usage{}) {
		s.Usage = o.Usage
	}
	s.Pending = s.Pending && o.Pending
	if len(o.Attrs) > 0 {
		attrs := map[string]any{}
		for k, v := range o.Attrs {
			attrs[k] = v
		}
		for k, v := range s.Attrs {
			attrs[k] = v
		}
		s.Attrs = attrs
	}
	return s
}
