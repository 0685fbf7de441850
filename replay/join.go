package replay

import (
	"cmp"
	"encoding/json"
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
	open := partners(spans)
	joined := map[int]bool{}
	var rest []trace.Span
	for _, o := range other {
		at, ok := byID[o.ID]
		if call, is := o.Attrs["call_id"].(string); is && !ok {
			at, ok = byID[call]
		}
		if !ok {
			at, ok = open.take(o, joined)
		}
		if !ok || spans[at].Kind != o.Kind {
			rest = append(rest, o)
			continue
		}
		joined[at] = true
		spans[at] = enrich(spans[at], o)
	}
	turn.Spans = spans
	turn = insert(turn, rest)
	var sum trace.Usage
	for _, s := range turn.Spans {
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

// insert puts spans into a turn by their time: each before the first span that begins
// after it.
func insert(turn trace.Turn, rest []trace.Span) trace.Turn {
	spans := turn.Spans
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
	return turn
}

// unjoined are the places of spans by what they tell of.
type unjoined map[string][]int

func partners(spans []trace.Span) unjoined {
	u := unjoined{}
	for i, s := range spans {
		if k := sameThing(s); k != "" {
			u[k] = append(u[k], i)
		}
	}
	return u
}

// take finds the first span that tells of the same thing and has no counterpart yet.
func (u unjoined) take(o trace.Span, joined map[int]bool) (int, bool) {
	k := sameThing(o)
	for at := u[k]; k != "" && len(at) > 0; at = u[k] {
		u[k] = at[1:]
		if !joined[at[0]] {
			return at[0], true
		}
	}
	return 0, false
}

// sameThing is equal for two spans that tell of the same: a model call with the same
// answer, a tool call with the same name and arguments, however they are written. It
// is empty for what cannot be recognised.
func sameThing(s trace.Span) string {
	switch s.Kind {
	case trace.LLM:
		if said := strings.TrimSpace(s.Output); said != "" {
			return "said\x00" + said
		}
	case trace.TOOL:
		return "call\x00" + s.Name + "\x00" + canonical(s.Input)
	}
	return ""
}

// canonical is JSON without its blanks and with its keys in order; other text as it is.
func canonical(text string) string {
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	var v any
	if d.Decode(&v) != nil || d.More() {
		return text
	}
	out, err := json.Marshal(v)
	if err != nil {
		return text
	}
	return string(out)
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
	if o.Usage != (trace.Usage{}) { // a stream without usage tells none; the driver may
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
