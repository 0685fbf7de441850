package tui

import (
	"fmt"
	"strings"

	tea "charm.land/bubbletea/v2"

	"vise/engine"
	"vise/engine/evidence"
	"vise/engine/guard"
	"vise/engine/trace"
	"vise/store"
	"vise/tui/style"
	"vise/tui/vtext"
)

// besideMsg shows two runs side by side.
type besideMsg struct {
	kind string // session, episode
	a, b string
	// what each of them is: a recording or a run and when, how a repair ended
	is   [2]string
	rows []evidence.Beside
}

// beside asks for two runs side by side: in Repair the episode in scope and the one
// before it, or that it is a fork of, elsewhere the session in scope and the run that it is compared with or is a
// replay of. other names another one.
func (a *App) beside(other string) tea.Cmd {
	m := besideMsg{kind: "session", a: other, b: a.ctx.Scope.Session}
	read := engine.SessionsBeside
	if p, ok := a.panes[PaneRepair].(*repairPane); ok && a.view == repairView && p.data.found {
		m.kind, m.b, read = "episode", p.data.episode.ID, engine.EpisodesBeside
		if m.a == "" && p.data.episode.Fork != nil {
			m.a = p.data.episode.Fork.Of
		} else if m.a == "" {
			m.a = p.data.older
		}
	} else if m.a == "" {
		m.a = a.replayed()
	}
	if m.a == "" || m.b == "" || m.a == m.b {
		return a.say(style.Dim, "there is no other "+m.kind+" to compare with here; :diff ID names one")
	}
	return a.besides(m.kind, m.a, m.b, read)
}

// besides reads two runs for the card that shows them side by side.
func (a *App) besides(kind, one, other string, read func(*store.Tx, string, string) ([]evidence.Beside, error)) tea.Cmd {
	m, st := besideMsg{kind: kind, a: one, b: other}, a.ctx.Store
	return func() tea.Msg {
		if err := st.View(func(tx *store.Tx) (err error) {
			for i, id := range []string{m.a, m.b} {
				if m.is[i], err = whatIs(tx, kind, id); err != nil {
					return err
				}
			}
			m.rows, err = read(tx, m.a, m.b)
			return err
		}); err != nil {
			return sayMsg{err.Error(), style.Warn}
		}
		return m
	}
}

// whatIs says in a few words what a session or an episode is, "" when it is not there.
func whatIs(tx *store.Tx, kind, id string) (string, error) {
	if kind == "episode" {
		e, ok, err := tx.Episode(id)
		if !ok {
			return "", err
		}
		return strings.ReplaceAll(string(e.Status), "_", " ") + ", " + stamp(e.CreatedAt), nil
	}
	s, ok, err := tx.Session(id)
	switch {
	case !ok:
		return "", err
	case s.Origin == trace.Recorded:
		return "recorded", nil
	}
	return "run of " + clock(s.Started), nil
}

// besideCard shows two runs side by side, the cursor on the first difference.
type besideCard struct {
	besideMsg
	at, page int
}

func newBesideCard(m besideMsg) *besideCard {
	return &besideCard{besideMsg: m, at: max(0, evidence.FirstDifference(m.rows)), page: 10}
}

// Wide makes the card as wide as the screen.
func (*besideCard) Wide() {}

// Key implements overlay.
func (c *besideCard) Key(a *App, k tea.KeyPressMsg) tea.Cmd {
	last := max(0, len(c.rows)-1)
	switch k.String() {
	case "esc", "q", "o", "backspace", "d":
		return a.close()
	case "up", "k":
		c.at = max(0, c.at-1)
	case "down", "j":
		c.at = min(c.at+1, last)
	case "pgup", "ctrl+u":
		c.at = max(0, c.at-c.page)
	case "pgdown", "ctrl+d":
		c.at = min(c.at+c.page, last)
	case "home", "g":
		c.at = 0
	case "end", "G":
		c.at = last
	case "n", "N":
		dir := 1
		if k.String() == "N" {
			dir = -1
		}
		for i := c.at + dir; i >= 0 && i <= last; i += dir {
			if c.rows[i].What != "" {
				c.at = i
				return nil
			}
		}
		return a.say(style.Dim, "no further difference")
	case "enter", "i":
		if len(c.rows) == 0 {
			return nil
		}
		a.close()
		turn := c.rows[c.at].Turn
		if c.kind == "session" {
			return a.goOrigin(engine.Origin{Kind: "trace", SessionID: c.b, TurnIndex: turn})
		}
		cmd := a.goOrigin(engine.Origin{Kind: "episode", ID: c.b})
		if p, ok := a.panes[PaneRepair].(*repairPane); ok && p.data.episode.ID == c.b {
			a.ctx.Scope.Attempt, a.ctx.Scope.Step = p.data.episode.Attempts, turn
		}
		return cmd
	}
	return nil
}

