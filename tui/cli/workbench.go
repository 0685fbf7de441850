package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"vise/engine/config"
	"vise/engine/event"
	"vise/engine/evidence"
	"vise/engine/guard"
	"vise/engine/patch"
	"vise/engine/trace"
	"vise/store"
	"vise/tui"
	"vise/tui/action"
)

// needsTerminal refuses to draw where there is no terminal and names the form
// that needs none.
func (a *app) needsTerminal(what, headless string) error {
	if a.plain {
		return usagef("--plain is for commands that print; %s as plain lines is --linear", what)
	}
	if a.linear || tui.IsTerminal(a.in, a.out.w) {
		return nil // lines need no screen
	}
	return usagef("%s needs a terminal for its screen; without one use: %s", what, headless)
}

// workbench opens the nearest project in the workbench; a folder without one gets
// a card with what one can start with, and goes on with that.
func (a *app) workbench(cmd *cobra.Command, o opening) error {
	ctx := cmd.Context()
	if err := a.needsTerminal("the workbench", "vise replay, vise validate, vise journal (vise --help), or vise demo --headless"); err != nil {
		return err
	}
	if a.project == "" && a.config == "" {
		if _, ok := config.Find(a.dir); !ok {
			if more, err := a.firstRun(cmd); err != nil || !more {
				return err
			}
		}
	}
	cfg, origins, err := a.load()
	if err != nil {
		return err
	}
	o.name, o.keys = filepath.Base(cfg.Root), keyPlace(cfg, origins)
	return a.openWorkbench(ctx, cfg, o)
}

// firstRun shows the card of a folder without a project and does what was chosen; more:
// there is a project now, to be opened.
func (a *app) firstRun(cmd *cobra.Command) (more bool, err error) {
	var chosen tui.Start
	s := a.screen("no project", config.Default())
	s.Chosen = &chosen
	if a.linear || a.getenv("TERM") == "dumb" {
		chosen, err = a.askStart(cmd.Context())
	} else {
		err = tui.Run(cmd.Context(), s)
	}
	if err != nil {
		return false, err
	}
	switch chosen {
	case tui.StartDemo:
		dir, cleanup, err := demoDir(a, "")
		if err != nil {
			return false, err
		}
		return false, errors.Join(a.screenDemo(cmd, dir), cleanup())
	case tui.StartInit:
		return true, writeProject(filepath.Join(a.dir, "vise.toml"), projectOptions(nil, "", a.getenv("HOME")), false)
	}
	return false, nil
}

// opening says how the workbench opens a project.
type opening struct {
	name    string // in the header
	session string // to begin with; "" = where it was left
	fresh   bool   // at the newest session
	link    *tui.Link
	keys    func(action string) string // where a binding is written
	// fleeting: the project's folder goes when the workbench ends.
	fleeting bool
	// readOnly: the store is only read.
	readOnly bool
}

// openWorkbench runs the workbench over a project, which it owns meanwhile.
func (a *app) openWorkbench(ctx context.Context, cfg *config.Config, o opening) error {
	if o.readOnly {
		return a.lookOn(ctx, cfg, o, "this workbench only reads (--read-only)")
	}
	hold := tui.NewHold(cfg.Repair.HoldIn(true))
	n := needs{mayAgent: true, repair: true, stepper: hold}
	logs, err := a.logToFile(cfg)
	if errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EROFS) {
		return a.lookOn(ctx, cfg, o, "the project's store cannot be written: "+causeOf(err))
	}
	if err != nil {
		return err
	}
	defer logs.Close()
	err = a.withProject(ctx, cfg, n, func(h *harness) error {
		s := a.screen(o.name, cfg)
		s.Harness, s.Store, s.Bus, s.Session = h.Harness, h.store, h.Events(), o.session
		s.KeyPlace = o.keys
		s.Fresh, s.Link = o.fresh, o.link
		if s.Session != "" {
			if err := h.store.View(func(tx *store.Tx) error {
				head, err := findSession(tx, s.Session)
				s.Session = head.ID
				return err
			}); err != nil {
				return err
			}
		}
		if !o.fleeting {
			s.ReportDir = filepath.Dir(logs.Name())
		}
		s.LogFile, s.Log = logs.Name(), a.log
		s.Stepper, s.MaxTurns = hold, cfg.Repair.MaxTurns
		if s.Patch, err = a.bench(cfg, h.store, h.Events(), h.ledger); err != nil {
			return err
		}
		a.sweepPatches(ctx, s.Patch)
		answerPatch(h.store, s.Patch, "the workbench, where patches are applied in Attempts")
		s.Errands = a.errands(h, s.Patch)
		s.Audit = func(tx *store.Tx) (evidence.Audit, error) {
			found, _, err := a.audit(tx, cfg)
			return found, err
		}
		s.PatchStepper = tui.NewPatchHold(h.Events(), h.store.Now)
		s.PatchBounds = patch.RepairRequest{MaxAttempts: cfg.Patch.MaxAttempts, MaxRuntime: cfg.Patch.MaxRuntime}
		if h.runner != nil {
			if ahead, err := h.foresee(nil, replayFlags{repeat: 1}); err != nil {
				return err
			} else if ahead.Agent != nil || ahead.Spends { // nothing else can cost anything
				s.Ahead = h.ahead
			}
			s.Replay = func(ctx context.Context, id string) error { return h.replayOne(ctx, id) }
		}
		return tui.Run(ctx, s)
	})
	var busy *store.BusyError
	if errors.As(err, &busy) {
		return fmt.Errorf("%w; another workbench does, too: vise --read-only", err)
	}
	return err
}

