// Package format reads recorded sessions: it tells a file's format by its
// content, reads it as a stream and hands sessions and turns to a sink, redacted.
// Each format has a package of its own below this one.
package format

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"vise/replay/format/agentdojo"
	"vise/replay/format/atif"
	"vise/replay/format/claudecode"
	"vise/replay/format/codex"
	"vise/replay/format/cursor"
	"vise/replay/format/gemini"
	"vise/replay/format/inspectai"
	"vise/replay/format/managed"
	"vise/replay/format/native"
	"vise/replay/format/openai"
	"vise/replay/format/openhands"
	"vise/replay/format/otel"
	"vise/replay/format/recording"
	"vise/replay/format/sweagent"
	"vise/replay/format/tau"
	"vise/replay/format/whowhen"
)

// What readers and their callers speak in; see package recording.
type (
	Sink    = recording.Sink
	Options = recording.Options
	Summary = recording.Summary
)

// Errors of Read, for errors.Is.
var (
	// ErrUnrecognised: the file holds no session of a known format.
	ErrUnrecognised = recording.ErrUnrecognised
	// ErrDamaged: reading was strict and met damage; all else was read.
	ErrDamaged = recording.ErrDamaged
)

// reader reads the recordings of one format.
type reader struct {
	name string
	read func(f *os.File, path string, rec *recording.Recorder) error
}

// readers lists the formats in the order they are named to people.
var readers = []reader{
	{native.Name, func(f *os.File, _ string, rec *recording.Recorder) error { return native.Read(f, rec) }},
	{claudecode.Name, func(f *os.File, path string, rec *recording.Recorder) error { return claudecode.Read(f, path, rec) }},
	{codex.Name, func(f *os.File, path string, rec *recording.Recorder) error { return codex.Read(f, path, rec) }},
	{openai.NameChat, func(f *os.File, path string, rec *recording.Recorder) error { return openai.Read(f, path, rec) }},
	{openai.NameResponses, func(f *os.File, path string, rec *recording.Recorder) error { return openai.Read(f, path, rec) }},
	{otel.NameOTLP, func(f *os.File, path string, rec *recording.Recorder) error { return otel.ReadOTLP(f, path, rec) }},
	{otel.NameSpans, func(f *os.File, path string, rec *recording.Recorder) error { return otel.ReadSpans(f, path, rec) }},
	{otel.NameTRAIL, func(f *os.File, path string, rec *recording.Recorder) error { return otel.ReadTRAIL(f, path, rec) }},
	{otel.NameAgents, func(f *os.File, path string, rec *recording.Recorder) error { return otel.ReadAgents(f, path, rec) }},
	{sweagent.Name, func(f *os.File, path string, rec *recording.Recorder) error { return sweagent.Read(f, path, rec) }},
	{sweagent.NameMini, func(f *os.File, path string, rec *recording.Recorder) error { return sweagent.Read(f, path, rec) }},
	{gemini.Name, func(f *os.File, path string, rec *recording.Recorder) error { return gemini.Read(f, path, rec) }},
	{openhands.Name, func(f *os.File, path string, rec *recording.Recorder) error { return openhands.Read(f, path, rec) }},
	{inspectai.Name, func(f *os.File, path string, rec *recording.Recorder) error { return inspectai.Read(f, path, rec) }},
	{agentdojo.Name, func(f *os.File, path string, rec *recording.Recorder) error { return agentdojo.Read(f, path, rec) }},
	{whowhen.Name, func(f *os.File, path string, rec *recording.Recorder) error { return whowhen.Read(f, path, rec) }},
	{atif.Name, func(f *os.File, path string, rec *recording.Recorder) error { return atif.Read(f, path, rec) }},
	{atif.NameSFT, func(f *os.File, path string, rec *recording.Recorder) error { return atif.ReadSFT(f, path, rec) }},
	{cursor.Name, func(f *os.File, path string, rec *recording.Recorder) error { return cursor.Read(f, path, rec) }},
	{otel.NameLangfuse, func(f *os.File, path string, rec *recording.Recorder) error { return otel.ReadLangfuse(f, path, rec) }},
	{otel.NameLangSmith, func(f *os.File, path string, rec *recording.Recorder) error { return otel.ReadLangSmith(f, path, rec) }},
	{managed.Name, func(f *os.File, path string, rec *recording.Recorder) error { return managed.Read(f, path, rec) }},
	{tau.NameTau, func(f *os.File, path string, rec *recording.Recorder) error { return tau.Read(f, path, rec) }},
	{tau.NameTau2, func(f *os.File, path string, rec *recording.Recorder) error { return tau.Read(f, path, rec) }},
}

