package tui

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/ansi"

	"vise/themes"
	"vise/tui/style"
)

// profiles are the colours that terminals have, from the most to none.
var profiles = []struct {
	name string
	p    colorprofile.Profile
}{{"truecolor", colorprofile.TrueColor}, {"256", colorprofile.ANSI256}, {"16", colorprofile.ANSI}, {"ascii", colorprofile.ASCII}}

// sent is a text as a terminal of a profile gets it, by the library's own reduction.
func sent(t testing.TB, p colorprofile.Profile, text string) string {
	t.Helper()
	var b bytes.Buffer
	w := colorprofile.Writer{Forward: &b, Profile: p}
	if _, err := w.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// styled lists the styles of rows in the order in which they come: the parameters of the
// sequence, how many cells have it, and the first of their texts.
func styled(rows []string) []string {
	type use struct {
		cells int
		at    string
	}
	uses, order := map[string]*use{}, []string{}
	parser := ansi.GetParser()
	defer ansi.PutParser(parser)
	for y, row := range rows {
		state, now, x := byte(0), "", 0
		for len(row) > 0 {
			seq, width, n, next := ansi.DecodeSequence(row, state, parser)
			row, state = row[n:], next
			if width == 0 {
				if params, ok := strings.CutPrefix(seq, "\x1b["); ok && strings.HasSuffix(params, "m") {
					if now = strings.TrimSuffix(params, "m"); now == "0" {
						now = ""
					}
				}
				continue
			}
			u := uses[now]
			if u == nil {
				u = &use{at: fmt.Sprintf("%d,%d ", y, x)}
				uses[now], order = u, append(order, now)
			}
			if len([]rune(u.at)) < 24 && (strings.TrimSpace(seq) != "" || u.cells > 0) {
				u.at += seq
			}
			u.cells += width
			x += width
		}
	}
	var out []string
	for _, s := range order {
		out = append(out, fmt.Sprintf("%-34s %5d cells  %s", either(s, "plain"), uses[s].cells, strings.TrimSpace(uses[s].at)))
	}
	return out
}

// The screen in the colours of each kind of terminal, at each size: which styles are sent,
// on how many cells, and where the first is. What is drawn is the same in all of them.
func TestProfiles(t *testing.T) {
	d := worked(t)
	for _, size := range []struct{ w, h int }{{200, 60}, {80, 24}, {40, 12}, {39, 11}} {
		b := newBench(t, d, size.w, size.h)
		b.app.ctx.Scope.Session, b.app.ctx.Scope.Turn = "s-0001", 2
		b.send(nil)
		frame := b.frame()
		var rows []string
		for _, p := range profiles {
			out := strings.Split(sent(t, p.p, strings.Join(frame, "\n")), "\n")
			if got, want := ansi.Strip(strings.Join(out, "\n")), ansi.Strip(strings.Join(frame, "\n")); got != want {
				t.Errorf("%dx%d in %s is another text", size.w, size.h, p.name)
			}
			rows = append(append(rows, "# "+p.name), styled(out)...)
		}
		golden(t, fmt.Sprintf("styles/debug-%dx%d", size.w, size.h), rows)
		b.app.look.options.NoColor = true
		b.send(tea.BackgroundColorMsg{})
		b.app.restyle()
		b.app.touch()
		if text := strings.Join(b.frame(), ""); strings.Contains(text, "38;") || strings.Contains(text, "48;") {
			t.Errorf("%dx%d with NO_COLOR has a colour", size.w, size.h)
		}
	}
	// A small screen shows something at 40x12 and says that it is too small below.
	if b := newBench(t, d, 40, 12); !strings.Contains(ansi.Strip(strings.Join(b.frame(), "")), "▸1") {
		t.Error("40x12 shows no pane")
	}
}

// On a terminal of 16 colours a theme that follows the terminal is the one of its own
// colours; a theme that was chosen stays.
func TestSixteenColours(t *testing.T) {
	b := newBench(t, newDesk(t, false), 80, 24)
	b.send(tea.ColorProfileMsg{Profile: colorprofile.ANSI})
	if got := b.app.ctx.Style.Prefix(style.Accent, style.Plain); !strings.Contains(got, "38;2;") {
		t.Errorf("the chosen theme gave way: its accent is %q", got)
	}
	b.app.look.chosen = autoTheme
	b.app.restyle()
	if got := b.app.ctx.Style.Prefix(style.Text, style.Cursor); got == "" || strings.Contains(got, "8;2;") {
		t.Errorf("the cursor's row is painted with %q: not a colour of the terminal's own", got)
	}
	b.send(tea.ColorProfileMsg{Profile: colorprofile.TrueColor})
	if got := b.app.ctx.Style.Prefix(style.Accent, style.Plain); !strings.Contains(got, "38;2;") {
		t.Errorf("with all colours the accent is %q", got)
	}
}

// Every role of the default theme as it is sent, on its own ground and under the cursor.
func TestRoleStyles(t *testing.T) {
	list, err := themes.Builtin()
	if err != nil {
		t.Fatal(err)
	}
	s := style.New(themes.Named(list, "dark"), style.Options{})
	var rows []string
	for r := range themes.Role(themes.RoleCount) {
		row := fmt.Sprintf("%-12s", r)
		for _, p := range profiles {
			text := s.Row(1, style.Plain).Put(r, "x").String()
			if r.Ground() {
				text = s.Row(1, r).Put(style.Text, "x").String()
			}
			sgr, _, _ := strings.Cut(sent(t, p.p, text), "x")
			row += fmt.Sprintf("  %-36s", strings.TrimSuffix(strings.TrimPrefix(sgr, "\x1b["), "m"))
		}
		rows = append(rows, strings.TrimRight(row, " "))
	}
	golden(t, "styles/roles", rows)
}
