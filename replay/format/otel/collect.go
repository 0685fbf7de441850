package otel

import (
	"cmp"
	"slices"
	"strings"

	"vise/engine/trace"
	"vise/replay/format/recording"
)

// collector gathers spans by trace, traces by conversation, and hands them on as
// sessions: a trace is a turn of its conversation, or a session of one turn.
type collector struct {
	rec    *recording.Recorder
	source string
	traces map[string]*collected
	order  []*collected // by the first span seen
	bytes  int
	clock  int
	asIs   bool // the file's order is the order of the spans
	again  int  // spans met twice
	early  int  // conversations handed on before the end of the file
	max    int  // maxHeld
	named  string
}

type collected struct {
	id      string
	session string
	asked   string // what the user said, where the recording tells it beside the spans
	spans   []*span
	known   map[string]int // by span id
	bytes   int
	last    int // clock of the last span
	cut     bool
}

// maxHeld bounds the text of the spans held at a time, in bytes. Beyond it the
// conversation that has been silent longest is handed on; where there is but one, what
// has come of it is, marked as cut, and the rest becomes a session of its own.
const maxHeld = recording.MaxRecord

func newCollector(rec *recording.Recorder, source string) *collector {
	return &collector{rec: rec, source: source, traces: map[string]*collected{}, max: maxHeld}
}

// add takes a span in the order of the file. One whose id came before in its
// trace replaces the earlier one: exporters send again.
func (c *collector) add(s *span) error {
	c.clock++
	t := c.traces[s.trace]
	if t == nil {
		t = &collected{id: s.trace, known: map[string]int{}}
		c.traces[s.trace] = t
		c.order = append(c.order, t)
	}
	if t.session == "" {
		t.session = s.session()
	}
	t.last = c.clock
	t.bytes += s.size
	c.bytes += s.size
	if at, ok := t.known[s.id]; ok && s.id != "" {
		t.spans[at] = s
		c.again++
	} else {
		t.known[s.id] = len(t.spans)
		t.spans = append(t.spans, s)
	}
	for c.bytes > c.max {
		silent := slices.MinFunc(c.order, func(a, b *collected) int { return cmp.Compare(a.last, b.last) })
		silent.cut = silent == t
		c.early++
		if err := c.hand(silent); err != nil {
			return err
		}
	}
	return nil
}

// end hands on all that is left.
func (c *collector) end() error {
	for len(c.order) > 0 {
		if err := c.hand(c.order[0]); err != nil {
			return err
		}
	}
	if c.again > 0 {
		c.rec.Note("%d spans were sent again; the last one of each counts", c.again)
	}
	if c.early > 0 {
		c.rec.Note("more than %d MB of spans were open at a time: %d traces were closed before the end of the file", c.max>>20, c.early)
	}
	return nil
}

// hand writes the conversation of a trace.
func (c *collector) hand(first *collected) error {
	var all []*collected
	c.order = slices.DeleteFunc(c.order, func(t *collected) bool {
		mine := t == first || first.session != "" && t.session == first.session
		if mine {
			all = append(all, t)
			delete(c.traces, t.id)
			c.bytes -= t.bytes
		}
		return mine
	})
	for _, t := range all {
		t.sort(c.asIs || t.own() != nil) // our own exports are in order already
	}
	slices.SortStableFunc(all, func(a, b *collected) int {
		if x, y := a.own(), b.own(); x != nil && y != nil {
			return cmp.Compare(x.attrs.number("vise.turn_index"), y.attrs.number("vise.turn_index"))
		}
		return a.spans[0].start.Compare(b.spans[0].start)
	})
	head := trace.Session{ID: first.session, Source: c.source, Attrs: map[string]any{}}
	if head.ID == "" {
		head.ID = first.id
	}
	if head.ID == "" {
		head.ID = c.named
	}
	c.describe(&head, all)
	if first.cut {
		head.Attrs["cut"] = true
	}
	if err := c.rec.Begin(head); err != nil {
		return err
	}
	for _, t := range all {
		turn := trace.Turn{Input: t.input()}
		own := t.own()
		if own != nil {
			turn.Synthetic = own.attrs.text("vise.synthetic") != ""
			turn.StopReason = own.attrs.text("vise.stop_reason")
			// The root stands for the turn itself.
			t.spans = slices.DeleteFunc(t.spans, func(s *span) bool { return s == own })
		}
		names := t.names()
		for _, s := range t.spans {
			out := s.interpret(c.rec)
			if own != nil && out.Parent == own.id {
				out.Parent = ""
			}
			if out.Parent != "" && !t.has(out.Parent) {
				if out.Attrs == nil {
					out.Attrs = map[string]any{}
				}
				out.Attrs["parent_elsewhere"], out.Parent = c.rec.Short(out.Parent, 80), ""
			}
			out.ID = cmp.Or(names[out.ID], out.ID)
			out.Parent = cmp.Or(names[out.Parent], out.Parent)
			if turn.StopReason == "" {
				turn.StopReason = s.attrs.text("vise.stop_reason")
			}
			turn.Spans = append(turn.Spans, out)
			if out.Kind == trace.LLM {
				turn.Usage = turn.Usage.Add(out.Usage)
			}
			if !out.Start.IsZero() && (turn.Start.IsZero() || out.Start.Before(turn.Start)) {
				turn.Start = out.Start
			}
			if out.End.After(turn.End) {
				turn.End = out.End
			}
		}
		borrow(turn.Spans, t.spans)
		if err := c.rec.Turn(turn); err != nil {
			return err
		}
	}
	return c.rec.End()
}