// Formats returns the names of the formats that can be read, as Options.Format takes them.
func Formats() []string {
	names := make([]string, len(readers))
	for i, r := range readers {
		names[i] = r.name
	}
	return names
}

// Read reads one file and hands its sessions to the sink. The summary tells what
// the file held, also beside an error: what came before is in the sink.
func Read(ctx context.Context, path string, o Options, sink Sink) (Summary, error) {
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		// Asked before it is opened: a pipe without a writer would block for ever.
		return Summary{Path: path}, fmt.Errorf("read recorded session %s: not a plain file; name the files in it, or the folder to the import command", path)
	}
	file, err := os.Open(path)
	if err != nil {
		return Summary{Path: path}, fmt.Errorf("read recorded session: %w", err)
	}
	defer file.Close()
	if info, err := file.Stat(); err != nil || !info.Mode().IsRegular() {
		if err == nil {
			err = errors.New("not a plain file")
		}
		return Summary{Path: path}, fmt.Errorf("read recorded session %s: %w", path, err)
	}
	name := o.Format
	if name == "" {
		if name, err = Detect(file); err != nil {
			return Summary{Path: path}, fmt.Errorf("read %s: %w", path, err)
		}
		if _, err := file.Seek(0, io.SeekStart); err != nil {
			return Summary{Path: path}, fmt.Errorf("read %s: %w", path, err)
		}
	}
	i := slices.IndexFunc(readers, func(r reader) bool { return r.name == name })
	if i < 0 {
		return Summary{Path: path}, fmt.Errorf("read %s: unknown format %q; use one of %v", path, name, Formats())
	}
	rec := recording.NewRecorder(ctx, path, name, o, sink)
	err = readers[i].read(file, path, rec)
	sum := rec.Summary()
	switch {
	case err != nil:
		if !strings.Contains(err.Error(), path) {
			err = fmt.Errorf("read %s as %s: %w", path, name, err)
		}
		return sum, err
	case sum.Sessions == 0:
		return sum, fmt.Errorf("read %s as %s: recognised 0 of %d records, format or version unknown: %w", path, name, sum.Records+sum.DamagedTotal, ErrUnrecognised)
	case o.Strict && sum.DamagedTotal > 0:
		d := sum.Damaged[0]
		return sum, fmt.Errorf("read %s: %d %w, the first in line %d at byte %d (%s); read it without strict, or mend the file",
			path, sum.DamagedTotal, ErrDamaged, d.Line, d.Offset, d.Reason)
	}
	return sum, nil
}

// head is a reader that looks at the beginning of a file.
type head struct {
	file io.ReadSeeker
	*bufio.Reader
}

func newHead(file io.ReadSeeker) *head { return &head{file, bufio.NewReaderSize(file, 64<<10)} }

func (h *head) rewind() error {
	if _, err := h.file.Seek(0, io.SeekStart); err != nil {
		return err
	}
	h.Reset(h.file)
	return nil
}

// maxLine bounds how much of a line is looked at, in bytes. The keys that tell a
// format come early.
const maxLine = 1 << 20

// line returns the beginning of the next line; the rest is passed over.
func (h *head) line() ([]byte, error) {
	var line []byte
	for {
		part, err := h.ReadSlice('\n')
		if n := maxLine - len(line); n > 0 {
			line = append(line, part[:min(n, len(part))]...)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, err
		}
	}
}
