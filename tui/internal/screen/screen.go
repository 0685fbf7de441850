// Package screen drives a full-screen program in a pseudo terminal with an
// emulated screen, for tests: press keys, look at panes by their names, and read
// every byte the program has sent.
package screen

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"reflect"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/charmbracelet/x/term"
	"github.com/charmbracelet/x/vt"
	"github.com/creack/pty"
)

// patience is how long Wait and Exit wait.
const patience = time.Minute

// Screen is a program's terminal.
type Screen struct {
	t    testing.TB
	emu  *vt.Emulator
	tty  *os.File // our end
	cmd  *exec.Cmd
	gone chan struct{}

	mu  sync.Mutex // of the emulator's cells and of raw
	raw bytes.Buffer
}

// Start runs a command on a screen of w by h cells. It is killed when the test ends.
func Start(t testing.TB, w, h int, cmd *exec.Cmd) *Screen {
	t.Helper()
	tty, err := pty.StartWithSize(cmd, &pty.Winsize{Cols: uint16(w), Rows: uint16(h)})
	if err != nil {
		t.Fatal(err)
	}
	s := &Screen{t: t, emu: vt.NewEmulator(w, h), tty: tty, cmd: cmd, gone: make(chan struct{})}
	s.pump()
	t.Cleanup(func() {
		select {
		case <-s.gone:
		default:
			_ = cmd.Process.Kill()
		}
		_ = cmd.Wait()
		_ = tty.Close()
	})
	return s
}

// Open makes a terminal for a program that runs within the test; the program's end
// is returned.
func Open(t testing.TB, w, h int) (*Screen, *os.File) {
	t.Helper()
	ours, theirs, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	if err := pty.Setsize(ours, &pty.Winsize{Cols: uint16(w), Rows: uint16(h)}); err != nil {
		t.Fatal(err)
	}
	s := &Screen{t: t, emu: vt.NewEmulator(w, h), tty: ours, gone: make(chan struct{})}
	s.pump()
	t.Cleanup(func() { _ = theirs.Close(); _ = ours.Close() })
	return s, theirs
}

// pump carries what the program writes to the emulator, and the emulator's answers back.
func (s *Screen) pump() {
	go func() {
		defer close(s.gone)
		buf := make([]byte, 32<<10)
		for {
			n, err := s.tty.Read(buf)
			if n > 0 {
				s.mu.Lock()
				s.raw.Write(buf[:n])
				_, _ = s.emu.Write(buf[:n])
				s.mu.Unlock()
			}
			if err != nil {
				return
			}
		}
	}()
	go func() { _, _ = io.Copy(s.tty, s.emu) }() // ends when the emulator is closed or the terminal is
}

// named are keys by the names they have in the key list. Escape is sent as the Kitty
// keyboard protocol writes it: with the byte alone what follows would make it an alt key,
// unless one waits for as long as the other side may stand still.
var named = map[string]string{
	"enter": "\r", "esc": "\x1b[27u", "tab": "\t", "space": " ", "backspace": "\x7f", "up": "\x1b[A", "down": "\x1b[B", "right": "\x1b[C",
	"left": "\x1b[D", "pgup": "\x1b[5~", "pgdown": "\x1b[6~", "home": "\x1b[H", "end": "\x1b[F", "shift+tab": "\x1b[Z",
	"ctrl+c": "\x03", "ctrl+p": "\x10", "ctrl+l": "\x0c", "ctrl+z": "\x1a", "ctrl+r": "\x12",
}

// Press presses keys one after the other.
func (s *Screen) Press(keys ...string) *Screen {
	s.t.Helper()
	for _, k := range keys {
		if raw, ok := named[k]; ok {
			k = raw
		}
		if _, err := io.WriteString(s.tty, k); err != nil {
			s.t.Fatalf("press %q: %v\n%s", k, err, s.Text())
		}
	}
	return s
}

// Click presses and releases the left button on a cell; Wheel turns the wheel there.
func (s *Screen) Click(x, y int) *Screen {
	return s.Press(mouse(0, x, y, 'M'), mouse(0, x, y, 'm'))
}

// Drag presses the left button on a cell, moves to another and lets go there.
func (s *Screen) Drag(x, y, toX, toY int) *Screen {
	return s.Press(mouse(0, x, y, 'M'), mouse(32, toX, toY, 'M'), mouse(0, toX, toY, 'm'))
}

// Wheel turns the wheel n times over a cell, down for n > 0.
func (s *Screen) Wheel(x, y, n int) *Screen {
	button := 65
	if n < 0 {
		button, n = 64, -n
	}
	for range n {
		s.Press(mouse(button, x, y, 'M'))
	}
	return s
}

func mouse(button, x, y int, end byte) string {
	var b bytes.Buffer
	b.WriteString("\x1b[<")
	for i, n := range []int{button, x + 1, y + 1} {
		if i > 0 {
			b.WriteByte(';')
		}
		b.WriteString(decimal(n))
	}
	b.WriteByte(end)
	return b.String()
}

func decimal(n int) string {
	if n < 10 {
		return string(rune('0' + n))
	}
	return decimal(n/10) + string(rune('0'+n%10))
}

// Resize gives the terminal another size.
func (s *Screen) Resize(w, h int) *Screen {
	s.t.Helper()
	s.mu.Lock()
	s.emu.Resize(w, h)
	s.mu.Unlock()
	if err := pty.Setsize(s.tty, &pty.Winsize{Cols: uint16(w), Rows: uint16(h)}); err != nil {
		s.t.Fatal(err)
	}
	return s
}

