package action_test

import (
	"slices"
	"strings"
	"testing"

	"vise/tui/action"
)

// The list we ship has no key that means two things in one place.
func TestDefault(t *testing.T) {
	r := action.Default()
	for _, a := range r.All() {
		if len(a.Keys) == 0 {
			t.Errorf("%s has no key", a.ID)
		}
		if a.Rank > 0 && a.Short == "" {
			t.Errorf("%s is in the footer without a word", a.ID)
		}
	}
	// The keys that are promised.
	for key, want := range map[string]action.ID{
		"s": action.Step, "c": action.Continue, "[": action.Back, "]": action.Forward, "n": action.NextProblem, "N": action.PrevProblem,
		"i": action.Into, "o": action.Out, "b": action.Breakpoint, "r": action.Replay, "v": action.Validate, "V": action.ValidateOne,
		"x": action.Cancel, "z": action.Zoom, "/": action.Search, "f": action.Filter, ":": action.Palette, "?": action.Help,
		"y": action.Copy, "Y": action.CopyCommand, "L": action.CopyLink, "u": action.Undo, "q": action.Quit,
		"tab": action.FocusNext, "shift+tab": action.FocusPrev, "1": action.Focus1, "9": action.Focus9,
		"j": action.Down, "down": action.Down, "k": action.Up, "G": action.End, "enter": action.Into,
	} {
		for _, pane := range []string{"sessions", "turns", "trace", "scores", "repair", "rules", "validation", "attention", "journal"} {
			if a, ok := r.Lookup(key, pane); !ok || a.ID != want {
				t.Errorf("key %q in %s means %q, want %q", key, pane, a.ID, want)
			}
		}
	}
	if a, ok := r.Lookup("a", "attention"); !ok || a.ID != action.Resume {
		t.Errorf("a in attention means %q", a.ID)
	}
	if a, ok := r.Lookup("a", "trace"); ok {
		t.Errorf("a in trace means %q, want nothing", a.ID)
	}
}

func TestNewConflicts(t *testing.T) {
	a := func(id action.ID, scope action.Scope, panes []string, keys ...string) action.Action {
		return action.Action{ID: id, Title: "t", Group: "g", Scope: scope, Panes: panes, Keys: keys}
	}
	for _, c := range []struct {
		name string
		list []action.Action
		want string
	}{
		{"same scope", []action.Action{a("x", action.Global, nil, "k"), a("y", action.Global, nil, "k")}, `key "k" means both "x" and "y"`},
		{"a narrower scope hides", []action.Action{a("x", action.Global, nil, "k"), a("y", action.Pane, nil, "k")}, ""},
		{"panes apart", []action.Action{a("x", action.Pane, []string{"p"}, "k"), a("y", action.Pane, []string{"q"}, "k")}, ""},
		{"panes that meet", []action.Action{a("x", action.Pane, []string{"p", "r"}, "k"), a("y", action.Pane, []string{"r"}, "k")}, `means both`},
		{"one pane hides all panes", []action.Action{a("x", action.Pane, nil, "k"), a("y", action.Pane, []string{"r"}, "k")}, ""},
		{"reserved", []action.Action{a("x", action.Global, nil, "ctrl+b")}, "the prefix of tmux"},
		{"twice", []action.Action{a("x", action.Global, nil), a("x", action.Global, nil)}, "listed twice"},
		{"incomplete", []action.Action{{ID: "x"}}, "are required"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := action.New(c.list)
			switch {
			case c.want == "" && err != nil:
				t.Errorf("got %v, want no error", err)
			case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}

func TestBind(t *testing.T) {
	r, err := action.Default().Bind(map[string][]string{"run.replay": {"F5", "ctrl+t"}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if a, _ := r.Lookup("f5", "trace"); a.ID != action.Replay {
		t.Errorf("F5 means %q", a.ID)
	}
	if a, ok := r.Lookup("r", "trace"); ok {
		t.Errorf("r still means %q", a.ID)
	}
	for want, keys := range map[string]map[string][]string{
		`no action is called "run.away"`:                       {"run.away": {"r"}},
		`key "c" means both`:                                   {"run.replay": {"c"}},
		"flow control":                                         {"run.replay": {"ctrl+s"}},
		"few terminals":                                        {"run.replay": {"ctrl+shift+r"}},
		"is no key that terminals send":                        {"run.replay": {"hyper"}},
		"none of ctrl, alt and shift":                          {"run.replay": {"cmd+r"}},
		"written as the character":                             {"run.replay": {"shift+r"}},
		`"help.keys" (a default) cannot be reached: "move.up"`: {"move.up": {"?", "k"}},
		`"quit" (ui.keys in vise.toml) needs a key`:            {"quit": {}},
	} {
		if _, err := action.Default().Bind(keys, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Bind(%v) = %v, want %q", keys, err, want)
		}
	}
}

func TestFooter(t *testing.T) {
	var words []string
	for _, a := range action.Default().Footer("attention") {
		words = append(words, a.Short)
	}
	if !slices.Contains(words, "resume") || words[0] != "step" {
		t.Errorf("footer of attention: %q", words)
	}
}

// A key that a person binds twice names itself, both actions, and the line.
func TestBindNamesTheConflict(t *testing.T) {
	_, err := action.Default().Bind(map[string][]string{"run.replay": {"s"}}, func(string) string { return "vise.toml:14" })
	if err == nil {
		t.Fatal("bound")
	}
	for _, want := range []string{"ui.keys", `"s"`, `"run.replay" (vise.toml:14)`, `"run.step" (a default)`} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q does not name %s", err, want)
		}
	}
}

// A text names the keys that a person has given.
func TestText(t *testing.T) {
	r, err := action.Default().Bind(map[string][]string{"run.replay": {"F5"}, "rule.restore": {"up"}, "move.up": {"k"}, "run.step": {}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for s, want := range map[string]string{
		"{run.replay} replays, {rule.restore} restores": "f5 replays, ↑ restores",
		"{run.step}{quit} {no.such} {quit {quit}":       ":stepq {no.such} {quit q",
		"nothing": "nothing",
	} {
		if got := r.Text(s); got != want {
			t.Errorf("%q: %q, want %q", s, got, want)
		}
	}
}
