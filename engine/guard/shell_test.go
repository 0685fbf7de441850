package guard_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"vise/engine/guard"
)

func TestShellPolicyFollowsSymlinks(t *testing.T) {
	dir := t.TempDir()
	work := filepath.Join(dir, "work")
	for _, err := range []error{
		os.MkdirAll(filepath.Join(work, "sub"), 0o755),
		os.Symlink("/etc", filepath.Join(work, "out")),
		os.Symlink("sub", filepath.Join(work, "in")),
		os.Symlink("/nowhere/yet", filepath.Join(work, "dangling")),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	p := seedPolicy(work)
	for word, reason := range map[string]string{
		"./in/x": "", "sub/new/file": "", "./out/passwd": guard.ShellPathEscape, "./dangling/x": guard.ShellPathEscape,
		"./dangling": guard.ShellPathEscape, "--f=./out/passwd": guard.ShellPathEscape, "x=@/etc/passwd": guard.ShellPathEscape,
	} {
		err := p.Check([]string{"cat", word})
		var refused *guard.ShellError
		switch {
		case reason == "" && err != nil:
			t.Errorf("cat %s: %v", word, err)
		case reason != "" && (!errors.As(err, &refused) || refused.Reason != reason):
			t.Errorf("cat %s: %v, want %s", word, err, reason)
		}
	}
}

// Denied and destructive words count as subcommands only: after a known command they
// are arguments, in an unknown one any word may be the subcommand.
func TestShellPolicyTellsSubcommandsFromArguments(t *testing.T) {
	p := seedPolicy(t.TempDir())
	p.Allowed = append(p.Allowed, "tool")
	for command, reason := range map[string]string{
		"pandaprobe traces get config":               "",
		"pandaprobe traces get delete":               "",
		"pandaprobe traces list --name config":       "",
		"pandaprobe auth status login":               "",
		"pandaprobe config":                          guard.ShellDeniedCommand,
		"pandaprobe --format json config show":       guard.ShellDeniedCommand,
		"pandaprobe auth login":                      guard.ShellDeniedCommand,
		"pandaprobe auth login status":               guard.ShellDeniedCommand,
		"pandaprobe traces config get":               guard.ShellDeniedCommand,
		"pandaprobe traces delete t-1":               guard.ShellDestructive,
		"pandaprobe --format json traces rm t-1":     guard.ShellDestructive,
		"pandaprobe evals monitors bulk-remove m":    guard.ShellDestructive,
		"pandaprobe projects Reset":                  guard.ShellDestructive,
		"pandaprobe traces get t --reveal-secrets=1": guard.ShellDeniedFlag,
		"tool purge": guard.ShellDestructive,
		"tool rm x":  guard.ShellDestructive,
		"tool alarm": "",
		"cat delete": "",
		"jq .reset":  "",
	} {
		got := ""
		var refused *guard.ShellError
		if err := p.Check(strings.Fields(command)); errors.As(err, &refused) {
			got = refused.Reason
		}
		if got != reason {
			t.Errorf("%s: %q, want %q", command, got, reason)
		}
	}
}

// What only reads inside a folder may run without a sandbox; what writes, runs others,
// reads a shell's language or leads out of the folder may not.
func TestReadingPolicy(t *testing.T) {
	dir := t.TempDir()
	if err := os.Symlink("/etc/passwd", filepath.Join(dir, "out")); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		argv   string
		reason string
	}{
		{"cat a.txt", ""}, {"ls -la sub", ""}, {"grep -n delete a.txt", ""}, {"wc -l a.txt", ""},
		{"cat out", guard.ShellPathEscape}, {"cat ../x", guard.ShellPathEscape}, {"grep -f/etc/passwd a", guard.ShellPathEscape},
		{"head a > b", guard.ShellMetachar}, {"rm a.txt", guard.ShellNotAllowed}, {"find . -delete", guard.ShellNotAllowed},
		{"sh -c ls", guard.ShellNotAllowed}, {"./cat a.txt", guard.ShellNotAllowed}, {"tail -f a.txt", guard.ShellNotAllowed},
	} {
		err := guard.ReadingPolicy(dir).Check(strings.Fields(c.argv))
		var refused *guard.ShellError
		if errors.As(err, &refused); (err == nil) != (c.reason == "") || err != nil && refused.Reason != c.reason {
			t.Errorf("%s: %v, want %q", c.argv, err, c.reason)
		}
	}
}

// seedPolicy is a policy with every list in use: it allows reading inside workdir and the platform's own client
// without its configuration, logins and secrets.
func seedPolicy(workdir string) guard.ShellPolicy {
	return guard.ShellPolicy{
		Allowed: []string{"pandaprobe", "cat", "ls", "jq"},
		Workdir: workdir,
		Known: [][]string{{"pandaprobe", "version"}, {"pandaprobe", "auth", "status"}, {"pandaprobe", "traces", "list"},
			{"pandaprobe", "traces", "get"}, {"pandaprobe", "traces", "spans"}, {"pandaprobe", "evals", "scores", "get"},
			{"pandaprobe", "evals", "runs", "batch"}, {"pandaprobe", "evals", "runs", "scores"}},
		Denied:      [][]string{{"pandaprobe", "config"}, {"pandaprobe", "auth", "login"}, {"pandaprobe", "auth", "logout"}},
		Destructive: []string{"delete", "del", "destroy", "drop", "erase", "prune", "purge", "remove", "reset", "rm", "truncate", "wipe"},
		Plain:       []string{"cat", "ls", "jq"},
		DeniedFlags: []string{"--reveal-secrets"},
		Resolve:     guard.ResolvePath,
	}
}
