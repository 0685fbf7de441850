// Package codex reads the sessions of the OpenAI Codex CLI, all JSON Lines:
//
//   - rollouts: {timestamp, type, payload} with session_meta, turn_context,
//     response_item, event_msg, compacted;
//   - the output of "codex exec --json": thread.started, turn.*, item.*;
//   - logs of versions before the envelope: bare items with created_at.
//
// Events repeat what items say. Contents come from the items; a turn is a
// user_message event, or a user item that is not context which the program put
// there itself (AGENTS.md, environment, permissions, skills). A step is a run of
// items of the assistant's side that no output and no user item interrupts. The
// replacement history of a compaction is no new input. An error is what the
// recording states as a value (an exit code, success = false, Err), never a
// sentence in an output.
package codex

import (
	"encoding/json"
	"io"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"vise/engine/trace"
	"vise/replay/format/chat"
	"vise/replay/format/recording"
)

// Name of the format.
const Name = "codex"

// injected matches what the program puts into user messages itself.
var injected = regexp.MustCompile(`^\s*(?:<environment_context>|<user_instructions>|# AGENTS\.md instructions|<permissions instructions>|<INSTRUCTIONS>|<turn_aborted>|<skills|<skill>|<user_shell_command>)`)

// Read reads one log.
func Read(r io.Reader, path string, rec *recording.Recorder) error {
	s := &session{rec: rec, path: path, aside: map[string]int{}, items: chat.Items{Conversation: recording.NewConversation(rec)}}
	if err := recording.Lines(r, rec, s.line, s.broken); err != nil {
		return err
	}
	return s.end()
}

// session is the state of reading one log.
type session struct {
	rec     *recording.Recorder
	path    string
	items   chat.Items
	meta    meta
	metas   int
	model   string
	threads map[string]bool // items of an exec log that have begun in its turn
	begun   int             // turns of an exec log
	aside   map[string]int  // records not kept, by type
	seen    recording.Seen
	copies  recording.Copies
	failed  error // while records were taken that had been held back
	// What opened the current turn, and whether the other kind of record has
	// repeated it: "item", "event", or "" when both have.
	opened string
	said   []string // messages told by an event and by no item yet
}

// line is one record in any of the three shapes.
type line struct {
	Timestamp string          `json:"timestamp"`
	CreatedAt chat.Scalar     `json:"created_at"`
	Type      string          `json:"type"`
	Payload   json.RawMessage `json:"payload"`
	// An exec log.
	ThreadID string          `json:"thread_id"`
	Item     json.RawMessage `json:"item"`
	Usage    *chat.Usage     `json:"usage"`
	Error    chat.Fault      `json:"error"`
	Message  chat.Scalar     `json:"message"`
	// A bare item.
	Role  string `json:"role"`
	Model string `json:"model"`
}

type meta struct {
	ID           string      `json:"id"`
	Timestamp    string      `json:"timestamp"`
	CWD          string      `json:"cwd"`
	Originator   string      `json:"originator"`
	Version      string      `json:"cli_version"`
	Provider     string      `json:"model_provider"`
	Instructions chat.Scalar `json:"instructions"`
	Base         struct {
		Text string `json:"text"`
	} `json:"base_instructions"`
	ForkedFrom string          `json:"forked_from_id"`
	Parent     string          `json:"parent_thread_id"`
	Source     json.RawMessage `json:"source"`
	Git        struct {
		Branch string `json:"branch"`
		Commit string `json:"commit_hash"`
	} `json:"git"`
}

func (s *session) line(l recording.Record) error {
	if s.failed != nil {
		return s.failed
	}
	var r line
	if err := recording.Decode(l.Data, &r); err != nil {
		return err
	}
	// Records have no ids, but most have their time in them.
	if r.Timestamp != "" || r.CreatedAt != "" {
		if s.seen.Again(l.Data) {
			return nil
		}
		return s.take(&r, l)
	}
	if s.seen.Twice(l.Data) {
		return nil
	}
	return s.copies.Take(l, s.untimed)
}

// untimed takes a record without a time that is no copy.
func (s *session) untimed(l recording.Record) error {
	var r line
	if err := recording.Decode(l.Data, &r); err != nil {
		return err
	}
	return s.take(&r, l)
}

