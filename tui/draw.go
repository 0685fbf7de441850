package tui

import (
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"vise/tui/action"
	"vise/tui/layout"
	"vise/tui/style"
)

// frameKey is everything a frame depends on.
type frameKey struct {
	w, h   int
	epoch  uint64
	chrome uint64
	panes  uint64 // sum of the versions of the placed panes: they only rise
}

// tab is a clickable name in the header or the strip.
type tab struct {
	y, from, to int
	do          action.ID
}

// View returns the frame: the previous string when nothing has changed.
func (a *App) View() tea.View {
	key := frameKey{w: a.w, h: a.h, epoch: a.ctx.Style.Epoch(), chrome: a.chrome}
	for _, p := range a.placed {
		key.panes += a.panes[PaneID(p.Pane)].Version()
	}
	if !a.look.waits && (a.frame == "" || key != a.frameKey) {
		a.frameKey = key
		a.frame = a.ctx.Style.Grounded(a.draw())
	}
	v := tea.NewView(a.frame)
	v.AltScreen, v.ReportFocus = true, true
	if !a.cfg.NoMouse {
		v.MouseMode = tea.MouseModeCellMotion
	}
	v.Cursor = a.cursorAt
	v.WindowTitle = a.title
	v.ProgressBar, v.ProgramStatus = a.tabProgress(), a.programStatus()
	return v
}

// draw composes the frame out of the cached boxes.
func (a *App) draw() string {
	s := a.ctx.Style
	a.tabs, a.cursorAt = a.tabs[:0], nil
	form := layout.FormOf(a.w, a.h)
	var rows []string
	switch {
	case form == layout.TooSmall:
		rows = a.tooSmall()
	case !a.ready():
		rows = a.firstRun()
	default:
		var out strings.Builder
		out.Grow(max(len(a.frame), a.w*a.h) + 2048)
		a.write(&out, form)
		if len(a.overlays) == 0 {
			return out.String()
		}
		rows = strings.Split(out.String(), "\n")
	}
	if n := len(a.overlays); n > 0 && form != layout.TooSmall {
		rows = a.splice(rows, a.overlays[n-1])
	}
	return strings.Join(s.Fit(rows, a.w, a.h), "\n")
}

// write draws header, strip, panes and footer.
func (a *App) write(out *strings.Builder, form layout.Form) {
	s := a.ctx.Style
	out.WriteString(a.header(form))
	out.WriteByte('\n')
	if form == layout.Single {
		out.WriteString(a.strip())
		out.WriteByte('\n')
	}
	boxes := make([][]string, len(a.placed))
	for i, p := range a.placed {
		id := PaneID(p.Pane)
		boxes[i] = boxed(a.boxes[id], s, a.panes[id], number1(id), p.Rect.W, p.Rect.H, id == a.focus)
		if a.marked.on && a.marked.pane == id {
			boxes[i] = a.highlight(boxes[i])
		}
	}
	foot := a.footer()
	area := a.area
	area.H -= len(foot) - 1 // a long message lies over the last rows of the panes
	body(out, area, a.placed, boxes)
	for _, row := range foot {
		out.WriteByte('\n')
		out.WriteString(row)
	}
}

// number1 is the key that focuses a pane.
func number1(id PaneID) int { return slices.Index(paneOrder, id) + 1 }

// viewsW is the width of a screen from which the names of all views are in its head.
const viewsW = 64

// header: the project, the views, and what is going on.
func (a *App) header(form layout.Form) string {
	s := a.ctx.Style
	r := s.Row(a.w, style.Plain)
	r.Put(style.Accent, " vise ").Put(style.Strong, " "+s.Cut(s.Clean(a.cfg.Project), max(8, a.w/6))+"  ")
	for _, v := range a.views {
		role, open, end := style.Dim, " ", " "
		if v.id == a.view {
			role, open, end = style.TitleOn, "[", "]"
		} else if a.w < viewsW {
			continue // the state says more than the names of the others
		}
		from := a.w - r.Left()
		switch key := a.ctx.Key(v.act()); {
		case form == layout.Wide:
			r.Put(style.Key, key).Put(role, open+v.title+end+" ")
		case strings.HasPrefix(v.title, key) && key != "": // the letter is the key
			r.Put(role, open).Put(style.Key, key).Put(role, v.title[len(key):]+end)
		default:
			r.Put(role, open+v.title+end)
		}
		a.tabs = append(a.tabs, tab{0, from, a.w - r.Left(), v.act()})
	}
	role, mark, text := a.state()
	help := "  " + a.ctx.Key(action.Help) + " help "
	if form == layout.Single {
		help = " "
	}
	text = s.Cut(s.Clean(text), max(0, r.Left()-s.Width(help)-4))
	r.Fill(s.Width(text) + s.Width(help) + s.Width(mark) + 1)
	r.Put(role, mark+" ").Put(style.Header, text)
	r.Put(style.Key, help)
	return r.String()
}

