package tui

import (
	"context"
	"fmt"

	tea "charm.land/bubbletea/v2"

	"vise/engine/rule"
	"vise/tui/layout"
	"vise/tui/style"
)

// maxActs bounds what can be undone.
const maxActs = 100

// act is something reversible that a person did, as data: what it changed, from what,
// to what. The journal of acts is what u and ctrl+r walk; it is kept with the place, so
// that the next start can still take back what this one did.
type act struct {
	Kind   actKind  `json:"kind"`
	Target string   `json:"target,omitempty"` // a view, a pane, a rule, a session, a name
	Before actValue `json:"before"`
	After  actValue `json:"after"`
}

// actValue is what is the case before or after an act; which field depends on its kind.
type actValue struct {
	Text  string         `json:"text,omitempty"`
	On    bool           `json:"on,omitempty"`
	Turn  int            `json:"turn,omitempty"`
	List  []string       `json:"list,omitempty"`
	Sizes layout.Weights `json:"sizes,omitempty"`
}

func said(s string) actValue { return actValue{Text: s} }
func on(is bool) actValue    { return actValue{On: is} }

type actKind string

// The kinds. Of what the project's store holds: a rule that was moved or written (Text
// is its status), a session that was renamed (Text), pinned (On) or removed (On), a case
// that was protected (Target is the session, Turn its turn, Text the case), notices that
// were acknowledged, a rule that was queued for a new test. The others are of the screen.
const (
	actLayout  actKind = "layout"  // Target is a view, Sizes the panes'
	actTheme   actKind = "theme"   // Text is its name
	actFilter  actKind = "filter"  // Target is a pane, Text the filter
	actKept    actKind = "kept"    // Target is the name of a filter, Text the filter
	actBreaks  actKind = "breaks"  // List are the breakpoints
	actRule    actKind = "rule"    // moved by a person
	actEdit    actKind = "edit"    // a person's wording, a rule of its own
	actAccept  actKind = "accept"  // the rule of a fork
	actRename  actKind = "rename"  //
	actPin     actKind = "pin"     //
	actRemove  actKind = "remove"  //
	actProtect actKind = "protect" //
	actAck     actKind = "ack"     // Target is the first notice, List are all, On is acknowledged
	actRetest  actKind = "retest"  // On is queued
	actDismiss actKind = "dismiss" // an error of this start: Target is its key, On is dismissed
)

// acts is the journal: those before next are done, those from it on are undone.
type acts struct {
	list []act
	next int
	busy bool // one is being undone or done again
}

// did takes an act into the journal; what was undone before it cannot be redone.
func (a *App) did(x act) {
	a.acts.list = append(a.acts.list[:a.acts.next:a.acts.next], x)
	if over := len(a.acts.list) - maxActs; over > 0 {
		a.acts.list = append([]act(nil), a.acts.list[over:]...)
	}
	a.acts.next = len(a.acts.list)
	a.unsaved = true
}

// acted is the end of an act of a person that changes the store: what to say, and the act
// for u (of no kind when it cannot be taken back).
type acted struct {
	act  act
	said string
	err  error
}

func (a *App) acted(m acted) tea.Cmd {
	if m.act.Kind != "" {
		a.did(m.act)
	}
	if m.err != nil {
		return a.say(style.Bad, causeFirst(m.err.Error(), ""))
	}
	return a.say(style.Good, m.said)
}

// undone is the end of an undo, or of a redo. value is what is the case now where only
// the store knew: the id of a case that was protected again.
type undone struct {
	redo  bool
	value actValue
	err   error
}

// undo takes the last act back, or does it again (redo).
func (a *App) undo(redo bool) tea.Cmd {
	at, v := a.acts.next-1, actValue{}
	if redo {
		at = a.acts.next
	}
	x := a.acts.list[at]
	if v = x.Before; redo {
		v = x.After
	}
	a.unsaved = true
	if inStore := a.putStored(x, redo); inStore != nil {
		a.acts.busy = true
		return inStore
	}
	return tea.Batch(a.settled(undone{redo: redo, value: v}), a.put(x, v))
}

// settled moves the place in the journal once an act is undone or done again. One that
// cannot be is dropped: what it spoke of is not so any more.
func (a *App) settled(m undone) tea.Cmd {
	said := a.settle(m)
	return tea.Batch(said, a.typed())
}

func (a *App) settle(m undone) tea.Cmd {
	a.acts.busy, a.unsaved = false, true
	at := a.acts.next - 1
	if m.redo {
		at = a.acts.next
	}
	if at < 0 || at >= len(a.acts.list) {
		return nil
	}
	x := &a.acts.list[at]
	if m.err != nil {
		said := "cannot be taken back: "
		if m.redo {
			said = "cannot be done again: "
		}
		a.acts.list = append(a.acts.list[:at:at], a.acts.list[at+1:]...)
		a.acts.next = min(at, len(a.acts.list))
		return a.say(style.Warn, said+causeFirst(m.err.Error(), ""))
	}
	if m.redo {
		a.acts.next++
		if x.Kind == actProtect {
			x.After = m.value
		}
		return a.say(style.Info, "again: "+x.words(a.ctx, x.After))
	}
	a.acts.next--
	return a.say(style.Info, "undone: "+x.words(a.ctx, x.Before)+"; {edit.redo} does it again")
}

// undoable says why nothing can be undone, or redone; "" when something can.
func (a *App) undoable(redo bool) string {
	switch {
	case a.acts.busy:
		return "the last one is still being taken back"
	case redo && a.acts.next == len(a.acts.list):
		return "nothing to do again"
	case !redo && a.acts.next == 0:
		return "nothing to undo: {edit.undo} takes back names, pins, removals, moves of rules, protections, acknowledgements, filters, sizes, themes"
	}
	return ""
}

