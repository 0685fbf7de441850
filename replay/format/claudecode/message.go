package claudecode

import (
	"strings"

	"vise/engine/trace"
	"vise/replay/format/recording"
)

// Records that hold no message and are not kept; they are counted in a note.
var sideRecords = map[string]bool{
	"queue-operation": true, "summary": true, "file-history-snapshot": true, "permission-mode": true, "mode": true,
	"ai-title": true, "custom-title": true, "agent-name": true, "last-prompt": true, "pr-link": true, "frame-link": true,
	"worktree-state": true, "relocated": true, "bridge-session": true, "started": true, "result": true,
}

// record interprets one record.
func (s *session) record(r *record, l recording.Record) error {
	switch r.Type {
	case "user":
		return s.user(r, l)
	case "assistant":
		s.assistant(r, l)
	case "tool_use":
		s.call(r, block{Name: r.Name, Input: r.Input}, "")
	case "tool_result":
		s.answer(r, block{Content: content{text: string(r.Output)}, IsError: r.IsError})
	case "system":
		name := "system"
		if r.Subtype != "" {
			name += "/" + r.Subtype
		}
		s.opaque(name, r, l)
	case "progress":
		s.opaque("progress", r, l)
	case "attachment":
		s.opaque("attachment/"+r.Attachment.Type, r, l)
	default:
		s.title.offer(1, r.Summary)
		s.title.offer(2, r.AITitle)
		s.title.offer(3, r.CustomTitle)
		if sideRecords[r.Type] {
			s.aside[r.Type]++
			return nil
		}
		name := r.Type
		if name == "" {
			name = "(no type)"
		}
		s.rec.Unknown(name)
		s.opaque(name, r, l)
	}
	return nil
}

// user takes a text of the user, or the results of tools.
func (s *session) user(r *record, l recording.Record) error {
	c := r.Message.Content
	results := false
	for _, b := range c.blocks {
		if b.Type == "tool_result" {
			s.answer(r, b)
			results = true
		}
	}
	if results {
		return nil
	}
	input := strings.TrimSpace(c.text) != ""
	for _, b := range c.blocks {
		input = input || b.bare && strings.TrimSpace(b.Text) != "" || !b.bare && (b.Type == "text" || b.Type == "image" || b.Type == "document")
	}
	ch := s.chainOf(r)
	switch {
	case !input:
		s.rec.Unknown("user (malformed)")
		s.opaque("malformed", r, l)
	case r.IsMeta, r.IsCompactSummary:
		name := "meta"
		if r.IsCompactSummary {
			name = "compact_summary"
		}
		span := trace.Span{ID: r.UUID, Kind: trace.CHAIN, Name: name, Input: c.String(), Start: r.at, End: r.at}
		if ch != nil {
			span.Parent = ch.id
		}
		s.add(span)
	case ch != nil:
		s.agentPrompt(ch, c.String())
	default:
		return s.input(c.String(), r)
	}
	return nil
}

// assistant takes a response of the model, or one block of it.
func (s *session) assistant(r *record, l recording.Record) {
	m := r.Message
	if !m.shape || !m.Content.known && m.ID == "" {
		s.rec.Unknown("assistant (malformed)")
		s.opaque("malformed", r, l)
		return
	}
	key := m.ID
	if key == "" {
		key = r.UUID
	}
	ch := s.chainOf(r)
	t := s.cur
	at, known := 0, false
	if key != "" {
		if u := s.find(func(t *turn) bool { _, ok := t.llm[key]; return ok }); u != nil {
			t, at, known = u, u.llm[key], true
		}
	}
	id := ""
	switch {
	case known:
		id = t.Spans[at].ID
	case s.models[key] && key != "":
		// A response that was over turns up again: its new blocks are kept, but
		// it is not another step.
		if text := m.Content.String(); text != "" {
			s.add(trace.Span{Kind: trace.CHAIN, Name: "assistant_continued", Output: text, Start: r.at, End: r.at,
				Attrs: map[string]any{"message": key}})
		}
	default:
		span := trace.Span{ID: key, Kind: trace.LLM, Name: m.Model, Start: r.at, End: r.at, Attrs: map[string]any{}}
		if ch != nil {
			span.Parent = ch.id
		}
		if r.IsAPIError {
			span.Attrs["api_error"] = true
		}
		at = s.add(span)
		t, known = s.cur, true
		if key != "" {
			t.llm[key] = at
		}
		id = t.Spans[at].ID
	}
	if known {
		s.fill(t, at, r)
	}
	for _, b := range m.Content.blocks {
		switch b.Type {
		case "tool_use", "server_tool_use", "mcp_tool_use":
			s.call(r, b, id)
		case "text", "thinking", "redacted_thinking", "fallback", "image", "document":
		case "tool_result", "web_search_tool_result", "mcp_tool_result":
			s.answer(r, b)
		default:
			s.rec.Unknown("block " + b.Type)
			s.add(trace.Span{Kind: trace.CHAIN, Name: "block/" + b.Type, Parent: id, Output: b.Text, Start: r.at, End: r.at})
		}
	}
}

