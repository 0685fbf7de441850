// Package gemini reads the sessions of the Gemini CLI: one JSON document
// {sessionId, messages}, the JSON Lines of version 0.40 and later (a header,
// messages, and {"$set": ...} patches of the header), and checkpoints
// {history: [{role, parts}]}.
//
// A user message is a turn and a gemini message a step, which holds its calls
// together with their results; a call is an error when its status says so. A
// message that is written again under its id replaces the earlier one. Messages of
// the program (info, warning, error) are CHAIN spans. Versions before 0.9 did not
// record calls at all.
package gemini

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"vise/engine/trace"
	"vise/replay/format/chat"
	"vise/replay/format/recording"
)

// Name of the format.
const Name = "gemini-cli"

// document is a whole session, or the header of a file of lines.
type document struct {
	SessionID   string            `json:"sessionId"`
	ProjectHash string            `json:"projectHash"`
	Started     chat.Scalar       `json:"startTime"`
	StartedOld  chat.Scalar       `json:"start_time"`
	Updated     chat.Scalar       `json:"lastUpdated"`
	Summary     string            `json:"summary"`
	Kind        string            `json:"kind"`
	Messages    []json.RawMessage `json:"messages"`
	History     []json.RawMessage `json:"history"`
	Meta        struct {
		Model string `json:"model"`
	} `json:"meta"`
	Set *struct {
		Summary string `json:"summary"`
	} `json:"$set"`
}

// message is a message of either shape.
type message struct {
	ID        string       `json:"id"`
	Timestamp chat.Scalar  `json:"timestamp"`
	TS        chat.Scalar  `json:"ts"`
	Type      string       `json:"type"`
	Role      string       `json:"role"`
	Content   chat.Content `json:"content"`
	Parts     []part       `json:"parts"`
	Model     string       `json:"model"`
	Thoughts  []struct {
		Subject     string `json:"subject"`
		Description string `json:"description"`
	} `json:"thoughts"`
	Tokens struct {
		Input    int64 `json:"input"`
		Output   int64 `json:"output"`
		Cached   int64 `json:"cached"`
		Thoughts int64 `json:"thoughts"`
	} `json:"tokens"`
	ToolCalls []toolCall `json:"toolCalls"`
}

type toolCall struct {
	ID        string            `json:"id"`
	Name      string            `json:"name"`
	Args      json.RawMessage   `json:"args"`
	Result    []json.RawMessage `json:"result"`
	Status    string            `json:"status"`
	Timestamp chat.Scalar       `json:"timestamp"`
	Display   chat.Scalar       `json:"resultDisplay"`
}

// part is a part of a message in the API's shape.
type part struct {
	Text    string `json:"text"`
	Thought bool   `json:"thought"`
	Inline  *struct {
		MimeType string `json:"mimeType"`
		Data     string `json:"data"`
	} `json:"inlineData"`
	Call *struct {
		ID   string          `json:"id"`
		Name string          `json:"name"`
		Args json.RawMessage `json:"args"`
	} `json:"functionCall"`
	Response *functionResponse `json:"functionResponse"`
}

type functionResponse struct {
	ID       string          `json:"id"`
	Name     string          `json:"name"`
	Response json.RawMessage `json:"response"`
}

// Read reads one session.
func Read(r io.ReadSeeker, path string, rec *recording.Recorder) error {
	s := &session{rec: rec, path: path, conv: recording.NewConversation(rec)}
	err := recording.Values(r, rec, func(v recording.Value) error {
		var d document
		if err := recording.Decode(v.Data, &d); err != nil {
			return err
		}
		if v.Cut {
			s.cut = true
		}
		switch {
		case d.Messages != nil || d.History != nil:
			if err := s.begin(&d); err != nil {
				return err
			}
			for _, raw := range append(d.Messages, d.History...) {
				if err := s.message(raw, v.Line); err != nil {
					return err
				}
			}
			return nil
		case d.Set != nil:
			if d.Set.Summary != "" {
				s.summary = d.Set.Summary
			}
			return nil
		case d.SessionID != "" && d.ProjectHash != "":
			if rec.Open() {
				s.conv.Opaque("header", v.Data, map[string]any{"line": v.Line}, time.Time{})
				return nil
			}
			return s.begin(&d)
		}
		if err := s.begin(&d); err != nil {
			return err
		}
		return s.message(v.Data, v.Line)
	})
	if err != nil || !rec.Open() {
		return err
	}
	return s.end()
}

