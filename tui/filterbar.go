package tui

import (
	"slices"
	"strings"
	"time"

	"charm.land/bubbles/v2/textinput"
	tea "charm.land/bubbletea/v2"

	"vise/tui/action"
	"vise/tui/filter"
	"vise/tui/style"
)

// Filterer is a pane whose rows can be filtered (package filter).
type Filterer interface {
	// FilterSpec is what rows can be asked for.
	FilterSpec() filter.Spec
	// Filter shows only what a filter lets through; "" shows everything. The text has
	// been parsed once without an error. What takes long runs in the command and ends
	// when another filter comes.
	Filter(ctx *Context, text string) tea.Cmd
	// Filtered is the filter in force, "" = none.
	Filtered() string
	// FilterCount says how many rows pass, of how many.
	FilterCount() string
}

// filterBar is the filter of a pane while it is typed.
type filterBar struct {
	input textinput.Model
	pane  PaneID
	was   string // what esc brings back
	wrong string // why the text is no filter (yet)
	told  bool   // enter was pressed on it
	typed int

	cycle  []string // what tab goes through, the present one, and what stands before it
	at     int
	before string
	past   int    // the earlier filter that is shown, 1 = the newest, 0 = what was typed
	draft  string // that
}

// filterMsg is the pause after which what was typed is applied.
type filterMsg struct{ typed int }

// filterRest is how long the typing must pause before rows are filtered.
const filterRest = 60 * time.Millisecond

func (a *App) openFilter() tea.Cmd {
	p := a.panes[a.focus].(Filterer)
	a.filtering = &filterBar{input: newInput(p.Filtered()), pane: a.focus, was: p.Filtered()}
	return nil
}

func (a *App) filterKey(k tea.KeyPressMsg) tea.Cmd {
	f := a.filtering
	p := a.panes[f.pane].(Filterer)
	switch k.String() {
	case "esc":
		a.filtering = nil
		return p.Filter(a.ctx, f.was)
	case "enter":
		text := strings.TrimSpace(f.input.Value())
		if a.filterTyped(); f.wrong != "" {
			f.told = true // it stays until it can be read, or esc leaves it
			return nil
		}
		a.filtering = nil
		if act, ok := a.reg.Action(action.Filter); ok && text != "" && text != f.was {
			a.remember(choice{Action: act, arg: text})
		}
		return a.filter(f.pane, text, f.was)
	case "tab":
		return f.complete(a, 1)
	case "shift+tab":
		return f.complete(a, -1)
	case "up", "ctrl+p":
		return f.earlier(a, 1)
	case "down", "ctrl+n":
		return f.earlier(a, -1)
	}
	f.cycle, f.past = nil, 0
	var cmd tea.Cmd
	f.input, cmd = f.input.Update(k)
	return tea.Batch(cmd, a.filterTyped())
}

// filterTyped checks what is typed and lets it rest before it is applied.
func (a *App) filterTyped() tea.Cmd {
	f := a.filtering
	f.wrong, f.told = "", false
	if text, ok := a.kept(f.input.Value()); !ok {
		f.wrong = a.unkept(f.input.Value())
		return nil
	} else if _, err := filter.Parse(text, a.panes[f.pane].(Filterer).FilterSpec()); err != nil {
		f.wrong = strings.TrimPrefix(err.Error(), "filter: ")
		return nil
	}
	f.typed++
	n := f.typed
	return tea.Tick(filterRest, func(time.Time) tea.Msg { return filterMsg{n} })
}

func (a *App) filterRested(m filterMsg) tea.Cmd {
	f := a.filtering
	if f == nil || m.typed != f.typed || f.wrong != "" {
		return nil
	}
	text, _ := a.kept(f.input.Value())
	a.follow = false
	return a.panes[f.pane].(Filterer).Filter(a.ctx, text)
}

// filter puts a filter into force; was is the one before it, for undo.
func (a *App) filter(id PaneID, text, was string) tea.Cmd {
	p, ok := a.panes[id].(Filterer)
	if !ok {
		return a.say(style.Dim, "this pane has no filter")
	}
	name := text
	text, ok = a.kept(strings.TrimSpace(text))
	if !ok {
		return a.say(style.Warn, a.unkept(name))
	}
	if _, err := filter.Parse(text, p.FilterSpec()); err != nil {
		return tea.Batch(p.Filter(a.ctx, was), a.say(style.Warn, err.Error()))
	}
	if text != was {
		a.did(act{Kind: actFilter, Target: string(id), Before: actValue{Text: was}, After: actValue{Text: text}})
	}
	a.follow = false
	return p.Filter(a.ctx, text)
}

// kept gives the filter that is kept under @NAME; any other text is itself.
func (a *App) kept(text string) (string, bool) {
	name, ok := strings.CutPrefix(text, "@")
	if !ok {
		return text, true
	}
	f, ok := a.saved[name]
	return f, ok
}

// unkept says that there is no filter under a name, and which ones there are.
func (a *App) unkept(name string) string {
	return "no filter is kept under " + name + "; kept are " + either(strings.Join(a.keptNames(), " "), "none: "+a.ctx.Key(action.KeepFilter)+" keeps the one in force")
}

func (a *App) keptNames() []string {
	var out []string
	for name := range a.saved {
		out = append(out, "@"+name)
	}
	slices.Sort(out)
	return out
}

// maxKept bounds the filters that are kept.
const maxKept = 50

// keepFilter keeps the filter in force under a name, or forgets the name when there is
// no filter.
func (a *App) keepFilter(name string) tea.Cmd {
	name = strings.TrimPrefix(strings.TrimSpace(name), "@")
	if name == "" || strings.ContainsAny(name, " \t\"") || len(name) > 40 {
		return a.say(style.Warn, "a filter is kept under a word: :keep NAME, then f @NAME")
	}
	p := a.panes[a.focus].(Filterer)
	a.unsaved = true
	if p.Filtered() == "" {
		if _, ok := a.saved[name]; !ok {
			return a.say(style.Dim, "no filter is in force here")
		}
		a.did(act{Kind: actKept, Target: name, Before: said(a.saved[name])})
		delete(a.saved, name)
		return a.say(style.Info, "@"+name+" is forgotten")
	}
	if _, known := a.saved[name]; !known && len(a.saved) >= maxKept {
		return a.say(style.Warn, "there are "+itoa(maxKept)+" kept filters; without a filter in force :keep NAME forgets one")
	}
	a.did(act{Kind: actKept, Target: name, Before: said(a.saved[name]), After: said(p.Filtered())})
	a.saved[name] = p.Filtered()
	return a.say(style.Info, "kept as @"+name+"; f @"+name+" brings it back")
}

func either(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

// thousands writes 12345 as 12,345.
func thousands(n int) string {
	text := itoa(n)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

// passing says how many pass.
func passing(n, of int, whole bool) string {
	text := thousands(n) + " of " + thousands(of)
	if !whole {
		text += "+"
	}
	return text
}
