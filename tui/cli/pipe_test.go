package cli_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// Who reads our output may stop at any time (`vise sessions show S | head -2`): the
// command ends, the store is closed in order, and the next command has nothing to tell.
// What would go on for ever ends too.
func TestReaderOfOutputIsGone(t *testing.T) {
	dir := t.TempDir()
	prepare := exec.Command("vise", "demo", "--prepare", filepath.Join(dir, "p"))
	surround(t, prepare, nil, dir, dir)
	if out, err := prepare.CombinedOutput(); err != nil {
		t.Fatalf("demo --prepare: %v\n%s", err, out)
	}
	for _, args := range [][]string{
		{"sessions", "show", "torn-blanket"}, {"sessions", "show", "torn-blanket", "--json"}, {"sessions", "export", "torn-blanket"},
		{"journal", "--follow"}, {"serve", "--json"}, {"--linear"},
	} {
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		r.Close()
		cmd := exec.Command("vise", args...)
		surround(t, cmd, nil, filepath.Join(dir, "p"), dir)
		cmd.Stdout = w
		var said strings.Builder
		cmd.Stderr = &said
		in, err := cmd.StdinPipe() // open: nothing ends for want of input
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		w.Close()
		late := time.AfterFunc(time.Minute, func() { _ = cmd.Process.Kill() })
		err = cmd.Wait()
		late.Stop()
		in.Close()
		after := exec.Command("vise", "sessions", "ls")
		surround(t, after, nil, filepath.Join(dir, "p"), dir)
		after.Stderr = &said
		if _, err := after.Output(); err != nil {
			t.Errorf("vise sessions ls after vise %s: %v", strings.Join(args, " "), err)
		}
		if err != nil || strings.Contains(said.String(), "without closing the store") {
			t.Errorf("vise %s into a closed pipe: %v\n%s", strings.Join(args, " "), err, said.String())
		}
	}
}
