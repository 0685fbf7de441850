// Package managed reads client logs of Anthropic's managed agents: JSON Lines of
// [method, payload], where the payloads are what the client sent and the events
// that the service streamed back.
//
// A user message is a turn; it is logged when it is sent and again when it comes
// back on the stream, and counts once. A model request is a step: its text, its
// calls and its usage stand between span.model_request_start and _end. An error is
// a result with is_error.
package managed

import (
	"encoding/json"
	"io"
	"slices"
	"strings"
	"time"

	"vise/engine/trace"
	"vise/replay/format/chat"
	"vise/replay/format/recording"
)

// Name of the format.
const Name = "anthropic-agents"

// Read reads one log.
func Read(r io.Reader, path string, rec *recording.Recorder) error {
	s := &session{rec: rec, path: path, conv: recording.NewConversation(rec), aside: map[string]int{}, answered: map[string]bool{}}
	if err := recording.ArrayLines(r, rec, s.line, s.conv.Broken); err != nil {
		return err
	}
	if !rec.Open() {
		return nil
	}
	if err := s.conv.End(); err != nil {
		return err
	}
	if len(s.aside) > 0 {
		rec.Aside(s.aside)
	}
	s.seen.Note(rec)
	return rec.End()
}

// maxSent bounds the messages sent whose echo is waited for.
const maxSent = 1000

type session struct {
	rec      *recording.Recorder
	path     string
	conv     *recording.Conversation
	model    string
	step     recording.Place
	begun    time.Time // of the model request that runs
	sent     []string  // user messages that have not come back yet, oldest first
	seen     recording.Seen
	answered map[string]bool
	aside    map[string]int
}

// event is an event of the stream, or one that was sent.
type event struct {
	Type    string          `json:"type"`
	ID      string          `json:"id"`
	At      chat.Scalar     `json:"processed_at"`
	Content chat.Content    `json:"content"`
	Name    string          `json:"name"`
	Server  string          `json:"mcp_server_name"`
	Input   json.RawMessage `json:"input"`
	Tool    string          `json:"tool_use_id"`
	MCP     string          `json:"mcp_tool_use_id"`
	Custom  string          `json:"custom_tool_use_id"`
	IsError bool            `json:"is_error"`
	Usage   *struct {
		Input  int64 `json:"input_tokens"`
		Output int64 `json:"output_tokens"`
		Read   int64 `json:"cache_read_input_tokens"`
		Made   int64 `json:"cache_creation_input_tokens"`
	} `json:"model_usage"`
	Stop struct {
		Type string `json:"type"`
	} `json:"stop_reason"`
	Error   chat.Fault  `json:"error"`
	Result  string      `json:"result"`
	Deny    chat.Scalar `json:"deny_message"`
	Message chat.Scalar `json:"message"`
}

func (s *session) line(l recording.Record) error {
	var pair []json.RawMessage
	if l.Data[0] != '[' {
		s.rec.Unknown("record that is no pair")
		return nil
	}
	if err := recording.Decode(l.Data, &pair); err != nil {
		return err
	}
	var method string
	if len(pair) == 2 {
		_ = json.Unmarshal(pair[0], &method) // anything else is unknown below
	}
	switch {
	case strings.HasSuffix(method, "sessions.create"), strings.HasSuffix(method, "sessions.retrieve"):
		return s.create(pair[1])
	case strings.HasSuffix(method, "events.send"):
		var args []json.RawMessage
		var body struct {
			Events []event `json:"events"`
		}
		if recording.Decode(pair[1], &args) != nil || len(args) < 2 || recording.Decode(args[1], &body) != nil {
			return nil
		}
		for i := range body.Events {
			e := &body.Events[i]
			if e.Type == "user.message" {
				if len(s.sent) == maxSent {
					s.sent = s.sent[1:]
				}
				s.sent = append(s.sent, e.Content.Text)
			}
			if err := s.event(e, l); err != nil {
				return err
			}
		}
		return nil
	case strings.HasSuffix(method, "events.stream"), strings.HasSuffix(method, "events.list"):
		var e event
		if recording.Decode(pair[1], &e) != nil {
			return nil
		}
		// A log that lists the events after it has streamed them tells each twice.
		if e.ID != "" && s.seen.Again([]byte(e.Type+"\x00"+e.ID)) {
			return nil
		}
		if e.Type == "user.message" {
			if i := slices.Index(s.sent, e.Content.Text); i >= 0 {
				// The echo of what was sent; that of an earlier message is missing then.
				if s.sent = s.sent[i+1:]; len(s.sent) == 0 {
					s.conv.Turn().Start = chat.Time(string(e.At))
				}
				return nil
			}
		}
		return s.event(&e, l)
	}
	s.rec.Unknown("method " + method)
	if s.rec.Open() {
		s.conv.Opaque(method, l.Data, map[string]any{"line": l.Line}, time.Time{})
	}
	return nil
}

