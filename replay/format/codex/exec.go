package codex

import (
	"encoding/json"
	"fmt"
	"time"

	"vise/engine/trace"
	"vise/replay/format/chat"
	"vise/replay/format/recording"
)

// thread item of an exec log. item.started and item.completed share the id.
type threadItem struct {
	ID        string          `json:"id"`
	Type      string          `json:"type"`
	Text      chat.Scalar     `json:"text"`
	Message   chat.Scalar     `json:"message"`
	Status    string          `json:"status"`
	Command   chat.Scalar     `json:"command"`
	Output    string          `json:"aggregated_output"`
	ExitCode  *json.Number    `json:"exit_code"`
	Changes   json.RawMessage `json:"changes"`
	Server    string          `json:"server"`
	Tool      string          `json:"tool"`
	Arguments json.RawMessage `json:"arguments"`
	Result    json.RawMessage `json:"result"`
	Error     chat.Fault      `json:"error"`
	Query     chat.Scalar     `json:"query"`
	Items     json.RawMessage `json:"items"`
}

// exec takes a record of an exec log. It has no clock and no text of the user: a
// turn has an empty input.
func (s *session) exec(r *line, l recording.Record) error {
	if r.ThreadID != "" && s.meta.ID == "" {
		s.meta.ID = r.ThreadID
	}
	if err := s.open(time.Time{}); err != nil {
		return err
	}
	switch r.Type {
	case "thread.started":
		return nil
	case "turn.started":
		// The ids of items begin anew with every process, so with every resumed turn.
		s.begun++
		clear(s.threads)
		s.items.Stop()
		return s.items.Input("", time.Time{})
	case "turn.completed":
		s.items.Turn().Usage = r.Usage.Trace()
		return nil
	case "turn.failed", "error":
		if r.Type == "turn.failed" {
			s.items.Turn().StopReason = "error"
		}
		span := kept(r.Type, l, time.Time{})
		span.Output = chat.First(r.Error.Message, string(r.Message))
		span.Error = s.rec.ErrorLine(span.Output, "an error without a message")
		s.items.Add(span)
		return nil
	}
	var i threadItem
	if len(r.Item) == 0 || recording.Decode(r.Item, &i) != nil || i.Type == "" {
		s.unknown(r.Type, l, time.Time{})
		return nil
	}
	s.threadItem(&i, r.Type == "item.completed", l)
	return nil
}

func (s *session) threadItem(i *threadItem, done bool, l recording.Record) {
	call := trace.Span{ID: i.ID, Name: i.Type}
	result := recording.Result{Attrs: map[string]any{}}
	switch i.Type {
	case "reasoning", "agent_message", "assistant_message":
		if !done {
			return // the completed item says it all
		}
		sp := s.items.Step(trace.Span{ID: i.ID, Name: s.model}).Span()
		if i.Type == "reasoning" {
			sp.Thought = chat.Join(sp.Thought, string(i.Text))
		} else {
			sp.Output = chat.Join(sp.Output, string(i.Text))
		}
		return
	case "command_execution":
		call.Input, result.Output = string(i.Command), i.Output
		if i.ExitCode != nil {
			result.Attrs["exit_code"] = *i.ExitCode
			result.Failed = i.ExitCode.String() != "0"
		}
	case "file_change":
		call.Input = chat.Text(i.Changes)
	case "mcp_tool_call":
		call.Name, call.Input, result.Output = join2(i.Server, i.Tool), chat.Arguments(i.Arguments), chat.Text(i.Result)
	case "web_search":
		call.Input = string(i.Query)
	case "todo_list":
		call.Input = chat.Text(i.Items)
	case "error":
		if done {
			span := kept("error", l, time.Time{})
			span.Output = string(i.Message)
			span.Error = s.rec.ErrorLine(span.Output, "an error without a message")
			s.items.Add(span)
		}
		return
	default:
		s.unknown("item "+i.Type, l, time.Time{})
		return
	}
	if s.threads == nil {
		s.threads = map[string]bool{}
	}
	key := fmt.Sprintf("%d/%s", s.begun, i.ID)
	if !s.threads[i.ID] {
		if len(s.threads) > 100_000 {
			clear(s.threads)
		}
		s.threads[i.ID] = true
		s.items.Step(trace.Span{Name: s.model})
		s.items.Call(key, call)
	}
	if !done {
		return
	}
	if i.Status == "failed" || i.Error.Set {
		result.Failed, result.Error = true, i.Error.Message
	}
	s.items.Stop()
	s.items.Answer(key, result)
}

func join2(server, tool string) string {
	if server == "" {
		return tool
	}
	return server + "." + tool
}