// state is the state of the program: a role, a mark and words.
func (a *App) state() (style.Role, string, string) {
	g := a.ctx.Style.Glyphs
	run := a.conductor.Running()
	text := a.progress.text(run, a.ctx.Held, a.cfg.MaxTurns, a.ctx.Now())
	switch {
	case a.ctx.Held != nil:
		return style.Warn, g.Held, text
	case a.ctx.PatchHeld != nil:
		return style.Warn, g.Held, "held before " + string(a.ctx.PatchHeld.State) + "  patch loop " + runTag(a.ctx.PatchHeld.RunID)
	case run.Kind != Idle:
		return style.Info, a.busyMark(a.ctx.Style), text
	case len(a.ctx.Incidents) > 0:
		return style.Bad, g.Alert, "idle, " + count(len(a.ctx.Incidents), "error") + ": 8 Attention"
	}
	if a.cfg.ReadOnly != "" {
		return style.Faint, g.Trial, "read-only"
	}
	return style.Faint, g.Trial, "idle"
}

func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return thousands(n) + " " + noun + "s"
}

// strip names the panes of the view; the open one is marked.
func (a *App) strip() string {
	s := a.ctx.Style
	r := s.Row(a.w, style.Plain)
	list := a.inOrder()
	name := func(id PaneID) string { return digit(number1(id)) + " " + paneNames[id] }
	// As many names as there is room for, and that of the focus is among them: those
	// before it go first.
	first, end := 0, 0
	for at := slices.Index(list, a.focus); ; first++ {
		room := a.w - 4 // a mark at either end
		for end = first; end < len(list) && room >= len(name(list[end]))+2; end++ {
			room -= len(name(list[end])) + 2
		}
		if end > at || first >= at {
			break
		}
	}
	if first > 0 {
		r.Put(style.Faint, s.Glyphs.Ellipsis)
	}
	for _, id := range list[first:end] {
		role, text := style.Dim, " "+name(id)
		if id == a.focus {
			role, text = style.TitleOn, s.Glyphs.Pointer+name(id)
		}
		from := a.w - r.Left()
		r.Put(role, text).Space(1)
		a.tabs = append(a.tabs, tab{1, from, a.w - r.Left(), action.ID("focus." + digit(number1(id)))})
	}
	if end < len(list) {
		r.Put(style.Faint, s.Glyphs.Ellipsis)
	}
	return r.String()
}

// card draws centred lines on the whole screen.
func (a *App) card(lines []cardLine) []string {
	s := a.ctx.Style
	rows := make([]string, 0, a.h)
	for range max(0, (a.h-len(lines))/2) {
		rows = append(rows, s.Blank(a.w))
	}
	wide := 0
	for _, l := range lines {
		wide = max(wide, s.Width(l.text))
	}
	for _, l := range lines {
		rows = append(rows, s.Row(a.w, style.Plain).Space(max(0, (a.w-wide)/2)).Put(l.role, l.text).String())
	}
	rows = s.Fit(rows, a.w, a.h)
	if a.toast.text != "" {
		told := a.message(a.toast.role, a.toast.text)
		copy(rows[max(0, len(rows)-len(told)):], told)
	}
	return rows
}

type cardLine struct {
	role style.Role
	text string
}

func (a *App) tooSmall() []string {
	return a.card([]cardLine{
		{style.Warn, "too small"},
		{style.Dim, itoa(a.w) + "x" + itoa(a.h) + ", needs " + itoa(layout.MinW) + "x" + itoa(layout.MinH)},
		{style.Dim, a.ctx.Text("{quit} quits")},
	})
}
