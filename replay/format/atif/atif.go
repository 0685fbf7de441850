// Package atif reads trajectories of the Agent Trajectory Interchange Format of
// Harbor (schema_version "ATIF-v1.x") and Harbor's export of conversations for
// fine-tuning (an array with an element per episode).
//
// A user step is a turn, an agent step a step of the model with its calls. Results
// join calls by their source_call_id, else by position where the numbers agree,
// else they stay with the step. An observation without calls is feedback of the
// program. A system step that names other trajectories is an AGENT span per one:
// those have files of their own, or stand inline and become sessions after this
// one. Steps copied from an earlier file are no new turns and steps. The format has
// no error flag.
package atif

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"vise/engine/trace"
	"vise/replay/format/chat"
	"vise/replay/format/recording"
)

// Names of the two formats.
const (
	Name    = "atif"
	NameSFT = "harbor-sft"
)

type document struct {
	Version    string      `json:"schema_version"`
	Session    chat.Scalar `json:"session_id"`
	Trajectory chat.Scalar `json:"trajectory_id"`
	Agent      struct {
		Name    string          `json:"name"`
		Version string          `json:"version"`
		Model   string          `json:"model_name"`
		Tools   json.RawMessage `json:"tool_definitions"`
	} `json:"agent"`
	Steps     []step            `json:"steps"`
	Next      chat.Scalar       `json:"continued_trajectory_ref"`
	Notes     chat.Scalar       `json:"notes"`
	Subagents []json.RawMessage `json:"subagent_trajectories"`
}

type step struct {
	ID        json.Number  `json:"step_id"`
	Timestamp chat.Scalar  `json:"timestamp"`
	Source    string       `json:"source"`
	Message   chat.Content `json:"message"`
	Reasoning chat.Content `json:"reasoning_content"`
	Model     string       `json:"model_name"`
	Calls     []struct {
		ID        chat.Scalar     `json:"tool_call_id"`
		Name      string          `json:"function_name"`
		Arguments json.RawMessage `json:"arguments"`
	} `json:"tool_calls"`
	Observation struct {
		Results []struct {
			Call    chat.Scalar  `json:"source_call_id"`
			Content chat.Content `json:"content"`
			Refs    []struct {
				Session chat.Scalar `json:"session_id"`
				ID      chat.Scalar `json:"trajectory_id"`
				Path    chat.Scalar `json:"trajectory_path"`
			} `json:"subagent_trajectory_ref"`
		} `json:"results"`
	} `json:"observation"`
	Metrics *struct {
		Prompt     int64    `json:"prompt_tokens"`
		Completion int64    `json:"completion_tokens"`
		Cached     int64    `json:"cached_tokens"`
		Cost       *float64 `json:"cost_usd"`
	} `json:"metrics"`
	Copied   bool         `json:"is_copied_context"`
	LLMCalls *json.Number `json:"llm_call_count"`
}

// maxInline bounds the nesting of inline trajectories.
const maxInline = 20

// Read reads a trajectory.
func Read(r io.ReadSeeker, path string, rec *recording.Recorder) error {
	return recording.Values(r, rec, func(v recording.Value) error {
		return write(v.Data, recording.Stem(path), v.Cut, "", 0, rec)
	})
}