type session struct {
	rec     *recording.Recorder
	path    string
	conv    *recording.Conversation
	model   string
	summary string
	cut     bool
	held    []*message     // messages of the turn that is going on: each may be written again
	place   map[string]int // where in it a message stands, by id
	bytes   int            // of the records held
	late    int
	done    map[string]bool // ids of messages that have been handed on
}

func (s *session) begin(d *document) error {
	if s.rec.Open() {
		return nil
	}
	s.done = map[string]bool{}
	s.model, s.summary = d.Meta.Model, d.Summary
	head := trace.Session{ID: d.SessionID, Source: Name, Agent: Name, Attrs: map[string]any{}}
	if head.ID == "" {
		head.ID = recording.Stem(s.path)
	}
	started := d.Started
	if started == "" {
		started = d.StartedOld
	}
	head.Started, head.Ended = chat.Time(string(started)), chat.Time(string(d.Updated))
	for k, v := range map[string]string{"session_id": d.SessionID, "project_hash": d.ProjectHash, "kind": d.Kind} {
		if v != "" {
			head.Attrs[k] = s.rec.Short(v, 200)
		}
	}
	return s.rec.Begin(head)
}

func (s *session) end() error {
	if err := s.flush(); err != nil {
		return err
	}
	if err := s.conv.End(); err != nil {
		return err
	}
	head := s.rec.Head()
	if s.summary != "" {
		head.Title = recording.FirstWords(s.rec.Mask(s.summary))
	}
	if s.cut {
		head.Attrs["cut"] = true
	}
	if s.late > 0 {
		s.rec.Note("%d messages were written again after their turn was over; the first writing of each counts", s.late)
	}
	return s.rec.End()
}

// Bounds on what is remembered.
const (
	maxTold = 200_000  // ids of messages handed on
	maxHeld = 64 << 20 // bytes of the records of a turn that may still be written again
)

// message holds a message until its turn is over: it may be written again.
func (s *session) message(raw json.RawMessage, line int) error {
	m := &message{}
	if recording.Decode(raw, m) != nil {
		return nil
	}
	if m.Type == "" {
		m.Type = m.Role
	}
	if m.Type == "" {
		s.rec.Unknown("record without a type")
		if err := s.flush(); err != nil {
			return err
		}
		s.conv.Opaque("(no type)", raw, map[string]any{"line": line}, time.Time{})
		return nil
	}
	if m.ID != "" {
		if i, ok := s.place[m.ID]; ok {
			s.held[i] = m
			return s.hold(len(raw))
		}
		if s.done[m.ID] {
			s.late++
			return nil
		}
	}
	if m.Type == "user" {
		if err := s.flush(); err != nil {
			return err
		}
	}
	if m.ID != "" {
		if s.place == nil {
			s.place = map[string]int{}
		}
		s.place[m.ID] = len(s.held)
	}
	s.held = append(s.held, m)
	return s.hold(len(raw))
}

// hold counts the bytes of a record that is held. Beyond maxHeld the turn goes on, but
// what has come of it is interpreted as it stands.
func (s *session) hold(bytes int) error {
	if s.bytes += bytes; s.bytes > maxHeld {
		return s.flush()
	}
	return nil
}

// flush interprets the messages that are held.
func (s *session) flush() error {
	for _, m := range s.held {
		if len(s.done) > maxTold {
			clear(s.done)
		}
		s.done[m.ID] = true
		if err := s.take(m); err != nil {
			return err
		}
	}
	clear(s.held) // the messages, for the collector of garbage
	clear(s.place)
	s.held, s.bytes = s.held[:0], 0
	return nil
}