// causeOf is the end of an error: of a file what is wrong with it, not which.
func causeOf(err error) string {
	var file *fs.PathError
	var link *os.LinkError
	switch {
	case errors.As(err, &file):
		return file.Err.Error()
	case errors.As(err, &link):
		return link.Err.Error()
	}
	return err.Error()
}

// lookOn opens the workbench over a store that it only reads: another process may own it,
// or nobody may write it. It keeps no log and no place.
func (a *app) lookOn(ctx context.Context, cfg *config.Config, o opening, why string) error {
	st, err := store.OpenView(ctx, a.storeOptions(cfg, nil))
	if err != nil {
		return err
	}
	defer st.Close()
	s := a.screen(o.name, cfg)
	s.Store, s.ReadOnly, s.KeyPlace, s.Fresh, s.Link, s.Session = st, why, o.keys, o.fresh, o.link, o.session
	if s.Session != "" {
		if err := st.View(func(tx *store.Tx) error {
			head, err := findSession(tx, s.Session)
			s.Session = head.ID
			return err
		}); err != nil {
			return err
		}
	}
	if s.Patch, err = a.bench(cfg, st, nil, nil); err != nil {
		return err
	}
	return tui.Run(ctx, s)
}

// logToFile sends the log to a file of the project: a line on standard error would
// land on the screen.
func (a *app) logToFile(cfg *config.Config) (*os.File, error) {
	if err := store.CheckFolder(cfg.Path(cfg.Store.Path)); err != nil {
		return nil, err
	}
	file := logFile(cfg)
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return nil, fmt.Errorf("workbench: open the log: %w", err)
	}
	if err := os.Rename(file, file+".old"); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("workbench: keep the last log: %w", err)
	}
	f, err := os.OpenFile(file, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return nil, fmt.Errorf("workbench: open the log: %w", err)
	}
	var level slog.Level
	if err := level.UnmarshalText([]byte(a.logLevel)); err != nil {
		return nil, errors.Join(usagef("--log-level %q: use debug, info, warn or error", a.logLevel), f.Close())
	}
	red, err := guard.NewRedactor(guard.RedactOptions{Keys: cfg.Redact.Keys, Values: cfg.Redact.Values, Extra: cfg.Redact.Extra})
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	a.log = slog.New(slog.NewJSONHandler(f, &slog.HandlerOptions{Level: level, ReplaceAttr: masked(red)}))
	return f, nil
}

// masked takes secrets out of what is logged: an error may quote what a server or an
// agent has said.
func masked(red *guard.Redactor) func([]string, slog.Attr) slog.Attr {
	clean := func(text string) slog.Value {
		text, _ = red.Text(text)
		return slog.StringValue(text)
	}
	return func(_ []string, at slog.Attr) slog.Attr {
		switch v := at.Value.Any().(type) {
		case string:
			at.Value = clean(v)
		case error:
			at.Value = clean(v.Error())
		case fmt.Stringer:
			if at.Key != slog.LevelKey {
				at.Value = clean(v.String())
			}
		}
		return at
	}
}

