package export

import (
	"fmt"
	"strings"
	"time"

	otlp "go.opentelemetry.io/proto/otlp/trace/v1"

	"vise/engine/episode"
	"vise/engine/trace"
	"vise/store"
)

// repairTrace is the trace of one run of the repair agent, in the shape of the
// PandaProbe harness: a CHAIN span "harness" with AGENT spans, in turn "repair-agent"
// around one model call and "tools" around the calls that it asked for. Its session is
// that of the repair agent, never the task's, and its service another one: nobody who
// reads the traces of an agent takes a repair for its work.
func (x *Exporter) repairTrace(tx *store.Tx, s subject) ([]byte, error) {
	ep, ok, err := tx.Episode(s.episode)
	if err != nil || !ok {
		return nil, err
	}
	all, err := tx.Steps(s.episode)
	if err != nil {
		return nil, err
	}
	var steps []episode.Step
	for _, st := range all {
		if st.Attempt == s.attempt && !st.Kept {
			steps = append(steps, st)
		}
	}
	start, end := runTimes(ep, steps)
	if start.IsZero() {
		return nil, nil // it ended before its first question
	}
	session := ep.RepairSession()
	b := newBuilder(x.o.Redactor, fmt.Sprintf("%s attempt %d", session, s.attempt))
	root := b.span("", "harness", nil, trace.CHAIN, start, end)
	b.label(root, "gen_ai.conversation.id", session)
	b.label(root, "session.id", session)
	b.label(root, "vise.episode_id", ep.ID)
	b.link(root, ep.Link())
	b.label(root, "vise.task_session_id", ep.SessionID)
	if ep.Fork != nil {
		b.label(root, "vise.fork_of", ep.Fork.Of)
	}
	b.number(root, "vise.turn_index", int64(ep.TurnIndex))
	b.number(root, "vise.attempt", int64(s.attempt))
	b.label(root, "vise.notice_ids", strings.Join(ep.NoticeIDs, " "))
	if r := ep.Result; r != nil && ep.Attempts == s.attempt {
		b.label(root, "vise.status", string(r.Status))
		b.label(root, "vise.candidate_rule_ids", strings.Join(r.CandidateRuleIDs, " "))
		b.usage(root, r.Usage)
		if !r.Status.Success() {
			b.fail(root, r.ErrorCategory, r.Error)
		}
	}
	for i, st := range steps {
		until := end
		if i+1 < len(steps) {
			until = steps[i+1].Started
		}
		b.repairStep(root, st, ep, until)
	}
	return b.encode("vise-repair", x.o.Version)
}

// runTimes are the bounds of a run.
func runTimes(ep episode.Episode, steps []episode.Step) (start, end time.Time) {
	if len(steps) > 0 {
		start, end = steps[0].Started, steps[len(steps)-1].Ended
	}
	if r := ep.Result; r != nil {
		if start.IsZero() {
			start = r.Started
		}
		if r.Ended.After(end) {
			end = r.Ended
		}
	}
	return start, end
}

// repairStep adds the model call of a step and the tool calls that followed it, which
// ended at the latest when the next step began.
func (b *builder) repairStep(root *otlp.Span, st episode.Step, ep episode.Episode, until time.Time) {
	key := fmt.Sprint("step ", st.Turn)
	agent := b.span(key, "repair-agent", root, trace.AGENT, st.Started, st.Ended)
	if agent == nil {
		return
	}
	b.label(agent, "gen_ai.operation.name", "invoke_agent")
	b.label(agent, "gen_ai.agent.name", "repair-agent")
	model := ""
	if ep.Result != nil {
		model = ep.Result.Model
	}
	if llm := b.span(key+" model", strings.TrimSpace("chat "+model), agent, trace.LLM, st.Started, st.Ended); llm != nil {
		llm.Kind = otlp.Span_SPAN_KIND_CLIENT
		b.label(llm, "gen_ai.operation.name", "chat")
		b.label(llm, "gen_ai.request.model", model)
		b.label(llm, "gen_ai.response.finish_reasons", st.Finish)
		b.messages(llm, "gen_ai.input.messages", asked(st))
		b.messages(llm, "gen_ai.output.messages", answered(st))
		b.content(llm, "vise.reasoning", st.Reasoning)
		b.usage(llm, st.Usage)
		if st.Error != "" {
			b.fail(llm, "error", st.Error)
		}
	}
	ran := 0
	for _, c := range st.Calls {
		if c.Ran {
			ran++
		}
	}
	if ran == 0 {
		return
	}
	tools := b.span(key+" tools", "tools", root, trace.AGENT, st.Ended, until)
	b.label(tools, "gen_ai.agent.name", "tools")
	for i, c := range st.Calls {
		if !c.Ran || tools == nil {
			continue
		}
		tool := b.span(fmt.Sprint(key, " call ", i), "execute_tool "+c.Name, tools, trace.TOOL, st.Ended, until)
		b.label(tool, "gen_ai.operation.name", "execute_tool")
		b.label(tool, "gen_ai.tool.name", c.Name)
		b.label(tool, "gen_ai.tool.call.id", c.ID)
		b.content(tool, "gen_ai.tool.call.arguments", c.Arguments)
		b.content(tool, "gen_ai.tool.call.result", string(c.Result))
		if !c.OK {
			b.fail(tool, "refused", string(c.Result))
		}
	}
}

// asked are the messages that were new in a step.
func asked(st episode.Step) (list []message) {
	for _, m := range st.Messages {
		p := part{Type: "text", Content: m.Content}
		if m.ToolCallID != "" {
			p = part{Type: "tool_call_response", ID: m.ToolCallID, Response: m.Content}
		}
		list = append(list, message{Role: m.Role, Parts: []part{p}})
	}
	return list
}

// answered is what the model said in a step.
func answered(st episode.Step) []message {
	list := said("assistant", st.Text)
	for _, c := range st.Calls {
		if len(list) == 0 {
			list = []message{{Role: "assistant"}}
		}
		list[0].Parts = append(list[0].Parts, part{Type: "tool_call", ID: c.ID, Name: c.Name, Arguments: c.Arguments})
	}
	return list
}
