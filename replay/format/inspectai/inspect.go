// Package inspectai reads the logs of the Inspect evaluation framework: a JSON
// document, or an archive (.eval) with an entry per sample, whose entries may be
// packed with zstd.
//
// Every sample is a session. Its messages make the turns, steps and calls; the
// events beside them add clocks, usage and the tools. Grader calls are events of a
// scorer and no steps. Texts that were moved into the attachments of the sample
// are put back. The first score is the label: C or 1 is success, I, N or 0
// failure, anything between partial; scores and targets reach no span.
package inspectai

import (
	"archive/zip"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/klauspost/compress/zstd"

	"vise/replay/format/chat"
	"vise/replay/format/recording"
)

// Name of the format.
const Name = "inspect"

// zstdMethod is the compression method of zstd in a ZIP file (APPNOTE 4.4.5).
const zstdMethod = 93

// log is the head of a log: all but its samples.
type log struct {
	Version json.Number `json:"version"`
	Status  string      `json:"status"`
	Eval    struct {
		Task  string      `json:"task"`
		Model chat.Scalar `json:"model"`
		RunID string      `json:"run_id"`
		Eval  string      `json:"eval_id"`
		Made  chat.Scalar `json:"created"`
	} `json:"eval"`
	Error struct {
		Message string `json:"message"`
	} `json:"error"`
}

// newest is the newest version of the log that this package was written against.
const newest = 3

// Read reads a log.
func Read(f *os.File, path string, rec *recording.Recorder) error {
	start := make([]byte, 4)
	n, err := io.ReadFull(f, start)
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, io.EOF) {
		return fmt.Errorf("read %s: %w", path, err)
	}
	if string(start[:n]) == "PK\x03\x04" {
		return archive(f, path, rec)
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return fmt.Errorf("read %s: %w", path, err)
	}
	return document(f, path, rec)
}

// document reads a log that is one JSON document: its head first, then, from
// where they stand, its samples one by one.
func document(r io.ReadSeeker, path string, rec *recording.Recorder) error {
	var l log
	at, line := int64(-1), 0
	sc := recording.NewScanner(r)
	err := sc.Members(func(key string) error {
		switch key {
		case "samples":
			at, line = sc.Offset(), sc.Line()
			return sc.Skip()
		case "version", "status", "eval", "error":
			raw, whole, err := sc.Value(16 << 20)
			if err != nil || !whole {
				return err
			}
			member, merr := json.Marshal(map[string]json.RawMessage{key: raw})
			if merr == nil {
				_ = recording.Decode(member, &l) // a member that is no JSON is left out
			}
			return nil
		}
		return sc.Skip()
	})
	if _, bad := recording.BadDocument(err); err != nil && !bad {
		return fmt.Errorf("read %s: %w", path, err)
	}
	if at < 0 {
		if err != nil {
			reason, _ := recording.BadDocument(err)
			rec.Damage(recording.Damage{Line: sc.Line(), Offset: sc.Offset(), Reason: reason})
		}
		rec.Note("the log holds no samples (status %s)", rec.Short(l.Status, 40))
		return nil
	}
	if _, err := r.Seek(at, io.SeekStart); err != nil {
		return fmt.Errorf("read %s: %w", path, err)
	}
	f := newFile(&l, rec)
	return rec.Elements(recording.NewScannerAt(r, at, line), func(v recording.Value) error { return f.sample(v.Data, v.Index, v.Cut) })
}

// archive reads a log that is a ZIP file.
func archive(file *os.File, path string, rec *recording.Recorder) error {
	info, err := file.Stat()
	if err != nil {
		return fmt.Errorf("read %s: %w", path, err)
	}
	z, err := zip.NewReader(file, info.Size())
	if err != nil {
		rec.Damage(recording.Damage{Line: 1, Bytes: int(min(info.Size(), 1<<30)), Reason: fmt.Sprintf("the archive cannot be opened: %v", err)})
		return nil
	}
	z.RegisterDecompressor(zstdMethod, zstd.ZipDecompressor())
	var samples []*zip.File
	heads := map[string]*zip.File{}
	for _, e := range z.File {
		switch {
		case e.Name == "header.json" || e.Name == "_journal/start.json":
			heads[e.Name] = e
		case strings.HasPrefix(e.Name, "samples/") && strings.HasSuffix(e.Name, ".json"):
			samples = append(samples, e)
		}
	}
	if len(heads) == 0 {
		return nil // a ZIP file of another kind
	}
	var l log
	for _, name := range []string{"header.json", "_journal/start.json"} { // the second is all a running evaluation has
		e := heads[name]
		if e == nil {
			continue
		}
		raw, _, err := entry(e)
		if err == nil {
			err = recording.Decode(raw, &l)
		}
		if err == nil {
			break
		}
		rec.Damage(recording.Damage{Line: 1, Reason: fmt.Sprintf("entry %s: %v", name, err)})
	}
	slices.SortFunc(samples, func(a, b *zip.File) int { return cmp.Compare(a.Name, b.Name) })
	if len(samples) == 0 {
		rec.Note("the log holds no samples (status %s)", rec.Short(l.Status, 40))
	}
	f := newFile(&l, rec)
	for i, e := range samples {
		if err := rec.Context().Err(); err != nil {
			return fmt.Errorf("read %s: %w", path, err)
		}
		raw, whole, err := entry(e)
		cut := false
		if err != nil || !whole || !json.Valid(raw) {
			reason := "is not JSON throughout"
			if err != nil {
				reason = err.Error()
			} else if !whole {
				reason = fmt.Sprintf("is longer than %d MB", recording.MaxRecord>>20)
			}
			rec.Damage(recording.Damage{Line: 1, Bytes: len(raw), Reason: fmt.Sprintf("entry %s: %s; what comes before is kept", rec.Short(e.Name, 200), reason)})
			raw, cut = recording.Mend(raw), true
		} else {
			rec.Record()
		}
		if len(raw) == 0 {
			continue
		}
		if err := f.sample(raw, i, cut); err != nil {
			return err
		}
	}
	return nil
}

// entry unpacks an entry, up to MaxRecord bytes; what was unpacked before an error
// is returned with it.
func entry(e *zip.File) (raw []byte, whole bool, err error) {
	r, err := e.Open()
	if err != nil {
		return nil, false, err
	}
	defer r.Close()
	raw, err = io.ReadAll(io.LimitReader(r, recording.MaxRecord+1))
	if len(raw) > recording.MaxRecord {
		return raw[:recording.MaxRecord], false, err
	}
	return raw, err == nil, err
}

// file is what the samples of a log share.
type file struct {
	log *log
	rec *recording.Recorder
}

func newFile(l *log, rec *recording.Recorder) *file {
	if n, err := l.Version.Int64(); err == nil && n > newest {
		rec.Note("the log has version %d, this reader knows up to %d: what is new in it is passed over", n, newest)
	}
	return &file{log: l, rec: rec}
}
