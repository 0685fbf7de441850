package driver_test

import (
	"os"
	"path/filepath"
	"testing"

	"vise/replay/driver"
)

func TestPermit(t *testing.T) {
	base := t.TempDir()
	dir, other := filepath.Join(base, "work"), filepath.Join(base, "work-other")
	for _, d := range []string{dir, other, filepath.Join(dir, "sub")} {
		if err := os.Mkdir(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	link := func(name, to string) {
		if err := os.Symlink(to, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	link("out", other)
	link("in", "sub")
	link("dangling", filepath.Join(other, "not-yet"))
	for _, c := range []struct {
		name   string
		policy driver.Policy
		paths  []string
		ok     bool
	}{
		{"inside", driver.Workspace, []string{filepath.Join(dir, "sub", "new.txt")}, true},
		{"relative", driver.Workspace, []string{"sub/new.txt"}, true},
		{"the workspace itself", driver.Workspace, []string{dir}, true},
		{"the zero policy is workspace", "", []string{"sub"}, true},
		{"a name that begins with dots", driver.Workspace, []string{"..config"}, true},
		{"link inside", driver.Workspace, []string{"in/new.txt"}, true},
		{"missing folders", driver.Workspace, []string{"a/b/c"}, true},
		{"outside", driver.Workspace, []string{"/etc/passwd"}, false},
		{"up", driver.Workspace, []string{"../x"}, false},
		{"up from below", driver.Workspace, []string{"sub/../../x"}, false},
		{"sibling with our prefix", driver.Workspace, []string{filepath.Join(other, "x")}, false},
		{"link out", driver.Workspace, []string{"out/x"}, false},
		{"dangling link out", driver.Workspace, []string{"dangling"}, false},
		{"one of two outside", driver.Workspace, []string{"sub", "/etc/passwd"}, false},
		{"no path", driver.Workspace, nil, false},
		{"deny", driver.Deny, []string{"sub"}, false},
		{"allow", driver.Allow, []string{"/etc/passwd"}, true},
		{"unknown policy", "everything", []string{"sub"}, false},
	} {
		if ok, reason := driver.Permit(c.policy, dir, c.paths); ok != c.ok || reason == "" {
			t.Errorf("%s: %v (%s), want %v", c.name, ok, reason, c.ok)
		}
	}
}
