// Package cursor reads the transcripts of Cursor's agent: JSON Lines of {role,
// message: {content}}, without ids, clocks or results. A user line is a turn, an
// assistant line a step; tool use appears in the text, or as parts that are never
// answered.
package cursor

import (
	"fmt"
	"io"

	"vise/engine/trace"
	"vise/replay/format/chat"
	"vise/replay/format/recording"
)

// Name of the format.
const Name = "cursor"

// Read reads one transcript.
func Read(r io.Reader, path string, rec *recording.Recorder) error {
	t := &transcript{rec: rec, path: path, feed: chat.NewFeed(rec)}
	if err := recording.Lines(r, rec, t.line, t.broken); err != nil {
		return err
	}
	if !rec.Open() {
		return nil
	}
	if err := t.feed.End(); err != nil {
		return err
	}
	return rec.End()
}

type transcript struct {
	rec  *recording.Recorder
	path string
	feed *chat.Feed
}

func (t *transcript) open() error {
	if t.rec.Open() {
		return nil
	}
	return t.rec.Begin(trace.Session{ID: recording.Stem(t.path), Source: Name, Agent: Name})
}

func (t *transcript) line(l recording.Record) error {
	var r struct {
		Role    string        `json:"role"`
		Message *chat.Message `json:"message"`
		Content chat.Content  `json:"content"`
	}
	if err := recording.Decode(l.Data, &r); err != nil {
		return err
	}
	if r.Role == "" || r.Message == nil && !r.Content.Set {
		t.rec.Unknown("record without a message")
		if t.rec.Open() {
			t.feed.Opaque("(no message)", l.Data, map[string]any{"line": l.Line}, chat.Time(""))
		}
		return nil
	}
	if err := t.open(); err != nil {
		return err
	}
	m := r.Message
	if m == nil {
		m = &chat.Message{Content: r.Content}
	}
	m.Role = r.Role
	return t.feed.Step(m, trace.Span{ID: fmt.Sprintf("line%d", l.Line)})
}

// broken keeps a damaged part where it stood, once there is a session.
func (t *transcript) broken(d recording.Damage, data []byte) {
	if t.rec.Open() {
		t.feed.Broken(d, data)
	}
}
