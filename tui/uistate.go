package tui

import (
	"context"
	"maps"
	"reflect"
	"slices"
	"time"

	tea "charm.land/bubbletea/v2"

	"vise/store"
	"vise/tui/layout"
	"vise/tui/style"
)

// Place is where a person was in the workbench: the state of the screen that the next
// start goes on with. It is kept in the project's store and is no part of the journal:
// nothing in the engine depends on it.
type Place struct {
	View    string            `json:"view"`
	Focus   string            `json:"focus"`
	Focused map[string]string `json:"focused,omitempty"`
	Zoom    bool              `json:"zoom,omitempty"`
	Half    bool              `json:"half,omitempty"`
	Scope   Scope             `json:"scope"`
	// Shape are the sizes of panes that a person gave, by view.
	Shape map[string]layout.Weights `json:"shape,omitempty"`
	// Filters are those in force, by pane; Saved those that were kept by name.
	Filters map[string]string `json:"filters,omitempty"`
	Saved   map[string]string `json:"saved,omitempty"`
	// Breaks are the breakpoints, as text.
	Breaks []string `json:"breaks,omitempty"`
	// Recent are the newest commands of the palette, newest first.
	Recent []string `json:"recent,omitempty"`
	// Acts is what can be undone, oldest first; the last Undone of them are to be done again.
	Acts   []act `json:"acts,omitempty"`
	Undone int   `json:"undone,omitempty"`
	// Ended: the workbench ended because it was asked to. Report is the file that tells
	// of a crash.
	Ended  bool   `json:"ended"`
	Report string `json:"report,omitempty"`
}

// placeState is the name of the document in the store.
const placeState = "workbench/place"

// ReadPlace is where the workbench was left; ok is false when it was never open.
func ReadPlace(s *store.Store) (p Place, ok bool, err error) {
	err = s.View(func(tx *store.Tx) (err error) {
		ok, err = tx.State(placeState, &p)
		return err
	})
	return p, ok, err
}

func writePlace(ctx context.Context, s *store.Store, p Place) error {
	return s.Bulk(ctx, func(tx *store.Tx) error { return tx.PutState(placeState, p) })
}

// place is where the person is now.
func (a *App) place() Place {
	p := Place{View: string(a.view), Focus: string(a.focus), Focused: map[string]string{}, Zoom: a.zoom, Half: a.half, Scope: *a.ctx.Scope,
		Shape: map[string]layout.Weights{}, Filters: map[string]string{}, Saved: maps.Clone(a.saved), Recent: slices.Clone(a.recent), Breaks: breakTexts(a.ctx.Breaks)}
	// The errors of a start end with it, and so does what was done to them.
	ofStart := func(x act) bool { return x.Kind == actDismiss }
	p.Acts = slices.DeleteFunc(slices.Clone(a.acts.list), ofStart)
	p.Undone = len(slices.DeleteFunc(slices.Clone(a.acts.list[a.acts.next:]), ofStart))
	for v, f := range a.focused {
		p.Focused[string(v)] = string(f)
	}
	for v, w := range a.shape {
		if len(w) > 0 {
			p.Shape[string(v)] = maps.Clone(w)
		}
	}
	for id, pane := range a.panes {
		if f, ok := pane.(Filterer); ok && f.Filtered() != "" {
			p.Filters[string(id)] = f.Filtered()
		}
	}
	return p
}

// settlePlace takes from a place what outlives every session: sizes, kept filters,
// breakpoints, commands, and what can be undone.
func (a *App) settlePlace(p Place) {
	a.putBreakpoints(p.Breaks)
	for v, w := range p.Shape {
		if slices.ContainsFunc(a.views, func(d viewDef) bool { return string(d.id) == v }) {
			a.shape[viewID(v)] = w
		}
	}
	for name, f := range p.Saved {
		a.saved[name] = f
	}
	a.recent = p.Recent
	a.acts.list = p.Acts[max(0, len(p.Acts)-maxActs):]
	a.acts.next = max(0, len(a.acts.list)-p.Undone)
}

