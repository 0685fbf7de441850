// Package openai reads conversations in the shapes of OpenAI's two APIs: arrays of
// chat messages, fine-tuning files, logs of requests and responses of the chat
// completions and the Responses API, and bare lists of Responses items. Requests
// in Anthropic's spelling (system beside the messages, contents of blocks) are
// understood too.
//
// A user message is a turn, an assistant message a step; of Responses items a
// step is a run of reasoning, messages and calls that no output interrupts. There
// are no ids and mostly no clocks: a session is named by its id in the record, or
// by the file and its place in it. In a log every request repeats the one before:
// requests that begin with all messages of an earlier one, or name its response,
// are one session, read from the last of them. There is no error flag but that of
// a failed item.
package openai

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"time"

	"vise/engine/trace"
	"vise/replay/format/chat"
	"vise/replay/format/recording"
)

// Names of the two formats. One reader reads both: the records tell.
const (
	NameChat      = "openai-chat"
	NameResponses = "openai-responses"
)

// Bounds of the sessions of a log that may go on with a later request.
const (
	maxOpen  = 256      // sessions
	maxBytes = 64 << 20 // bytes of their last requests
)

// Read reads a file of one conversation or many.
func Read(r io.ReadSeeker, path string, rec *recording.Recorder) error {
	f := &file{rec: rec, stem: strings.TrimSuffix(filepath.Base(path), filepath.Ext(path)), open: map[[32]byte]*exchange{}}
	shape, err := recording.ShapeOf(r)
	if err != nil {
		return fmt.Errorf("read %s: %w", path, err)
	}
	bare, err := messages(r, shape)
	if err != nil {
		return fmt.Errorf("read %s: %w", path, err)
	}
	if bare && shape == recording.Array {
		return recording.Document(r, rec, func(v recording.Value) error {
			return f.write(&exchange{Messages: raws(v.Data), index: -1})
		})
	}
	if bare {
		return f.apart(r)
	}
	f.many = shape != recording.One
	if err := recording.Values(r, rec, f.record); err != nil {
		return err
	}
	for len(f.order) > 0 {
		if err := f.release(f.order[0]); err != nil {
			return err
		}
	}
	return nil
}

// messages reports whether a file holds messages, not records about them.
func messages(r io.ReadSeeker, shape recording.Shape) (bool, error) {
	sc := recording.NewScanner(r)
	seen := errors.New("first record seen")
	bare := false
	first := func() error {
		_ = sc.Members(func(key string) error {
			switch key {
			case "call_id":
				bare = bare || shape == recording.Array
			case "role":
				bare = true
			case "messages", "items", "request", "response", "choices":
				bare = bare && shape == recording.Array
				return seen
			case "input":
				return seen
			}
			return sc.Skip()
		})
		return seen
	}
	if shape == recording.Array {
		_ = sc.Elements(first) // where it breaks off it is damage, counted later
	} else {
		_ = first()
	}
	_, err := r.Seek(0, io.SeekStart)
	return bare, err
}

// apart reads the messages of one conversation that stand one a line.
func (f *file) apart(r io.ReadSeeker) error {
	e, size := &exchange{index: -1}, 0
	if err := recording.Values(r, f.rec, func(v recording.Value) error {
		if size += len(v.Data); size > recording.MaxRecord {
			return fmt.Errorf("more than %d MB of messages in one conversation: give each conversation a line of its own, {\"messages\":[…]}", recording.MaxRecord>>20)
		}
		e.cut = e.cut || v.Cut
		e.Messages = append(e.Messages, bytes.Clone(v.Data))
		return nil
	}); err != nil {
		return err
	}
	if len(e.Messages) == 0 {
		return nil
	}
	return f.write(e)
}

func raws(data []byte) []json.RawMessage {
	var out []json.RawMessage
	_ = recording.Decode(data, &out) // valid JSON
	return out
}

// file is the state of reading one file.
type file struct {
	rec   *recording.Recorder
	stem  string
	many  bool
	open  map[[32]byte]*exchange // by the state after which a later request may go on
	order []*exchange            // oldest first
	bytes int
}

// record takes one record: it goes on with an earlier one, or is a session.
func (f *file) record(v recording.Value) error {
	e := &exchange{index: v.Index, cut: v.Cut, size: len(v.Data)}
	if len(v.Data) > 0 && v.Data[0] == '[' {
		e.Messages = raws(v.Data)
	} else if err := recording.Decode(v.Data, e); err != nil {
		return err
	}
	e.unwrap()
	if len(e.Messages) == 0 && len(e.Items) == 0 && e.Response == nil {
		f.rec.Unknown("record without messages")
		return nil
	}
	if e.Response == nil || !f.many {
		return f.write(e)
	}
	return f.hold(e)
}

