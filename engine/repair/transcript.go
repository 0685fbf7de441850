package repair

import (
	"unicode/utf8"

	"vise/engine/episode"
	"vise/engine/model"
)

// Line is one message of a stored repair, in the order in which the model was given them.
type Line struct {
	N int `json:"n"` // 1-based
	// Turn is the model turn that the message follows or is the answer of; 0 = it was
	// there before the first question.
	Turn    int            `json:"turn"`
	Role    string         `json:"role"`
	Content string         `json:"content"`
	CallID  string         `json:"tool_call_id,omitempty"`
	Tool    string         `json:"tool,omitempty"` // whose result it is
	Calls   []episode.Call `json:"calls,omitempty"`
	// Cut: it was longer than what is stored of a message.
	Cut bool `json:"cut,omitempty"`

	// step is the index of the stored turn that holds it, msg that of its message; a
	// negative one is the answer, or the result of a call that was never sent on.
	step, msg int
}

// Transcript returns the conversation of one run from its stored turns, in order. A cut
// stream said nothing that was sent on, so it has no line of its own.
func Transcript(steps []episode.Step) []Line {
	var out []Line
	tools := map[string]string{}
	add := func(l Line) {
		l.N = len(out) + 1
		l.Cut = utf8.RuneCountInString(l.Content) >= maxStored
		out = append(out, l)
	}
	for i, s := range steps {
		for j, m := range s.Messages {
			add(Line{step: i, msg: j, Turn: s.Turn - 1, Role: m.Role, Content: m.Content, CallID: m.ToolCallID, Tool: tools[m.ToolCallID]})
		}
		if s.Error != "" || len(s.Calls) == 0 {
			continue
		}
		add(Line{step: i, msg: -1, Turn: s.Turn, Role: model.Assistant, Content: s.Text, Calls: s.Calls})
		for _, c := range s.Calls {
			tools[c.ID] = c.Name
			if i == len(steps)-1 && c.Ran {
				// What the last answer's calls brought was never sent on.
				add(Line{step: i, msg: -1, Turn: s.Turn, Role: model.ToolRole, Content: string(c.Result), CallID: c.ID, Tool: c.Name})
			}
		}
	}
	return out
}

// message is the line as it is sent.
func (l Line) message() model.Message {
	m := model.Message{Role: l.Role, Content: l.Content, CallID: l.CallID}
	for _, c := range l.Calls {
		m.Calls = append(m.Calls, model.Call{ID: c.ID, Name: c.Name, Arguments: c.Arguments})
	}
	m.Calls = repaired(m.Calls)
	if len(m.Calls) == 0 {
		m.Calls = nil
	}
	return m
}