func write(raw []byte, stem string, cut bool, parent string, depth int, rec *recording.Recorder) error {
	var d document
	if err := recording.Decode(raw, &d); err != nil {
		return err
	}
	if d.Steps == nil {
		rec.Unknown("document without steps")
		return nil
	}
	head := trace.Session{Source: Name, Agent: strings.TrimSpace(d.Agent.Name + " " + d.Agent.Version), Tools: chat.Tools(d.Agent.Tools), Attrs: map[string]any{"schema": rec.Short(d.Version, 40)}}
	head.ID = chat.First(string(d.Trajectory), string(d.Session), stem)
	for k, s := range map[string]string{"session_id": string(d.Session), "model": d.Agent.Model, "continued_in": string(d.Next), "notes": string(d.Notes), "launched_by": parent} {
		if s != "" {
			head.Attrs[k] = rec.Short(s, 1000)
		}
	}
	if cut {
		head.Attrs["cut"] = true
	}
	for _, s := range d.Steps {
		if s.Source == "system" && len(s.Observation.Results) == 0 {
			head.System = s.Message.Text
			break
		}
		if s.Source != "system" {
			break
		}
	}
	if err := rec.Begin(head); err != nil {
		return err
	}
	conv := recording.NewConversation(rec)
	for i := range d.Steps {
		if err := add(rec, conv, &d.Steps[i], i, &d, head.System); err != nil {
			return err
		}
	}
	if err := conv.End(); err != nil {
		return err
	}
	id := rec.Head().ID
	if err := rec.End(); err != nil {
		return err
	}
	for _, sub := range d.Subagents {
		if depth == maxInline {
			rec.Note("trajectories nested deeper than %d are left out", maxInline)
			break
		}
		if err := write(sub, id+"-sub", cut, id, depth+1, rec); err != nil {
			return err
		}
	}
	return nil
}

// add takes one step.
func add(rec *recording.Recorder, conv *recording.Conversation, s *step, i int, d *document, system string) error {
	at := chat.Time(string(s.Timestamp))
	id := "step" + chat.First(s.ID.String(), fmt.Sprint(i+1))
	text := s.Message.Text
	plain := trace.Span{ID: id, Kind: trace.CHAIN, Name: s.Source, Output: text, Start: at, End: at}
	switch {
	case s.Copied:
		plain.Name = "copied_context"
		conv.Add(plain)
		return nil
	case s.Source == "user":
		return conv.Input(text, at)
	case s.Source == "agent":
		span := trace.Span{ID: id, Name: chat.First(s.Model, d.Agent.Model), Output: text, Thought: chat.Join(s.Message.Thought, s.Reasoning.Text, s.Reasoning.Thought), Start: at, End: at}
		if m := s.Metrics; m != nil {
			span.Usage = trace.Usage{Input: m.Prompt, Output: m.Completion, Cached: m.Cached, CostUSD: m.Cost}
		}
		if s.LLMCalls != nil && s.LLMCalls.String() == "0" { // written by the program
			plain.Name = "agent"
			conv.Add(plain)
		} else {
			conv.Step(span)
		}
	case s.Source == "system":
		if text == system && system != "" {
			break
		}
		conv.Add(plain)
	default:
		conv.Add(plain)
	}
	keys := make([]string, len(s.Calls))
	for k, c := range s.Calls {
		if keys[k] = string(c.ID); keys[k] == "" {
			keys[k] = fmt.Sprintf("%s.c%d", id, k)
		}
		conv.Call(keys[k], trace.Span{Name: c.Name, Input: chat.Arguments(c.Arguments), Start: at, End: at})
	}
	byPosition := len(s.Observation.Results) == len(s.Calls)
	for k, r := range s.Observation.Results {
		key := string(r.Call)
		if key == "" && byPosition {
			key = keys[k]
		}
		for _, ref := range r.Refs {
			conv.Add(trace.Span{Kind: trace.AGENT, Name: chat.First(string(ref.Session), string(ref.ID), "sub-agent"), Parent: id, Start: at, End: at,
				Attrs: map[string]any{"trajectory": rec.Short(chat.First(string(ref.Path), string(ref.ID)), 300)}})
		}
		switch {
		case key != "" && conv.Waits(key):
			conv.Answer(key, recording.Result{Output: r.Content.Text, At: at})
		case r.Content.Text != "":
			conv.Add(trace.Span{Kind: trace.CHAIN, Name: "feedback", Parent: id, Output: r.Content.Text, Start: at, End: at})
		}
	}
	return nil
}
