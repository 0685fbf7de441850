package drive_test

import (
	"slices"
	"strings"
	"testing"

	"vise/engine/patch/drive"
)

// An agent chooses what its output says; an id that could be a flag, or anything
// else than an id, never becomes an argument.
func TestOnlyIdsAreResumed(t *testing.T) {
	for _, id := range []string{"--dangerously-bypass-approvals-and-sandbox", "--dangerously-skip-permissions", "-c", "a b", "a\nb", "x/../y", "", strings.Repeat("a", 129)} {
		a := drive.Read([]byte(`{"thread_id":` + quote(id) + `,"result":"x"}` + "\n"))
		if a.SessionID != "" {
			t.Errorf("%q was read as an id", id)
		}
		for _, argv := range [][]string{{"codex", "exec", "--json", "fix it"}, {"claude", "-p", "fix it"}, {"opencode", "run", "fix it"}, {"copilot", "-p", "fix it"}} {
			c, err := drive.Build(drive.Request{Argv: argv, Prompt: "P", SessionID: id}) // as an older version kept it
			fresh, _ := drive.Build(drive.Request{Argv: argv, Prompt: "P"})
			if err != nil || !slices.Equal(c.Argv, fresh.Argv) {
				t.Errorf("%q gave %q, %v", id, c.Argv, err)
			}
		}
	}
	for _, id := range []string{"0199a213-81c0-7800-8aa1-bbab2a035a53", "ses_494719016ffe85dkDMj0FPRbHK", "20260801_1", "a:b.c"} {
		if a := drive.Read([]byte(`{"session_id":` + quote(id) + `}` + "\n")); a.SessionID != id {
			t.Errorf("%q was not read", id)
		}
	}
}

func quote(s string) string {
	return `"` + strings.NewReplacer("\n", `\n`).Replace(s) + `"`
}
