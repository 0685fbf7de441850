package repair

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"vise/engine/episode"
	"vise/engine/guard"
	"vise/engine/model"
	"vise/engine/rule"
	"vise/engine/rule/tools"
)

// Change is where a fork leaves the run that it goes on from, and what is changed there.
type Change struct {
	// Turn is how many model turns are kept; negative = those before the first decision
	// (a rule that was added, a notice that was closed), or with Arguments that decision.
	Turn int
	// Text replaces message number Message of the kept conversation, 0 = its last one.
	Text    *string
	Message int
	// Arguments replace those of call number Call of the last kept turn, 1-based, 0 = its
	// first. That call and those behind it are executed again.
	Arguments string
	Call      int
	// Redactor masks credentials in what is changed; nil masks by key and by value.
	Redactor *guard.Redactor
}

// masked is a changed text without its credentials.
func (c Change) masked(s string) string {
	red := c.Redactor
	if red == nil {
		red = guard.DefaultRedactor()
	}
	s, _ = red.Text(s)
	return s
}

// Branch is the part of a run that a fork keeps.
type Branch struct {
	Turn   int
	Steps  []episode.Step // the kept turns
	Lines  []Line         // the conversation up to the fork's first question
	Edited *episode.Edited
	Cut    []int // numbers of messages that were longer than what is stored
	// At is the time that the fork starts from: the next thing that happened in the run.
	At time.Time
	// CandidateID is the rule that the kept turns have added.
	CandidateID string
	// told is how many lines the kept turns hold: the rest are what the fork's own first
	// turn was asked with.
	told int
}

// NewBranch cuts a run, given as all its stored turns and when it ended, and makes the
// changes. Texts of the person are redacted and sanitised. Errors say what to choose instead.
func NewBranch(steps []episode.Step, ended time.Time, c Change) (Branch, error) {
	if len(steps) == 0 {
		return Branch{}, fmt.Errorf("none of its turns is stored: it has not begun, or its transcript went with store.retention")
	}
	for i, s := range steps {
		if s.Turn != i+1 {
			return Branch{}, fmt.Errorf("model turn %d cannot be read any more, so nothing can go on from there; vise store verify says what is damaged", i+1)
		}
	}
	n := c.Turn
	if n < 0 {
		n = deciding(steps)
		if c.Arguments != "" && n < len(steps) {
			n++
		}
	}
	if n > len(steps) {
		return Branch{}, fmt.Errorf("it has %d model turns: choose 0 to %d", len(steps), len(steps))
	}
	b := Branch{Turn: n, Steps: slices.Clone(steps[:n]), At: ended}
	for i := range b.Steps {
		b.Steps[i].Messages, b.Steps[i].Calls = slices.Clone(b.Steps[i].Messages), slices.Clone(b.Steps[i].Calls)
	}
	switch {
	case n < len(steps):
		b.At = steps[n].Started
	case ended.IsZero():
		b.At = steps[n-1].Ended
	}
	for _, l := range Transcript(steps) {
		if l.Turn <= n {
			b.Lines = append(b.Lines, l)
		}
	}
	if err := b.rerun(c); err != nil {
		return Branch{}, err
	}
	if err := b.reword(c); err != nil {
		return Branch{}, err
	}
	b.told = len(b.Lines)
	for i, l := range b.Lines {
		if l.Cut {
			b.Cut = append(b.Cut, l.N)
		}
		if l.Turn == n && l.Role != model.Assistant {
			b.told = min(b.told, i)
		}
	}
	return b, b.decided()
}

// deciding is the number of turns before the first that decided something; before the
// last one when none did.
func deciding(steps []episode.Step) int {
	for i, s := range steps {
		for _, call := range s.Calls {
			if call.Name == toolRuleAdd || call.Name == toolNoticeAck || call.Name == toolNoticeResolve {
				return i
			}
		}
	}
	return len(steps) - 1
}