// fill adds one line of a response to its span. Usage repeats on every line and
// grows, so that the last one counts.
func (s *session) fill(t *turn, at int, r *record) {
	sp := &t.Spans[at]
	m := r.Message
	if r.at.After(sp.End) {
		sp.End = r.at
	}
	if m.Usage != nil {
		sp.Usage = m.Usage.trace()
	}
	if m.Stop != "" {
		sp.Attrs["stop_reason"] = s.rec.Short(m.Stop, 80)
		if at == len(t.Spans)-1 || sp.Parent == "" {
			t.StopReason = m.Stop
		}
	}
	sp.Output = appendText(sp.Output, t.keep(m.Content.text))
	for _, b := range m.Content.blocks {
		switch b.Type {
		case "thinking":
			sp.Thought = appendText(sp.Thought, t.keep(b.Thinking))
		case "redacted_thinking":
			sp.Attrs["redacted_thinking"] = true
		case "fallback":
			sp.Attrs["fallback"] = s.rec.Short(b.From.Model+" → "+b.To.Model, 200)
		case "text", "image", "document":
			sp.Output = appendText(sp.Output, t.keep(b.String()))
		}
	}
	if r.IsAPIError && sp.Error == "" {
		sp.Error = s.rec.ErrorLine(sp.Output, "the model provider reported an error")
	}
	if len(sp.Attrs) == 0 {
		sp.Attrs = map[string]any{}
	}
}

// call adds a tool call; it stays pending until its result comes.
func (s *session) call(r *record, b block, parent string) {
	ch := s.chainOf(r)
	if parent == "" && ch != nil {
		parent = ch.id
	}
	in := recording.Spelling(b.Input)
	if strings.HasPrefix(in, `"`) { // arguments as a text: kept as they are
		var str string
		if recording.Decode(b.Input, &str) == nil {
			in = str
		}
	}
	if in == "null" {
		in = ""
	}
	at := s.add(trace.Span{ID: b.ID, Parent: parent, Kind: trace.TOOL, Name: b.Name, Input: in, Pending: true,
		Start: r.at, End: r.at, Attrs: map[string]any{"time": "estimated"}})
	if b.ID != "" {
		s.cur.open[b.ID] = at
		return
	}
	key := ch.key()
	s.cur.anon[key] = append(s.cur.anon[key], at)
}

// answer gives a call its result. A result without an id belongs to the oldest
// call without one.
func (s *session) answer(r *record, b block) {
	ch := s.chainOf(r)
	t, at := s.unanswered(b.ToolUseID, ch.key())
	out := b.Content.String()
	if out == "" {
		out = b.Text
	}
	if out == "" {
		out = r.Result.text
	}
	if t == nil {
		name := "orphan_result"
		if b.ToolUseID != "" && s.ids[b.ToolUseID] > 0 {
			name = "late_result"
			s.late++
		}
		span := trace.Span{Kind: trace.CHAIN, Name: name, Output: out, Start: r.at, End: r.at, Attrs: map[string]any{}}
		if b.ToolUseID != "" {
			span.Attrs["tool_use_id"] = s.rec.Short(b.ToolUseID, 200)
		}
		if b.IsError {
			span.Error = s.rec.ErrorLine(out, "the tool reported an error")
		}
		s.add(span)
		return
	}
	sp := &t.Spans[at]
	sp.Pending, sp.Output = false, t.keep(out)
	if b.IsError {
		sp.Error = s.rec.ErrorLine(out, "the tool reported an error")
	}
	delete(sp.Attrs, "time")
	if sp.End = r.at; r.at.IsZero() {
		sp.End = sp.Start
		if !sp.Start.IsZero() {
			sp.Attrs["time"] = "estimated"
		}
	}
	for k, v := range r.Result.totals {
		sp.Attrs[k] = v
	}
	if r.Result.agentID != "" {
		s.launched(t, at, r)
	}
}

func (s *session) unanswered(id, chain string) (*turn, int) {
	if id != "" {
		t := s.find(func(t *turn) bool { _, ok := t.open[id]; return ok })
		if t == nil {
			return nil, 0
		}
		at := t.open[id]
		delete(t.open, id)
		return t, at
	}
	t := s.find(func(t *turn) bool { return len(t.anon[chain]) > 0 })
	if t == nil {
		return nil, 0
	}
	at := t.anon[chain][0]
	t.anon[chain] = t.anon[chain][1:]
	return t, at
}

func appendText(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + "\n" + b
}