// own is the root span of a turn that vise itself exported, nil in any other trace.
func (t *collected) own() *span {
	for _, s := range t.spans {
		if s.parent == "" && s.attrs.text("vise.trace_id") != "" && s.attrs["vise.turn_index"] != nil {
			return s
		}
	}
	return nil
}

// names are the ids that the spans of such a turn had before the export. One that two
// spans have is left out.
func (t *collected) names() map[string]string {
	names, taken := map[string]string{}, map[string]bool{}
	for _, s := range t.spans {
		if id := s.attrs.text("vise.span_id"); id != "" && len(id) <= 200 && !taken[id] {
			names[s.id], taken[id] = id, true
		}
	}
	return names
}

// has reports whether a span is in the trace.
func (t *collected) has(id string) bool { _, ok := t.known[id]; return ok }

// borrow gives a step without an answer the one that its parent recorded: the
// Google ADK writes it there.
func borrow(spans []trace.Span, raw []*span) {
	at := map[string]int{}
	for i := range spans {
		at[spans[i].ID] = i
	}
	for i := range spans {
		if spans[i].Kind != trace.LLM || spans[i].Output != "" {
			continue
		}
		if p, ok := at[spans[i].Parent]; ok {
			spans[i].Output = gemini(raw[p].attrs["gcp.vertex.agent.llm_response"])
		}
	}
}

// sort brings the spans into the order of their start; parents come before their
// children where clocks do not tell.
func (t *collected) sort(asIs bool) {
	if asIs {
		return
	}
	slices.SortStableFunc(t.spans, func(a, b *span) int { return a.start.Compare(b.start) })
	byID := make(map[string]*span, len(t.spans))
	for _, s := range t.spans {
		byID[s.id] = s
	}
	out := make([]*span, 0, len(t.spans))
	done := map[*span]bool{}
	for _, s := range t.spans {
		// Where the clock does not tell, what a span hangs under comes first.
		var above []*span
		for p := s; p != nil && !done[p] && p.start.Equal(s.start); p = byID[p.parent] {
			done[p] = true
			above = append(above, p)
			if p.parent == "" {
				break
			}
		}
		slices.Reverse(above)
		out = append(out, above...)
	}
	t.spans = out
	for i, s := range t.spans {
		t.known[s.id] = i
	}
}

// input is what the user said in a trace: as an agent's span tells it, else the
// root, else the first prompt.
func (t *collected) input() string {
	if t.asked != "" {
		return t.asked
	}
	for _, s := range t.spans {
		if s.kind() == trace.AGENT {
			if text := s.asked(); text != "" {
				return text
			}
		}
	}
	for _, s := range t.spans {
		if s.parent == "" {
			if text := s.asked(); text != "" {
				return text
			}
		}
	}
	for _, s := range t.spans {
		if s.kind() == trace.LLM {
			if text := lastUser(s.prompt()); text != "" {
				return text
			}
		}
	}
	return ""
}

// describe fills the head of a session from its spans.
func (c *collector) describe(head *trace.Session, all []*collected) {
	var ids []string
	for _, t := range all {
		ids = append(ids, t.id)
		if own := t.own(); own != nil {
			head.Label = own.attrs.text("vise.label")
			head.Title = recording.FirstWords(c.rec.Mask(own.attrs.text("vise.title")))
		}
		for _, s := range t.spans {
			if head.Agent == "" {
				if head.Agent = s.attrs.text("gen_ai.agent.name", "agent.name"); head.Agent == "" {
					head.Agent = strings.TrimSpace(s.resource.text("service.name") + " " + s.resource.text("service.version"))
				}
			}
			if s.kind() != trace.LLM && s.kind() != trace.AGENT {
				continue
			}
			if head.System == "" {
				head.System = s.system()
			}
			if head.Tools == nil {
				head.Tools = s.tools()
			}
		}
	}
	head.Attrs["traces"] = ids[:min(len(ids), 100)]
	if head.Agent == "" && len(all[0].spans) > 0 {
		head.Agent = all[0].spans[0].scope
	}
	head.Agent = c.rec.Short(head.Agent, 200)
}

// system is the system prompt that a span was given.
func (s *span) system() string {
	if v := s.attrs.text("gen_ai.system_instructions"); v != "" {
		var texts []string
		for _, m := range decodeMessages(v) {
			texts = append(texts, m.says())
		}
		if t := strings.TrimSpace(strings.Join(texts, "\n")); t != "" {
			return t
		}
		return partsText(v)
	}
	var texts []string
	for _, m := range s.prompt() {
		if r := m.who(); r == "system" || r == "developer" {
			texts = append(texts, m.says())
		}
	}
	return strings.Join(texts, "\n")
}
