package codex

import (
	"encoding/json"
	"strings"
	"time"

	"vise/replay/format/chat"
	"vise/replay/format/recording"
)

// event is the payload of an event_msg record.
type event struct {
	Type    string      `json:"type"`
	Message chat.Scalar `json:"message"`
	Text    string      `json:"text"`
	Reason  string      `json:"reason"`
	CallID  string      `json:"call_id"`
	Info    *struct {
		Last  *chat.Usage `json:"last_token_usage"`
		Total *chat.Usage `json:"total_token_usage"`
	} `json:"info"`
	ExitCode *json.Number `json:"exit_code"`
	Success  *bool        `json:"success"`
	Stdout   string       `json:"stdout"`
	Stderr   string       `json:"stderr"`
	Output   string       `json:"aggregated_output"`
	Result   struct {
		Err chat.Scalar `json:"Err"`
		OK  *struct {
			IsError bool `json:"isError"`
		} `json:"Ok"`
	} `json:"result"`
	Usage *chat.Usage `json:"usage"`
	Error chat.Fault  `json:"error"`
}

// Events that repeat an item or only frame the others; they are counted in a note.
var sideEvents = map[string]bool{
	"agent_reasoning": true, "agent_reasoning_delta": true, "agent_reasoning_section_break": true, "agent_message_delta": true, "agent_reasoning_raw_content": true,
	"task_started": true, "task_complete": true, "turn_started": true, "turn_complete": true, "turn.completed": true, "token_count": true,
	"exec_command_begin": true, "exec_command_output_delta": true, "mcp_tool_call_begin": true, "patch_apply_begin": true, "web_search_begin": true, "web_search_end": true,
	"thread_settings_applied": true, "session_configured": true, "item_started": true, "item_completed": true, "turn_diff": true, "plan_update": true,
	"exec_command_end": true, "mcp_tool_call_end": true, "patch_apply_end": true, "user_message": true, "agent_message": true, "thread_name_updated": true,
}

func (s *session) event(raw []byte, l recording.Record, at time.Time) error {
	var e event
	if recording.Decode(raw, &e) != nil {
		return nil
	}
	switch e.Type {
	case "user_message":
		return s.userEvent(string(e.Message), at)
	case "agent_message":
		if last := s.items.Last(); last == nil || !strings.Contains(last.Output, string(e.Message)) {
			if len(s.said) < 100 && e.Message != "" {
				s.said = append(s.said, string(e.Message))
			}
		}
	case "token_count":
		if last := s.items.Last(); last != nil && e.Info != nil && e.Info.Last != nil {
			last.Usage = e.Info.Last.Trace() // repeats: the last one counts
		}
	case "turn.completed":
		if u := e.Usage.Trace(); !u.IsZero() {
			t := s.items.Turn()
			t.Usage = u // of the whole turn; versions that write it count no step
		}
	case "turn_aborted":
		s.items.Turn().StopReason = "cancelled"
		s.unsaid(at)
		span := kept("turn_aborted", l, at)
		span.Output = s.rec.Short(e.Reason, 500)
		s.items.Add(span)
		return nil
	case "error", "stream_error", "warning":
		span := kept(e.Type, l, at)
		span.Output = string(e.Message)
		if e.Type == "error" {
			span.Error = s.rec.ErrorLine(string(e.Message), "an error without a message")
		}
		s.items.Add(span)
		return nil
	case "exec_command_end", "mcp_tool_call_end", "patch_apply_end":
		s.ended(&e, at)
	case "context_compacted", "entered_review_mode", "exited_review_mode":
		span := kept(e.Type, l, at)
		span.Output = s.rec.Opaque(raw)
		s.items.Add(span)
		return nil
	default:
		if !sideEvents[e.Type] {
			s.unknown("event "+e.Type, l, at)
			return nil
		}
	}
	s.aside["event "+e.Type]++
	return nil
}

// ended adds what an event knows about the end of a call and its output item does
// not: the exit code, a failure stated as a value.
func (s *session) ended(e *event, at time.Time) {
	if e.CallID == "" {
		return
	}
	failed, why := false, ""
	attrs := map[string]any{}
	if e.ExitCode != nil {
		attrs["exit_code"] = *e.ExitCode
		if failed = e.ExitCode.String() != "0"; failed {
			why = chat.First(e.Stderr, e.Output, e.Stdout, "exit code "+e.ExitCode.String())
		}
	}
	if e.Success != nil && !*e.Success {
		failed, why = true, chat.First(e.Stderr, e.Stdout, "the patch was not applied")
	}
	if e.Result.Err != "" || e.Result.OK != nil && e.Result.OK.IsError {
		failed, why = true, chat.First(string(e.Result.Err), "the tool reported an error")
	}
	s.items.Remark(e.CallID, attrs, failed, why, at)
}
