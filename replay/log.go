package replay

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"vise/engine/guard"
)

// What the folder of run logs may hold, the newest first: a log is for finding out
// why a run failed, and a validation makes hundreds of them.
const (
	maxLogs     = 500
	maxLogBytes = 256 << 20
)

// runLog is the log of one run: what the agent says on standard error and, stray,
// on standard output, masked. It is bounded by the driver.
type runLog struct {
	*guard.Stream
	file *os.File
}

// Close passes on what is held back and closes the file.
func (l runLog) Close() error { return errors.Join(l.Stream.Close(), l.file.Close()) }

// openLog opens the log of a run, and removes the oldest ones beyond the bounds.
func (r *Runner) openLog(runID string) (io.WriteCloser, error) {
	if r.Logs == "" {
		return discard{io.Discard}, nil
	}
	if err := os.MkdirAll(r.Logs, 0o700); err != nil {
		return nil, fmt.Errorf("make log folder: %w", err)
	}
	// A project that came from elsewhere may have brought a link: what lies behind it is
	// not ours to write to, and above all not to prune.
	if info, err := os.Lstat(r.Logs); err != nil {
		return nil, fmt.Errorf("look at log folder: %w", err)
	} else if !info.IsDir() {
		return nil, fmt.Errorf("log folder %s is a link or a file: remove it; vise makes the folder itself", r.Logs)
	}
	pruneLogs(r.Logs, maxLogs-1, maxLogBytes)
	f, err := os.OpenFile(filepath.Join(r.Logs, runID+".log"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open log of run %s: %w", runID, err)
	}
	return runLog{guard.NewStream(f, r.redactor()), f}, nil
}

type discard struct{ io.Writer }

func (discard) Close() error { return nil }

// pruneLogs removes the oldest logs of a folder until at most keep of them, with at
// most size bytes in all, are left. A log that cannot be removed stays: it is no
// reason not to run an agent.
func pruneLogs(dir string, keep int, size int64) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return
	}
	type log struct {
		name string
		at   time.Time
		size int64
	}
	var logs []log
	for _, e := range entries {
		if info, err := e.Info(); err == nil && info.Mode().IsRegular() && strings.HasSuffix(e.Name(), ".log") {
			logs = append(logs, log{e.Name(), info.ModTime(), info.Size()})
		}
	}
	slices.SortFunc(logs, func(a, b log) int { return cmp.Or(b.at.Compare(a.at), strings.Compare(b.name, a.name)) })
	for i, l := range logs {
		if size -= l.size; i >= keep || size < 0 {
			_ = os.Remove(filepath.Join(dir, l.name))
		}
	}
}
