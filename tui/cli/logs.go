package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"vise/engine/config"
	"vise/engine/pattern"
	"vise/tui/logfile"
)

// logFile is where the workbench of a project logs: while it draws, a line on standard
// error would land on the screen.
func logFile(cfg *config.Config) string {
	return filepath.Join(cfg.Path(cfg.Store.Path), "logs", "workbench.log")
}

// maxLogTail bounds the lines that are kept back to print the last of them.
const maxLogTail = 10_000

// logEvery is how often a followed log is looked at.
const logEvery = 250 * time.Millisecond

// logWanted says which records of the log are printed.
type logWanted struct {
	level slog.Level
	match *pattern.Pattern // nil = all
}

func (w logWanted) passes(r logfile.Record) bool {
	return r.Level >= w.level && (w.match == nil || w.match.MatchString(r.Text))
}

func (a *app) logsCmd() *cobra.Command {
	follow, last, level, match := false, 100, "debug", ""
	c := &cobra.Command{
		Use: "logs", Short: "Print the log of the workbench", Args: cobra.NoArgs,
		Long: "The workbench logs into a file of the project (--log-level says how much; warnings by default), secrets masked.\n" +
			"In the workbench ~ shows it. The log of the start before the last one is kept beside it as workbench.log.old,\n" +
			"reports of crashes as crash-TIME.txt. What goes between vise and the terminal is traced by the library into the\n" +
			"file that TEA_TRACE names: every byte that is drawn and every key that is pressed, so what you type stands in it.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if last < 0 || last > maxLogTail {
				return usagef("logs: --last is from 0 to %d", maxLogTail)
			}
			wanted := logWanted{}
			if err := wanted.level.UnmarshalText([]byte(level)); err != nil {
				return usagef("logs: --level %q: use debug, info, warn or error", level)
			}
			if match != "" {
				var err error
				if wanted.match, err = pattern.Compile(match); err != nil {
					return usagef("logs: --match %q: %w; write it in RE2 syntax", match, err)
				}
			}
			cfg, _, err := a.load()
			if err != nil {
				return err
			}
			return a.printLog(cmd.Context(), logFile(cfg), last, follow, wanted)
		},
	}
	c.Flags().BoolVarP(&follow, "follow", "f", false, "go on as lines come, in the next start's log too")
	c.Flags().IntVarP(&last, "last", "n", last, "begin with this many lines")
	c.Flags().StringVar(&level, "level", level, "only this level and above: debug, info, warn, error")
	c.Flags().StringVar(&match, "match", "", "only lines in which this expression (RE2) is found")
	return c
}

func (a *app) printLog(ctx context.Context, file string, last int, follow bool, wanted logWanted) error {
	if _, err := os.Stat(file); errors.Is(err, fs.ErrNotExist) && !follow {
		a.note("no log yet: the workbench has not been open in this project")
		return nil
	}
	tail := logfile.Tail{File: file}
	for first := true; ; first = false {
		list, _, err := tail.Next()
		if err != nil {
			return fmt.Errorf("logs: %w", err)
		}
		list = slices.DeleteFunc(list, func(r logfile.Record) bool { return !wanted.passes(r) })
		if first {
			list = list[max(0, len(list)-last):]
		}
		for _, r := range list {
			a.logLine(r)
		}
		if !follow || a.out.err != nil {
			return a.out.err
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(logEvery):
		}
	}
}

// logLine prints one record: as it is with --json, else its time, level and words.
func (a *app) logLine(r logfile.Record) {
	if a.json && r.Fields != nil {
		_ = a.out.object("vise.log/1", r.Fields)
		return
	}
	if r.Fields == nil {
		a.out.printf("%s", r.Text) // cut short by a crash
		return
	}
	a.out.printf("%s %-5s %s", r.Clock(), r.Level.String(), show(r.Text, 1000))
}