// Text is what is on the screen, rows without trailing blanks.
func (s *Screen) Text() string { return strings.Join(s.rows(), "\n") }

func (s *Screen) rows() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	w, h := s.emu.Width(), s.emu.Height()
	out := make([]string, h)
	for y := range h {
		var b strings.Builder
		for x := range w {
			c := s.emu.CellAt(x, y)
			switch {
			case c == nil || c.Content == "" && c.Width > 0:
				b.WriteByte(' ')
			case c.Width == 0: // the second half of a wide character
			default:
				b.WriteString(c.Content)
			}
		}
		out[y] = strings.TrimRight(b.String(), " ")
	}
	return out
}

// Wait waits until the screen holds a text.
func (s *Screen) Wait(text string) *Screen {
	s.t.Helper()
	return s.until("the screen to hold "+text, func() bool { return strings.Contains(s.Text(), text) })
}

// Gone waits until the screen does not hold a text any more.
func (s *Screen) Gone(text string) *Screen {
	s.t.Helper()
	return s.until("the screen to lose "+text, func() bool { return !strings.Contains(s.Text(), text) })
}

// Sent waits until the program has sent some bytes.
func (s *Screen) Sent(raw string) *Screen {
	s.t.Helper()
	return s.until("the bytes "+raw, func() bool { return strings.Contains(s.Raw(), raw) })
}

func (s *Screen) until(what string, ok func() bool) *Screen {
	s.t.Helper()
	end := time.Now().Add(patience)
	for !ok() {
		if time.Now().After(end) {
			s.t.Fatalf("waited in vain for %s; the screen:\n%s", what, s.Text())
		}
		time.Sleep(10 * time.Millisecond)
	}
	return s
}

// Raw is every byte that the program has sent.
func (s *Screen) Raw() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.raw.String()
}

// Signal sends a signal to the program.
func (s *Screen) Signal(sig syscall.Signal) *Screen {
	s.t.Helper()
	if err := s.cmd.Process.Signal(sig); err != nil {
		s.t.Fatal(err)
	}
	return s
}

// Exit waits for the program's end and returns its exit code.
func (s *Screen) Exit() int {
	s.t.Helper()
	select {
	case <-s.gone:
	case <-time.After(patience):
		s.t.Fatalf("the program did not end; the screen:\n%s", s.Text())
	}
	err := s.cmd.Wait()
	var exit *exec.ExitError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &exit):
		return exit.ExitCode()
	}
	s.t.Fatal(err)
	return -1
}

// settings are what a terminal does by itself.
func settings(t testing.TB, tty *os.File) *term.State {
	t.Helper()
	state, err := term.GetState(tty.Fd())
	if err != nil {
		t.Fatal(err)
	}
	return state
}

// fresh are the settings of a terminal that nobody has used.
func fresh(t testing.TB) *term.State {
	t.Helper()
	ours, theirs, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer ours.Close()
	defer theirs.Close()
	return settings(t, ours)
}

// Modes a program may switch on and must switch off again: alternate screen, the
// mouse, focus reports, bracketed paste, the report of colour schemes.
var modes = []string{"?1049", "?1000", "?1002", "?1003", "?1006", "?1004", "?2004", "?2031", "?2026", "?2027"}

// Restored checks that every mode that was switched on is off, the cursor visible,
// and the terminal's own settings (echo, whole lines, signals) those of a fresh one.
func (s *Screen) Restored() {
	s.t.Helper()
	for end := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) { // the last bytes may be on their way
		left := s.left()
		if len(left) == 0 {
			return
		}
		if time.Now().After(end) {
			for _, what := range left {
				s.t.Error(what)
			}
			return
		}
	}
}

// left says what of the terminal is not as it was.
func (s *Screen) left() (out []string) {
	if was, is := fresh(s.t), settings(s.t, s.tty); !reflect.DeepEqual(was, is) {
		out = append(out, fmt.Sprintf("the terminal is left in another mode: %+v instead of %+v", is, was))
	}
	raw := s.Raw()
	for _, m := range modes {
		on, off := lastMode(raw, m, 'h'), lastMode(raw, m, 'l')
		if on > off {
			out = append(out, fmt.Sprintf("mode %s is left on", m))
		}
	}
	if strings.LastIndex(raw, "\x1b[?25l") > strings.LastIndex(raw, "\x1b[?25h") {
		out = append(out, "the cursor is left hidden")
	}
	s.mu.Lock()
	alt := s.emu.IsAltScreen()
	s.mu.Unlock()
	if alt {
		out = append(out, "the alternate screen is left on")
	}
	if push, pop := strings.LastIndex(raw, "\x1b[>1u"), strings.LastIndex(raw, "\x1b[<1u"); push > pop {
		out = append(out, "the kitty keyboard is left on")
	}
	return out
}

// lastMode is the place of the last sequence that sets (h) or resets (l) a mode, also
// in a list of modes; -1 = none.
func lastMode(raw, mode string, end byte) int {
	last := -1
	for i := 0; ; {
		j := strings.Index(raw[i:], "\x1b[?")
		if j < 0 {
			return last
		}
		i += j + len("\x1b[?")
		k := strings.IndexFunc(raw[i:], func(r rune) bool { return (r < '0' || r > '9') && r != ';' })
		if k < 0 {
			return last
		}
		if raw[i+k] == end {
			for _, m := range strings.Split(raw[i:i+k], ";") {
				if "?"+m == mode {
					last = i
				}
			}
		}
	}
}
