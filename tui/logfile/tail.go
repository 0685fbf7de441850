package logfile

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
)

// MaxRead is how much of a log is read at once: of a longer file the end.
const MaxRead = 1 << 20

// Tail reads a log piece by piece. The zero value with a File is ready.
type Tail struct {
	File string

	at   int64
	n    int
	part []byte // of a line that is being written
}

// Next returns the records that came since the last call, oldest first; none when there
// is no file yet. Restarted tells that the file is another one than before: what was read
// of the old one is not part of it.
func (t *Tail) Next() (records []Record, restarted bool, err error) {
	f, err := os.Open(t.File)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, fmt.Errorf("read the log: %w", err)
	}
	defer f.Close()
	fi, err := f.Stat()
	if err != nil {
		return nil, false, fmt.Errorf("read the log: %w", err)
	}
	if fi.Size() < t.at {
		restarted, t.at, t.part = true, 0, nil
	}
	cut := false
	if fi.Size()-t.at > MaxRead {
		t.at, t.part, cut = fi.Size()-MaxRead, nil, true
	}
	raw, err := io.ReadAll(io.NewSectionReader(f, t.at, MaxRead))
	if err != nil {
		return nil, restarted, fmt.Errorf("read the log %s: %w", t.File, err)
	}
	t.at += int64(len(raw))
	raw = append(t.part, raw...)
	for {
		line, rest, whole := bytes.Cut(raw, []byte("\n"))
		if !whole {
			t.part = bytes.Clone(raw)
			if len(t.part) > MaxRead {
				t.part = nil // no line of ours is that long
			}
			return records, restarted, nil
		}
		raw = rest
		if cut { // the first piece lacks its beginning
			cut = false
			continue
		}
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		t.n++
		r := Parse(line)
		r.N = t.n
		records = append(records, r)
	}
}
