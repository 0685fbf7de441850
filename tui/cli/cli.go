// Package cli is the command tree of vise: every interactive act has its
// headless twin here, with --json, over the same engine.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"vise/engine/guard"
)

// app is one invocation of the program: its streams, its surroundings, its global flags.
type app struct {
	in   io.Reader
	out  *output
	errw io.Writer
	env  []string
	dir  string // working directory
	self string // path of this program, for {vise}
	demo fs.FS  // the demo's recorded sessions
	log  *slog.Logger
	red  *guard.Redactor // masks standard error

	project  string
	config   string
	json     bool
	plain    bool
	noColor  bool
	linear   bool
	logLevel string
}

// Main runs the program on the process's own streams and returns its exit code.
func Main(demo fs.FS) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	// The first signal ends what is going on in order; the second ends the program at once.
	context.AfterFunc(ctx, stop)
	// A pipe that nobody reads any more is an error of the write that meets it, not the
	// end of the program: it still has a store to close.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	dir, err := os.Getwd()
	if err != nil {
		fmt.Fprintln(os.Stderr, "vise: find the working directory:", err)
		return exitError
	}
	self, err := os.Executable()
	if err != nil {
		self = os.Args[0]
	}
	return Run(ctx, os.Args[1:], Surroundings{
		In: os.Stdin, Out: os.Stdout, Err: os.Stderr, Env: os.Environ(), Dir: dir, Self: self, Demo: demo,
	})
}

// Surroundings are everything an invocation touches outside its arguments.
type Surroundings struct {
	In       io.Reader
	Out, Err io.Writer
	Env      []string
	Dir      string // working directory
	Self     string // path of this program
	Demo     fs.FS  // the demo's recorded sessions
}

// Run runs one command line and returns its exit code (see the package's table of codes).
func Run(ctx context.Context, args []string, s Surroundings) int {
	a := &app{in: s.In, out: &output{w: s.Out, clock: "15:04:05.000"}, errw: s.Err, env: s.Env, dir: s.Dir, self: s.Self, demo: s.Demo, red: guard.DefaultRedactor()}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	a.out.gone = stop
	root := a.root()
	root.SetArgs(args)
	root.SetIn(s.In)
	root.SetOut(s.Out)
	root.SetErr(s.Err)
	// Errors are printed below, with their code. (fang would ask the terminal for its
	// background first, after every error and before every help, and wait for an
	// answer that a terminal which is going away never gives.)
	root.SilenceErrors, root.SilenceUsage = true, true
	root.Version = version()
	err := root.ExecuteContext(ctx)
	if err == nil {
		// A full disk or closed pipe on stdout is a failed command.
		err = a.out.err
	}
	if errors.Is(a.out.err, syscall.EPIPE) {
		return exitDone // the reader of our output has seen enough: that ended what went on
	}
	code := exitCode(ctx, err)
	if err != nil && code != exitInterrupted {
		a.note("vise: %s", strings.TrimPrefix(string(block(err.Error())), "vise: "))
	}
	return code
}

func (a *app) root() *cobra.Command {
	root := &cobra.Command{
		Use:   "vise",
		Short: "Hold a failing agent still while it is repaired",
		Long: "vise replays recorded sessions through your own agent, scores every turn, raises a notice when the\n" +
			"trajectory stalls or regresses, lets a separate bounded repair agent write one candidate rule, and\n" +
			"keeps the rule only if evidence says that it helps.",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usagef("unknown command %q; see vise --help", args[0])
			}
			return nil
		},
		PersistentPreRunE: func(*cobra.Command, []string) error { return a.prepare() },
	}
	f := root.PersistentFlags()
	f.StringVar(&a.project, "project", "", "project folder (default: nearest vise.toml upward)")
	f.StringVar(&a.config, "config", "", "configuration file instead of the project's vise.toml")
	f.BoolVar(&a.json, "json", false, "JSON on standard output: one object a line")
	f.BoolVar(&a.plain, "plain", false, "text without signs and aligned columns: a tab between two columns")
	f.BoolVar(&a.noColor, "no-color", false, "no colours")
	f.BoolVar(&a.linear, "linear", false, "the workbench as plain lines, for screen readers and pipes")
	f.StringVar(&a.logLevel, "log-level", "warn", "debug, info, warn or error, on standard error")
	var at opening
	root.Flags().StringVar(&at.session, "session", "", "begin the workbench at this session")
	root.Flags().BoolVar(&at.fresh, "last", false, "begin the workbench at the newest session instead of where it was left")
	root.Flags().BoolVar(&at.readOnly, "read-only", false, "only look, beside another vise that owns the project too")
	root.RunE = func(cmd *cobra.Command, _ []string) error { return a.workbench(cmd, at) }
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return &exitErr{exitUsage, err} })
	root.AddCommand(
		a.initCmd(), a.doctorCmd(), a.demoCmd(), a.importCmd(), a.sessionsCmd(), a.replayCmd(),
		a.patchCmd(), a.repairCmd(), a.casesCmd(), a.noticesCmd(), a.episodesCmd(), a.rulesCmd(), a.validateCmd(), a.calibrateCmd(), a.noiseCmd(), a.regressCmd(), a.journalCmd(), a.attentionCmd(),
		a.mcpCmd(), a.serveCmd(), a.storeCmd(), a.keysCmd(), a.themesCmd(), a.openCmd(), a.logsCmd(), a.versionCmd(), a.sampleAgentCmd(),
	)
	argsAreUsage(root)
	return root
}

// name is a command as messages name it: without the program, which they begin with.
func name(cmd *cobra.Command) string { return strings.TrimPrefix(cmd.CommandPath(), "vise ") }

// argsAreUsage makes a wrong number of arguments exit 2 everywhere.
func argsAreUsage(c *cobra.Command) {
	if check := c.Args; check != nil {
		c.Args = func(cmd *cobra.Command, args []string) error {
			err := check(cmd, args)
			var ee *exitErr
			if err == nil || errors.As(err, &ee) {
				return err
			}
			return usagef("%s: %w; see %s --help", name(cmd), err, cmd.CommandPath())
		}
	}
	if c.HasSubCommands() && c.HasParent() && c.RunE == nil {
		c.RunE = func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usagef("%s: unknown command %q; see %s --help", name(cmd), args[0], cmd.CommandPath())
			}
			return usagef("%s needs a command; see %s --help", name(cmd), cmd.CommandPath())
		}
	}
	for _, sub := range c.Commands() {
		argsAreUsage(sub)
	}
}

// prepare checks the global flags.
func (a *app) prepare() error {
	a.out.json, a.out.plain = a.json, a.plain
	a.out.links = a.hyperlinks()
	if a.json && a.plain {
		return usagef("--json and --plain exclude each other: choose one form")
	}
	var level slog.Level
	if err := level.UnmarshalText([]byte(a.logLevel)); err != nil {
		return usagef("--log-level %q: use debug, info, warn or error", a.logLevel)
	}
	a.log = slog.New(slog.NewTextHandler(a.errw, &slog.HandlerOptions{Level: level, ReplaceAttr: masked(a.red)}))
	return nil
}

// note writes a line for people to standard error; data stays on standard output. It can
// drive no terminal, and it is masked: a line may quote what an agent, a tool or a server has said, and the standard
// error of a CI run is a log that many read.
func (a *app) note(format string, args ...any) {
	red := a.red
	if red == nil { // before the flags are read
		red = guard.DefaultRedactor()
	}
	text, _ := red.Text(fmt.Sprintf(format, args...))
	fmt.Fprintln(a.errw, block(text))
}
