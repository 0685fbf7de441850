package tui

import (
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"charm.land/bubbles/v2/textinput"
	tea "charm.land/bubbletea/v2"

	"vise/engine/event"
	"vise/tui/logfile"
	"vise/tui/style"
	"vise/tui/vlist"
	"vise/tui/vtext"
)

// logEvery is how often the log is looked at while its card is open.
const logEvery = 250 * time.Millisecond

// logMsg is what was read of the log; logLook asks to look again. Both are for one card.
type (
	logMsg struct {
		card    *logCard
		records []logfile.Record
		anew    bool
		err     error
	}
	logLook struct{ card *logCard }
)

// logCard is the tail of the workbench's own log: from a level on, with a filter, following
// while the cursor is at the end.
type logCard struct {
	tail  logfile.Tail
	all   []logfile.Record // the newest maxLogged
	list  *vlist.List[logfile.Record]
	level slog.Level // the lowest that is shown
	input textinput.Model
	typed bool // keys go to the filter
	err   error
	asked bool // a reading is under way
	read  bool
}

// maxLogged bounds the records that are held: as many as a list holds.
const maxLogged = 2000

// logLevels are the lowest levels that can be shown, in the order of the key.
var logLevels = []slog.Level{slog.LevelDebug, slog.LevelInfo, slog.LevelWarn, slog.LevelError}

// openLog shows the log; text is a filter.
func (a *App) openLog(text string) tea.Cmd {
	if a.cfg.LogFile == "" {
		return a.say(style.Dim, "there is no project, and so no log, yet")
	}
	c := &logCard{tail: logfile.Tail{File: a.cfg.LogFile}, level: slog.LevelDebug, input: newInput(text),
		list: vlist.NewFollowing(func(r logfile.Record) string { return itoa(r.N) })}
	return tea.Batch(a.open(c), c.look())
}

// look reads what came since the last look.
func (c *logCard) look() tea.Cmd {
	if c.asked {
		return nil
	}
	c.asked = true
	return func() tea.Msg {
		list, anew, err := c.tail.Next() // one reading at a time: the tail is its
		return logMsg{c, list, anew, err}
	}
}

// logged takes what was read and looks again in a while, as long as the card is open.
func (a *App) logged(m logMsg) tea.Cmd {
	c := m.card
	c.asked, c.read, c.err = false, true, m.err
	if !c.open(a) {
		return nil
	}
	if m.anew {
		c.all = nil
	}
	if len(m.records) > 0 || m.anew {
		c.all = append(c.all, m.records...)
		if over := len(c.all) - maxLogged; over > 0 {
			c.all = append([]logfile.Record(nil), c.all[over:]...)
		}
		c.sift(m.anew)
		a.touch()
	}
	return tea.Tick(logEvery, func(time.Time) tea.Msg { return logLook{c} })
}

// lookAtLog looks again, as long as the card is open.
func (a *App) lookAtLog(c *logCard) tea.Cmd {
	if !c.open(a) {
		return nil
	}
	return c.look()
}

func (c *logCard) open(a *App) bool { return slices.Contains(a.overlays, overlay(c)) }

// sift lets the records through that are shown; the cursor stays where it is.
func (c *logCard) sift(anew bool) {
	q := compile(c.input.Value())
	var pass []logfile.Record
	for _, r := range c.all {
		if r.Level < c.level {
			continue
		}
		if from, _ := q.find(r.Text); from < 0 && c.input.Value() != "" {
			continue
		}
		pass = append(pass, r)
	}
	end := c.list.AtEnd() || c.list.Len() == 0 || anew
	c.list.Set(pass, false, false)
	if end {
		c.list.End()
	}
}

// Wide makes the card as wide as the screen.
func (*logCard) Wide() {}

// Key implements overlay.
func (c *logCard) Key(a *App, k tea.KeyPressMsg) tea.Cmd {
	if c.typed {
		return c.typing(k)
	}
	switch k.String() {
	case "esc", "q":
		return a.close()
	case "up", "k":
		c.list.Move(-1)
	case "down", "j":
		c.list.Move(1)
	case "pgup", "ctrl+u":
		c.list.Page(-1)
	case "pgdown", "ctrl+d":
		c.list.Page(1)
	case "home", "g":
		c.list.Home()
	case "end", "G":
		c.list.End()
	case "n", "N":
		if !c.list.Seek(k.String() == "n", func(r logfile.Record) bool { return r.Level >= slog.LevelWarn }) {
			return a.say(style.Dim, "no further warning or error")
		}
	case "l":
		c.raise()
	case "/", "f":
		c.typed = true
	case "y":
		r, _ := c.list.Selected()
		return a.clip(r.Text)
	case "Y":
		return a.clip(c.headless())
	}
	return nil
}

// raise shows the next higher level and above, from the highest on everything.
func (c *logCard) raise() {
	for i, l := range logLevels {
		if l == c.level {
			c.level = logLevels[(i+1)%len(logLevels)]
			break
		}
	}
	c.sift(false)
}

// typing takes a key into the filter.
func (c *logCard) typing(k tea.KeyPressMsg) tea.Cmd {
	switch k.String() {
	case "esc":
		c.typed = false
		c.input.SetValue("")
		c.sift(false)
		return nil
	case "enter":
		c.typed = false
		return nil
	}
	var cmd tea.Cmd
	c.input, cmd = c.input.Update(k)
	c.sift(false)
	return cmd
}

