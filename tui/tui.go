package tui

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
	"sync"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/ansi"
	"github.com/charmbracelet/x/term"

	"vise/engine"
	"vise/engine/event"
	"vise/engine/evidence"
	"vise/engine/patch"
	"vise/store"
	"vise/themes"
	"vise/tui/action"
)

// Config is what the workbench is opened with.
type Config struct {
	// Project is the name in the header.
	Project string
	// Harness, Store and Bus of the open project; all nil shows the first-run card.
	Harness *engine.Harness
	Store   *store.Store
	Bus     *event.Bus
	// ReadOnly is why the workbench only reads; "" = it owns the store. Then Harness and Bus
	// are nil, and what another process writes is looked for.
	ReadOnly string
	// Stepper is the hold given to engine.Options.Stepper; nil: repairs are not held.
	Stepper *Hold
	// Replay runs a recorded session through the agent; nil: no agent is configured.
	Replay func(ctx context.Context, session string) error
	// Errands are the actions that are work of the program around the workbench; those that
	// are not there are refused.
	Errands map[action.ID]Errand
	// Ahead says what the replay of a session asks of models, before it is started; nil:
	// nothing that could cost anything.
	Ahead func(ctx context.Context, session string) (Ahead, error)
	// Audit looks at the live rules as this project's agent and settings are; nil: as they
	// are stored.
	Audit func(*store.Tx) (evidence.Audit, error)
	// Patch does the work of the patch loop; PatchStepper holds its loops, with
	// PatchBounds as their bounds.
	Patch        *patch.Bench
	PatchStepper *PatchHold
	PatchBounds  patch.RepairRequest
	// AutoValidate starts a validation behind every replay and repair (validate.auto).
	AutoValidate bool
	// MaxTurns is the bound of a repair, for the header; 0 = unknown.
	MaxTurns int
	// Session is selected at first; "" = where the workbench was left, or the newest with
	// Fresh. Link is a place to begin at and wins.
	Session string
	Fresh   bool
	Link    *Link
	// Chosen is told, where there is no store, what a person chose to begin with; nil = nobody
	// wants to know.
	Chosen *Start
	// Theme is a theme's name, or "auto" (the default) to follow the terminal.
	// ThemeDir holds themes of one's own.
	Theme    string
	ThemeDir string
	// Keys are own keys by action (ui.keys).
	Keys map[string][]string
	// KeyPlace is where a binding of Keys is written, for errors; nil = unknown.
	KeyPlace func(action string) string
	// FPS bounds the frames a second; 0 = 60, and 30 over SSH and in tmux.
	FPS int
	// NoMouse leaves the mouse to the terminal.
	NoMouse bool
	// NoMotion: nothing on the screen moves by itself. NoNotify: no notifications while
	// the terminal is not in front. NoStatus: no progress and status for the terminal's tab.
	NoMotion, NoNotify, NoStatus bool
	// Linear writes plain lines that only grow, and reads commands line by line: for screen
	// readers. Without it that happens where TERM is dumb.
	Linear bool
	// LogFile is the log of the workbench (log/slog's JSON Lines), for its card; "" = none.
	// Log gets what the workbench has to say of itself; nil = nothing.
	LogFile string
	Log     *slog.Logger
	// ReportDir gets the reports of crashes; "" = the folder for temporary files.
	ReportDir string
	// Env is the environment of the invocation.
	Env []string
	// In and Out are the terminal.
	In  io.Reader
	Out io.Writer
	// Err gets the report of a crash; nil = os.Stderr.
	Err io.Writer
	// Now is the clock; nil = time.Now.
	Now func() time.Time

	themes []*themes.Theme
	place  Place // where the workbench was left
	placed bool
	// options are added to the program's own by tests, made gets the app before it runs.
	options   []tea.ProgramOption
	feedEvery time.Duration // 0 = feedEvery
	made      func(*App)
}

