package cli_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"vise/tui/internal/screen"
)

// The tests of this file are named after rows of testdata/publicbugs.txt: faults that
// users of other programs reported, made anew on ours. Scripts of that name are beside the
// other scripts.

// Whatever a session holds, lines, JSON and exports of it hold no control but line ends
// and tabs. (The panes are TestB48WorkbenchHostileSession.)
func TestB48HeadlessHostileSession(t *testing.T) {
	raw, err := os.ReadFile(filepath.Join(repository, "testdata", "demo", "torn-blanket.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "bad.jsonl"), poison(t, raw, strings.Join(hostile, "")), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"init"}, {"import", "bad.jsonl"}, {"replay", "--all", "--recorded", "--no-validate"}, {"sessions", "ls"}, {"sessions", "ls", "--json"},
		{"sessions", "show", "torn-blanket", "--full"}, {"sessions", "show", "torn-blanket", "--json"}, {"sessions", "export", "torn-blanket"},
		{"sessions", "export", "torn-blanket", "--format", "openai"}, {"sessions", "export", "torn-blanket", "--format", "otlp"},
		{"notices", "ls"}, {"cases", "ls"}, {"cases", "ls", "--json"}, {"journal"}, {"journal", "--json"}} {
		cmd := exec.Command("vise", args...)
		surround(t, cmd, nil, dir, dir)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("vise %s: %v\n%s", args, err, out)
		}
		for _, r := range string(out) {
			if r < 0x20 && r != '\n' && r != '\t' || r >= 0x7f && r <= 0x9f {
				t.Errorf("vise %s: %U in its output", args, r)
				break
			}
		}
	}
}

// An agent that burns its processor, ignores every signal that it can and has a child of
// its own is gone soon after vise, however that was told to end.
func TestB50BusyAgentEnds(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("looks into /proc")
	}
	for name, end := range map[string]func(*screen.Screen){
		"key":     func(d *screen.Screen) { d.Press("q").Wait("q again ends it").Press("q") },
		"SIGTERM": func(d *screen.Screen) { d.Signal(syscall.SIGTERM) },
		"SIGHUP":  func(d *screen.Screen) { d.Signal(syscall.SIGHUP) },
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "desk")
			d, _ := terminal(t, 120, 40, nil, "demo", "--prepare", dir)
			if code := d.Exit(); code != 0 {
				t.Fatalf("prepare: exit %d", code)
			}
			// The pauses keep the machine usable for the other tests.
			const busy = "trap '' TERM INT HUP\n(trap '' TERM INT HUP; while :; do sleep 0.01; done) &\necho B50-runs >&2\nwhile :; do sleep 0.01; done\n"
			if err := os.WriteFile(filepath.Join(dir, "busy.sh"), []byte(busy), 0o600); err != nil {
				t.Fatal(err)
			}
			mark := "VISE_TEST_B50=" + name + fmt.Sprint(os.Getpid())
			d, _ = terminal(t, 120, 40, []string{"VISE_AGENT_COMMAND=sh ./busy.sh", `VISE_AGENT_ENV=VISE_TEST_B50`, mark}, "--project", dir)
			d.Wait("torn-blanket").Press("r")
			for deadline := time.Now().Add(time.Minute); len(marked(mark, "busy.sh")) < 2; time.Sleep(20 * time.Millisecond) {
				if time.Now().After(deadline) {
					t.Fatalf("the agent did not start:\n%s", d.Text())
				}
			}
			end(d)
			d.Exit()
			for deadline := time.Now().Add(time.Minute); len(marked(mark, "")) > 0; time.Sleep(20 * time.Millisecond) {
				if time.Now().After(deadline) {
					t.Fatalf("still there a minute later: %v", marked(mark, ""))
				}
			}
		})
	}
}

// marked lists the processes that have a variable in their environment and a word in
// their command line.
func marked(variable, word string) (list []string) {
	found, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, p := range found {
		raw, err := os.ReadFile(p)
		line, _ := os.ReadFile(filepath.Join(filepath.Dir(p), "cmdline"))
		if err == nil && len(line) > 0 && strings.Contains(string(raw), variable) && strings.Contains(string(line), word) {
			list = append(list, filepath.Base(filepath.Dir(p))+" "+strings.ReplaceAll(string(line), "\x00", " "))
		}
	}
	return list
}

// Ten kills at random moments of an import: the store opens every time and is whole, what
// was lost is told, and the import that is let be brings everything that the file holds.
func TestB60KillWhileImporting(t *testing.T) {
	const sessions = 300
	dir := t.TempDir()
	var file bytes.Buffer
	for i := range sessions {
		fmt.Fprintf(&file, `{"vise":1,"type":"session","id":"s-%d","origin":"recorded","source":"acp"}`+"\n", i)
		for n := range 3 {
			fmt.Fprintf(&file, `{"type":"turn","session_id":"s-%d","index":%d,"input":"question %d"}`+"\n"+`{"type":"span","id":"a","kind":"LLM","output":"%s"}`+"\n", i, n, n, strings.Repeat("answer ", 200))
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "bulk.jsonl"), file.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	vise := func(args ...string) string {
		t.Helper()
		cmd := exec.Command("vise", args...)
		surround(t, cmd, nil, dir, dir)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("vise %s: %v\n%s", args, err, out)
		}
		return string(out)
	}
	vise("init")
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 60))
	killed, told := 0, 0
	for range 10 {
		cmd := exec.Command("vise", "import", "bulk.jsonl")
		surround(t, cmd, nil, dir, dir)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Duration(random.Int64N(int64(300 * time.Millisecond))))
		_ = cmd.Process.Kill()
		if state, ok := cmd.Wait().(*exec.ExitError); ok && !state.Exited() {
			killed++
		}
		out := vise("store", "verify")
		if !strings.Contains(out, "no problems") {
			t.Errorf("after a kill: %s", out)
		}
		if strings.Contains(out, "ended without closing the store") {
			told++
		}
	}
	t.Logf("%d of 10 were killed, %d had the store open", killed, told)
	if killed > 0 && told > killed {
		t.Errorf("%d kills, %d recoveries", killed, told)
	}
	out := vise("import", "bulk.jsonl")
	if !strings.Contains(out, fmt.Sprintf("imported %d sessions", sessions)) || !strings.Contains(out, fmt.Sprintf("%d turns", 3*sessions)) {
		t.Errorf("the last import: %s", out)
	}
	if n := strings.Count(vise("sessions", "ls", "--json"), `"turns":3`); n != sessions {
		t.Errorf("%d whole sessions of %d", n, sessions)
	}
	if out := vise("store", "verify"); !strings.Contains(out, "no problems") {
		t.Errorf("at the end: %s", out)
	}
}
