package tui

import (
	"strings"

	"vise/engine/event"
)

// liveStep is the model turn that is streaming.
type liveStep struct {
	attempt, turn   int
	text, reasoning string
	calls           []liveCall
}

type liveCall struct{ name, arguments string }

// add takes one delta; a delta of another turn begins anew.
func (l *liveStep) add(e event.Event) {
	turn, _ := number(e.Data["turn"])
	attempt, _ := number(e.Data["attempt"])
	if turn != l.turn || attempt != l.attempt {
		*l = liveStep{attempt: attempt, turn: turn}
	}
	text := func(name string) string { s, _ := e.Data[name].(string); return s }
	l.text = tail(l.text + text("text"))
	l.reasoning = tail(l.reasoning + text("reasoning"))
	if i, ok := number(e.Data["call"]); ok && i >= 0 && i < 64 {
		for len(l.calls) <= i {
			l.calls = append(l.calls, liveCall{})
		}
		if n := text("name"); n != "" {
			l.calls[i].name = n
		}
		l.calls[i].arguments = tail(l.calls[i].arguments + text("arguments"))
	}
}

func tail(s string) string {
	if len(s) > liveBytes {
		return strings.ToValidUTF8(s[len(s)-liveBytes:], "")
	}
	return s
}