// Paste implements paster.
func (c *logCard) Paste(_ *App, m tea.PasteMsg) tea.Cmd {
	if !c.typed {
		return nil
	}
	var cmd tea.Cmd
	c.input, cmd = c.input.Update(m)
	c.sift(false)
	return cmd
}

// headless is the command that prints the same.
func (c *logCard) headless() string {
	cmd := "vise logs -f"
	if c.level > slog.LevelDebug {
		cmd += " --level " + strings.ToLower(c.level.String())
	}
	if c.input.Value() != "" {
		cmd += " --match " + shellWord(c.input.Value())
	}
	return cmd
}

// Card implements overlay.
func (c *logCard) Card(a *App, w, h int) (string, []string, int, int) {
	const full = 3 // rows that tell the record under the cursor in full
	s := a.ctx.Style
	head := s.Row(w, style.Panel).Put(style.Dim, "from ").Put(style.Text, strings.ToLower(c.level.String())).Put(style.Dim, "  filter ")
	x := w - head.Left()
	head.Put(style.Text, c.input.Value())
	if wrong := searchTrouble(c.input.Value()); wrong != "" {
		head.Put(style.Warn, "  "+wrong)
	}
	switch {
	case c.err != nil:
		head.Put(style.Bad, "  "+c.err.Error())
	case c.list.AtEnd():
		head.Put(style.Dim, "  following")
	default:
		head.Put(style.Info, "  "+itoa(c.list.Len()-1-c.list.Index())+" below, end follows")
	}
	rows := []string{head.String()}
	room := max(1, h-len(rows)-full-2)
	c.list.SetHeight(room)
	items, first := c.list.Visible()
	for i, r := range items {
		ground, mark := style.Panel, " "
		if first+i == c.list.Index() {
			ground, mark = style.Cursor, s.Glyphs.Pointer
		}
		at := r.Clock()
		if len(at) > len("2006-01-02 ") {
			at = at[len("2006-01-02 "):]
		}
		rows = append(rows, s.Row(w, ground).Put(style.Accent, mark).Cell(style.Dim, at, 13).Cell(levelRole(r.Level), strings.ToLower(r.Level.String()), 6).Put(style.Text, r.Text).String())
	}
	if len(items) == 0 {
		text := "nothing is logged yet; --log-level info or debug logs more"
		switch {
		case !c.read:
			text = "reading " + c.tail.File
		case len(c.all) > 0:
			text = "none of " + count(len(c.all), "record") + " is shown: l changes the level, / the filter"
		}
		rows = append(rows, s.Row(w, style.Panel).Put(style.Dim, text).String())
	}
	for len(rows) < room+1 {
		rows = append(rows, s.Row(w, style.Panel).String())
	}
	rows = append(rows, s.Row(w, style.Panel).String())
	r, _ := c.list.Selected()
	told := vtext.Wrap(s.Clean(r.Text), w, 0, s.Width)
	for i := range full {
		row := s.Row(w, style.Panel)
		if i < len(told) {
			row.Put(style.Dim, told[i])
		}
		rows = append(rows, row.String())
	}
	words := "l level  / filter  n N next and previous warning  end follows  y copies  esc closes"
	if c.typed {
		words = `enter keeps the filter, esc ends it; \v before an expression`
	}
	rows = append(rows, s.Row(w, style.Panel).Put(style.Faint, words).String())
	if c.typed {
		before := string([]rune(c.input.Value())[:c.input.Position()])
		return "log", rows, min(w-1, x+s.Width(s.Clean(before))), 0
	}
	return "log", rows, -1, -1
}

// levelRole is the colour of a level; its word is beside it.
func levelRole(l slog.Level) style.Role {
	switch {
	case l >= slog.LevelError:
		return style.Bad
	case l >= slog.LevelWarn:
		return style.Warn
	}
	return style.Dim
}

// Choices implements chooser: the newest records.
func (c *logCard) Choices(*App) (list []string, at int) {
	items := c.list.Items()
	for _, r := range items[max(0, len(items)-linearH):] {
		list = append(list, r.Clock()+"; "+strings.ToLower(r.Level.String())+"; "+r.Text)
	}
	return list, -1
}

// Choose implements chooser: a record has nothing behind it.
func (c *logCard) Choose(*App, int) tea.Cmd { return nil }

// Wants implements writer.
func (c *logCard) Wants() string { return "a text is the filter, level shows the next higher level" }

// Write implements writer.
func (c *logCard) Write(_ *App, line string) tea.Cmd {
	if line == "level" {
		c.raise()
		return nil
	}
	c.input.SetValue(line)
	c.sift(false)
	return nil
}

// logEvent writes what happened into the log: what went wrong as a warning, the rest for
// those who look for a fault of the workbench. What is only on its way is left out.
func (a *App) logEvent(e event.Event) {
	if e.Seq == 0 {
		return
	}
	level := slog.LevelDebug
	switch e.Type {
	case event.RepairFailed, event.RepairTimedOut, event.BudgetStopped, event.StoreQuarantined:
		level = slog.LevelWarn
	}
	if !a.cfg.Log.Enabled(a.ctx.Ctx, level) {
		return
	}
	a.cfg.Log.Log(a.ctx.Ctx, level, "event "+string(e.Type), "seq", e.Seq, "session", e.SessionID, "episode", e.EpisodeID, "rule", e.RuleID,
		"case", e.CaseID, "run", e.RunID, "data", fmt.Sprint(e.Data))
}
