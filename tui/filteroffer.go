package tui

import (
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"vise/engine/trace"
	"vise/tui/action"
)

// filterValues is a pane that knows which values a word of its filter can have now.
type filterValues interface {
	// FilterValues are the values of a key, in order; nil when nobody knows them.
	FilterValues(key string) []string
}

// maxOffers bounds what is offered for a word.
const maxOffers = 50

// offers are the words that what is typed last can be made into: names of kept filters,
// keys, and the values of a key.
func (f *filterBar) offers(a *App) []string {
	value := f.input.Value()
	word := value[strings.LastIndexByte(value, ' ')+1:]
	bare := strings.TrimPrefix(word, "!")
	not := word[:len(word)-len(bare)]
	spec := a.panes[f.pane].(Filterer).FilterSpec()
	var list []string
	if word == value {
		list = a.keptNames()
	}
	stem, part := "", bare
	if key, typed, ok := strings.Cut(bare, ":"); ok {
		at := strings.LastIndexByte(typed, '|') + 1
		stem, part, list = key+":"+typed[:at], typed[at:], spec.Words[strings.ToLower(key)]
		if p, knows := a.panes[f.pane].(filterValues); knows && len(list) == 0 {
			list = p.FilterValues(strings.ToLower(key))
		}
	} else if word == value || word != "" {
		list = append(spec.Keys(), list...)
	}
	var out []string
	for _, x := range list {
		if strings.HasPrefix(strings.ToLower(x), strings.ToLower(part)) && x != part && len(out) < maxOffers {
			if strings.ContainsAny(x, " \t") {
				x = `"` + x + `"`
			}
			out = append(out, not+stem+x)
		}
	}
	return out
}

// complete makes the last word one of those offered; again the next one (1) or the one
// before (-1).
func (f *filterBar) complete(a *App, dir int) tea.Cmd {
	if len(f.cycle) == 0 {
		if f.cycle = f.offers(a); len(f.cycle) == 0 {
			return nil
		}
		value := f.input.Value()
		f.before, f.at = value[:strings.LastIndexByte(value, ' ')+1], -1
		if dir < 0 {
			f.at = 0
		}
	}
	n := len(f.cycle)
	f.at = ((f.at+dir)%n + n) % n
	f.put(f.before + f.cycle[f.at])
	return a.filterTyped()
}

// earlier brings a filter that was in force before, a further one each time (1), or goes
// back to what was typed (-1).
func (f *filterBar) earlier(a *App, dir int) tea.Cmd {
	past := a.pastFilters()
	if f.past == 0 {
		f.draft = f.input.Value()
	}
	at := f.past + dir
	if at < 0 || at > len(past) {
		return nil
	}
	if f.past = at; at == 0 {
		f.put(f.draft)
	} else {
		f.put(past[at-1])
	}
	f.cycle = nil
	return a.filterTyped()
}

func (f *filterBar) put(text string) {
	f.input.SetValue(text)
	f.input.CursorEnd()
}

// pastFilters are the filters that were put into force, newest first: those that the
// palette remembers.
func (a *App) pastFilters() []string {
	var out []string
	for _, line := range a.recent {
		if text, ok := strings.CutPrefix(line, string(action.Filter)+" "); ok && text != "" {
			out = append(out, text)
		}
	}
	return out
}

// FilterValues implements filterValues: the agents of the sessions that are loaded.
func (p *sessionsPane) FilterValues(key string) []string {
	if key != "agent" {
		return nil
	}
	var out []string
	for _, r := range p.list.Items() {
		if r.Agent != "" && !slices.Contains(out, r.Agent) && len(out) < maxOffers {
			out = append(out, r.Agent)
		}
	}
	slices.Sort(out)
	return out
}

// FilterValues implements filterValues: the tools of the turn.
func (p *tracePane) FilterValues(key string) []string {
	if key != "tool" {
		return nil
	}
	var out []string
	for _, s := range append(p.data.now[:len(p.data.now):len(p.data.now)], p.live...) {
		if s.Kind == trace.TOOL && s.Name != "" && !slices.Contains(out, s.Name) && len(out) < maxOffers {
			out = append(out, s.Name)
		}
	}
	slices.Sort(out)
	return out
}
