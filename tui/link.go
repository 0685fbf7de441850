package tui

import (
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	tea "charm.land/bubbletea/v2"

	"vise/engine/guard"
	"vise/store"
	"vise/tui/style"
)

// Link is the address of a place in a project:
//
//	vise://session/ID[/turn/N[/span/ID]]
//	vise://episode/ID[/step/N]
//	vise://rule/ID
//	vise://case/ID
//
// with ?pane=NAME for the pane that has the focus. Ids are escaped as in paths of URLs.
type Link struct {
	Kind string `json:"kind"` // session, episode, rule, case
	ID   string `json:"id"`
	Turn int    `json:"turn"` // of a session; NoTurn = none
	Span string `json:"span,omitempty"`
	Step int    `json:"step,omitempty"` // of an episode; 0 = the newest
	Pane PaneID `json:"pane,omitempty"`
}

// maxLink bounds a link, in bytes.
const maxLink = 2048

// ParseLink reads a link. What it does not know is an error: a link never does
// anything but show a place.
func ParseLink(text string) (Link, error) {
	bad := func(format string, args ...any) (Link, error) {
		return Link{}, fmt.Errorf("link %s: %s; a link is vise://session/ID/turn/7?pane=trace, and likewise for episode, rule and case",
			guard.Line(text, 80), fmt.Sprintf(format, args...))
	}
	rest, ok := strings.CutPrefix(strings.TrimSpace(text), "vise://")
	if !ok || len(text) > maxLink {
		return bad("it does not begin with vise://, or is longer than %d bytes", maxLink)
	}
	path, query, _ := strings.Cut(rest, "?")
	l := Link{Turn: NoTurn}
	parts := strings.Split(strings.TrimSuffix(path, "/"), "/")
	for i, p := range parts {
		u, err := url.PathUnescape(p)
		if err != nil || u == "" {
			return bad("part %d is empty or not escaped well", i+1)
		}
		parts[i] = u
	}
	if len(parts) < 2 || len(parts)%2 != 0 {
		return bad("it needs a kind and an id")
	}
	l.Kind, l.ID = parts[0], parts[1]
	if !slices.Contains([]string{"session", "episode", "rule", "case"}, l.Kind) {
		return bad("there is no kind %s", guard.Line(l.Kind, 30))
	}
	for i := 2; i < len(parts); i += 2 {
		n, err := strconv.Atoi(parts[i+1])
		number := err == nil && n >= 0 && n < 1<<31
		switch {
		case l.Kind == "session" && parts[i] == "turn" && number:
			l.Turn = n
		case l.Kind == "session" && parts[i] == "span" && l.Turn != NoTurn:
			l.Span = parts[i+1]
		case l.Kind == "episode" && parts[i] == "step" && number && n > 0:
			l.Step = n
		default:
			return bad("%s %s is no place in a %s", guard.Line(parts[i], 30), guard.Line(parts[i+1], 30), l.Kind)
		}
	}
	values, err := url.ParseQuery(query)
	if err != nil {
		return bad("what follows the question mark cannot be read")
	}
	for k := range values {
		if k != "pane" || !slices.Contains(paneOrder, PaneID(values.Get(k))) {
			return bad("%s=%s is not known", guard.Line(k, 30), guard.Line(values.Get(k), 30))
		}
		l.Pane = PaneID(values.Get(k))
	}
	return l, nil
}

// String is the link as text.
func (l Link) String() string {
	var b strings.Builder
	b.WriteString("vise://" + l.Kind + "/" + url.PathEscape(l.ID))
	if l.Kind == "session" && l.Turn != NoTurn {
		b.WriteString("/turn/" + strconv.Itoa(l.Turn))
		if l.Span != "" {
			b.WriteString("/span/" + url.PathEscape(l.Span))
		}
	}
	if l.Step > 0 {
		b.WriteString("/step/" + strconv.Itoa(l.Step))
	}
	if l.Pane != "" {
		b.WriteString("?pane=" + string(l.Pane))
	}
	return b.String()
}

// Command is the headless command that prints what the link shows.
func (l Link) Command() string {
	return map[string]string{"session": "vise sessions show ", "episode": "vise episodes show ", "rule": "vise rules show ", "case": "vise cases show "}[l.Kind] + shellWord(l.ID)
}

// Find reports whether the store has what the link is about.
func (l Link) Find(tx *store.Tx) (ok bool, err error) {
	switch l.Kind {
	case "session":
		if l.Turn != NoTurn {
			heads, err := tx.TurnHeads(l.ID, l.Turn, 1)
			return len(heads) > 0 && heads[0].Index == l.Turn, err
		}
		_, ok, err = tx.Session(l.ID)
	case "episode":
		_, ok, err = tx.Episode(l.ID)
	case "rule":
		_, ok, err = tx.Rule(l.ID)
	case "case":
		_, ok, err = tx.Case(l.ID)
	}
	return ok, err
}

// link is the address of what is on the screen; ok is false when nothing is selected.
func (a *App) link() (l Link, ok bool) {
	s := a.ctx.Scope
	switch {
	case a.view == repairView && a.focus != PaneRules && s.Episode != "":
		l = Link{Kind: "episode", ID: s.Episode, Step: s.Step, Turn: NoTurn}
	case (a.view == evidenceView || a.focus == PaneRules) && s.Rule != "":
		l = Link{Kind: "rule", ID: s.Rule, Turn: NoTurn}
	case s.Session != "":
		l = Link{Kind: "session", ID: s.Session, Turn: s.Turn}
		if a.focus == PaneTrace {
			l.Span = s.Span
		}
	default:
		return l, false
	}
	l.Pane = a.focus
	return l, true
}

// openLink goes to a place that a link names.
func (a *App) openLink(text string) tea.Cmd {
	l, err := ParseLink(text)
	if err != nil {
		return a.say(style.Warn, err.Error())
	}
	s := a.ctx.Store
	return func() tea.Msg {
		found := false
		err := s.View(func(tx *store.Tx) (err error) {
			found, err = l.Find(tx)
			return err
		})
		switch {
		case err != nil:
			return sayMsg{err.Error(), style.Bad}
		case !found:
			return sayMsg{"this project has no " + strings.TrimPrefix(l.String(), "vise://"), style.Warn}
		}
		return l
	}
}

// goLink shows the place of a link.
func (a *App) goLink(l Link) tea.Cmd {
	a.follow = false
	s := a.ctx.Scope
	pane := l.Pane
	switch l.Kind {
	case "session":
		s.Session, s.Turn, s.Span, s.Compare = l.ID, l.Turn, l.Span, ""
		if pane == "" {
			pane = PaneTurns
		}
	case "episode":
		s.Episode, s.Attempt, s.Step = l.ID, 0, l.Step
		if pane == "" {
			pane = PaneRepair
		}
	case "rule":
		s.Rule = l.ID
		if pane == "" {
			pane = PaneRules
		}
	case "case":
		s.Case = l.ID
		if pane == "" {
			pane = PaneValidation
		}
	}
	return a.goTo(pane)
}
