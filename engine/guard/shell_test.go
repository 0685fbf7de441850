package guard_test

import (
	"errors"
	"os"
	"path/filepath"
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
	p := guard.DefaultShellPolicy(work)
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
