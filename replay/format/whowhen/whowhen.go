// Package whowhen reads the failure logs of Who&When (arXiv 2505.00212): one
// failed run of several agents per document, with the step and the agent that a
// person found decisive.
//
// The question is the one turn. Every entry of the history is one span with the id
// h<index>, so that the annotated step names a span: the code runner
// (Computer_terminal) is a call of the entry before it, a human a CHAIN span, every
// other speaker a step. A result of the runner is an error when it begins with its
// own "exitcode:" other than 0. The annotation stays in the head.
package whowhen

import (
	"encoding/json"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"time"

	"vise/engine/trace"
	"vise/replay/format/chat"
	"vise/replay/format/recording"
)

// Name of the format.
const Name = "who-and-when"

type document struct {
	Correct   *bool                  `json:"is_correct"`
	Corrected *bool                  `json:"is_corrected"`
	Question  string                 `json:"question"`
	ID        chat.Scalar            `json:"question_ID"`
	Level     chat.Scalar            `json:"level"`
	History   []entry                `json:"history"`
	Agent     string                 `json:"mistake_agent"`
	Step      chat.Scalar            `json:"mistake_step"` // index into the history
	Reason    string                 `json:"mistake_reason"`
	System    map[string]chat.Scalar `json:"system_prompt"`
}

type entry struct {
	Content chat.Content `json:"content"`
	Role    string       `json:"role"`
	Name    string       `json:"name"`
}

var (
	exit  = regexp.MustCompile(`^\s*exitcode: *(\d+)`)
	fence = regexp.MustCompile("(?s)```[a-zA-Z]*\\s*\\n(.*?)```")
)

// Read reads one document, or many.
func Read(r io.ReadSeeker, path string, rec *recording.Recorder) error {
	return recording.Values(r, rec, func(v recording.Value) error {
		var d document
		if err := recording.Decode(v.Data, &d); err != nil {
			return err
		}
		if d.History == nil {
			rec.Unknown("record without a history")
			return nil
		}
		return write(&d, v, path, rec)
	})
}

func write(d *document, v recording.Value, path string, rec *recording.Recorder) error {
	head := trace.Session{ID: recording.Stem(path), Source: Name, Label: "failure", Attrs: map[string]any{"question_id": rec.Short(string(d.ID), 200)}}
	if d.ID != "" {
		head.ID += "-" + string(d.ID)
	}
	if d.Correct != nil && *d.Correct || d.Corrected != nil && *d.Corrected {
		head.Label = "success"
	}
	for k, s := range map[string]string{"mistake_agent": d.Agent, "mistake_reason": d.Reason, "level": string(d.Level)} {
		if s != "" {
			head.Attrs[k] = rec.Short(s, 1000)
		}
	}
	if d.Step != "" {
		head.Attrs["mistake_step"] = rec.Short(string(d.Step), 20)
		head.Attrs["mistake_span"] = rec.Short("h"+string(d.Step), 20)
	}
	if v.Cut {
		head.Attrs["cut"] = true
	}
	agents := make([]string, 0, len(d.System))
	for a := range d.System {
		agents = append(agents, a)
	}
	slices.Sort(agents)
	var prompts []string
	for _, a := range agents {
		prompts = append(prompts, "["+a+"]\n"+string(d.System[a]))
	}
	head.System = strings.Join(prompts, "\n\n")
	if err := rec.Begin(head); err != nil {
		return err
	}
	conv := recording.NewConversation(rec)
	if err := conv.Input(d.Question, time.Time{}); err != nil {
		return err
	}
	for i, e := range d.History {
		speaker := chat.First(e.Name, e.Role)
		span := trace.Span{ID: fmt.Sprintf("h%d", i), Name: speaker, Output: e.Content.Text}
		switch strings.ToLower(speaker) {
		case "computer_terminal", "computerterminal":
			span.Output = ""
			if i > 0 {
				span.Input = code(d.History[i-1].Content.Text)
			}
			conv.Call(span.ID, span)
			r := recording.Result{Output: e.Content.Text}
			if m := exit.FindStringSubmatch(e.Content.Text); m != nil {
				r.Attrs = map[string]any{"exit_code": json.Number(strings.TrimLeft(m[1][:len(m[1])-1], "0") + m[1][len(m[1])-1:])}
				r.Failed = strings.Trim(m[1], "0") != ""
			}
			conv.Answer(span.ID, r)
		case "human", "user":
			span.Kind = trace.CHAIN
			conv.Add(span)
		default:
			conv.Step(span)
		}
	}
	if err := conv.End(); err != nil {
		return err
	}
	return rec.End()
}

// code is the argument object of a run of the code in a message.
func code(text string) string {
	var blocks []string
	for _, m := range fence.FindAllStringSubmatch(text, 20) {
		blocks = append(blocks, m[1])
	}
	if len(blocks) == 0 {
		return ""
	}
	raw, err := json.Marshal(map[string]string{"code": strings.Join(blocks, "\n")})
	if err != nil { // a text always encodes
		return ""
	}
	return string(raw)
}
