// Package link makes and reads the addresses of places in a project:
//
//	vise://session/ID[/turn/N[/span/ID]]
//	vise://episode/ID[/step/N]
//	vise://rule/ID     vise://case/ID     vise://verdict/ID
//	vise://notice/ID   vise://run/ID      vise://event/SEQ
//
// with ?pane=NAME for the pane that has the focus and &line=N for the line at its top.
// Ids are escaped as in paths of URLs. This is the only place where links are written
// (String) and read (Parse). A link never does anything but show a place.
package link

import (
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// Link is the address of a place.
type Link struct {
	Kind string `json:"kind"` // one of the Kinds
	ID   string `json:"id"`
	Turn int    `json:"turn"` // of a session; NoTurn = none
	Span string `json:"span,omitempty"`
	Step int    `json:"step,omitempty"` // of an episode; 0 = the newest
	Pane string `json:"pane,omitempty"`
	// Line is the line of the pane's text that is at its top, 1 = the first; 0 = not said.
	Line int `json:"line,omitempty"`
}

// NoTurn is Link.Turn where no turn is meant.
const NoTurn = -1

// Kinds of things that links lead to, in no order.
var Kinds = []string{"session", "episode", "rule", "case", "verdict", "notice", "run", "event"}

// Panes that a link may name: those of the workbench.
var Panes = []string{"sessions", "turns", "trace", "scores", "repair", "rules", "validation", "attention", "journal", "attempts"}

// Max bounds a link, in bytes.
const Max = 2048

// Of is the link to a thing of a kind by its id; "" of no id.
func Of(kind, id string) string {
	if id == "" {
		return ""
	}
	return Link{Kind: kind, ID: id, Turn: NoTurn}.String()
}

// Turn is the link to a turn of a session.
func Turn(session string, turn int) string {
	if session == "" {
		return ""
	}
	return Link{Kind: "session", ID: session, Turn: turn}.String()
}

// Parse reads a link. What it does not know is an error.
func Parse(text string) (Link, error) {
	bad := func(format string, args ...any) (Link, error) {
		return Link{}, fmt.Errorf("link %s: %s; a link is vise://session/ID/turn/7?pane=trace&line=42, and likewise for %s",
			quoted(text, 80), fmt.Sprintf(format, args...), strings.Join(Kinds[1:], ", "))
	}
	rest, ok := strings.CutPrefix(strings.TrimSpace(text), "vise://")
	if !ok || len(text) > Max {
		return bad("it does not begin with vise://, or is longer than %d bytes", Max)
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
	if !slices.Contains(Kinds, l.Kind) {
		return bad("there is no kind %s", quoted(l.Kind, 30))
	}
	if n, ok := number(l.ID); l.Kind == "event" && (!ok || n == 0) {
		return bad("an event has a number from 1 on")
	}
	for i := 2; i < len(parts); i += 2 {
		n, number := number(parts[i+1])
		switch {
		case l.Kind == "session" && parts[i] == "turn" && number:
			l.Turn = n
		case l.Kind == "session" && parts[i] == "span" && l.Turn != NoTurn:
			l.Span = parts[i+1]
		case l.Kind == "episode" && parts[i] == "step" && number && n > 0:
			l.Step = n
		default:
			return bad("%s %s is no place in a %s", quoted(parts[i], 30), quoted(parts[i+1], 30), l.Kind)
		}
	}
	values, err := url.ParseQuery(query)
	if err != nil {
		return bad("what follows the question mark cannot be read")
	}
	for k := range values {
		v := values.Get(k)
		n, number := number(v)
		switch {
		case k == "pane" && slices.Contains(Panes, v):
			l.Pane = v
		case k == "line" && number && n > 0:
			l.Line = n
		default:
			return bad("%s=%s is not known", quoted(k, 30), quoted(v, 30))
		}
	}
	if l.Line > 0 && l.Pane == "" {
		return bad("a line needs a pane: ?pane=trace&line=%d", l.Line)
	}
	if n := len(l.String()); n > Max { // what is not escaped in it would be
		return bad("it is %d bytes with everything escaped, more than %d", n, Max)
	}
	return l, nil
}

// quoted is a part of a link in an error: at most n bytes of it, with controls escaped.
func quoted(text string, n int) string {
	return strconv.QuoteToASCII(text[:min(len(text), n)])
}

// number reads a count that links may hold.
func number(text string) (int, bool) {
	n, err := strconv.Atoi(text)
	return n, err == nil && n >= 0 && n < 1<<31
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
		b.WriteString("?pane=" + l.Pane)
		if l.Line > 0 {
			b.WriteString("&line=" + strconv.Itoa(l.Line))
		}
	}
	return b.String()
}
