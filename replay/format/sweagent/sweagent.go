// Package sweagent reads the trajectories of SWE-agent and of mini-swe-agent: one
// JSON document, one run, one turn.
//
// SWE-agent lists steps with thought, action and observation: a step is an answer
// of the model and, unless its action is empty, a call whose name is the first
// word of the action. The history beside them gives the system prompt and the
// task; demonstrations in it are no part of the run.
//
// mini-swe-agent lists messages. Newer versions use tool calls, whose results
// carry the return code; older ones write the command as a fenced block and get
// the observation as the next user message. Only the first user message is an
// input: the others come from the program. An error is a return code other than
// 0. Neither format says whether the task was solved.
package sweagent

import (
	"encoding/json"
	"fmt"
	"io"
	"regexp"
	"strings"

	"vise/engine/trace"
	"vise/replay/format/chat"
	"vise/replay/format/recording"
)

// Names of the two formats.
const (
	Name     = "swe-agent"
	NameMini = "mini-swe-agent"
)

// document is either document.
type document struct {
	Environment string            `json:"environment"`
	Trajectory  []step            `json:"trajectory"`
	History     []json.RawMessage `json:"history"`
	Info        info              `json:"info"`
	Messages    []json.RawMessage `json:"messages"`
	Format      string            `json:"trajectory_format"`
	Instance    chat.Scalar       `json:"instance_id"`
}

type step struct {
	Action      string       `json:"action"`
	Observation chat.Scalar  `json:"observation"`
	Response    chat.Scalar  `json:"response"`
	Thought     string       `json:"thought"`
	Seconds     *json.Number `json:"execution_time"`
}

type info struct {
	Exit       chat.Scalar `json:"exit_status"`
	Submission string      `json:"submission"`
	Version    chat.Scalar `json:"mini_version"`
	Exception  string      `json:"exception_str"`
	Stats      struct {
		Cost     *float64 `json:"instance_cost"`
		Sent     int64    `json:"tokens_sent"`
		Received int64    `json:"tokens_received"`
	} `json:"model_stats"`
	Config struct {
		Model struct {
			Name string `json:"model_name"`
		} `json:"model"`
	} `json:"config"`
}

// message is a message of either history, with what mini-swe-agent keeps beside it.
type message struct {
	chat.Message
	Demo  bool `json:"is_demo"`
	Extra struct {
		Actions []struct {
			Command string      `json:"command"`
			CallID  chat.Scalar `json:"tool_call_id"`
		} `json:"actions"`
		Response struct {
			Model string      `json:"model"`
			Usage *chat.Usage `json:"usage"`
		} `json:"response"`
		Cost       *float64     `json:"cost"`
		Timestamp  chat.Scalar  `json:"timestamp"`
		ReturnCode *json.Number `json:"returncode"`
		Exit       chat.Scalar  `json:"exit_status"`
	} `json:"extra"`
}

// Read reads a trajectory.
func Read(r io.Reader, path string, rec *recording.Recorder) error {
	return recording.Document(r, rec, func(v recording.Value) error {
		var d document
		if v.Data[0] == '[' {
			if err := recording.Decode(v.Data, &d.Messages); err != nil {
				return err
			}
		} else if err := recording.Decode(v.Data, &d); err != nil {
			return err
		}
		head := trace.Session{ID: recording.Stem(path), Attrs: map[string]any{}}
		if v.Cut {
			head.Attrs["cut"] = true
		}
		for k, s := range map[string]string{"exit_status": string(d.Info.Exit), "submission": d.Info.Submission, "instance": string(d.Instance),
			"environment": d.Environment, "exception": d.Info.Exception} {
			if s != "" {
				head.Attrs[k] = rec.Short(s, 2000)
			}
		}
		if d.Messages != nil {
			return mini(&d, head, rec)
		}
		if d.Trajectory == nil && d.History == nil {
			rec.Unknown("document without steps")
			return nil
		}
		return swe(&d, head, rec)
	})
}

// history decodes the messages of a run, without demonstrations.
func history(raws []json.RawMessage) (msgs []message, plain []chat.Message) {
	for _, raw := range raws {
		var m message
		if recording.Decode(raw, &m) == nil && m.Role != "" && !m.Demo {
			msgs, plain = append(msgs, m), append(plain, m.Message)
		}
	}
	return msgs, plain
}

