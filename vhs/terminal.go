package vhs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/charmbracelet/x/ansi"
	"github.com/charmbracelet/x/vt"
	"github.com/creack/pty"
)

// poll is how often VHS looks at the screen while it waits.
const poll = 10 * time.Millisecond

// terminal is the shell of a tape on a pseudo terminal, with the screen that a
// person would see. Its three goroutines end with stop.
type terminal struct {
	file *os.File
	pid  int
	in   chan []byte   // keys and the terminal's answers, one writer, so they never interleave
	gone chan struct{} // closed when the shell ended
	stop func()

	mu         sync.Mutex // over all below
	emu        *vt.Emulator
	last       time.Time // of the last output or key
	cursorKeys bool      // DECCKM
}

// newTerminal starts the shell as VHS does: no start-up files, its own prompt
// unless the tape's Env has one, TERM as ttyd sets it, and no COLORTERM (so
// programs see 256 colours unless the tape sets it).
func newTerminal(dir string, env []string, cols, rows int) (*terminal, error) {
	cmd := exec.Command("bash", "--noprofile", "--norc", "--login", "+o", "history")
	cmd.Dir = dir
	cmd.Env = append([]string{`PS1=\[\e[38;2;90;86;224m\]> \[\e[0m\]`, "BASH_SILENCE_DEPRECATION_WARNING=1"}, env...)
	cmd.Env = append(cmd.Env, "TERM=xterm-256color")
	t := &terminal{emu: vt.NewEmulator(cols, rows), in: make(chan []byte, 64), gone: make(chan struct{})}
	cursor := func(on bool) func(ansi.Mode) {
		return func(m ansi.Mode) {
			if m == ansi.ModeCursorKeys {
				t.cursorKeys = on // called from emu.Write, under mu
			}
		}
	}
	t.emu.SetCallbacks(vt.Callbacks{EnableMode: cursor(true), DisableMode: cursor(false)})
	file, err := pty.StartWithSize(cmd, &pty.Winsize{Cols: uint16(cols), Rows: uint16(rows)})
	if err != nil {
		return nil, fmt.Errorf("start the shell: %w", err)
	}
	t.file, t.pid = file, cmd.Process.Pid

	ctx, cancel := context.WithCancel(context.Background())
	var ends sync.WaitGroup
	ends.Go(func() {
		t.read()
		_ = cmd.Wait() // the shell's own status says nothing about the program: tapes print that
		close(t.gone)
	})
	ends.Go(func() { t.answer(ctx) })
	ends.Go(func() { t.write(ctx) })
	t.stop = func() {
		t.hangUp()
		cancel()
		_ = file.Close()
		if pipe, ok := t.emu.InputPipe().(io.Closer); ok {
			_ = pipe.Close() // ends answer; Emulator.Close would race with its Read
		}
		ends.Wait()
	}
	return t, nil
}

// read moves what programs print onto the screen until the shell's side closes.
func (t *terminal) read() {
	buf := make([]byte, 32<<10)
	for {
		n, err := t.file.Read(buf)
		if n > 0 {
			t.mu.Lock()
			_, _ = t.emu.Write(buf[:n])
			t.last = time.Now()
			t.mu.Unlock()
		}
		if err != nil {
			return
		}
	}
}

// answer passes the terminal's answers (DA1, DECRPM, OSC 11, ...) on: the
// emulator's Write blocks until they are taken.
func (t *terminal) answer(ctx context.Context) {
	buf := make([]byte, 4096)
	for {
		n, err := t.emu.Read(buf)
		if n > 0 {
			select {
			case t.in <- append([]byte(nil), buf[:n]...):
			case <-ctx.Done(): // still read, so that no Write stays blocked
			}
		}
		if err != nil {
			return
		}
	}
}

func (t *terminal) write(ctx context.Context) {
	for {
		select {
		case b := <-t.in:
			if _, err := t.file.Write(b); err != nil {
				return
			}
		case <-ctx.Done():
			return
		}
	}
}

// hangUp ends the shell, which is a session leader and passes the hang-up on to
// its jobs, and kills its group should that not do. Closing the pseudo terminal
// alone would not end a blocked Read.
func (t *terminal) hangUp() {
	for _, step := range []struct {
		pid  int
		sig  syscall.Signal
		wait time.Duration
	}{{t.pid, syscall.SIGHUP, 2 * time.Second}, {-t.pid, syscall.SIGKILL, time.Second}} {
		_ = syscall.Kill(step.pid, step.sig)
		select {
		case <-t.gone:
			return
		case <-time.After(step.wait):
		}
	}
}

// send types one key.
func (t *terminal) send(ctx context.Context, key string) error {
	select {
	case t.in <- []byte(key):
	case <-t.gone:
		return errors.New("the shell is gone")
	case <-ctx.Done():
		return ctx.Err()
	}
	t.mu.Lock()
	t.last = time.Now()
	t.mu.Unlock()
	return nil
}

func (t *terminal) wantsCursorKeys() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.cursorKeys
}

// screen is every row, without the blanks at its end.
func (t *terminal) screen() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	rows := make([]string, t.emu.Height())
	for y := range rows {
		rows[y] = t.row(y)
	}
	return rows
}

// line is the cursor's row.
func (t *terminal) line() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.row(t.emu.CursorPosition().Y)
}

func (t *terminal) row(y int) string {
	var b strings.Builder
	for x := 0; x < t.emu.Width(); {
		c := t.emu.CellAt(x, y)
		if c == nil || c.Content == "" {
			b.WriteByte(' ')
			x++
			continue
		}
		b.WriteString(c.Content)
		x += max(1, c.Width)
	}
	return strings.TrimRight(b.String(), " ")
}

// svg is a picture of the screen.
func (t *terminal) svg() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return drawSVG(t.emu)
}

// until polls until ok, and reports whether it was before limit passed.
func (t *terminal) until(ctx context.Context, limit time.Duration, ok func() bool) bool {
	tick := time.NewTicker(poll)
	defer tick.Stop()
	for end := time.Now().Add(limit); ; {
		if ok() {
			return true
		}
		if time.Now().After(end) {
			return false
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return false
		}
	}
}

// settle returns once nothing was typed and nothing printed for quiet, at the
// latest after limit. A key counts as well, because a program that has not
// answered yet is quiet too.
func (t *terminal) settle(ctx context.Context, quiet, limit time.Duration) {
	t.until(ctx, limit, func() bool {
		t.mu.Lock()
		defer t.mu.Unlock()
		return time.Since(t.last) >= quiet
	})
}
