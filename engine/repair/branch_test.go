package repair

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"vise/engine/episode"
)

// stored is a run as it is stored: a question that was cut and asked again, three answers
// with calls of which the last was not executed.
func stored() []episode.Step {
	at := func(n int) time.Time { return time.Date(2026, 1, 1, 0, 0, n, 0, time.UTC) }
	msg := func(role, text, id string) episode.Message {
		return episode.Message{Role: role, Content: text, ToolCallID: id}
	}
	call := func(id, name, result string) episode.Call {
		return episode.Call{ID: id, Name: name, Arguments: `{"x":1}`, OK: result != "", Ran: result != "", Result: json.RawMessage(result)}
	}
	return []episode.Step{
		{Turn: 1, Started: at(0), Ended: at(1), Messages: []episode.Message{msg("system", "be good", ""), msg("user", "the task", "")}, Error: "cut", Text: "half a"},
		{Turn: 2, Started: at(2), Ended: at(3), Text: "I look", Calls: []episode.Call{call("c1", toolNoticeRead, `{"ok":true}`), call("c2", toolTraceInspect, `{"ok":true}`)}},
		{Turn: 3, Started: at(4), Ended: at(5), Messages: []episode.Message{msg("tool", `{"ok":true}`, "c1"), msg("tool", `{"ok":true}`, "c2")}, Text: "I search",
			Calls: []episode.Call{call("c3", "harness_rules_search", `{"ok":true}`)}},
		{Turn: 4, Started: at(6), Ended: at(7), Messages: []episode.Message{msg("tool", `{"ok":true}`, "c3"), msg("system", nudgeDecide, "")}, Text: "I add",
			Calls: []episode.Call{call("c4", toolRuleAdd, "")}},
	}
}

// TestTranscript: what was said is numbered in the order in which the model was given it.
func TestTranscript(t *testing.T) {
	var got []string
	for _, l := range Transcript(stored()) {
		got = append(got, strings.TrimSpace(l.Role+" "+l.Tool+" "+string(rune('0'+l.Turn))))
	}
	want := "system  0|user  0|assistant  2|tool harness_notice_read 2|tool harness_trace_inspect 2|assistant  3|tool harness_rules_search 3|system  3|assistant  4"
	if s := strings.Join(got, "|"); s != want {
		t.Errorf("got  %s\nwant %s", s, want)
	}
}

func TestBranch(t *testing.T) {
	text := func(s string) *string { return &s }
	last := func(b Branch) Line { return b.Lines[len(b.Lines)-1] }
	for _, x := range []struct {
		name string
		c    Change
		says string // of the error
		good func(Branch) bool
	}{
		{"before the decision", Change{Turn: -1}, "", func(b Branch) bool { return b.Turn == 3 && len(b.Lines) == 8 && b.told == 6 && b.At.Second() == 6 }},
		{"before the first question", Change{}, "", func(b Branch) bool {
			return len(b.Lines) == 2 && b.told == 0 && len(b.Steps) == 0 && b.At.Second() == 0
		}},
		{"behind a cut stream", Change{Turn: 1}, "", func(b Branch) bool { return len(b.Lines) == 2 && b.told == 2 && len(b.Steps) == 1 }},
		{"a call that was not executed", Change{Turn: 4}, "", func(b Branch) bool { return b.told == 9 && last(b).Role == "assistant" }},
		{"the last message", Change{Turn: 2, Text: text("nothing is wrong")}, "", func(b Branch) bool {
			return last(b).Content == "nothing is wrong" && string(b.Steps[1].Calls[1].Result) == `"nothing is wrong"` && b.Edited.Message == 5
		}},
		{"a message by number", Change{Turn: 3, Text: text("another task"), Message: 2}, "", func(b Branch) bool {
			return b.Steps[0].Messages[1].Content == "another task" && b.Lines[1].Content == "another task" && b.Edited.Role == "user"
		}},
		{"what the model said", Change{Turn: 2, Text: text("I guess"), Message: 3}, "", func(b Branch) bool { return b.Steps[1].Text == "I guess" }},
		{"the arguments of a call", Change{Turn: 2, Arguments: `{"x":2}`}, "", func(b Branch) bool {
			return last(b).Role == "assistant" && last(b).Calls[0].Arguments == `{"x":2}` && !last(b).Calls[1].Ran && b.told == 3 && b.At.Second() == 3
		}},
		{"of the second call", Change{Turn: 2, Arguments: `{"x":2}`, Call: 2}, "", func(b Branch) bool {
			return last(b).CallID == "c1" && b.Steps[1].Calls[0].Ran && !b.Steps[1].Calls[1].Ran && b.Edited.Tool == toolTraceInspect
		}},
		{"of the decision, unnamed", Change{Turn: -1, Arguments: `{"rule":"x"}`}, "", func(b Branch) bool { return b.Turn == 4 && b.Edited.Tool == toolRuleAdd }},
		{"too far", Change{Turn: 5}, "choose 0 to 4", nil},
		{"no such message", Change{Turn: 2, Text: text("x"), Message: 6}, "messages 1 to 5", nil},
		{"nothing changed", Change{Turn: 2, Text: text("I look"), Message: 3}, "says that already", nil},
		{"nothing left", Change{Turn: 2, Text: text("\x1b[31m")}, "nothing of the message is left", nil},
		{"a number alone", Change{Turn: 2, Message: 3}, "say its new text", nil},
		{"no JSON", Change{Turn: 2, Arguments: "x=2"}, "must be one JSON object", nil},
		{"no such call", Change{Turn: 2, Arguments: "{}", Call: 3}, "there is no call 3", nil},
		{"no call there", Change{Turn: 1, Arguments: "{}"}, "made no call", nil},
		{"both", Change{Turn: 2, Arguments: "{}", Text: text("x")}, "fork the fork", nil},
	} {
		steps := stored()
		b, err := NewBranch(steps, time.Time{}, x.c)
		switch {
		case x.says != "" && (err == nil || !strings.Contains(err.Error(), x.says)):
			t.Errorf("%s: %v, want an error about %q", x.name, err, x.says)
		case x.says == "" && err != nil:
			t.Errorf("%s: %v", x.name, err)
		case x.good != nil && !x.good(b):
			t.Errorf("%s: %+v", x.name, b)
		}
		if again, _ := json.Marshal(steps); string(again) != func() string { s, _ := json.Marshal(stored()); return string(s) }() {
			t.Errorf("%s: the run that was forked is changed", x.name)
		}
	}
	if _, err := NewBranch(nil, time.Time{}, Change{}); err == nil || !strings.Contains(err.Error(), "store.retention") {
		t.Errorf("no transcript: %v", err)
	}
	if _, err := NewBranch(stored()[1:], time.Time{}, Change{}); err == nil || !strings.Contains(err.Error(), "model turn 1 cannot be read") {
		t.Errorf("a lost turn: %v", err)
	}
}
