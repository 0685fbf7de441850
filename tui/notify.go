package tui

import (
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"vise/engine/event"
	"vise/engine/guard"
)

// notifyEvery is the least time between two notifications; what comes in between is
// counted and told by the next.
const notifyEvery = 10 * time.Second

// notifier decides when the person who looks elsewhere is told something. It keeps no
// time of its own.
type notifier struct {
	last    time.Time
	more    int    // notices since the last notification
	text    string // the newest of them
	waiting bool   // a flushMsg is under way
}

// flushMsg ends the wait of a notifier.
type flushMsg struct{}

// add takes something worth telling. It returns what to tell now, or after which time
// to call flush.
func (n *notifier) add(now time.Time, text string) (tell string, wait time.Duration) {
	n.more++
	n.text = text
	if rest := notifyEvery - now.Sub(n.last); rest > 0 && !n.last.IsZero() {
		if n.waiting {
			return "", 0
		}
		n.waiting = true
		return "", rest
	}
	return n.take(now), 0
}

// flush returns what has come since the last notification, "" for nothing.
func (n *notifier) flush(now time.Time) string {
	n.waiting = false
	if n.more == 0 {
		return ""
	}
	return n.take(now)
}

// drop forgets what waits: the person has come back.
func (n *notifier) drop() { n.more = 0 }

func (n *notifier) take(now time.Time) string {
	text := n.text
	if n.more > 1 {
		text += " (" + itoa(n.more-1) + " more)"
	}
	n.last, n.more = now, 0
	return text
}

// worthTelling is an event as a notification; "" for those that can wait: a notice, a
// verdict, a budget that stopped work, a repair that waits for a step, and the end of
// repair until a person looks.
func worthTelling(ctx *Context, e event.Event) string {
	switch e.Type {
	case event.Notice:
		return "notice in " + ctx.Called(e.SessionID) + turnOf(e)
	case event.RulePromote:
		return "rule " + tag(e.RuleID) + " promoted"
	case event.RuleRetire:
		return "rule " + tag(e.RuleID) + " retired"
	case event.ValidationVerdict:
		return "verdict on rule " + tag(e.RuleID)
	case event.BudgetStopped:
		return "the budget is used up: work has stopped"
	case event.PatchFinished:
		return "the patch loop of " + runTag(e.RunID) + " ended " + fields(e.Data).text("status")
	case event.StepWaiting:
		if e.RunID != "" {
			return "" // stepped through by whoever started it
		}
		return "a repair is held and waits for a step"
	}
	return ""
}

// told is what a notification says: words, and the link to what they are about, which
// vise open takes.
type told struct{ words, link string }

// text is the notification as one safe line. Links are made of escaped parts; a guarded
// one would not be a link any more.
func (n told) text() string {
	out := guard.Line(n.words, 160)
	if n.link != "" && len(n.link) <= 160 {
		out += "  " + n.link
	}
	return out
}

func turnOf(e event.Event) string {
	if e.TurnIndex == nil {
		return ""
	}
	return " turn " + itoa(*e.TurnIndex)
}

// notify tells the person something if the terminal is not in front.
func (a *App) notify(text string) tea.Cmd {
	if text == "" || !a.away || a.cfg.NoNotify {
		return nil
	}
	tell, wait := a.notifier.add(a.ctx.Now(), text)
	if wait > 0 {
		return tea.Tick(wait, func(time.Time) tea.Msg { return flushMsg{} })
	}
	return a.ring(tell)
}

// ring sends a notification in the form that the terminal has; a bell where none is known.
func (a *App) ring(text string) tea.Cmd {
	if text == "" || !a.away {
		return nil
	}
	return tea.Raw(notification(a.cfg, "vise "+guard.Line(a.cfg.Project, 40), text))
}

// notification is the sequence that makes the terminal of an environment tell a person
// something: OSC 99 (kitty), OSC 777 (urxvt, foot, Ghostty, WezTerm), OSC 9 (iTerm2,
// Windows Terminal), else the bell, which multiplexers pass on too.
func notification(c Config, title, text string) string {
	program, name := c.env("TERM_PROGRAM"), c.env("TERM")
	switch {
	case c.env("TMUX") != "" || strings.HasPrefix(name, "screen") || strings.HasPrefix(name, "tmux"):
		return "\a"
	case c.env("KITTY_WINDOW_ID") != "" || name == "xterm-kitty":
		return ansi.DesktopNotification(title, "i=vise", "d=0") + ansi.DesktopNotification(text, "i=vise", "p=body")
	case program == "ghostty" || program == "WezTerm" || strings.HasPrefix(name, "foot") || strings.HasPrefix(name, "rxvt"):
		clean := strings.NewReplacer(";", ",")
		return "\x1b]777;notify;" + clean.Replace(title) + ";" + clean.Replace(text) + "\a"
	case program == "iTerm.app" || c.env("WT_SESSION") != "":
		return ansi.Notify(title + ": " + text)
	}
	return "\a"
}