// rerun changes the arguments of a call, and takes back what was executed from there on.
func (b *Branch) rerun(c Change) error {
	if c.Arguments == "" {
		if c.Call > 0 {
			return fmt.Errorf("call %d: say its new arguments", c.Call)
		}
		return nil
	}
	if b.Turn == 0 || len(b.Steps[b.Turn-1].Calls) == 0 {
		return fmt.Errorf("model turn %d made no call whose arguments could be changed", b.Turn)
	}
	step := &b.Steps[b.Turn-1]
	k := max(1, c.Call)
	if k > len(step.Calls) {
		return fmt.Errorf("model turn %d made %d calls: there is no call %d", b.Turn, len(step.Calls), k)
	}
	if _, ok := arguments(c.Arguments); !ok {
		return fmt.Errorf("the arguments of %s must be one JSON object, e.g. %s", step.Calls[k-1].Name, guard.Line(step.Calls[k-1].Arguments, 120))
	}
	step.Calls[k-1].Arguments = guard.Head(c.masked(c.Arguments), maxStoredCall)
	b.At = step.Ended
	again := map[string]bool{}
	for i := k - 1; i < len(step.Calls); i++ {
		step.Calls[i].OK, step.Calls[i].Ran, step.Calls[i].Result = false, false, nil
		again[step.Calls[i].ID] = true
	}
	b.Lines = slices.DeleteFunc(b.Lines, func(l Line) bool {
		// A reminder came after the results; it is weighed anew.
		return l.Turn == b.Turn && (again[l.CallID] && l.CallID != "" || l.Role == model.System)
	})
	for i := range b.Lines {
		if l := &b.Lines[i]; l.Turn == b.Turn && l.Role == model.Assistant {
			l.Calls = step.Calls
		}
	}
	b.Edited = &episode.Edited{Call: k, Tool: step.Calls[k-1].Name}
	return nil
}

// reword replaces the text of one message.
func (b *Branch) reword(c Change) error {
	if c.Text == nil {
		if c.Message > 0 {
			return fmt.Errorf("message %d: say its new text", c.Message)
		}
		return nil
	}
	if b.Edited != nil {
		return fmt.Errorf("change either a message or the arguments of a call: fork the fork for the other")
	}
	n := c.Message
	if n == 0 {
		n = len(b.Lines)
	}
	if n < 1 || n > len(b.Lines) {
		return fmt.Errorf("the kept conversation has messages 1 to %d; vise episodes show --messages numbers them", len(b.Lines))
	}
	text := guard.Sanitize(c.masked(*c.Text), maxStored)
	if blank(text) {
		return fmt.Errorf("nothing of the message is left after sanitising")
	}
	l := &b.Lines[n-1]
	if l.Content == text {
		return fmt.Errorf("message %d says that already: change it", l.N)
	}
	l.Content, l.Cut = text, false
	b.Edited = &episode.Edited{Message: l.N, Role: l.Role, Tool: l.Tool}
	switch {
	case l.Role == model.Assistant:
		b.Steps[l.step].Text = text
	case l.msg >= 0 && l.step < len(b.Steps):
		b.Steps[l.step].Messages[l.msg].Content = text
	}
	if l.CallID == "" {
		return nil
	}
	for i := range b.Steps {
		for j := range b.Steps[i].Calls {
			if call := &b.Steps[i].Calls[j]; call.ID == l.CallID && i == l.Turn-1 {
				if call.Result = json.RawMessage(text); !json.Valid(call.Result) {
					call.Result, _ = json.Marshal(text)
				}
			}
		}
	}
	return nil
}

// decided finds the rule that the kept turns added, and refuses those that ended the run.
func (b *Branch) decided() error {
	for _, s := range b.Steps {
		for _, call := range s.Calls {
			if !call.Ran || !call.OK {
				continue
			}
			switch call.Name {
			case toolNoticeAck, toolNoticeResolve:
				return fmt.Errorf("model turn %d ended the episode, so nothing can go on from it: choose 0 to %d, or change the arguments of its call", s.Turn, s.Turn-1)
			case toolRuleAdd:
				var added struct {
					Created bool `json:"created"`
					Rule    struct {
						ID string `json:"id"`
					} `json:"rule"`
				}
				if json.Unmarshal(call.Result, &added) == nil && added.Created {
					b.CandidateID = added.Rule.ID
				}
			}
		}
	}
	return nil
}

// found is what the kept turns have found out; the rules they looked at are not counted.
func (b Branch) found(candidate *rule.Rule) findings {
	var f findings
	for _, s := range b.Steps {
		for _, call := range s.Calls {
			if !call.Ran || !call.OK {
				continue
			}
			switch call.Name {
			case toolNoticeRead:
				f.noticeRead = true
			case toolTraceInspect:
				f.traceInspected = true
			case tools.RulesSearch:
				f.rulesSearched = true
			}
		}
	}
	if candidate != nil {
		f.candidates, f.selectedScope = []string{candidate.ID}, candidate.Scope
	}
	return f
}