// Card implements overlay.
func (c *besideCard) Card(a *App, w, h int) (string, []string, int, int) {
	const full = 2 // rows that tell each text in full
	lead := 21     // columns before the texts
	if w < 100 {
		lead = 8 // a mark only: the texts need the room, and what differs is told below
	}
	s := a.ctx.Style
	col := max(2, (w-lead)/2)
	different := 0
	for _, r := range c.rows {
		if r.What != "" {
			different++
		}
	}
	rows := []string{
		s.Row(w, style.Panel).Space(lead).Cell(style.Heading, a.ctx.Called(c.a), col-1).Space(1).Put(style.Heading, a.ctx.Called(c.b)).String(),
		s.Row(w, style.Panel).Space(lead).Cell(style.Dim, c.is[0], col-1).Space(1).Put(style.Dim, c.is[1]).String(),
	}
	room := max(1, h-len(rows)-2*full-3)
	c.page = room
	top := max(0, min(c.at-room/2, len(c.rows)-room))
	last := -1
	for i := top; i < min(len(c.rows), top+room); i++ {
		r := c.rows[i]
		ground, mark := style.Panel, " "
		if i == c.at {
			ground, mark = style.Cursor, s.Glyphs.Pointer
		}
		turn := ""
		if r.Turn != last {
			turn, last = turnName(r.Turn), r.Turn
		}
		row := s.Row(w, ground).Put(style.Accent, mark).Right(style.Dim, turn, 4).Space(1)
		role := style.Dim
		switch r.What {
		case "":
			row.Space(lead - 6)
		default:
			role = style.Text
			row.Cell(style.Bad, s.Glyphs.Fail+" "+r.What, lead-7).Space(1)
		}
		one, other := fromDifference(guard.Line(sideText(r.A, s), maxSide), guard.Line(sideText(r.B, s), maxSide), col-1)
		row.Cell(role, one, col-1).Space(1).Put(role, other)
		rows = append(rows, row.String())
	}
	if len(c.rows) == 0 {
		rows = append(rows, s.Row(w, style.Panel).Put(style.Dim, "neither of them has a turn").String())
	}
	rows = append(rows, s.Row(w, style.Panel).String())
	var both [2]string
	if c.at < len(c.rows) {
		both[0], both[1] = fromDifference(guard.Line(sideText(c.rows[c.at].A, s), maxSide), guard.Line(sideText(c.rows[c.at].B, s), maxSide), full*(w-2))
	}
	for i, name := range []string{"A ", "B "} {
		told := vtext.Wrap(s.Clean(both[i]), max(1, w-2), 0, s.Width)
		for j := range full {
			row := s.Row(w, style.Panel).Put(style.Heading, name)
			if j < len(told) {
				row.Put(style.Text, told[j])
			}
			name = "  "
			rows = append(rows, row.String())
		}
	}
	words := "n N next and previous difference, i goes to it, esc closes"
	if different == 0 {
		words = "nothing differs; esc closes"
	}
	if c.at < len(c.rows) && c.rows[c.at].What != "" {
		words = "differs: " + c.rows[c.at].What + "; " + words
	}
	if c.kind == "session" {
		words += "; reads of rules are left out"
	}
	rows = append(rows, s.Row(w, style.Panel).Put(style.Faint, words).String())
	return fmt.Sprintf("two %ss, %s", c.kind, count(different, "difference")), rows, -1, -1
}

// maxSide bounds what is looked at of one side, in code points.
const maxSide = 8000

// fromDifference cuts out of two texts what they have in common after their first word,
// when the first difference would not be seen in so many cells otherwise.
func fromDifference(a, b string, room int) (string, string) {
	const before = 12 // code points that stay before the difference
	x, y := []rune(a), []rune(b)
	n := 0
	for n < len(x) && n < len(y) && x[n] == y[n] {
		n++
	}
	if a == b || n < room*2/3 {
		return a, b
	}
	word := 0
	for word < n && x[word] != ' ' {
		word++
	}
	if cut := n - before; word < cut && word < room*2/3 {
		head := string(x[:word]) + " …"
		return head + string(x[cut:]), head + string(y[cut:])
	}
	return a, b
}

// sideText is what one of the two did; a dash where it did nothing. The repair agent's
// tools are called as in its pane, without what all their names begin with.
func sideText(text string, s *style.Style) string {
	if text == "" {
		return s.Glyphs.Neutral
	}
	return strings.TrimPrefix(text, "harness_")
}