// create opens the session.
func (s *session) create(raw json.RawMessage) error {
	var c struct {
		ID    string `json:"id"`
		Agent struct {
			Name   string          `json:"name"`
			System string          `json:"system"`
			Tools  json.RawMessage `json:"tools"`
			Model  struct {
				ID string `json:"id"`
			} `json:"model"`
		} `json:"agent"`
	}
	if s.rec.Open() || recording.Decode(raw, &c) != nil {
		return nil
	}
	s.model = c.Agent.Model.ID
	return s.rec.Begin(trace.Session{ID: chat.First(c.ID, recording.Stem(s.path)), Source: Name, Agent: c.Agent.Name, System: c.Agent.System, Tools: chat.Tools(c.Agent.Tools),
		Attrs: map[string]any{"model": s.rec.Short(s.model, 200)}})
}

func (s *session) open() error {
	if s.rec.Open() {
		return nil
	}
	return s.rec.Begin(trace.Session{ID: recording.Stem(s.path), Source: Name, Agent: Name})
}

func (s *session) event(e *event, l recording.Record) error {
	if err := s.open(); err != nil {
		return err
	}
	at := chat.Time(string(e.At))
	switch e.Type {
	case "user.message":
		s.step = recording.Place{}
		return s.conv.Input(e.Content.Text, at)
	case "span.model_request_start":
		s.step, s.begun = recording.Place{}, at
	case "span.model_request_end":
		if sp := s.step.Span(); sp != nil {
			if u := e.Usage; u != nil {
				sp.Usage = trace.Usage{Input: u.Input + u.Read + u.Made, Output: u.Output, Cached: u.Read}
			}
			if at.After(sp.End) {
				sp.End = at
			}
		}
	case "agent.message", "agent.thinking":
		sp := s.running(at).Span()
		if e.Type == "agent.message" {
			sp.Output = chat.Join(sp.Output, e.Content.Text)
		} else {
			sp.Thought = chat.Join(sp.Thought, e.Content.Text, e.Content.Thought)
		}
	case "agent.tool_use", "agent.mcp_tool_use", "agent.custom_tool_use":
		name := e.Name
		if e.Server != "" {
			name = e.Server + "." + name
		}
		s.conv.Call(e.ID, trace.Span{ID: e.ID, Parent: s.running(at).Span().ID, Name: name, Input: chat.Arguments(e.Input), Start: at, End: at})
	case "agent.tool_result", "agent.mcp_tool_result", "user.custom_tool_result":
		key := chat.First(e.Tool, e.MCP, e.Custom)
		if s.answered[key] {
			return nil // sent, and back on the stream
		}
		if len(s.answered) > 200_000 {
			clear(s.answered)
		}
		s.answered[key] = true
		s.conv.Answer(key, recording.Result{Output: e.Content.Text, Failed: e.IsError, At: at})
	case "session.status_idle":
		if e.Stop.Type != "" && e.Stop.Type != "requires_action" {
			s.conv.Turn().StopReason = e.Stop.Type
		}
	case "session.error":
		text := chat.First(e.Error.Message, string(e.Message))
		s.conv.Add(trace.Span{Kind: trace.CHAIN, Name: "error", Output: text, Start: at, End: at, Error: s.rec.ErrorLine(text, "an error without a message")})
	case "user.tool_confirmation", "session.status_running", "session.thread_status_running", "session.thread_status_idle", "session.status_terminated":
		s.aside[e.Type]++
	default:
		s.rec.Unknown(e.Type)
		s.conv.Opaque(e.Type, l.Data, map[string]any{"line": l.Line}, at)
	}
	return nil
}

// running is the step of the model request that runs.
func (s *session) running(at time.Time) recording.Place {
	if s.step.Span() == nil {
		start := s.begun
		if start.IsZero() {
			start = at
		}
		s.step = s.conv.Step(trace.Span{Name: s.model, Start: start, End: at})
	}
	return s.step
}