// ErrNoTerminal: the workbench was asked for where there is no terminal to draw on.
var ErrNoTerminal = errors.New("no terminal")

// IsTerminal reports whether both ends are a terminal: the program is never
// started on a pipe, where it would leave cursor codes.
func IsTerminal(in io.Reader, out io.Writer) bool {
	fi, ok := in.(*os.File)
	return ok && term.IsTerminal(fi.Fd()) && IsTerminalOut(out)
}

// IsTerminalOut reports whether what is written is read on a terminal.
func IsTerminalOut(out io.Writer) bool {
	f, ok := out.(*os.File)
	return ok && term.IsTerminal(f.Fd())
}

// Run opens the workbench and returns when the person quits, the context ends or
// the program crashes. However it ends, the terminal is as it was before and
// everything the workbench started has ended.
//
// Errors: ErrNoTerminal when In or Out is none; the context's cause when it ended
// first; a *Crash after a panic.
func Run(ctx context.Context, cfg Config) error {
	if !cfg.linear() && !IsTerminal(cfg.In, cfg.Out) {
		return ErrNoTerminal
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Err == nil {
		cfg.Err = os.Stderr
	}
	if cfg.Theme == "" {
		cfg.Theme = autoTheme
	}
	var themeErr error
	cfg.themes, themeErr = themes.All(cfg.ThemeDir)
	if len(cfg.themes) == 0 {
		return fmt.Errorf("workbench: %w", themeErr)
	}

	keys, err := action.Default().Bind(cfg.Keys, cfg.KeyPlace)
	if err != nil {
		return fmt.Errorf("workbench: %w", err)
	}

	pctx, stop := context.WithCancel(ctx)
	defer stop()
	r := &runner{cfg: cfg}
	if cfg.linear() {
		r.lines = &linear{out: cfg.Out, msgs: make(chan tea.Msg), ctx: pctx, crash: r.crash}
	}
	conductor := &Conductor{ctx: pctx, harness: cfg.Harness, replay: cfg.Replay, hold: cfg.Stepper, patch: cfg.Patch, errands: cfg.Errands, patchHold: cfg.PatchStepper, now: cfg.Now, send: r.send, crash: r.crash, auto: cfg.AutoValidate}
	if cfg.Store != nil && cfg.ReadOnly == "" {
		if cfg.place, cfg.placed, err = ReadPlace(cfg.Store); err != nil {
			themeErr = errors.Join(themeErr, err) // told, and begun afresh
		}
		// Until it has ended in order it has not: that is what a kill leaves behind.
		open := cfg.place
		open.Ended, open.Report = false, ""
		_ = writePlace(ctx, cfg.Store, open)
	}
	app := newApp(pctx, cfg, keys, conductor)
	if cfg.made != nil {
		cfg.made(app)
	}
	wheel := &wheelFilter{send: r.send}
	if r.lines == nil {
		r.program = tea.NewProgram(watched{app, r.crash}, r.options(ctx, wheel)...)
	} else {
		r.lines.app, r.end = app, stop
	}

	app.cfg.Log.Info("the workbench begins", "project", cfg.Project, "session", cfg.Session, "linear", cfg.linear())
	var work sync.WaitGroup
	if cfg.Bus != nil {
		if cfg.Stepper != nil {
			cfg.Stepper.Bind(cfg.Bus, cfg.Now)
		}
		sub := cfg.Bus.Subscribe(feedSize)
		if r.lines != nil {
			r.lines.behind = func() bool { return sub.Behind() || conductor.telling() }
		}
		work.Go(func() {
			defer r.recover()
			feed(pctx, sub, cmp.Or(cfg.feedEvery, feedEvery), r.send)
		})
	}
	if cfg.Store != nil && cfg.Bus == nil {
		work.Go(func() {
			defer r.recover()
			lookAgain(pctx, cfg.Store, lookEvery, r.send)
		})
	}
	work.Go(func() {
		defer r.recover()
		if themeErr != nil {
			r.send(themesMsg{nil, themeErr})
		}
		watchThemes(pctx, cfg.ThemeDir, func(list []*themes.Theme, err error) { r.send(themesMsg{list, err}) })
	})
	if r.lines == nil {
		_, err = r.program.Run()
	} else {
		err = r.lines.run(pctx, cfg.In)
	}
	stop()
	if r.lines != nil {
		r.lines.rest()
	}
	wheel.stop()
	conductor.Close()
	work.Wait()
	// Mode 2031 is ours; the library does not know that we set it.
	if r.lines == nil {
		fmt.Fprint(cfg.Out, ansi.ResetModeLightDark)
	}
	if app.ran && r.lines == nil { // the status outlives a program that does not take it back
		fmt.Fprint(cfg.Out, ansi.ClearProgramStatus)
	}
	err = r.ended(context.Cause(ctx), err, app)
	app.cfg.Log.Info("the workbench ended", "last_act", app.lastAct, "err", err)
	if cfg.Store != nil && cfg.ReadOnly == "" {
		last := app.place()
		var crash *Crash
		if last.Ended = !errors.As(err, &crash); crash != nil {
			last.Report = crash.Report
		}
		_ = writePlace(context.WithoutCancel(ctx), cfg.Store, last)
	}
	return err
}

// runner ties the program to the goroutines around it.
type runner struct {
	cfg     Config
	program *tea.Program
	lines   *linear // instead of program
	end     func()  // ends it
	mu      sync.Mutex
	crashed *Crash
}

func (r *runner) send(m tea.Msg) {
	if r.lines != nil {
		r.lines.send(m)
		return
	}
	r.program.Send(m)
}

// frames per second; links that are slow or redraw twice get half.
const (
	fps     = 60
	slowFPS = 30
)

func (r *runner) options(ctx context.Context, wheel *wheelFilter) []tea.ProgramOption {
	c := r.cfg
	rate := fps
	if c.env("SSH_TTY") != "" || c.env("TMUX") != "" {
		rate = slowFPS
	}
	if c.FPS > 0 {
		rate = min(rate, c.FPS)
	}
	o := []tea.ProgramOption{
		tea.WithContext(ctx), tea.WithInput(c.In), tea.WithOutput(c.Out), tea.WithEnvironment(c.Env),
		tea.WithFPS(rate), tea.WithFilter(wheel.filter), tea.WithoutSignalHandler(),
	}
	if c.noColor() {
		o = append(o, tea.WithColorProfile(colorprofile.ASCII))
	}
	return append(o, c.options...)
}

// env is a variable of the invocation; the last setting wins.
func (c Config) env(name string) string {
	v := ""
	for _, kv := range c.Env {
		if k, value, ok := strings.Cut(kv, "="); ok && k == name {
			v = value
		}
	}
	return v
}

// noColor: NO_COLOR with any value that is not empty (no-color.org).
func (c Config) noColor() bool { return c.env("NO_COLOR") != "" }

// linear: the person wants lines, or the terminal can do nothing else.
func (c Config) linear() bool { return c.Linear || c.env("TERM") == "dumb" }

// ascii: the locale cannot show more, or the person says so (VISE_ASCII).
func (c Config) ascii() bool {
	if c.env("VISE_ASCII") != "" {
		return true
	}
	for _, name := range []string{"LC_ALL", "LC_CTYPE", "LANG"} {
		if v := c.env(name); v != "" {
			v = strings.ToLower(v)
			return !strings.Contains(v, "utf-8") && !strings.Contains(v, "utf8") && (v == "c" || v == "posix")
		}
	}
	return false
}

// syncOverSSH: the library asks no terminal behind SSH for synchronised output;
// all we know of but Apple's have it or ignore it.
func (c Config) syncOverSSH() bool {
	return c.env("SSH_TTY") != "" && c.env("TERM_PROGRAM") != "Apple_Terminal" && c.env("VISE_NO_SYNC") == ""
}
