package tui

import (
	"charm.land/bubbles/v2/textinput"
	tea "charm.land/bubbletea/v2"

	"vise/tui/style"
	"vise/tui/vtext"
)

// searchBar is the search in the pane with the focus. While it is being typed all
// keys are its; afterwards n and N go through the matches and esc ends it.
type searchBar struct {
	input  textinput.Model
	typing bool
	total  int
	pane   PaneID
}

func newInput(value string) textinput.Model {
	in := textinput.New()
	in.SetVirtualCursor(false)
	in.CharLimit = 200
	in.Prompt = ""
	in.SetValue(value)
	in.CursorEnd()
	in.Focus()
	return in
}

func (a *App) openSearch() tea.Cmd {
	a.search = &searchBar{input: newInput(""), typing: true, pane: a.focus}
	return nil
}

func (a *App) closeSearch() tea.Cmd {
	if p, ok := a.panes[a.search.pane].(Searcher); ok {
		p.Search(a.ctx, "")
	}
	a.search = nil
	return nil
}

func (a *App) searchKey(k tea.KeyPressMsg) tea.Cmd {
	switch k.String() {
	case "esc":
		return a.closeSearch()
	case "enter":
		if a.search.input.Value() == "" {
			return a.closeSearch()
		}
		a.search.typing = false
		return nil
	}
	var cmd tea.Cmd
	a.search.input, cmd = a.search.input.Update(k)
	return tea.Batch(cmd, a.find())
}

func (a *App) searchPaste(m tea.PasteMsg) tea.Cmd {
	var cmd tea.Cmd
	a.search.input, cmd = a.search.input.Update(m)
	return tea.Batch(cmd, a.find())
}

// farSearcher is a Searcher over a window of a longer list. It says itself what was
// found, since that is not all there is.
type farSearcher interface {
	Searcher
	// SearchFar looks beyond what is loaded for what Search was told: for the first
	// match (0) when none is loaded, for the next (1) or the previous (-1).
	SearchFar(ctx *Context, dir int) tea.Cmd
	// Found is how many matches there are, and where they were looked for.
	Found() string
}

// find searches anew: what is loaded at once, what is not in a command.
func (a *App) find() tea.Cmd {
	a.follow = false
	p, ok := a.panes[a.search.pane].(Searcher)
	if !ok {
		return nil
	}
	a.search.total = p.Search(a.ctx, a.search.input.Value())
	if far, ok := p.(farSearcher); ok {
		return far.SearchFar(a.ctx, 0)
	}
	return nil
}

// found says how much the search has brought.
func (a *App) found() string {
	if wrong := searchTrouble(a.search.input.Value()); wrong != "" {
		return wrong
	}
	n := a.matched()
	if p, ok := a.panes[a.search.pane].(placed); ok {
		if at := p.MatchAt(); at > 0 {
			return itoa(at) + " of " + n
		}
	}
	return n
}

// matched says how many matches there are.
func (a *App) matched() string {
	if far, ok := a.panes[a.search.pane].(farSearcher); ok {
		return far.Found()
	}
	if p, ok := a.panes[a.search.pane].(counted); ok {
		return matchCount(p.Matches())
	}
	return matchCount(a.search.total)
}

// foundIn says how many matches there are among what is loaded.
func foundIn(n, loaded int, more bool) string {
	if more {
		return itoa(n) + " in the " + itoa(loaded) + " loaded"
	}
	return matchCount(n)
}

func matchCount(n int) string {
	switch {
	case n == 1:
		return "1 match"
	case n >= vtext.MaxMatches:
		return thousands(n) + "+ matches"
	}
	return thousands(n) + " matches"
}

func (a *App) nextMatch(dir int) tea.Cmd {
	if p, ok := a.panes[a.search.pane].(Searcher); ok {
		return p.NextMatch(a.ctx, dir)
	}
	return nil
}

func (a *App) searchRow(r *style.Row) string {
	s := a.ctx.Style
	r.Space(1).Put(style.Key, "/")
	at := a.w - r.Left()
	value := a.search.input.Value()
	r.Put(style.Text, value)
	if a.search.typing {
		before := string([]rune(value)[:a.search.input.Position()])
		a.cursorAt = tea.NewCursor(min(a.w-1, at+s.Width(s.Clean(before))), a.h-1)
	}
	keys := "enter keep  esc end  " + regexSwitch + " before an expression"
	if !a.search.typing {
		keys = "n N next/previous  esc end"
	}
	hint := "  " + a.found() + "   " + keys
	return r.Put(style.Dim, hint).String()
}
