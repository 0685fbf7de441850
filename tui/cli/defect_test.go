package cli_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"vise/tui/cli"
)

// patchDesk is a small project whose test asks for a word in a file.
func patchDesk(t *testing.T, tests string) func(args ...string) (code int, out, errs string) {
	t.Helper()
	root := t.TempDir()
	for name, text := range map[string]string{"vise.toml": "[agent]\nsandbox = \"off\"\n", "value.txt": "base\n", "check.sh": "grep -q right value.txt || { echo 1 failed; exit 1; }\necho 1 passed\n",
		"vise-policy.toml": "version = 2\n[filesystem]\nallow_write = [\"**\"]\n[process]\ndefault = \"allow\"\n[proof]\ntests = [[" + tests + "]]\n"} {
		if err := os.WriteFile(filepath.Join(root, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(root, ".vise"), 0o755); err != nil {
		t.Fatal(err)
	}
	return func(args ...string) (int, string, string) {
		var out, errs bytes.Buffer
		code := cli.Run(t.Context(), args, cli.Surroundings{In: strings.NewReader(""), Out: &out, Err: &errs, Env: []string{"PATH=" + os.Getenv("PATH"), "HOME=" + root}, Dir: root, Self: os.Args[0]})
		return code, out.String(), errs.String()
	}
}

// newest is the id of the newest run.
func newest(t *testing.T, vise func(args ...string) (int, string, string)) string {
	t.Helper()
	_, out, _ := vise("patch", "ls", "--json")
	var r struct{ ID string }
	if err := json.NewDecoder(strings.NewReader(out)).Decode(&r); err != nil {
		t.Fatalf("%v in %s", err, out)
	}
	return r.ID
}

// An agent behind -- is its own; flags before it, and --agent, take nothing of what
// comes after them.
func TestD17AgentsArgumentsSwallowNoFlags(t *testing.T) {
	vise := patchDesk(t, `"sh", "check.sh"`)
	if code, _, errs := vise("patch", "run", "--", "sh", "-c", "echo wrong > value.txt"); code != 9 {
		t.Fatalf("exit %d: %s", code, errs)
	}
	id := newest(t, vise)
	mend := "echo right > value.txt"
	for _, args := range [][]string{
		{"repair", id, "--json", "--", "sh", "-c", mend},
		{"repair", id, "--again", "--agent", "sh", "--agent", "-c", "--agent", mend, "--json"},
	} {
		code, out, errs := vise(args...)
		last := out[strings.LastIndex(strings.TrimSpace(out), "\n")+1:]
		if code != 0 || !strings.HasPrefix(last, `{"schema":"vise.patch_outcome/1"`) || !strings.Contains(last, `"status":"REPAIRED"`) {
			t.Errorf("%q: exit %d\n%s\n%s", args, code, last, errs)
		}
	}
}

// A failed proof is no success, whatever failed, and what ended it is told by its
// own code: 9 not proven, 10 a person, 12 out of time. The ids that are printed lead
// somewhere.
func TestD20ExitCodesTellHowItEnded(t *testing.T) {
	vise := patchDesk(t, `"sh", "check.sh"`)
	if code, out, errs := vise("patch", "run", "--", "sh", "-c", "echo wrong > value.txt"); code != 9 || !strings.Contains(out, "NOT_PROVEN") {
		t.Errorf("a failed proof exits %d: %s %s", code, out, errs)
	}
	id := newest(t, vise)
	if code, out, _ := vise("patch", "show", id); code != 0 || !strings.Contains(out, id) {
		t.Errorf("the id leads to %d %s", code, out)
	}
	if code, out, errs := vise("repair", id, "--max-runtime", "0.000001", "--", "true"); code != 12 || !strings.Contains(out, "BLOCKED") || strings.Contains(out+errs, "NEEDS_HUMAN") {
		t.Errorf("out of time exits %d: %s %s", code, out, errs)
	}
	vise = patchDesk(t, `"no-such-tool-here"`)
	if code, out, errs := vise("patch", "run", "--", "sh", "-c", "echo right > value.txt"); code != 10 || !strings.Contains(out, "environment") {
		t.Errorf("without its tool a proof exits %d: %s %s", code, out, errs)
	}
}