// words say what is the case again.
func (x act) words(ctx *Context, v actValue) string {
	switch x.Kind {
	case actTheme:
		return "theme " + v.Text
	case actFilter:
		if v.Text == "" {
			return paneCalled(PaneID(x.Target)) + " shows everything"
		}
		return paneCalled(PaneID(x.Target)) + " is filtered by " + v.Text
	case actKept:
		if v.Text == "" {
			return "no filter is kept as @" + x.Target
		}
		return "@" + x.Target + " is " + v.Text
	case actBreaks:
		return breakWords(v.List)
	case actRule, actEdit, actAccept:
		return "rule " + tag(x.Target) + " is " + v.Text
	case actRename:
		if v.Text == "" {
			return tag(x.Target) + " has no name of yours"
		}
		return tag(x.Target) + " is called " + v.Text
	case actPin, actRemove:
		word := map[bool]string{true: "pinned", false: "not pinned"}[v.On]
		if x.Kind == actRemove {
			word = map[bool]string{true: "removed", false: "back"}[v.On]
		}
		return ctx.Called(x.Target) + " is " + word
	case actProtect:
		if v.Text == "" {
			return ctx.Called(x.Target) + " is no protected win"
		}
		return ctx.Called(x.Target) + " is protected as " + v.Text
	}
	switch x.Kind {
	case actAck:
		what := "notice " + tag(x.Target)
		if n := len(v.List); n > 1 {
			return count(n, "notice") + map[bool]string{true: " are acknowledged", false: " wait again"}[v.On]
		}
		return what + map[bool]string{true: " is acknowledged", false: " waits again"}[v.On]
	case actRetest:
		return "rule " + tag(x.Target) + map[bool]string{true: " waits for a new test", false: " waits for no new test"}[v.On]
	case actDismiss:
		return map[bool]string{true: "the error is dismissed", false: "the error is back"}[v.On]
	}
	return "the sizes of the panes"
}

// put makes v the case on the screen.
func (a *App) put(x act, v actValue) tea.Cmd {
	switch x.Kind {
	case actLayout:
		a.shape[viewID(x.Target)] = v.Sizes
		a.arrange()
	case actTheme:
		a.look.chosen = v.Text
		return a.restyled()
	case actFilter:
		if p, ok := a.panes[PaneID(x.Target)].(Filterer); ok {
			return p.Filter(a.ctx, v.Text)
		}
	case actKept:
		if v.Text == "" {
			delete(a.saved, x.Target)
		} else {
			a.saved[x.Target] = v.Text
		}
	case actBreaks:
		a.putBreakpoints(v.List)
		return a.apply(Change{Breaks: true})
	case actDismiss:
		a.ctx.recall(x.Target, v.On)
		return a.apply(Change{Incidents: true})
	}
	return nil
}

// putStored is put for what the store holds; nil when the act is of the screen.
func (a *App) putStored(x act, redo bool) tea.Cmd {
	h, end := a.ctx.Harness, a.ctx.Ctx
	v := x.Before
	if redo {
		v = x.After
	}
	var do func() (actValue, error)
	switch x.Kind {
	case actRule:
		do = func() (actValue, error) {
			switch {
			case !redo:
				return v, h.TakeBackMove(end, x.Target)
			case rule.Status(v.Text) == rule.Retired:
				return v, h.RetireRule(end, x.Target, retiredHere)
			}
			return v, h.RestoreRule(end, x.Target)
		}
	case actEdit, actAccept:
		why := map[actKind]string{actEdit: "the wording was taken back", actAccept: "the fork's rule was taken back"}[x.Kind]
		do = func() (actValue, error) {
			if redo {
				return v, h.TakeBackMove(end, x.Target)
			}
			return v, h.RetireRule(end, x.Target, why)
		}
	case actRename:
		do = func() (actValue, error) { _, err := h.RenameSession(end, x.Target, v.Text); return v, err }
	case actPin:
		do = func() (actValue, error) { _, err := h.PinSession(end, x.Target, v.On); return v, err }
	case actRemove:
		do = func() (actValue, error) {
			if v.On {
				return v, h.RemoveSession(end, x.Target)
			}
			return v, h.RestoreSession(end, x.Target)
		}
	case actProtect:
		do = func() (actValue, error) {
			if !redo {
				return v, h.RemoveCase(end, x.After.Text)
			}
			c, err := h.ProtectCase(end, x.Target, v.Turn, false)
			return actValue{Text: c.ID, Turn: v.Turn}, err
		}
	case actAck:
		do = func() (actValue, error) {
			for _, id := range v.List {
				put := h.ReopenNotice
				if v.On {
					put = func(ctx context.Context, id string) error { return h.AckNotice(ctx, id, acknowledgedHere) }
				}
				err := put(end, id)
				if err != nil {
					return v, err
				}
			}
			return v, nil
		}
	case actRetest:
		do = func() (actValue, error) {
			if v.On {
				return v, h.QueueRetest(end, x.Target)
			}
			return v, h.DropRetest(end, x.Target)
		}
	default:
		return nil
	}
	return func() tea.Msg {
		if h == nil {
			return undone{redo: redo, err: fmt.Errorf("there is no project here")}
		}
		value, err := do()
		return undone{redo: redo, value: value, err: err}
	}
}

// acknowledgedHere is the note of an acknowledgement by key.
const acknowledgedHere = "acknowledged in the workbench"

// acknowledgement is that of some notices; of none it is no act.
func acknowledgement(ids []string) act {
	if len(ids) == 0 {
		return act{}
	}
	return act{Kind: actAck, Target: ids[0], Before: actValue{List: ids}, After: actValue{On: true, List: ids}}
}

// retiredHere is the reason of a retirement by key.
const retiredHere = "retired in the workbench"
