// Package logfile reads the workbench's log: JSON Lines as log/slog writes them, told as
// records with a level and a sentence. Reading is bounded in bytes and lines, goes on
// where it ended, and begins anew when the file was replaced.
package logfile

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"vise/engine/guard"
)

// Record is a line of the log.
type Record struct {
	// N is the number of the line since reading began; it tells records apart.
	N     int
	At    time.Time
	Level slog.Level
	// Text is the message and the attributes in the order of their names, on one line
	// that drives no terminal.
	Text string
	// Fields are the line as it is, without a schema; nil for a line that a crash cut.
	Fields map[string]any
}

// maxText bounds Text, in code points.
const maxText = 2000

// Parse reads one line. A line that is not JSON, such as the last before a crash, is a
// record at level error that holds the line as it is.
func Parse(raw []byte) Record {
	rec := map[string]any{}
	raw = bytes.TrimSpace(raw)
	if err := json.Unmarshal(raw, &rec); err != nil {
		return Record{Level: slog.LevelError, Text: guard.Line(string(raw), maxText)}
	}
	r := Record{Fields: rec}
	if t, err := time.Parse(time.RFC3339Nano, fmt.Sprint(rec[slog.TimeKey])); err == nil {
		r.At = t
	}
	if err := r.Level.UnmarshalText(fmt.Append(nil, rec[slog.LevelKey])); err != nil {
		r.Level = slog.LevelError
	}
	var b strings.Builder
	fmt.Fprint(&b, rec[slog.MessageKey])
	names := make([]string, 0, len(rec))
	for k := range rec {
		if k != slog.TimeKey && k != slog.LevelKey && k != slog.MessageKey {
			names = append(names, k)
		}
	}
	slices.Sort(names)
	for _, k := range names {
		fmt.Fprintf(&b, " %s=%v", k, rec[k])
	}
	r.Text = guard.Line(b.String(), maxText)
	return r
}

// Clock is the time of a record as text, "" when the line has none.
func (r Record) Clock() string {
	if r.At.IsZero() {
		return ""
	}
	return r.At.Local().Format("2006-01-02 15:04:05.000")
}
