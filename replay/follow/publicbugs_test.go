package follow

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// The tests of this file are named after rows of testdata/publicbugs.txt: faults that
// users of other programs reported, made anew on ours.

// followed is a file of records that is being followed.
func followed(t *testing.T, content string) (string, *seen) {
	t.Helper()
	dir := t.TempDir()
	log := filepath.Join(dir, "log.jsonl")
	write(t, log, content, os.O_TRUNC)
	ctx, cancel := context.WithCancel(context.Background())
	s := &seen{files: map[string]string{}}
	done := make(chan error, 1)
	go func() {
		done <- Run(ctx, []string{dir}, Options{Poll: 20 * time.Millisecond, Quiet: 5 * time.Millisecond}, s.read)
	}()
	t.Cleanup(func() {
		cancel()
		<-done
	})
	return log, s
}

// The writer stopped in the middle of a record: all before it are there at once and the
// tail is marked; when the rest arrives the record is there, once, and the mark is gone.
func TestB03IncompleteTail(t *testing.T) {
	var all, names []string
	for i := range 21 {
		names = append(names, fmt.Sprint("r", i))
		all = append(all, user(names[i]))
	}
	last := all[20]
	cut := len(last) * 6 / 10
	log, s := followed(t, strings.Join(all[:20], "")+last[:cut])
	s.until(t, "log.jsonl", strings.Join(names[:20], " ")+" damaged=1")
	write(t, log, last[cut:], os.O_APPEND)
	s.until(t, "log.jsonl", strings.Join(names, " ")+" damaged=0")
}

// The file is rewritten in place with other records, to more bytes: it is read anew and
// not from the place where the last reading ended.
func TestB17RewrittenInPlace(t *testing.T) {
	log, s := followed(t, user("one")+user("two"))
	s.until(t, "log.jsonl", "one two damaged=0")
	before, err := os.Stat(log)
	if err != nil {
		t.Fatal(err)
	}
	write(t, log, user("a summary of what was said")+user("three")+user("four"), os.O_TRUNC)
	after, err := os.Stat(log)
	if err != nil || !os.SameFile(before, after) || after.Size() <= before.Size() {
		t.Fatalf("the test needs one larger file: %v", err)
	}
	s.until(t, "log.jsonl", "a summary of what was said three four damaged=0")
}
