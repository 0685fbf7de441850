package tui

import "vise/engine/event"

// liveStep is the model turn that is streaming.
type liveStep struct {
	attempt, turn   int
	text, reasoning string
	calls           []liveCall
	cut             bool // there is more than is shown
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
	l.grow(&l.text, text("text"))
	l.grow(&l.reasoning, text("reasoning"))
	if i, ok := number(e.Data["call"]); ok && i >= 0 && i < 64 {
		for len(l.calls) <= i {
			l.calls = append(l.calls, liveCall{})
		}
		if n := text("name"); n != "" {
			l.calls[i].name = n
		}
		l.grow(&l.calls[i].arguments, text("arguments"))
	}
}

// grow adds to a text that is shown from its beginning, up to liveBytes.
func (l *liveStep) grow(text *string, more string) {
	if len(*text)+len(more) > liveBytes {
		l.cut = true
		return
	}
	*text += more
}