// broken keeps a damaged part where it stood: what was held back comes before it.
func (s *session) broken(d recording.Damage, data []byte) {
	if err := s.copies.Flush(s.untimed); err != nil {
		s.failed = err
	}
	s.items.Broken(d, data)
}

// take interprets a record.
func (s *session) take(r *line, l recording.Record) error {
	at := chat.Time(r.Timestamp)
	if at.IsZero() {
		at = chat.Time(string(r.CreatedAt))
	}
	if len(r.Payload) > 0 && r.Payload[0] == '{' {
		return s.envelope(r, l, at)
	}
	if r.Type == "thread.started" || strings.HasPrefix(r.Type, "turn.") || strings.HasPrefix(r.Type, "item.") || r.Type == "error" && len(r.Payload) == 0 {
		return s.exec(r, l)
	}
	return s.bare(r, l, at)
}

// envelope takes a record of a rollout.
func (s *session) envelope(r *line, l recording.Record, at time.Time) error {
	switch r.Type {
	case "session_meta":
		var m meta
		if recording.Decode(r.Payload, &m) != nil {
			return nil
		}
		if s.metas++; s.metas > 1 || s.rec.Open() {
			// A resumed, forked or sub-agent's session: lineage, not a new one.
			s.items.Opaque("session_meta", r.Payload, map[string]any{"line": l.Line}, at)
			return s.open(at)
		}
		s.meta = m
		return s.open(at)
	case "turn_context":
		var c struct {
			Model string `json:"model"`
		}
		if recording.Decode(r.Payload, &c) == nil && c.Model != "" {
			s.model = c.Model
		}
		s.aside[r.Type]++
		return s.open(at)
	case "world_state":
		s.aside[r.Type]++
		return s.open(at)
	}
	switch r.Type {
	case "response_item", "event_msg", "compacted":
		// The first record of a known type opens the session: a log whose types have
		// all been renamed is no session.
		if err := s.open(at); err != nil {
			return err
		}
	}
	switch r.Type {
	case "response_item":
		var i chat.Item
		if recording.Decode(r.Payload, &i) != nil {
			return nil
		}
		return s.item(&i, r.Payload, l, at)
	case "event_msg":
		return s.event(r.Payload, l, at)
	case "compacted":
		var c struct {
			Message string `json:"message"`
		}
		_ = recording.Decode(r.Payload, &c) // a payload that was valid JSON
		s.items.Add(trace.Span{Kind: trace.CHAIN, Name: "compacted", Output: c.Message, Start: at, End: at, Attrs: map[string]any{"line": l.Line}})
		return nil
	}
	s.unknown(r.Type, l, at)
	return nil
}

// bare takes an item without an envelope.
func (s *session) bare(r *line, l recording.Record, at time.Time) error {
	if r.Role == "" && !strings.HasPrefix(r.Type, "function_") && !strings.HasSuffix(r.Type, "_call") && !strings.HasSuffix(r.Type, "_output") &&
		r.Type != "message" && r.Type != "reasoning" && r.Type != "tool_result" {
		s.unknown(r.Type, l, at)
		return nil
	}
	if err := s.open(at); err != nil {
		return err
	}
	if r.Model != "" {
		s.model = r.Model
	}
	var i chat.Item
	if err := recording.Decode(l.Data, &i); err != nil {
		return err
	}
	return s.item(&i, l.Data, l, at)
}

// item takes a response item.
func (s *session) item(i *chat.Item, raw []byte, l recording.Record, at time.Time) error {
	if i.Type == "message" || i.Type == "" {
		switch {
		case i.Role == "user":
			return s.userItem(i.Says(), at)
		case i.Role == "developer" || i.Role == "system":
			s.items.Stop()
			s.items.Add(trace.Span{Kind: trace.CHAIN, Name: i.Role, Input: i.Says(), Start: at, End: at})
			return nil
		}
	}
	if s.items.Take(i, s.model, at) {
		if t := s.items.Turn(); t.StopReason == "cancelled" {
			t.StopReason = "" // it went on
		}
		if says := i.Says(); says != "" {
			if k := slices.Index(s.said, says); k >= 0 {
				s.said = slices.Delete(s.said, k, k+1)
			}
		}
		return nil
	}
	if i.Type == "ghost_snapshot" || i.Type == "other" {
		s.aside[i.Type]++
		return nil
	}
	name := i.Type
	if name == "" {
		name = "item of role " + i.Role
	}
	s.unknown(name, l, at)
	return nil
}

