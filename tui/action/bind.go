package action

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Bind returns the registry with other keys for some actions, by their names. where
// gives the place of a binding ("vise.toml:14", "" = unknown). Errors name the place and
// both sides: an unknown name, a key that no terminal sends, one that is reserved, one
// that means two things in one place, and an action that no key reaches any more
// because narrower ones hide all of its keys.
func (r *Registry) Bind(keys map[string][]string, where func(name string) string) (*Registry, error) {
	if len(keys) == 0 {
		return r, nil
	}
	list := slices.Clone(r.list)
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(keys)) {
		at := place(where, name)
		i, ok := r.byID[ID(name)]
		if !ok {
			errs = append(errs, fmt.Errorf("%s: no action is called %q; vise keys lists them", at, name))
			continue
		}
		list[i].Keys = nil
		for _, k := range keys[name] {
			known, err := normal(k)
			if err != nil {
				errs = append(errs, fmt.Errorf("%s: action %q: %w", at, name, err))
				continue
			}
			list[i].Keys = append(list[i].Keys, known)
		}
	}
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	named := func(id ID) string {
		if _, own := keys[string(id)]; own {
			return strconv.Quote(string(id)) + " (" + place(where, string(id)) + ")"
		}
		return strconv.Quote(string(id)) + " (a default)"
	}
	bound, err := checked(list, named)
	if err != nil {
		return nil, fmt.Errorf("ui.keys: %w", err)
	}
	if err := bound.reachable(named); err != nil {
		return nil, fmt.Errorf("ui.keys: %w", err)
	}
	return bound, nil
}

func place(where func(string) string, name string) string {
	if where != nil {
		if at := where(name); at != "" {
			return at
		}
	}
	return "ui.keys in vise.toml"
}

// reachable reports actions that had a key which worked and have none any more. An
// action that was left without keys on purpose is in the palette; the palette itself,
// help and quit need one.
func (r *Registry) reachable(named func(ID) string) error {
	panes := []string{""}
	for _, a := range r.list {
		panes = append(panes, a.Panes...)
	}
	var errs []error
	for _, a := range r.list {
		if len(a.Keys) == 0 {
			if a.ID == Palette || a.ID == Help || a.ID == Quit {
				errs = append(errs, fmt.Errorf("%s needs a key: nothing else leads to it", named(a.ID)))
			}
			continue
		}
		hidden, found := ID(""), false
		for _, k := range a.Keys {
			for _, p := range panes {
				if a.Scope == Pane && !a.For(p) {
					continue
				}
				got, _ := r.Lookup(k, p)
				found = found || got.ID == a.ID
				if got.ID != a.ID {
					hidden = got.ID
				}
			}
		}
		if !found {
			errs = append(errs, fmt.Errorf("%s cannot be reached: %s takes %s", named(a.ID), named(hidden), strings.Join(a.Keys, ", ")))
		}
	}
	return errors.Join(errs...)
}

// namedKeys are the keys that terminals send and that are not characters.
var namedKeys = []string{"enter", "esc", "tab", "space", "backspace", "delete", "insert", "up", "down", "left", "right", "home", "end", "pgup", "pgdown",
	"f1", "f2", "f3", "f4", "f5", "f6", "f7", "f8", "f9", "f10", "f11", "f12"}

// normal checks a key and writes it as Bubble Tea does. Chords that only terminals with
// the kitty keyboard send (ctrl+enter, ctrl+shift+x) are refused: elsewhere they would
// never come.
func normal(key string) (string, error) {
	rest, ctrl, alt, shift := key, false, false, false
	for i := strings.IndexByte(rest, '+'); i > 0 && i < len(rest)-1; i = strings.IndexByte(rest, '+') {
		switch strings.ToLower(rest[:i]) {
		case "ctrl":
			ctrl = true
		case "alt":
			alt = true
		case "shift":
			shift = true
		default:
			return "", fmt.Errorf("key %q: %s is none of ctrl, alt and shift", key, rest[:i])
		}
		rest = rest[i+1:]
	}
	bad := func(why string) (string, error) { return "", fmt.Errorf("key %q %s", key, why) }
	if rest == " " {
		rest = "space"
	}
	if r, n := utf8.DecodeRuneInString(rest); n == len(rest) && r > ' ' && r != 0x7f && r != utf8.RuneError {
		switch {
		case shift && ctrl:
			return bad("is sent by few terminals; use a key without shift")
		case shift:
			return bad("is written as the character itself: " + strings.ToUpper(rest))
		case ctrl && (r < 'a' || r > 'z'):
			return bad("is sent by few terminals; ctrl goes with a small letter")
		}
	} else {
		if rest = strings.ToLower(rest); !slices.Contains(namedKeys, rest) {
			return bad("is no key that terminals send; known are characters and " + strings.Join(namedKeys, ", "))
		}
		arrows := slices.Contains([]string{"up", "down", "left", "right", "home", "end", "pgup", "pgdown", "insert", "delete"}, rest) || rest[0] == 'f'
		if (ctrl || shift && rest != "tab") && !arrows {
			return bad("is sent by few terminals")
		}
	}
	out := rest
	if shift {
		out = "shift+" + out
	}
	if alt {
		out = "alt+" + out
	}
	if ctrl {
		out = "ctrl+" + out
	}
	return out, nil
}
