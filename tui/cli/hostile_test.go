package cli_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"vise/tui/internal/screen"
)

// hostile are sequences by which recorded text would drive the terminal: clipboard,
// title, hyperlink, device control, a question the terminal answers, reset, 8-bit
// forms, bell, and a bare carriage return.
var hostile = []string{
	"\x1b]52;c;UFdORUQ=\x07", "\x1b]0;PWNED\x07", "\x1b]8;;http://PWNED\x1b\\x\x1b]8;;\x1b\\", "\x1bP+q504E\x1b\\", "\x1b[6n", "\x1bc",
	"\u009b6n", "\u009d52;c;UFdORUQ=\u009c", "\u0090q\u009c", "PWNED\a", "over\rPWNED", "\x1b[2J\x1b[HPWNED", "\x1b[?1049l", "\x1b(0",
}

// No sequence from a session reaches the terminal, whichever pane shows it: neither
// titles, inputs, names, arguments, results, errors nor what is copied from them.
func TestB48WorkbenchHostileSession(t *testing.T) {
	root, err := filepath.Abs(repository)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile(filepath.Join(root, "testdata", "demo", "torn-blanket.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	for n, bad := range hostile {
		t.Run(fmt.Sprintf("%q", bad), func(t *testing.T) {
			if testing.Short() && n > 2 {
				t.Skip("short")
			}
			t.Parallel()
			dir := t.TempDir()
			if err := os.WriteFile(filepath.Join(dir, "bad.jsonl"), poison(t, raw, bad), 0o644); err != nil {
				t.Fatal(err)
			}
			env := append(os.Environ(), "HOME="+dir, "XDG_CONFIG_HOME="+dir, "TERM=xterm-256color", "COLORTERM=truecolor", "LANG=C.UTF-8", "TMUX=", "SSH_TTY=", "NO_COLOR=")
			run := func(args ...string) {
				t.Helper()
				c := exec.Command("vise", args...)
				c.Dir, c.Env = dir, env
				if out, err := c.CombinedOutput(); err != nil {
					t.Fatalf("vise %s: %v\n%s", args, err, out)
				}
			}
			run("init")
			run("import", "bad.jsonl")
			run("replay", "--all", "--recorded", "--no-validate")
			c := exec.Command("vise")
			c.Dir, c.Env = dir, env
			d := screen.Start(t, 200, 50, c)
			d.Wait("1 Sessions").Wait("TOOL")
			for _, k := range []string{"2", "up", "down", "3", "down", "down", "enter", "pgdown", "o", "4", "5", "6", "7", "8", "9", "1", "L", "z", "z"} {
				d.Press(k)
			}
			d.Press(":").Wait("type to search").Press("esc").Gone("type to search")
			d.Press("R").Wait("5 Repair").Press("E").Wait("9 Journal").Press("D").Wait("3 Trace").Press("q")
			if code := d.Exit(); code != 0 {
				t.Errorf("exit %d", code)
			}
			// What the program itself sends of these kinds is taken out first.
			sent := d.Raw()
			for _, own := range []string{"\x1b[2J", "\x1b[H", "\x1b[?1049l"} {
				if strings.Contains(bad, own) {
					sent = strings.ReplaceAll(sent, own+"PWNED", "\x00FOUND\x00")
				}
			}
			if strings.Contains(sent, "\x00FOUND\x00") || bad != "\x1b[?1049l" && bad != "\x1bc" && strings.Contains(sent, bad) ||
				strings.Contains(sent, "\x1bc") || strings.Contains(sent, "\a") && strings.Contains(bad, "\a") && strings.Contains(sent, "PWNED\a") ||
				strings.Contains(sent, "\x1b]52") && !strings.Contains(sent, "\x1b]52;c;dmlzZTov") {
				t.Errorf("%q reached the terminal", bad)
			}
			if n := strings.Count(sent, "\x1b[?1049l"); n > 1 {
				t.Errorf("the alternate screen was left %d times", n)
			}
			if strings.ContainsAny(sent, "\u009b\u009d\u0090\u009c") {
				t.Errorf("an 8-bit control reached the terminal")
			}
			d.Restored()
		})
	}
}

// poison puts a text into every string of a recording that people read.
func poison(t *testing.T, raw []byte, bad string) []byte {
	t.Helper()
	var out []byte
	for line := range strings.SplitSeq(strings.TrimSpace(string(raw)), "\n") {
		var v any
		if err := json.Unmarshal([]byte(line), &v); err != nil {
			t.Fatal(err)
		}
		b, err := json.Marshal(poisoned(v, bad))
		if err != nil {
			t.Fatal(err)
		}
		out = append(append(out, b...), '\n')
	}
	return out
}

// readable are the fields of the native format that hold free text.
var readable = map[string]bool{"title": true, "input": true, "output": true, "error": true, "thought": true, "name": true, "task_summary": true, "agent": true, "text": true}

func poisoned(v any, bad string) any {
	switch x := v.(type) {
	case map[string]any:
		for k, e := range x {
			if s, ok := e.(string); ok && readable[k] {
				x[k] = bad + s + bad
				continue
			}
			x[k] = poisoned(e, bad)
		}
	case []any:
		for i := range x {
			x[i] = poisoned(x[i], bad)
		}
	}
	return v
}
