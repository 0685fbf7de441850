package inspectai

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"time"

	"vise/engine/trace"
	"vise/replay/format/chat"
	"vise/replay/format/recording"
)

// sample is one sample of a log.
type sample struct {
	ID          chat.Scalar       `json:"id"`
	Epoch       json.Number       `json:"epoch"`
	Input       json.RawMessage   `json:"input"`
	Messages    []chat.Message    `json:"messages"`
	Scores      json.RawMessage   `json:"scores"`
	Score       json.RawMessage   `json:"score"` // of an old version
	Events      []json.RawMessage `json:"events"`
	Attachments map[string]string `json:"attachments"`
	Transcript  struct {          // of an old version
		Events  []json.RawMessage `json:"events"`
		Content map[string]string `json:"content"`
	} `json:"transcript"`
	Output struct {
		Model   string `json:"model"`
		Choices []struct {
			Stop string `json:"stop_reason"`
		} `json:"choices"`
	} `json:"output"`
	Error struct {
		Message string `json:"message"`
	} `json:"error"`
	Limit struct {
		Type string `json:"type"`
	} `json:"limit"`
	UUID string `json:"uuid"`
}

// event is an event of a sample, as far as it adds to the messages.
type event struct {
	Event     string          `json:"event"`
	Timestamp chat.Scalar     `json:"timestamp"`
	Completed chat.Scalar     `json:"completed"`
	Type      string          `json:"type"`
	Action    string          `json:"action"`
	SpanID    string          `json:"span_id"`
	ID        string          `json:"id"`
	Parent    string          `json:"parent_id"`
	Model     string          `json:"model"`
	Tools     json.RawMessage `json:"tools"`
	Output    struct {
		Model   string `json:"model"`
		Choices []struct {
			Message chat.Message `json:"message"`
		} `json:"choices"`
		Usage *chat.Usage `json:"usage"`
	} `json:"output"`
	Events []json.RawMessage `json:"events"`
}

// reference matches a text that stands for an attachment.
var reference = regexp.MustCompile(`"(?:attachment|tc)://([0-9a-zA-Z_-]{8,128})"`)

// resolve puts the attachments of a sample back where they were.
func resolve(raw []byte) []byte {
	if !bytes.Contains(raw, []byte(`"attachment://`)) && !bytes.Contains(raw, []byte(`"tc://`)) {
		return raw
	}
	var s sample
	if recording.Decode(raw, &s) != nil {
		return raw
	}
	kept := 0
	return reference.ReplaceAllFunc(raw, func(m []byte) []byte {
		key := reference.FindSubmatch(m)[1]
		text, ok := s.Attachments[string(key)]
		if !ok {
			text, ok = s.Transcript.Content[string(key)]
		}
		if kept += len(text); !ok || kept > recording.MaxRecord {
			return m
		}
		quoted, err := json.Marshal(text)
		if err != nil { // a text always encodes
			return m
		}
		return quoted
	})
}

// sample hands one sample to the recorder.
func (f *file) sample(raw []byte, index int, cut bool) error {
	var s sample
	if err := recording.Decode(resolve(raw), &s); err != nil {
		return err
	}
	if s.ID == "" && s.Messages == nil {
		f.rec.Unknown("element that is no sample")
		return nil
	}
	epoch := chat.First(s.Epoch.String(), "1")
	head := trace.Session{Source: Name, Agent: chat.First(string(f.log.Eval.Model), s.Output.Model), Label: s.label(), System: chat.System(s.Messages),
		Attrs: map[string]any{"index": index, "id": f.rec.Short(string(s.ID), 200) + "/" + epoch}}
	run := chat.First(f.log.Eval.Eval, f.log.Eval.RunID, string(f.log.Eval.Made))
	head.ID = fmt.Sprintf("inspect-%s-%s-%s-%s", f.rec.Short(f.log.Eval.Task, 40), recording.SafeID(f.rec.Mask(string(s.ID))), epoch, run[:min(len(run), 8)])
	for k, v := range map[string]string{"task": f.log.Eval.Task, "status": f.log.Status, "limit": s.Limit.Type, "uuid": s.UUID, "error": s.Error.Message} {
		if v != "" {
			head.Attrs[k] = f.rec.Short(v, 500)
		}
	}
	if cut {
		head.Attrs["cut"] = true
	}
	ev := readEvents(append(s.Events, s.Transcript.Events...))
	head.Tools = ev.tools
	if err := f.rec.Begin(head); err != nil {
		return err
	}
	feed := chat.NewFeed(f.rec)
	asked := false
	for i := range s.Messages {
		asked = asked || s.Messages[i].Role == "user"
	}
	if !asked && len(s.Messages) > 0 {
		if err := feed.Input(inputText(s.Input), time.Time{}); err != nil {
			return err
		}
	}
	for i := range s.Messages {
		m := &s.Messages[i]
		var base trace.Span
		if m.Role == "assistant" {
			base = ev.step(m)
		}
		if m.Role == "tool" && m.ToolCallID != nil {
			m.Timestamp = ev.completed[string(*m.ToolCallID)]
		}
		if err := feed.Step(m, base); err != nil {
			return err
		}
	}
	if len(s.Messages) > 0 {
		t := feed.Turn()
		if len(s.Output.Choices) > 0 {
			t.StopReason = s.Output.Choices[0].Stop
		}
		if s.Error.Message != "" {
			t.StopReason = "error"
			feed.Conversation.Add(trace.Span{Kind: trace.CHAIN, Name: "error", Output: s.Error.Message, Error: f.rec.ErrorLine(s.Error.Message, "the sample failed")})
		}
	}
	if err := feed.End(); err != nil {
		return err
	}
	return f.rec.End()
}