// swe writes a run of SWE-agent.
func swe(d *document, head trace.Session, rec *recording.Recorder) error {
	msgs, plain := history(d.History)
	head.Source, head.Agent, head.System = Name, Name, chat.System(plain)
	task := ""
	for _, m := range msgs {
		if m.Role == "user" {
			task = m.Content.Text
			break
		}
	}
	if err := rec.Begin(head); err != nil {
		return err
	}
	feed := chat.NewFeed(rec)
	if err := feed.Input(task, chat.Time("")); err != nil {
		return err
	}
	for i, s := range d.Trajectory {
		text := s.Thought
		if text == "" {
			text = string(s.Response)
		}
		feed.Conversation.Step(trace.Span{ID: fmt.Sprintf("step%d", i), Output: text})
		if words := strings.Fields(s.Action); len(words) > 0 {
			result := recording.Result{Output: string(s.Observation)}
			if s.Seconds != nil {
				result.Attrs = map[string]any{"seconds": *s.Seconds}
			}
			key := fmt.Sprintf("action%d", i)
			feed.Call(key, trace.Span{Name: words[0], Input: command(s.Action)})
			feed.Answer(key, result)
		}
	}
	if len(d.Trajectory) == 0 { // the run ended before its first step was written: its messages are left
		for i := range msgs {
			if msgs[i].Role == "assistant" || msgs[i].Role == "tool" {
				if err := feed.Add(&msgs[i].Message); err != nil {
					return err
				}
			}
		}
	}
	u := trace.Usage{Input: d.Info.Stats.Sent, Output: d.Info.Stats.Received, CostUSD: d.Info.Stats.Cost}
	if u.Input > 0 { // versions that replay write zeros: nothing was counted
		feed.Turn().Usage = u
	}
	feed.Turn().StopReason = string(d.Info.Exit)
	if err := feed.End(); err != nil {
		return err
	}
	return rec.End()
}

// command is the argument object of a shell command.
func command(s string) string {
	raw, err := json.Marshal(map[string]string{"command": s})
	if err != nil { // a text always encodes
		return s
	}
	return string(raw)
}

// fence matches the block that holds the command of a text action.
var fence = regexp.MustCompile("(?s)```(?:bash|mswea_bash_command|sh)?\\s*\\n(.*?)```")

// failed matches the return code that the program itself writes in front of an observation.
var failed = regexp.MustCompile(`^\s*<returncode>\s*-?[1-9]`)

// mini writes a run of mini-swe-agent.
func mini(d *document, head trace.Session, rec *recording.Recorder) error {
	msgs, plain := history(d.Messages)
	head.Source, head.System = NameMini, chat.System(plain)
	head.Agent = strings.TrimSpace(NameMini + " " + string(d.Info.Version))
	head.Tools = []trace.Tool{{Name: "bash", Schema: json.RawMessage(`{"type":"object","properties":{"command":{"type":"string"}},"required":["command"]}`)}}
	model := d.Info.Config.Model.Name
	if model != "" {
		head.Attrs["model"] = rec.Short(model, 200)
	}
	if err := rec.Begin(head); err != nil {
		return err
	}
	run := &miniRun{feed: chat.NewFeed(rec), model: model}
	for i := range msgs {
		if err := run.add(&msgs[i], i); err != nil {
			return err
		}
	}
	if err := run.feed.End(); err != nil {
		return err
	}
	return rec.End()
}

type miniRun struct {
	feed  *chat.Feed
	model string
	asked bool   // the task has been given
	text  string // key of the text action that waits for its observation
}

func (r *miniRun) add(m *message, i int) error {
	at := chat.Time(string(m.Extra.Timestamp))
	switch m.Role {
	case "system":
		return nil
	case "user":
		switch {
		case !r.asked:
			r.asked = true
			return r.feed.Input(m.Content.Text, at)
		case r.text != "":
			r.feed.Answer(r.text, recording.Result{Output: m.Content.Text, Failed: failed.MatchString(m.Content.Text), At: at})
			r.text = ""
		case m.Content.Text != "": // the program complains about the form of the answer
			r.feed.Conversation.Add(trace.Span{ID: fmt.Sprintf("m%d", i), Kind: trace.CHAIN, Name: "feedback", Input: m.Content.Text, Start: at, End: at})
		}
	case "assistant":
		base := trace.Span{ID: fmt.Sprintf("m%d", i), Name: r.model, Start: at, End: at, Usage: m.Extra.Response.Usage.Trace()}
		base.Usage.CostUSD = m.Extra.Cost
		if m.Extra.Response.Model != "" {
			base.Name = m.Extra.Response.Model
		}
		r.feed.Assistant(&m.Message, base)
		if len(m.Calls) > 0 {
			return nil
		}
		var commands []string
		for _, a := range m.Extra.Actions {
			commands = append(commands, a.Command)
		}
		if f := fence.FindStringSubmatch(m.Content.Text); f != nil && len(commands) == 0 {
			commands = []string{f[1]}
		}
		for k, c := range commands {
			r.text = fmt.Sprintf("m%d.c%d", i, k)
			r.feed.Call(r.text, trace.Span{Name: "bash", Input: command(c), Start: at, End: at})
		}
	case "tool":
		result := recording.Result{Output: m.Content.Text, At: at}
		if code := m.Extra.ReturnCode; code != nil {
			result.Attrs = map[string]any{"returncode": *code}
			if result.Failed = code.String() != "0"; result.Failed {
				result.Error = "return code " + code.String()
			}
		}
		r.feed.Answer(m.Answers(), result)
	case "exit":
		r.feed.Turn().StopReason = string(m.Extra.Exit)
	default:
		return r.feed.Add(&m.Message)
	}
	return nil
}
