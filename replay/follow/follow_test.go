package follow

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"vise/engine/trace"
	"vise/replay/format"
)

// sink keeps the inputs of the sessions of one reading.
type sink struct {
	inputs  []string
	damaged int
}

func (s *sink) Begin(trace.Session) error { return nil }
func (s *sink) Turn(t trace.Turn) error {
	s.inputs = append(s.inputs, t.Input)
	return nil
}
func (s *sink) End(h trace.Session) error {
	s.damaged = h.Damaged
	return nil
}

// seen is what the last reading of each file gave.
type seen struct {
	mu    sync.Mutex
	files map[string]string
	reads int
	busy  bool // asks for every file again
}

func (s *seen) read(files []string, done func(string)) (again []string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.busy {
		return files, nil
	}
	for _, f := range files {
		k := &sink{}
		if _, err := format.Read(context.Background(), f, format.Options{}, k); err != nil && !errors.Is(err, format.ErrUnrecognised) {
			return nil, err
		}
		s.reads++
		done(f)
		s.files[filepath.Base(f)] = fmt.Sprintf("%s damaged=%d", strings.Join(k.inputs, " "), k.damaged)
	}
	return nil, nil
}

// until waits for a state of a file; the bound is only reached when it never comes.
func (s *seen) until(t *testing.T, file, want string) {
	t.Helper()
	got := ""
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		s.mu.Lock()
		got = s.files[file]
		s.mu.Unlock()
		if got == want {
			return
		}
	}
	t.Fatalf("%s: %q, want %q", file, got, want)
}

func user(text string) string {
	return fmt.Sprintf(`{"type":"user","sessionId":"s","uuid":"%s","message":{"content":"%s"}}`+"\n", text, text)
}

func write(t *testing.T, path, text string, flag int) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|flag, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString(text); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}

// Whatever a writer does to a file, the last reading is of what it holds: with the
// notices of the system, and without.
func TestRun(t *testing.T) {
	for name, notices := range map[string]bool{"notices": true, "polling": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			log := filepath.Join(dir, "log.jsonl")
			write(t, log, user("one"), os.O_TRUNC)
			write(t, filepath.Join(dir, "README.txt"), "nothing", os.O_TRUNC)
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			s := &seen{files: map[string]string{}}
			done := make(chan error, 1)
			go func() {
				done <- run(ctx, []string{dir}, Options{Poll: 20 * time.Millisecond, Quiet: 5 * time.Millisecond}, s.read, notices)
			}()
			s.until(t, "log.jsonl", "one damaged=0")
			// A record in two pieces: first it is a damaged tail, then it is there, once.
			two := user("two")
			write(t, log, two[:20], os.O_APPEND)
			s.until(t, "log.jsonl", "one damaged=1")
			write(t, log, two[20:], os.O_APPEND)
			s.until(t, "log.jsonl", "one two damaged=0")
			// Rewritten in place, to more and to fewer bytes.
			write(t, log, user("three")+user("four")+user("five"), os.O_TRUNC)
			s.until(t, "log.jsonl", "three four five damaged=0")
			write(t, log, user("six"), os.O_TRUNC)
			s.until(t, "log.jsonl", "six damaged=0")
			// Replaced by another file, as rotation and atomic writers do.
			if err := os.Rename(log, filepath.Join(dir, "log.1.jsonl")); err != nil {
				t.Fatal(err)
			}
			write(t, log, user("seven"), os.O_TRUNC)
			s.until(t, "log.jsonl", "seven damaged=0")
			s.until(t, "log.1.jsonl", "six damaged=0")
			// A new folder; and a sub-agent's log changes the session it belongs to.
			sub := filepath.Join(dir, "new", "log2", "subagents")
			if err := os.MkdirAll(sub, 0o700); err != nil {
				t.Fatal(err)
			}
			write(t, filepath.Join(dir, "new", "log2.jsonl"), user("eight"), os.O_TRUNC)
			s.until(t, "log2.jsonl", "eight damaged=0")
			s.mu.Lock()
			before := s.reads
			s.mu.Unlock()
			write(t, filepath.Join(sub, "agent-abcdef.jsonl"), user("inner"), os.O_TRUNC)
			for end := time.Now().Add(time.Minute); ; time.Sleep(5 * time.Millisecond) {
				s.mu.Lock()
				reads := s.reads
				s.mu.Unlock()
				if reads > before {
					break
				}
				if time.Now().After(end) {
					t.Fatal("a sub-agent's log does not bring its session back")
				}
			}
			// While the reader cannot take files they wait.
			s.mu.Lock()
			s.busy = true
			s.mu.Unlock()
			write(t, log, user("nine"), os.O_APPEND)
			time.Sleep(50 * time.Millisecond)
			s.mu.Lock()
			s.busy = false
			s.mu.Unlock()
			s.until(t, "log.jsonl", "seven nine damaged=0")
			cancel()
			if err := <-done; !errors.Is(err, context.Canceled) {
				t.Error(err)
			}
		})
	}
}

// A rewrite that leaves size and time as they were is seen by its notice alone.
func TestRunSameSizeAndTime(t *testing.T) {
	dir := t.TempDir()
	log := filepath.Join(dir, "log.jsonl")
	write(t, log, user("one"), os.O_TRUNC)
	info, err := os.Stat(log)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	s := &seen{files: map[string]string{}}
	done := make(chan error, 1)
	var notes []string
	go func() {
		done <- Run(ctx, []string{dir}, Options{Quiet: 5 * time.Millisecond, Note: func(n string) { notes = append(notes, n) }}, s.read)
	}()
	s.until(t, "log.jsonl", "one damaged=0")
	write(t, log, user("two"), 0)
	if err := os.Chtimes(log, info.ModTime(), info.ModTime()); err != nil {
		t.Fatal(err)
	}
	if s.until(t, "log.jsonl", "two damaged=0"); len(notes) > 0 {
		t.Error(notes)
	}
	cancel()
	<-done
}