// write hands one session to the recorder.
func (f *file) write(e *exchange) error {
	head := trace.Session{Source: NameChat, Attrs: map[string]any{}}
	if len(e.Items) > 0 || e.Response != nil && e.Response.Object == "response" {
		head.Source = NameResponses
	}
	head.ID = f.stem
	if f.many && e.index >= 0 {
		head.ID = fmt.Sprintf("%s-%d", f.stem, e.index+1)
	}
	if id := string(e.SessionID) + string(e.ConversationID); id != "" {
		head.ID = id
	}
	last := e.answered()
	head.Agent = last.Name
	for _, raw := range []json.RawMessage{e.Args.Tools, e.Tools} {
		if head.Tools == nil {
			head.Tools = chat.Tools(raw)
		}
	}
	if head.Tools == nil && e.Response != nil {
		head.Tools = chat.Tools(e.Response.Tools)
	}
	if e.cut {
		head.Attrs["cut"] = true
	}
	if f.many {
		head.Attrs["index"] = max(e.index, 0)
	}
	if head.Source == NameResponses {
		return f.items(e, head, last)
	}
	return f.chat(e, head, last)
}

// chat writes a session of chat messages.
func (f *file) chat(e *exchange, head trace.Session, last trace.Span) error {
	msgs := make([]chat.Message, len(e.Messages))
	for i, raw := range e.Messages {
		_ = recording.Decode(raw, &msgs[i]) // valid JSON
	}
	head.System = strings.TrimSpace(e.System.Text + "\n" + chat.System(msgs))
	if err := f.rec.Begin(head); err != nil {
		return err
	}
	feed := chat.NewFeed(f.rec)
	for i := range msgs {
		if msgs[i].Model == "" {
			msgs[i].Model = head.Agent
		}
		if err := feed.Step(&msgs[i], e.steps[i]); err != nil {
			return err
		}
	}
	if r := e.Response; r != nil {
		f.answer(feed, r, last)
	}
	if err := feed.End(); err != nil {
		return err
	}
	return f.rec.End()
}

// answer adds the response of a logged request.
func (f *file) answer(feed *chat.Feed, r *response, last trace.Span) {
	last.ID = r.ID
	stop := r.Stop
	for i := range r.Choices {
		c := &r.Choices[i]
		if i > 0 { // another sample of the same step
			feed.Conversation.Add(trace.Span{Kind: trace.CHAIN, Name: "choice", Output: c.Message.Content.Text, Start: last.Start, End: last.End})
			continue
		}
		feed.Assistant(&c.Message, last)
		stop = c.Finish
	}
	if len(r.Choices) == 0 && (r.Content.Set || r.Role == "assistant") {
		feed.Assistant(&chat.Message{Role: "assistant", Content: r.Content}, last)
	}
	if r.Error.Set {
		feed.Conversation.Add(trace.Span{Kind: trace.CHAIN, Name: "error", Output: r.Error.Message, Start: last.Start, End: last.End,
			Error: f.rec.ErrorLine(r.Error.Message, "the provider reported an error")})
	}
	if stop != "" {
		feed.Turn().StopReason = stop
	}
}

// items writes a session of Responses items.
func (f *file) items(e *exchange, head trace.Session, last trace.Span) error {
	all := make([]chat.Item, len(e.Items))
	systems := []string{e.Instructions.Text}
	for i, raw := range e.Items {
		_ = recording.Decode(raw, &all[i]) // valid JSON
		if r := all[i].Role; r == "system" || r == "developer" {
			systems = append(systems, all[i].Says())
		}
	}
	head.System = strings.TrimSpace(strings.Join(systems, "\n"))
	if err := f.rec.Begin(head); err != nil {
		return err
	}
	items := &chat.Items{Conversation: recording.NewConversation(f.rec)}
	for i := range all {
		if err := f.item(items, &all[i], e.Items[i], head.Agent, time.Time{}); err != nil {
			return err
		}
	}
	if r := e.Response; r != nil {
		items.Stop()
		for _, raw := range r.Output {
			var it chat.Item
			_ = recording.Decode(raw, &it) // valid JSON
			if err := f.item(items, &it, raw, head.Agent, last.Start); err != nil {
				return err
			}
		}
		if sp := items.Last(); sp != nil && len(r.Output) > 0 {
			sp.Usage, sp.End = last.Usage, last.End
		}
		if r.Error.Set {
			items.Add(trace.Span{Kind: trace.CHAIN, Name: "error", Output: r.Error.Message, Error: f.rec.ErrorLine(r.Error.Message, "the provider reported an error")})
		}
	}
	if err := items.End(); err != nil {
		return err
	}
	return f.rec.End()
}

func (f *file) item(items *chat.Items, it *chat.Item, raw []byte, model string, at time.Time) error {
	switch {
	case it.Role == "system" || it.Role == "developer":
		items.Stop()
	case it.Role == "user":
		items.Stop()
		return items.Input(it.Says(), at)
	case !items.Take(it, model, at):
		name := it.Type
		if name == "" {
			name = "item of role " + it.Role
		}
		f.rec.Unknown(name)
		items.Opaque(name, raw, nil, at)
	}
	return nil
}