// inputText is the input of a sample as text: a text, or the last of its messages.
func inputText(raw json.RawMessage) string {
	var msgs []chat.Message
	if len(raw) > 0 && raw[0] == '[' && recording.Decode(raw, &msgs) == nil {
		for i := len(msgs) - 1; i >= 0; i-- {
			if msgs[i].Role == "user" {
				return msgs[i].Content.Text
			}
		}
		return ""
	}
	return chat.Text(raw)
}

// label reads the first score.
func (s *sample) label() string {
	raw := s.Score
	if len(s.Scores) > 0 && s.Scores[0] == '{' {
		sc := recording.NewScanner(bytes.NewReader(s.Scores))
		first := true
		_ = sc.Members(func(string) error { // valid JSON
			val, _, err := sc.Value(1 << 20)
			if err == nil && first {
				raw, first = val, false
			}
			return err
		})
	}
	var score struct {
		Value json.RawMessage `json:"value"`
	}
	if len(raw) == 0 || recording.Decode(raw, &score) != nil {
		return ""
	}
	switch v := string(score.Value); v {
	case `"C"`, "true":
		return "success"
	case `"I"`, `"N"`, "false":
		return "failure"
	case `"P"`:
		return "partial"
	default:
		n, err := strconv.ParseFloat(v, 64)
		switch {
		case err != nil:
			return ""
		case n == 1:
			return "success"
		case n == 0:
			return "failure"
		}
		return "partial"
	}
}

// events is what the events of a sample know beyond its messages.
type events struct {
	tools     []trace.Tool
	models    []event
	used      []bool
	completed map[string]chat.Scalar // end of a call by its id
}

// maxNested bounds the nesting of events in events.
const maxNested = 20

func readEvents(raws []json.RawMessage) *events {
	e := &events{completed: map[string]chat.Scalar{}}
	e.read(raws, 0)
	e.used = make([]bool, len(e.models))
	return e
}

func (e *events) read(raws []json.RawMessage, depth int) {
	scorer := 0                  // old logs: inside a scorer's step
	scoring := map[string]bool{} // spans of scorers
	for _, raw := range raws {
		var x event
		if recording.Decode(raw, &x) != nil {
			continue
		}
		switch x.Event {
		case "step":
			if x.Type == "scorer" {
				scorer += map[string]int{"begin": 1, "end": -1}[x.Action]
			}
		case "span_begin":
			if x.Type == "scorer" || x.Type == "scorers" || scoring[x.Parent] {
				scoring[x.ID] = true
			}
		case "model":
			if scorer > 0 || scoring[x.SpanID] {
				continue
			}
			if e.tools == nil {
				e.tools = chat.Tools(x.Tools)
			}
			e.models = append(e.models, x)
		case "tool":
			if x.ID != "" && x.Completed != "" {
				e.completed[x.ID] = x.Completed
			}
			if depth < maxNested {
				e.read(x.Events, depth+1)
			}
		}
	}
}

// step finds the model event whose answer a message is: by its id, else by what it says.
func (e *events) step(m *chat.Message) trace.Span {
	found := -1
	for i := range e.models {
		if e.used[i] || len(e.models[i].Output.Choices) == 0 {
			continue
		}
		out := &e.models[i].Output.Choices[0].Message
		if out.ID != "" && m.ID != "" {
			if out.ID == m.ID {
				found = i
				break
			}
			continue
		}
		if out.Content.Text == m.Content.Text && len(out.Calls) == len(m.Calls) {
			found = i
			break
		}
	}
	if found < 0 {
		return trace.Span{Name: m.Model}
	}
	e.used[found] = true
	x := &e.models[found]
	s := trace.Span{Name: chat.First(x.Output.Model, x.Model), Start: chat.Time(string(x.Timestamp)), End: chat.Time(string(x.Completed)), Usage: x.Output.Usage.Trace()}
	if s.End.Before(s.Start) {
		s.End = s.Start
	}
	return s
}
