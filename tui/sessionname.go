package tui

import (
	"strconv"

	"vise/engine/trace"
	"vise/tui/style"
)

// nameOf is the session that a row names: of a run of the agent what it replays, else what
// it was asked first.
func nameOf(it sessionRow) string {
	switch {
	case it.Origin == trace.Recorded:
		return it.ID
	case it.ReplayOf != "":
		return it.ReplayOf
	case it.Title != "": // an agent that was started by hand (vise serve)
		return it.Title
	}
	return tag(it.ID)
}

// runMark tells the runs of one session apart, in the longest form that leaves the
// name enough of n cells: that it is a run, or one of a validation, and when it began.
// Of a recording it tells how many of its records are damaged.
func runMark(st *style.Style, it sessionRow, n int) string {
	at := clock(it.Started)
	short := at[:min(5, len(at))]
	forms := []string{st.Glyphs.Again + " " + at, st.Glyphs.Again + " " + short, st.Glyphs.Again}
	switch {
	case it.Origin == trace.Recorded && it.Damaged == 0:
		return ""
	case it.Origin == trace.Recorded:
		count := strconv.Itoa(it.Damaged)
		forms = []string{count + " damaged", count + st.Glyphs.Alert}
	case it.Origin == trace.Replay:
		forms = []string{"validation " + at, "validation " + short, "val " + short, "val"}
	}
	name := min(st.Width(nameOf(it)), 6)
	for _, f := range forms {
		if name+1+st.Width(f) <= n {
			return f
		}
	}
	return ""
}

// sessionName puts pin, name, title and mark of a session into n cells. names are what
// people call sessions.
func sessionName(r *style.Row, st *style.Style, names map[string]string, it sessionRow, role style.Role, n int) {
	if it.Pinned {
		n -= st.Width(st.Glyphs.Pin) + 1
		r.Put(style.Accent, st.Glyphs.Pin).Space(1)
	}
	mark := runMark(st, it, n)
	id := nameOf(it)
	name := either(it.Name, either(names[id], id))
	if name != id {
		it.Title = id // which it is stays to be seen
	}
	name = st.Clean(name)
	room := n
	if mark != "" {
		room -= st.Width(mark) + 1
	}
	name = st.CutMiddle(name, room)
	r.Link(it.Link()).Put(role, name).Link("")
	room -= st.Width(name)
	const title = 10 // less says nothing
	if (it.Origin == trace.Recorded || it.Title == id) && it.Title != "" && it.Title != name && room > title {
		r.Space(1).Cell(style.Dim, it.Title, room-1)
	} else {
		r.Space(room)
	}
	if mark != "" {
		r.Space(1).Put(style.Dim, mark)
	}
}
