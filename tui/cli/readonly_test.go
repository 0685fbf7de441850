package cli_test

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"vise/store"
	"vise/tui/cli"
)

// told collects what a workbench writes while it runs.
type told struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (w *told) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.b.Write(p)
}

func (w *told) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.b.String()
}

// A second workbench looks on beside the one that owns the project; without --read-only
// it is refused and says so.
func TestReadOnlyWorkbench(t *testing.T) {
	root := t.TempDir()
	run := func(in io.Reader, out, errs io.Writer, args ...string) int {
		return cli.Run(t.Context(), args, cli.Surroundings{In: in, Out: out, Err: errs, Env: []string{"PATH=" + os.Getenv("PATH"), "HOME=" + root},
			Dir: root, Self: os.Args[0], Demo: os.DirFS("../../testdata/demo")})
	}
	var out, errs told
	if code := run(strings.NewReader(""), &out, &errs, "demo", "--prepare", "p"); code != 0 {
		t.Fatalf("prepare: exit %d: %s", code, errs.String())
	}
	owner, err := store.Open(t.Context(), store.Options{Dir: filepath.Join(root, "p", ".vise"), MinFree: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer owner.Close()
	var refused told
	if code := run(strings.NewReader("quit\n"), io.Discard, &refused, "--linear", "--project", "p"); code != 5 || !strings.Contains(refused.String(), "vise --read-only") {
		t.Errorf("beside an owner: exit %d: %s", code, refused.String())
	}

	in, type1 := io.Pipe()
	var screen told
	code := make(chan int, 1)
	go func() {
		code <- run(in, &screen, &errs, "--read-only", "--linear", "--project", "p", "--session", "torn-blanket")
	}()
	shows := func(text string) {
		t.Helper()
		for end := time.Now().Add(time.Minute); !strings.Contains(screen.String(), text); time.Sleep(10 * time.Millisecond) {
			if time.Now().After(end) {
				t.Fatalf("it does not show %q:\n%s%s", text, screen.String(), errs.String())
			}
		}
	}
	shows("torn-blanket")
	io.WriteString(type1, "replay\n")
	shows("only reads (--read-only)")
	shows("Status: read-only")
	io.WriteString(type1, "quit\n")
	if c := <-code; c != 0 {
		t.Errorf("exit %d: %s", c, errs.String())
	}
}
