package cli

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"vise/engine/config"
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

func (a *app) logsCmd() *cobra.Command {
	follow, last := false, 100
	c := &cobra.Command{
		Use: "logs", Short: "Print the log of the workbench", Args: cobra.NoArgs,
		Long: "The workbench logs into a file of the project (--log-level says how much; warnings by default). The log of the\n" +
			"start before the last one is kept beside it as workbench.log.old, reports of crashes as crash-TIME.txt.\n" +
			"What goes between vise and the terminal is traced by the library into the file that TEA_TRACE names.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if last < 0 || last > maxLogTail {
				return usagef("logs: --last is from 0 to %d", maxLogTail)
			}
			cfg, _, err := a.load()
			if err != nil {
				return err
			}
			return a.printLog(cmd.Context(), logFile(cfg), last, follow)
		},
	}
	c.Flags().BoolVarP(&follow, "follow", "f", false, "go on as lines come")
	c.Flags().IntVarP(&last, "last", "n", last, "begin with this many lines")
	return c
}

func (a *app) printLog(ctx context.Context, file string, last int, follow bool) error {
	f, err := os.Open(file)
	if errors.Is(err, fs.ErrNotExist) && !follow {
		a.note("no log yet: the workbench has not been open in this project")
		return nil
	}
	if err != nil {
		return fmt.Errorf("logs: %w", err)
	}
	defer f.Close()
	r := bufio.NewReader(f)
	var tail [][]byte
	part := []byte(nil)
	for live := false; ; {
		line, err := r.ReadBytes('\n')
		part = append(part, line...)
		switch {
		case err == nil && live:
			a.logLine(part)
			part = nil
		case err == nil:
			if tail = append(tail, part); len(tail) > last {
				tail = slices.Delete(tail, 0, 1)
			}
			part = nil
		case errors.Is(err, io.EOF):
			for _, l := range tail {
				a.logLine(l)
			}
			tail, live = nil, true
			if !follow {
				return a.out.err
			}
			select {
			case <-ctx.Done():
				return context.Cause(ctx)
			case <-time.After(logEvery):
			}
		default:
			return fmt.Errorf("logs: read %s: %w", file, err)
		}
		if a.out.err != nil {
			return a.out.err
		}
	}
}

// logLine prints one record: as it is with --json, else its time, level, words and the
// rest in the order of names.
func (a *app) logLine(raw []byte) {
	rec := map[string]any{}
	if err := json.Unmarshal(bytes.TrimSpace(raw), &rec); err != nil {
		a.out.printf("%s", show(string(raw), 400)) // cut short by a crash
		return
	}
	if a.json {
		_ = a.out.object("vise.log/1", rec)
		return
	}
	at, level, msg := rec["time"], rec["level"], rec["msg"]
	line := ""
	var names []string
	for k := range rec {
		if k != "time" && k != "level" && k != "msg" {
			names = append(names, k)
		}
	}
	slices.Sort(names)
	for _, k := range names {
		line += fmt.Sprintf(" %s=%v", k, rec[k])
	}
	if t, err := time.Parse(time.RFC3339Nano, fmt.Sprint(at)); err == nil {
		at = t.Local().Format("2006-01-02 15:04:05.000")
	}
	a.out.printf("%v %-5v %s", at, level, show(fmt.Sprint(msg)+line, 1000))
}