// userItem takes a message of the user's role.
func (s *session) userItem(text string, at time.Time) error {
	s.items.Stop()
	switch {
	case injected.MatchString(text):
		s.items.Add(trace.Span{Kind: trace.CHAIN, Name: "context", Input: text, Start: at, End: at})
		return nil
	case s.opened == "event" && sameText(s.items.Turn().Input, text):
		s.opened = "" // the event was there before the item
		return nil
	}
	s.opened = "item"
	return s.input(text, at)
}

// userEvent takes a user_message event.
func (s *session) userEvent(text string, at time.Time) error {
	s.items.Stop()
	if s.opened == "item" {
		t := s.items.Turn()
		if sameText(t.Input, text) {
			s.opened = ""
			return nil
		}
		if !acted(t) {
			// The item was context that the program put there; the event is the input.
			s.items.Add(trace.Span{Kind: trace.CHAIN, Name: "context", Input: t.Input, Start: t.Start, End: t.Start})
			t.Input, s.opened = text, ""
			return nil
		}
	}
	s.opened = "event"
	return s.input(text, at)
}

func (s *session) input(text string, at time.Time) error {
	s.unsaid(at)
	return s.items.Input(text, at)
}

func sameText(a, b string) bool { return strings.TrimSpace(a) == strings.TrimSpace(b) }

func acted(t *trace.Turn) bool {
	for _, s := range t.Spans {
		if s.Kind != trace.CHAIN {
			return true
		}
	}
	return false
}

// unsaid keeps the messages of events that no item repeated.
func (s *session) unsaid(at time.Time) {
	for _, text := range s.said {
		s.items.Add(trace.Span{Kind: trace.CHAIN, Name: "agent_message", Output: text, Start: at, End: at})
	}
	s.said = nil
}

// unknown keeps a record that is not interpreted.
func (s *session) unknown(name string, l recording.Record, at time.Time) {
	if name == "" {
		name = "(no type)"
	}
	s.rec.Unknown(name)
	s.items.Opaque(name, l.Data, map[string]any{"line": l.Line}, at)
}

// open begins the session: with the first record, whichever it is.
func (s *session) open(at time.Time) error {
	if s.rec.Open() {
		return nil
	}
	m := s.meta
	head := trace.Session{ID: m.ID, Source: Name, Agent: strings.TrimSpace("codex " + m.Version), Started: at, Attrs: map[string]any{}}
	if head.ID == "" {
		head.ID = strings.TrimSuffix(filepath.Base(s.path), filepath.Ext(s.path))
	}
	if t := chat.Time(m.Timestamp); !t.IsZero() {
		head.Started = t
	}
	if head.System = m.Base.Text; head.System == "" {
		head.System = string(m.Instructions)
	}
	for k, v := range map[string]string{"session_id": m.ID, "cwd": m.CWD, "originator": m.Originator, "model_provider": m.Provider,
		"forked_from": m.ForkedFrom, "parent_thread": m.Parent, "git_branch": m.Git.Branch, "git_commit": m.Git.Commit, "launched_by": chat.Text(m.Source)} {
		if v != "" {
			head.Attrs[k] = s.rec.Short(v, 500)
		}
	}
	return s.rec.Begin(head)
}

// end finishes the session.
func (s *session) end() error {
	if s.failed == nil {
		s.failed = s.copies.Flush(s.untimed)
	}
	if s.failed != nil {
		return s.failed
	}
	if !s.rec.Open() {
		return nil
	}
	s.unsaid(time.Time{})
	if s.model != "" {
		s.rec.Head().Attrs["model"] = s.rec.Short(s.model, 200)
	}
	if err := s.items.End(); err != nil {
		return err
	}
	s.rec.Aside(s.aside)
	s.seen.Dropped += s.copies.Dropped
	s.seen.Note(s.rec)
	return s.rec.End()
}

// kept is a span for an event, with its line.
func kept(name string, l recording.Record, at time.Time) trace.Span {
	return trace.Span{Kind: trace.CHAIN, Name: name, Start: at, End: at, Attrs: map[string]any{"line": l.Line}}
}
