package tui

import "vise/tui/style"

// surface is what panes have in common: their size, their focus, and rows that
// are drawn again only when the version or the look has changed.
type surface struct {
	id      PaneID
	ctx     *Context // as of the last Apply
	w, h    int
	focus   bool
	version uint64

	rows      []string
	rowsAt    uint64
	rowsEpoch uint64
}

// ID names the pane.
func (s *surface) ID() PaneID { return s.id }

// Version is raised by every change of what is shown.
func (s *surface) Version() uint64 { return s.version }

func (s *surface) bump() { s.version++ }

// SetFocus tells whether keys go to the pane.
func (s *surface) SetFocus(on bool) {
	if s.focus != on {
		s.focus = on
		s.bump()
	}
}

// resize sets the size and reports whether it is another one.
func (s *surface) resize(w, h int) bool {
	w, h = max(0, w), max(0, h)
	if s.w == w && s.h == h {
		return false
	}
	s.w, s.h = w, h
	s.bump()
	return true
}

// cached returns the rows, drawn anew when something has changed. draw returns rows
// of w cells; too few or too many are made h.
func (s *surface) cached(draw func(st *style.Style) []string) []string {
	if s.ctx == nil {
		return nil
	}
	st := s.ctx.Style
	if s.rows == nil || s.rowsAt != s.version || s.rowsEpoch != st.Epoch() {
		s.rows = st.Fit(draw(st), s.w, s.h)
		s.rowsAt, s.rowsEpoch = s.version, st.Epoch()
	}
	return s.rows
}

// ground is what lies under a row of a list.
func (s *surface) ground(selected bool) style.Role {
	switch {
	case selected && s.focus:
		return style.Cursor
	case selected:
		return style.CursorIdle
	}
	return style.Plain
}
