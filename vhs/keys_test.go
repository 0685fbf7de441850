package vhs

import (
	"fmt"
	"io"
	"os"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"
)

// echoEnv makes the test binary a program that shows the last key and all text.
const echoEnv = "VISE_TAPES_ECHO_KEYS"

type echo struct{ last, text string }

func (e echo) Init() tea.Cmd { return nil }

func (e echo) Update(m tea.Msg) (tea.Model, tea.Cmd) {
	if k, ok := m.(tea.KeyPressMsg); ok {
		if k.String() == "f1" || k.String() == "Q" {
			return e, tea.Quit
		}
		e.last, e.text = k.String(), e.text+k.Text
	}
	return e, nil
}

func (e echo) View() tea.View {
	v := tea.NewView(fmt.Sprintf("last=%s text=%q", e.last, e.text))
	v.AltScreen = true
	return v
}

func echoKeys(in io.Reader, out io.Writer) int {
	if _, err := tea.NewProgram(echo{}, tea.WithInput(in), tea.WithOutput(out)).Run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// TestKeysAsVHS types every kind of key into a Bubble Tea program. What must
// arrive was measured with the real VHS v0.10.0, ttyd 1.7.7 and the same library.
func TestKeysAsVHS(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	measured, err := os.ReadFile("testdata/keys.tsv")
	if err != nil {
		t.Fatal(err)
	}
	var source strings.Builder
	fmt.Fprintf(&source, "Env %s \"1\"\nType %q\nEnter\nWait+Screen /last=/\nHide\n", echoEnv, self)
	type row struct{ command, want string }
	var rows []row
	for line := range strings.Lines(string(measured)) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		f := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		rows = append(rows, row{f[0], fmt.Sprintf("last=%s text=%s", f[1], f[2])})
		fmt.Fprintf(&source, "%s\nScreenshot key.png\n", f[0])
	}
	r, err := Play(t.Context(), mustParse(t, source.String()), options(t, ""))
	if err != nil {
		t.Fatal(err)
	}
	shots := r.Frames
	if len(shots) != len(rows) {
		t.Fatalf("%d frames for %d keys", len(shots), len(rows))
	}
	for i, want := range rows {
		if got := shots[i].Lines[0]; got != want.want {
			t.Errorf("%s: the program saw %s, under VHS %s", want.command, got, want.want)
		}
	}
}
