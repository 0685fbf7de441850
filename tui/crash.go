package tui

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"vise/engine/guard"
	"vise/store"
)

// Crash is a panic of the workbench with its stack.
type Crash struct {
	Cause any
	Stack []byte
	// Report is the file that tells of it; "" when none could be written.
	Report string
}

func (c *Crash) Error() string {
	text := fmt.Sprintf("workbench: it crashed: %v; what was acknowledged is in the store", c.Cause)
	if c.Report != "" {
		text += "; the report is " + c.Report
	}
	return text
}

// crash ends the program after a panic. The report is written and printed when the
// terminal is back.
func (r *runner) crash(cause any, stack []byte) {
	r.mu.Lock()
	if r.crashed == nil {
		r.crashed = &Crash{Cause: cause, Stack: stack}
	}
	r.mu.Unlock()
	if r.lines != nil {
		r.end()
		return
	}
	r.program.Kill()
}

func (r *runner) recover() {
	if p := recover(); p != nil {
		r.crash(p, debug.Stack())
	}
}

// watched is the app with its panics told to the runner: an update, a frame or a command
// that panics ends the program with the terminal restored and a report.
type watched struct {
	*App
	crash func(cause any, stack []byte)
}

// Init implements tea.Model.
func (m watched) Init() (cmd tea.Cmd) {
	defer m.caught()
	return m.safe(m.App.Init())
}

// Update implements tea.Model.
func (m watched) Update(msg tea.Msg) (next tea.Model, cmd tea.Cmd) {
	next = m // also after a panic
	defer m.caught()
	_, cmd = m.App.Update(msg)
	return m, m.safe(cmd)
}

// View implements tea.Model.
func (m watched) View() (v tea.View) {
	defer m.caught()
	return m.App.View()
}

func (m watched) caught() {
	if p := recover(); p != nil {
		stack := debug.Stack()
		go m.crash(p, stack) // Kill waits for the goroutine that this is
	}
}

// safe makes a command, and those that it brings, tell of its panic.
func (m watched) safe(cmd tea.Cmd) tea.Cmd {
	if cmd == nil {
		return nil
	}
	return func() (msg tea.Msg) {
		defer m.caught()
		msg = cmd()
		if batch, ok := msg.(tea.BatchMsg); ok {
			for i := range batch {
				batch[i] = m.safe(batch[i])
			}
		}
		return msg
	}
}

// report writes what is known of a crash into a file and returns its path. It holds no
// text of sessions: the stack, the last act and the place in the journal.
func (r *runner) report(c *Crash, app *App) string {
	dir := r.cfg.ReportDir
	if dir == "" {
		dir = os.TempDir()
	}
	now := r.cfg.Now()
	var b strings.Builder
	fmt.Fprintf(&b, "vise workbench crash report\ntime      %s\ncause     %s\n", now.UTC().Format(time.RFC3339), guard.Head(guard.Visible(fmt.Sprint(c.Cause)), 2000))
	fmt.Fprintf(&b, "last act  %s\nview      %s, pane %s, %dx%d\n", app.lastAct, app.view, app.focus, app.w, app.h)
	s := app.ctx.Scope
	fmt.Fprintf(&b, "scope     session %s turn %d, episode %s, rule %s\n", tag(s.Session), s.Turn, tag(s.Episode), tag(s.Rule))
	if info, ok := debug.ReadBuildInfo(); ok {
		fmt.Fprintf(&b, "build     %s %s\n", info.Main.Version, info.GoVersion)
	}
	if r.cfg.Store != nil {
		var seq uint64
		err := r.cfg.Store.View(func(tx *store.Tx) (err error) {
			seq, err = tx.LastSeq()
			return err
		})
		fmt.Fprintf(&b, "journal   up to event %d", seq)
		if err != nil {
			fmt.Fprintf(&b, " (%s)", guard.Line(err.Error(), 200))
		}
		b.WriteByte('\n')
	}
	fmt.Fprintf(&b, "\n%s\n", c.Stack)
	// A file of its own: in a folder that others write to, one of that name may be a link.
	name := "crash-" + now.UTC().Format("20060102-150405")
	f, err := os.OpenFile(filepath.Join(dir, name+".txt"), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		if f, err = os.CreateTemp(dir, name+"-*.txt"); err != nil {
			return ""
		}
	}
	_, err = f.WriteString(b.String())
	if err = errors.Join(err, f.Close()); err != nil {
		return ""
	}
	return f.Name()
}

// ended says how the program has ended: nil, a *Crash, the cause of the context, or what
// the library says.
func (r *runner) ended(cause, err error, app *App) error {
	r.mu.Lock()
	crashed := r.crashed
	r.mu.Unlock()
	if crashed == nil && errors.Is(err, tea.ErrProgramPanic) {
		crashed = &Crash{Cause: "in the terminal library: " + err.Error()}
	}
	switch {
	case crashed != nil:
		crashed.Report = r.report(crashed, app)
		if crashed.Report == "" { // what no file takes is printed
			fmt.Fprintf(r.cfg.Err, "vise: panic: %v\n\n%s\n", crashed.Cause, crashed.Stack)
		}
		return crashed
	case cause != nil:
		return fmt.Errorf("workbench: %w", cause)
	case err != nil:
		return fmt.Errorf("workbench: %w", err)
	}
	return nil
}