func (s *session) take(m *message) error {
	at := chat.Time(string(m.Timestamp))
	if at.IsZero() {
		at = chat.Time(string(m.TS))
	}
	text, thought := m.Content.Text, ""
	var calls []*part
	answers := 0
	for i := range m.Parts {
		p := &m.Parts[i]
		switch {
		case p.Call != nil:
			calls = append(calls, p)
		case p.Response != nil:
			answers++
			out, failed := p.Response.read()
			s.conv.Answer(p.Response.key(), recording.Result{Output: out, Failed: failed, At: at})
		case p.Inline != nil:
			kind, _, _ := strings.Cut(p.Inline.MimeType, "/")
			text = chat.Join(text, recording.Binary(kind, p.Inline.MimeType, p.Inline.Data))
		case p.Thought:
			thought = chat.Join(thought, p.Text)
		default:
			text = chat.Join(text, p.Text)
		}
	}
	switch m.Type {
	case "user":
		if answers > 0 && text == "" {
			return nil
		}
		return s.conv.Input(text, at)
	case "gemini", "model":
		for _, t := range m.Thoughts {
			thought = chat.Join(thought, strings.TrimSpace(t.Subject+"\n"+t.Description))
		}
		model := m.Model
		if model == "" {
			model = s.model
		}
		s.conv.Step(trace.Span{ID: m.ID, Name: model, Output: text, Thought: thought, Start: at, End: at,
			Usage: trace.Usage{Input: m.Tokens.Input, Output: m.Tokens.Output, Cached: m.Tokens.Cached, Reasoning: m.Tokens.Thoughts}})
		for i := range m.ToolCalls {
			s.call(&m.ToolCalls[i], at)
		}
		for i, p := range calls {
			s.conv.Call(chat.First(p.Call.ID, "name:"+p.Call.Name), trace.Span{ID: chat.First(p.Call.ID, fmt.Sprintf("%s.c%d", chat.First(m.ID, "history"), i)), Name: p.Call.Name, Input: chat.Arguments(p.Call.Args), Start: at, End: at})
		}
	default:
		span := trace.Span{ID: m.ID, Kind: trace.CHAIN, Name: m.Type, Output: text, Start: at, End: at}
		switch m.Type {
		case "error":
			span.Error = s.rec.ErrorLine(text, "an error without a message")
		case "info", "warning":
		default:
			s.rec.Unknown("message of type " + m.Type)
		}
		s.conv.Add(span)
	}
	return nil
}

// call takes a call with its result, which stand in one element.
func (s *session) call(c *toolCall, at time.Time) {
	s.conv.Call(c.ID, trace.Span{Name: c.Name, Input: chat.Arguments(c.Args), Start: at, End: at})
	switch c.Status {
	case "success", "error", "cancelled":
	default:
		if len(c.Result) == 0 {
			return // it was still running
		}
	}
	r := recording.Result{Failed: c.Status == "error", At: chat.Time(string(c.Timestamp))}
	if c.Status == "cancelled" {
		r.Attrs = map[string]any{"status": c.Status}
	}
	for _, raw := range c.Result {
		var p part
		if recording.Decode(raw, &p) != nil {
			continue
		}
		if p.Response != nil {
			out, _ := p.Response.read()
			r.Output = chat.Join(r.Output, out)
		} else if p.Inline != nil {
			r.Output = chat.Join(r.Output, recording.Binary("data", p.Inline.MimeType, p.Inline.Data))
		} else {
			r.Output = chat.Join(r.Output, p.Text)
		}
	}
	if r.Output == "" {
		r.Output = string(c.Display)
	}
	s.conv.Answer(c.ID, r)
}

func (f *functionResponse) key() string { return chat.First(f.ID, "name:"+f.Name) }

// read is the result in a function response: its output, its error, or all of it.
func (f *functionResponse) read() (out string, failed bool) {
	var r struct {
		Output json.RawMessage `json:"output"`
		Error  json.RawMessage `json:"error"`
	}
	if len(f.Response) > 0 && f.Response[0] == '{' && recording.Decode(f.Response, &r) == nil {
		switch {
		case len(r.Error) > 0 && string(r.Error) != "null":
			return chat.Text(r.Error), true
		case len(r.Output) > 0:
			return chat.Text(r.Output), false
		}
	}
	return chat.Text(f.Response), false
}
