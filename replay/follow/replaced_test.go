package follow

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"
)

// A folder that is moved away and made anew is followed again, one that comes back
// later too, and what is below it: by notices alone, for the next look without one is an
// hour away.
func TestFolderIsReplaced(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	dir := filepath.Join(root, "logs")
	mkdir := func(name string) {
		t.Helper()
		if err := os.MkdirAll(name, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	move := func(from, to string) {
		t.Helper()
		if err := os.Rename(from, to); err != nil {
			t.Fatal(err)
		}
	}
	put := func(name, text string) {
		t.Helper()
		write(t, filepath.Join(dir, name), user(text), os.O_CREATE|os.O_WRONLY|os.O_TRUNC)
	}
	mkdir(filepath.Join(dir, "sub"))
	put("sub/a.jsonl", "one")
	s := &seen{files: map[string]string{}}
	var mu sync.Mutex
	var notes []string
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		done <- Run(ctx, []string{dir}, Options{Poll: time.Hour, Quiet: time.Millisecond, Note: func(text string) {
			mu.Lock()
			defer mu.Unlock()
			notes = append(notes, text)
		}}, s.read)
	}()
	defer func() { cancel(); <-done }()
	s.until(t, "a.jsonl", "one damaged=0")

	// At once, with a folder in it that had its own notices.
	move(dir, filepath.Join(root, "old"))
	mkdir(filepath.Join(dir, "sub"))
	put("sub/a.jsonl", "two")
	s.until(t, "a.jsonl", "two damaged=0")
	put("sub/a.jsonl", "three")
	s.until(t, "a.jsonl", "three damaged=0")

	// Later: nothing is there for as long as it takes to be told.
	gone := dir + " is gone; it is read again when it is back"
	move(dir, filepath.Join(root, "older"))
	for end := time.Now().Add(30 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		mu.Lock()
		told := slices.Contains(notes, gone)
		mu.Unlock()
		if told {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("a folder that has gone is not told: %q", notes)
		}
	}
	mkdir(dir)
	put("a.jsonl", "four")
	s.until(t, "a.jsonl", "four damaged=0")
}
