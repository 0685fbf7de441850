// Package agentdojo reads runs in the style of AgentDojo (arXiv 2406.13352): one
// document per run, or one per line, with the messages of a chat and the verdict of
// the benchmark.
//
// The user's prompt is the one turn; an assistant message is a step, its tool_calls
// are calls, a tool message with an error is a failed one. The verdict on utility is
// the label of the session; that on security and the rest stay in the head. Tool
// results of these runs hold planted instructions on purpose: they are data.
package agentdojo

import (
	"encoding/json"
	"io"
	"strings"

	"vise/engine/trace"
	"vise/replay/format/chat"
	"vise/replay/format/recording"
)

// Name of the format.
const Name = "agentdojo"

type document struct {
	Run        chat.Scalar     `json:"run_id"`
	Suite      chat.Scalar     `json:"suite_name"`
	Domain     chat.Scalar     `json:"domain"`
	Task       chat.Scalar     `json:"task_id"`
	Condition  chat.Scalar     `json:"condition"`
	Seed       chat.Scalar     `json:"seed"`
	Model      string          `json:"model"`
	System     string          `json:"system_prompt"`
	Prompt     string          `json:"user_prompt"`
	Tools      json.RawMessage `json:"available_tools"`
	Messages   []chat.Message  `json:"messages"`
	Answer     string          `json:"final_answer"`
	Error      chat.Scalar     `json:"error"`
	Duration   *json.Number    `json:"duration"` // seconds
	Evaluation struct {
		Utility  *bool           `json:"utility"`
		Security *bool           `json:"security"`
		Outcome  chat.Scalar     `json:"outcome"`
		Notes    json.RawMessage `json:"notes"` // a list of texts
	} `json:"evaluation"`
}

// Read reads one document, or many.
func Read(r io.ReadSeeker, path string, rec *recording.Recorder) error {
	return recording.Values(r, rec, func(v recording.Value) error {
		var d document
		if err := recording.Decode(v.Data, &d); err != nil {
			return err
		}
		if d.Messages == nil && d.Prompt == "" {
			rec.Unknown("record without messages")
			return nil
		}
		return write(&d, v, path, rec)
	})
}

func write(d *document, v recording.Value, path string, rec *recording.Recorder) error {
	head := trace.Session{ID: chat.First(string(d.Run), recording.Stem(path)), Source: Name, System: chat.First(d.System, chat.System(d.Messages)),
		Tools: chat.Tools(d.Tools), Attrs: map[string]any{}}
	if u := d.Evaluation.Utility; u != nil {
		if head.Label = "failure"; *u {
			head.Label = "success"
		}
	}
	if s := d.Evaluation.Security; s != nil {
		head.Attrs["security"] = *s
	}
	if d.Duration != nil {
		head.Attrs["seconds"] = *d.Duration
	}
	for k, s := range map[string]chat.Scalar{"suite": d.Suite, "domain": d.Domain, "task_id": d.Task, "condition": d.Condition, "seed": d.Seed,
		"outcome": d.Evaluation.Outcome, "notes": chat.Scalar(chat.Text(d.Evaluation.Notes)), "error": d.Error} {
		if s != "" {
			head.Attrs[k] = rec.Short(string(s), 1000)
		}
	}
	if v.Cut {
		head.Attrs["cut"] = true
	}
	if err := rec.Begin(head); err != nil {
		return err
	}
	feed := chat.NewFeed(rec)
	if !hasUser(d.Messages) && d.Prompt != "" {
		if err := feed.Add(&chat.Message{Role: "user", Content: chat.Content{Text: d.Prompt, Set: true}}); err != nil {
			return err
		}
	}
	for i := range d.Messages {
		m := &d.Messages[i]
		if m.Model == "" {
			m.Model = d.Model
		}
		if err := feed.Add(m); err != nil {
			return err
		}
	}
	if len(d.Messages) == 0 && strings.TrimSpace(d.Answer) != "" {
		if err := feed.Add(&chat.Message{Role: "assistant", Model: d.Model, Content: chat.Content{Text: d.Answer, Set: true}}); err != nil {
			return err
		}
	}
	if err := feed.End(); err != nil {
		return err
	}
	return rec.End()
}

func hasUser(msgs []chat.Message) bool {
	for i := range msgs {
		if msgs[i].Role == "user" {
			return true
		}
	}
	return false
}