// goBack goes to a place: the same pane, cursor and filters as there were.
func (a *App) goBack(p Place) tea.Cmd {
	var cmds []tea.Cmd
	if !slices.ContainsFunc(a.views, func(d viewDef) bool { return string(d.id) == p.View }) || a.panes[PaneID(p.Focus)] == nil {
		return nil // of another version of the program
	}
	for v, f := range p.Focused {
		if a.panes[PaneID(f)] != nil {
			a.focused[viewID(v)] = PaneID(f)
		}
	}
	a.show(viewID(p.View), PaneID(p.Focus))
	a.zoom, a.half = p.Zoom, p.Half
	if id := p.Scope.Session; a.gone(id) {
		p.Scope = Scope{Turn: NoTurn}
		cmds = append(cmds, a.say(style.Info, "session "+tag(id)+" was removed since; this is the newest"))
	}
	*a.ctx.Scope = p.Scope
	a.arrange()
	for id, text := range p.Filters {
		if f, ok := a.panes[PaneID(id)].(Filterer); ok {
			cmds = append(cmds, f.Filter(a.ctx, text))
		}
	}
	return tea.Batch(cmds...)
}

// gone reports whether a session that was looked at is in the store no more.
func (a *App) gone(id string) bool {
	if id == "" {
		return false
	}
	known := true // of a store that cannot be read nothing is known
	_ = a.ctx.Store.View(func(tx *store.Tx) (err error) {
		_, known, err = tx.Session(id)
		known = known || err != nil
		return err
	})
	return !known
}

// saveAfter is how long a person must rest before the place is saved.
const saveAfter = time.Second

// saveMsg is the time to save the place; savedMsg tells that it is saved.
type (
	saveMsg  struct{}
	savedMsg struct{}
)

// keepPlace saves the place when it has changed, once a second at most.
func (a *App) keepPlace() tea.Cmd {
	k := whereabouts{a.view, a.focus, a.zoom, a.half, *a.ctx.Scope}
	if !a.unsaved && k == a.placeKept || a.saving || !a.ready() || a.cfg.ReadOnly != "" {
		return nil
	}
	a.unsaved, a.placeKept, a.saving = false, k, true
	return tea.Tick(saveAfter, func(time.Time) tea.Msg { return saveMsg{} })
}

// whereabouts is what changes most often of a place.
type whereabouts struct {
	view       viewID
	focus      PaneID
	zoom, half bool
	scope      Scope
}

// save writes the place. A store that takes nothing loses a place and nothing else.
func (a *App) save() tea.Cmd {
	p, s, ctx := a.place(), a.ctx.Store, a.ctx.Ctx
	if reflect.DeepEqual(p, a.placeSaved) {
		return func() tea.Msg { return savedMsg{} }
	}
	a.placeSaved = p
	return func() tea.Msg {
		_ = writePlace(ctx, s, p)
		return savedMsg{}
	}
}

// resumeCard is shown when the workbench did not end in order the last time.
type resumeCard struct{ place Place }

// Key implements overlay.
func (c *resumeCard) Key(a *App, k tea.KeyPressMsg) tea.Cmd {
	switch k.String() {
	case "enter":
		a.close()
		return a.goBack(c.place)
	case "esc":
		return a.close()
	}
	return nil
}

// Card implements overlay.
func (c *resumeCard) Card(a *App, w, _ int) (string, []string, int, int) {
	s := a.ctx.Style
	line := func(role style.Role, text string) string { return s.Row(w, style.Panel).Put(role, text).String() }
	where := "pane " + paneNames[PaneID(c.place.Focus)]
	if c.place.Scope.Session != "" {
		where += ", session " + a.ctx.Called(c.place.Scope.Session)
		if c.place.Scope.Turn != NoTurn {
			where += " turn " + itoa(c.place.Scope.Turn)
		}
	}
	rows := []string{line(style.Text, "The workbench did not end in order the last time."),
		line(style.Dim, "What was acknowledged is in the store; a repair that ran is shown in Attention.")}
	if c.place.Report != "" {
		rows = append(rows, line(style.Dim, "report  "+c.place.Report))
	}
	rows = append(rows, line(style.Text, ""), line(style.Text, "enter  go on in "+where), line(style.Text, "esc    begin at the newest session"))
	return "resume", rows, -1, -1
}
