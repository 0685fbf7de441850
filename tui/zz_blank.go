package tui

// FINAL note from T to P (14:19): surface.go STAYS and is committed; your sheet over it, as it
// is now (newSheet(id, title), newX() without context, cached, see, st), is what all panes use.
// I have adapted mine to it. Please change neither back.
// Placeholders so that the program runs meanwhile: delete a line here when your
// constructor of that name exists, and the file at the end.

import (
	tea "charm.land/bubbletea/v2"

	"vise/tui/action"
	"vise/tui/style"
)

func newRules() Pane      { return &blankPane{newSheet(PaneRules, "Rules")} }
func newValidation() Pane { return &blankPane{newSheet(PaneValidation, "Validation")} }
func newAttention() Pane  { return &blankPane{newSheet(PaneAttention, "Attention")} }
func newJournal() Pane    { return &blankPane{newSheet(PaneJournal, "Journal")} }

type blankPane struct{ sheet }

func (p *blankPane) SetSize(w, h int)                               { p.resize(w, h) }
func (p *blankPane) Rows() []string                                 { return p.cached(func(*style.Style) []string { return nil }) }
func (p *blankPane) Apply(ctx *Context, c Change) tea.Cmd           { p.see(ctx, c); return nil }
func (p *blankPane) Take(*Context, any) (bool, tea.Cmd)             { return false, nil }
func (p *blankPane) Do(*Context, action.ID) (tea.Cmd, bool)         { return nil, false }
func (p *blankPane) Mouse(*Context, int, int, tea.MouseMsg) tea.Cmd { return nil }
func (p *blankPane) Copy() string                                   { return "" }
func (p *blankPane) Headless() string                               { return "" }
func (p *blankPane) JSON() any                                      { return nil }
