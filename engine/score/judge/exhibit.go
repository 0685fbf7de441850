package judge

import (
	"encoding/json"

	"vise/engine/guard"
	"vise/engine/trace"
)

// Bounds of what the judge is shown, in code points and items: together at most
// about 25,000 tokens.
const (
	maxRequest  = 6000
	maxAnswer   = 6000
	maxSystem   = 6000
	maxStepText = 1500
	maxSteps    = 120
	maxAllSteps = 60_000
	lastSteps   = 12 // the end of a turn always shows
	maxEarlier  = 6
	maxExchange = 600
	maxTools    = 100
	maxSchema   = 800
)

// exhibit is the recorded turn as the judge sees it. Every text that somebody else
// wrote has a field of its own, is sanitised and bounded.
type exhibit struct {
	Instructions string     `json:"agent_instructions,omitempty"`
	Task         string     `json:"task_summary,omitempty"`
	Tools        []tool     `json:"agent_tools,omitempty"`
	Earlier      []exchange `json:"earlier,omitempty"`
	Input        string     `json:"input"`
	Steps        []step     `json:"steps"`
	LeftOut      int        `json:"steps_left_out,omitempty"`
	Answer       string     `json:"answer"`
	StopReason   string     `json:"stop_reason,omitempty"`
	// Repeat tells repeated questions apart for every cache between us and the model.
	Repeat int `json:"repeat"`
}

type tool struct {
	Name   string `json:"name"`
	Schema string `json:"schema,omitempty"` // of tools that this turn called
}

type exchange struct {
	Input  string `json:"input"`
	Answer string `json:"answer"`
}

type step struct {
	N         int    `json:"n"` // position among the steps, 1-based
	Says      string `json:"says,omitempty"`
	Calls     string `json:"calls,omitempty"`
	Arguments string `json:"arguments,omitempty"`
	Result    string `json:"result,omitempty"`
	Error     string `json:"error,omitempty"`
	Pending   bool   `json:"unanswered,omitempty"`
}

// text is a text of the recording, sanitised and bounded.
func text(s string, limit int) string {
	// Sanitising megabytes to show a few hundred characters would be wasted.
	return guard.Sanitize(guard.Head(s, 4*limit), limit)
}

func newExhibit(q Question) exhibit {
	x := exhibit{Instructions: text(q.Session.System, maxSystem), Input: text(q.Turn.Input, maxRequest), Answer: text(q.Turn.Answer(), maxAnswer),
		StopReason: guard.Line(q.Turn.StopReason, 40), Steps: []step{}}
	if x.Task = q.Turn.TaskSummary; x.Task == "" {
		x.Task = q.Session.TaskSummary
	}
	x.Task = text(x.Task, maxExchange)
	called := map[string]bool{}
	for _, s := range q.Turn.Spans {
		if s.Kind == trace.TOOL {
			called[s.Name] = true
		}
	}
	for _, t := range q.Session.Tools {
		if len(x.Tools) == maxTools {
			break
		}
		shown := tool{Name: guard.Line(t.Name, 120)}
		if called[t.Name] {
			shown.Schema = text(string(t.Schema), maxSchema)
		}
		x.Tools = append(x.Tools, shown)
	}
	for _, t := range q.Earlier[max(0, len(q.Earlier)-maxEarlier):] {
		x.Earlier = append(x.Earlier, exchange{text(t.Input, maxExchange), text(t.Answer(), maxExchange)})
	}
	x.Steps, x.LeftOut = steps(q.Turn)
	return x
}

// steps lists what the agent did, bounded: failing steps and the last ones stay,
// what goes is in the middle.
func steps(t trace.Turn) (shown []step, omitted int) {
	var spans []trace.Span
	for _, s := range t.Spans {
		if s.Kind == trace.TOOL || s.Kind == trace.LLM && s.Output != "" {
			spans = append(spans, s)
		}
	}
	keep := make([]bool, len(spans))
	left, count := maxAllSteps, 0
	take := func(i int) {
		size := min(len(spans[i].Input), maxStepText) + min(len(spans[i].Output), maxStepText) + min(len(spans[i].Error), maxStepText) + 160
		if !keep[i] && count < maxSteps && size <= left {
			keep[i] = true
			count++
			left -= size
		}
	}
	for i := range min(lastSteps, len(spans)) {
		take(len(spans) - 1 - i)
	}
	for i := range spans {
		if spans[i].Error != "" {
			take(i)
		}
	}
	for i := range spans {
		take(i)
	}
	shown = []step{}
	for i, s := range spans {
		if !keep[i] {
			omitted++
			continue
		}
		x := step{N: i + 1}
		if s.Kind == trace.LLM {
			x.Says = text(s.Output, maxStepText)
		} else {
			x.Calls, x.Arguments = guard.Line(s.Name, 120), text(s.Input, maxStepText)
			x.Result, x.Error, x.Pending = text(s.Output, maxStepText), text(s.Error, maxStepText), s.Pending
		}
		shown = append(shown, x)
	}
	return shown, omitted
}

// encode writes the exhibit as the user message.
func (x exhibit) encode() (string, error) {
	raw, err := json.Marshal(x)
	return string(raw), err
}
