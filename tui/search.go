package tui

import (
	"fmt"

	"charm.land/bubbles/v2/textinput"
	tea "charm.land/bubbletea/v2"

	"vise/tui/style"
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
	a.find()
	return cmd
}

func (a *App) searchPaste(m tea.PasteMsg) tea.Cmd {
	var cmd tea.Cmd
	a.search.input, cmd = a.search.input.Update(m)
	a.find()
	return cmd
}

// find searches anew; it is incremental over what is loaded.
func (a *App) find() {
	a.follow = false
	if p, ok := a.panes[a.search.pane].(Searcher); ok {
		a.search.total = p.Search(a.ctx, a.search.input.Value())
	}
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
	hint := fmt.Sprintf("  %s   enter keep  esc end", count(a.search.total, "match"))
	if !a.search.typing {
		hint = fmt.Sprintf("  %s   n N next/previous  esc end", count(a.search.total, "match"))
	}
	if a.search.total != 1 {
		hint = "  " + itoa(a.search.total) + " matches" + hint[len("  "+count(a.search.total, "match")):]
	}
	return r.Put(style.Dim, hint).String()
}
