package action

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Registry is a checked list of actions.
type Registry struct {
	list  []Action
	byID  map[ID]int
	byKey map[string][]int
}

// Default returns the registry of the workbench.
func Default() *Registry {
	r, err := New(defaults)
	if err != nil {
		panic(err) // the list is compiled in and checked by a test
	}
	return r
}

// New checks that ids are unique, that nothing without a key is left out of the
// palette, and that no key means two things in one place.
func New(list []Action) (*Registry, error) {
	return checked(list, func(id ID) string { return strconv.Quote(string(id)) })
}

// checked is New with a way to name an action in errors.
func checked(list []Action, named func(ID) string) (*Registry, error) {
	r := &Registry{list: slices.Clone(list), byID: map[ID]int{}, byKey: map[string][]int{}}
	var errs []error
	for i, a := range r.list {
		if a.ID == "" || a.Title == "" || a.Group == "" || a.Scope == "" {
			errs = append(errs, fmt.Errorf("action %d (%q): id, title, group and scope are required", i, a.ID))
		}
		if _, dup := r.byID[a.ID]; dup {
			errs = append(errs, fmt.Errorf("action %q is listed twice", a.ID))
		}
		r.byID[a.ID] = i
		for _, k := range a.Keys {
			if why := reserved[k]; why != "" && !(a.ID == Suspend && k == "ctrl+z") {
				errs = append(errs, fmt.Errorf("action %s: key %q is %s", named(a.ID), k, why))
			}
			for _, j := range r.byKey[k] {
				if b := r.list[j]; clash(a, b) {
					errs = append(errs, fmt.Errorf("key %q means both %s and %s: give one of them another key", k, named(b.ID), named(a.ID)))
				}
			}
			r.byKey[k] = append(r.byKey[k], i)
		}
	}
	return r, errors.Join(errs...)
}

// clash reports whether two actions could be meant by one key at one place. A
// narrower scope hides a wider one, which is no clash.
func clash(a, b Action) bool {
	if a.Scope != b.Scope {
		return false
	}
	if a.Scope != Pane || len(a.Panes) == 0 || len(b.Panes) == 0 {
		// A restricted pane action hides an unrestricted one.
		return a.Scope != Pane || len(a.Panes) == 0 && len(b.Panes) == 0
	}
	return slices.ContainsFunc(a.Panes, func(p string) bool { return slices.Contains(b.Panes, p) })
}

// reserved are keys that multiplexers, terminals or line editors take.
var reserved = map[string]string{
	"ctrl+b": "the prefix of tmux", "ctrl+a": "the prefix of screen", "ctrl+g": "the lock key of zellij",
	"ctrl+s": "flow control", "ctrl+q": "flow control", "ctrl+z": "suspend", "ctrl+i": "tab in most terminals",
	"ctrl+m": "enter in most terminals", "ctrl+j": "enter in some terminals", "ctrl+h": "backspace in some terminals",
}

// All lists the actions in the order of help.
func (r *Registry) All() []Action { return r.list }

// Action returns the action of that id.
func (r *Registry) Action(id ID) (Action, bool) {
	i, ok := r.byID[id]
	if !ok {
		return Action{}, false
	}
	return r.list[i], true
}

// Lookup returns what a key means while the pane has the focus.
func (r *Registry) Lookup(key, pane string) (Action, bool) {
	best, found := Action{}, false
	for _, i := range r.byKey[key] {
		a := r.list[i]
		if a.Scope == Pane && !a.For(pane) {
			continue
		}
		if !found || narrower(a, best) {
			best, found = a, true
		}
	}
	return best, found
}

func narrower(a, b Action) bool {
	rank := map[Scope]int{Pane: 0, View: 1, Global: 2}
	if a.Scope != b.Scope {
		return rank[a.Scope] < rank[b.Scope]
	}
	return len(a.Panes) > 0 && len(b.Panes) == 0
}

// Footer lists the actions that the footer names while the pane has the focus, in
// their order: those that their first key reaches there.
func (r *Registry) Footer(pane string) []Action {
	var out []Action
	for _, a := range r.list {
		if a.Rank == 0 || len(a.Keys) == 0 {
			continue
		}
		if there, ok := r.Lookup(a.Keys[0], pane); ok && there.ID == a.ID {
			out = append(out, a)
		}
	}
	slices.SortStableFunc(out, func(a, b Action) int { return a.Rank - b.Rank })
	return out
}

// KeyName is a key as help and footer write it.
func KeyName(key string) string {
	switch key {
	case "up":
		return "↑"
	case "down":
		return "↓"
	case "left":
		return "←"
	case "right":
		return "→"
	}
	return key
}

// Text puts keys into a text: {id} is what a person presses for that action, its first
// key, or ":" and its command when it has none. What is between other braces stays as it is.
func (r *Registry) Text(s string) string {
	if !strings.Contains(s, "{") {
		return s
	}
	var b strings.Builder
	for {
		before, rest, ok := strings.Cut(s, "{")
		b.WriteString(before)
		if !ok {
			return b.String()
		}
		id, after, ok := strings.Cut(rest, "}")
		a, known := r.Action(ID(id))
		if !ok || !known {
			b.WriteByte('{')
			s = rest
			continue
		}
		b.WriteString(a.Press())
		s = after
	}
}

// Press is what a person presses for the action: its first key as help writes it, else
// its command in the palette.
func (a Action) Press() string {
	if len(a.Keys) > 0 {
		return KeyName(a.Keys[0])
	}
	return ":" + a.Command()
}

// Command is the action's name in the palette: the last part of its id.
func (a Action) Command() string {
	id := string(a.ID)
	return id[strings.LastIndexByte(id, '.')+1:]
}
