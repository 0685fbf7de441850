package patch

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// The oldest logs of agents go, and nothing else of their runs.
func TestOldAgentLogsGo(t *testing.T) {
	b := &Bench{o: Options{Dir: t.TempDir()}}
	name := func(i int) string { return filepath.Join(b.home(fmt.Sprintf("run-%03d", i)), "agent.log") }
	for i := range maxLogs + 5 {
		if err := os.MkdirAll(filepath.Dir(name(i)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name(i), []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
		at := time.Unix(1_700_000_000+int64(i), 0)
		if err := os.Chtimes(name(i), at, at); err != nil {
			t.Fatal(err)
		}
	}
	b.pruneLogs()
	left, _ := filepath.Glob(name(0)[:len(b.o.Dir)] + "/patch/runs/*/agent.log")
	if len(left) != maxLogs-1 || left[0] != name(6) {
		t.Errorf("%d are left, the oldest is %s", len(left), left[0])
	}
	if _, err := os.Stat(filepath.Dir(name(0))); err != nil {
		t.Error("the run went with its log")
	}
}

// An agent that is told the project's folder works in its workspace; the store's
// folder, wherever it lies, is nobody's workspace.
func TestArgumentsPointToTheWorkspace(t *testing.T) {
	got := inside([]string{"/p/agent", "/p", "/p/src", "--dir=/p/src", "/p/state/x", "/p/.vise/x", "/project", "x=/p"}, "/p", "/p/state", "/w")
	if want := "/p/agent /w /w/src --dir=/w/src /p/state/x /w/.vise/x /project x=/p"; strings.Join(got, " ") != want {
		t.Errorf("%q, want %q", got, want)
	}
}
