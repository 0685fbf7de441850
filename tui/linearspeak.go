package tui

import (
	"fmt"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"vise/engine/guard"
	"vise/tui/action"
	"vise/tui/style"
)

// news tells what has changed of the status, and what the app has to say.
func (l *linear) news() {
	a := l.app
	_, _, text := a.state()
	if text = elapsedAway.ReplaceAllString(text, ""); text != l.state {
		l.state = text
		l.tell("Status: %s.", guard.Line(text, 200))
	}
	if a.toast.id != l.said && a.toast.text != "" {
		l.said = a.toast.id
		a.toast.kept = true
		word := map[style.Role]string{style.Bad: "Error: ", style.Warn: "Attention: "}[a.toast.role]
		l.tell("%s%s", word, guard.Visible(a.toast.text))
		return
	}
	a.toast.kept = false
}

// help lists the commands with the reasons why some are not possible now.
func (l *linear) help() {
	a := l.app
	l.tell("Panes: %s.", strings.Join(paneList(), ", "))
	l.tell("Commands (by key or name; an empty line reads the pane again, wait waits until nothing runs):")
	for _, x := range a.reg.All() {
		if !x.For(string(a.focus)) || strings.HasPrefix(string(x.ID), "focus.") || onScreenOnly(x.ID) || x.ID == action.Palette {
			continue
		}
		line := "  " + strings.Join(x.Keys, " or ") + ": " + x.Title
		if x.Arg != "" {
			line += ", with " + x.Arg
		}
		if why := a.disabled(x.ID); why != "" {
			line += " (not now: " + why + ")"
		}
		l.tell("%s", line)
	}
}

func paneList() []string {
	out := make([]string, len(paneOrder))
	for i, id := range paneOrder {
		out[i] = string(id)
	}
	return out
}

// pane reads the pane with the focus: a sentence, then its rows with their numbers.
func (l *linear) pane() {
	a := l.app
	if len(a.overlays) > 0 {
		l.card()
		return
	}
	l.rows = l.rows[:0]
	if !a.ready() {
		for _, r := range a.firstRun() {
			if text := spoken(r); text != "" {
				l.tell("%s", text)
			}
		}
		return
	}
	p := a.panes[a.focus]
	head := "Pane " + p.Title()
	if b := p.Badge(); b != "" {
		head += ": " + guard.Line(b, 200)
	}
	head += ". View " + a.viewDef().title + "."
	if a.search != nil && a.search.pane == a.focus {
		head += " Search: " + a.found() + "."
	}
	l.tell("%s", spoken(head))
	for y, r := range p.Rows() {
		text := spoken(r)
		if text == "" {
			continue
		}
		l.rows = append(l.rows, readRow{y, unselected(r)})
		if rest, ok := strings.CutPrefix(text, style.Words.Pointer); ok {
			text = "selected: " + strings.TrimSpace(rest)
		}
		l.tell("%d. %s", len(l.rows), text)
	}
}

// unselected is a row as it is spoken, whether the cursor is on it or not.
func unselected(row string) string {
	text, _ := strings.CutPrefix(spoken(row), style.Words.Pointer)
	return strings.TrimSpace(text)
}

// spoken is a row without styles and lines, with a semicolon for the gap between two
// columns: a reader pauses there.
func spoken(row string) string {
	text := strings.Map(func(r rune) rune {
		if r >= 0x2500 && r <= 0x259f || r == '·' { // lines, blocks, dots of a scale
			return ' '
		}
		return r
	}, ansi.Strip(row))
	text = strings.ReplaceAll(rules.ReplaceAllString(text, "  "), "–", "none")
	return gaps.ReplaceAllString(strings.TrimSpace(text), "; ")
}

// tell writes one line.
func (l *linear) tell(format string, args ...any) { fmt.Fprintf(l.out, format+"\n", args...) }
