package replay

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestRunLogIsMasked(t *testing.T) {
	r := &Runner{Logs: filepath.Join(t.TempDir(), "logs")}
	log, err := r.openLog("run-1")
	if err != nil {
		t.Fatal(err)
	}
	// As a pipe brings it: in two pieces.
	for _, piece := range []string{"using OPENAI_API_KEY=sk-proj-q7Zk2Lw9Xc4V", "b8Nm1Qz5Rt6Yu3\nready"} {
		if _, err := log.Write([]byte(piece)); err != nil {
			t.Fatal(err)
		}
	}
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(r.Logs, "run-1.log"))
	if err != nil || strings.Contains(string(text), "Zk2Lw9") || strings.Contains(string(text), "Qz5Rt6") {
		t.Errorf("the log says %q, %v", text, err)
	}
	if !strings.HasPrefix(string(text), "using OPENAI_API_KEY=") || !strings.HasSuffix(string(text), "\nready") {
		t.Errorf("the log says %q", text)
	}
}

func TestOldRunLogsGo(t *testing.T) {
	dir := t.TempDir()
	now := time.Now()
	for i, name := range []string{"d.log", "c.log", "b.log", "a.log", "notes.txt"} {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, make([]byte, 100), 0o600); err != nil {
			t.Fatal(err)
		}
		at := now.Add(-time.Duration(i) * time.Hour)
		if err := os.Chtimes(path, at, at); err != nil {
			t.Fatal(err)
		}
	}
	names := func() string {
		var out []string
		entries, _ := os.ReadDir(dir)
		for _, e := range entries {
			out = append(out, e.Name())
		}
		return strings.Join(out, " ")
	}
	pruneLogs(dir, 3, 1000)
	if got := names(); got != "b.log c.log d.log notes.txt" {
		t.Errorf("three are kept: %s", got)
	}
	pruneLogs(dir, 3, 250)
	if got := names(); got != "c.log d.log notes.txt" {
		t.Errorf("250 bytes are kept: %s", got)
	}
}

// A log folder that is a link is neither written to nor pruned: a project that came from
// elsewhere may have brought it.
func TestALinkIsNoLogFolder(t *testing.T) {
	dir := t.TempDir()
	elsewhere := filepath.Join(dir, "elsewhere")
	if err := os.MkdirAll(elsewhere, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(elsewhere, "mine.log"), []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(dir, "logs")
	if err := os.Symlink(elsewhere, link); err != nil {
		t.Skip("no links here:", err)
	}
	if _, err := (&Runner{Logs: link}).openLog("run-1"); err == nil || !strings.Contains(err.Error(), "is a link") {
		t.Errorf("%v", err)
	}
	if list, err := os.ReadDir(elsewhere); err != nil || len(list) != 1 {
		t.Errorf("%v, %v: behind the link", list, err)
	}
}