// screen is what the workbench takes from the invocation.
func (a *app) screen(name string, cfg *config.Config) tui.Config {
	env := a.env
	if a.noColor {
		env = append(env[:len(env):len(env)], "NO_COLOR=1")
	}
	s := tui.Config{Project: name, AutoValidate: cfg.Validate.AutoIn(false) && cfg.Validate.Enabled && !cfg.Evaluate.ObserveOnly, Theme: cfg.UI.Theme, Keys: cfg.UI.Keys, FPS: cfg.UI.FPS, NoMouse: !cfg.UI.Mouse,
		Linear: cfg.UI.Linear || a.linear, NoMotion: !cfg.UI.Motion, NoNotify: !cfg.UI.Notify, NoStatus: !cfg.UI.Status,
		Env: env, In: a.in, Out: a.out.w, Err: a.errw}
	if !tui.IsTerminalOut(a.out.w) {
		s.Out = a.out // lines into a pipe: who stops reading them ends the workbench
	}
	if user := config.UserFile(a.env); user != "" {
		s.ThemeDir = filepath.Join(filepath.Dir(user), "themes")
	}
	return s
}

// ahead says what the replay of a session is going to ask of models.
func (h *harness) ahead(_ context.Context, id string) (tui.Ahead, error) {
	var head trace.Session
	if err := h.store.View(func(tx *store.Tx) (err error) {
		head, err = findSession(tx, id)
		return err
	}); err != nil {
		return tui.Ahead{}, err
	}
	f, err := h.foresee([]trace.Session{head}, replayFlags{repeat: 1})
	return tui.Ahead{Lines: f.lines(), Spends: f.Spends}, err
}

// replayOne runs a session through the agent as its next run.
func (h *harness) replayOne(ctx context.Context, id string) error {
	var head trace.Session
	runs := 0
	if err := h.store.View(func(tx *store.Tx) (err error) {
		if head, err = findSession(tx, id); err != nil {
			return err
		}
		started, err := tx.LastEvents(1_000_000, event.AgentStarted)
		for _, e := range started {
			if e.Data["replay_of"] == head.ID {
				runs++ // each run of a session gets a seed of its own
			}
		}
		return err
	}); err != nil {
		return err
	}
	inputs, err := userInputs(h.store, head.ID)
	if err != nil {
		return err
	}
	return h.live(ctx, head, inputs, runs, nil, trace.Session{})
}

// keyPlace says where a key binding is written.
func keyPlace(cfg *config.Config, origins config.Origins) func(string) string {
	return func(name string) string {
		s, _ := origins.Of("ui.keys")
		if line := cfg.UI.KeyLines[name]; s.File != "" && line > 0 {
			return fmt.Sprintf("%s:%d", s.File, line)
		}
		return ""
	}
}

func (a *app) keysCmd() *cobra.Command {
	return &cobra.Command{
		Use: "keys", Short: "List the keys of the workbench", Args: cobra.NoArgs,
		Long: "The keys of every action, with those of ui.keys where a project or the user's configuration sets them:\n" +
			"keys = { \"run.replay\" = [\"f5\", \"r\"], \"run.step\" = \"s\", \"view.mouse\" = [] } in [ui]; an empty list takes an action's keys away.",
		RunE: func(*cobra.Command, []string) error {
			cfg := config.Default()
			var origins config.Origins
			if _, err := a.projectFile(); err == nil {
				if cfg, origins, err = a.load(); err != nil {
					return err
				}
			}
			keys, err := action.Default().Bind(cfg.UI.Keys, keyPlace(cfg, origins))
			if err != nil {
				return err
			}
			var rows [][]string
			for _, act := range keys.All() {
				if a.json {
					if err := a.out.object("vise.key/1", act); err != nil {
						return err
					}
					continue
				}
				where := string(act.Scope)
				if len(act.Panes) > 0 {
					where = strings.Join(act.Panes, ", ")
				}
				rows = append(rows, []string{strings.Join(act.Keys, " "), act.Title, act.Group, where, string(act.ID)})
			}
			if a.json {
				return a.out.err
			}
			return a.out.table([]string{"KEYS", "WHAT", "GROUP", "WHERE", "NAME"}, rows)
		},
	}
}
