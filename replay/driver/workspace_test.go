package driver_test

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"vise/replay/driver"
)

func write(t *testing.T, path, text string, mode fs.FileMode) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
}

func tree(t *testing.T, dir string) []string {
	t.Helper()
	var out []string
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || path == dir {
			return err
		}
		rel, _ := filepath.Rel(dir, path)
		info, err := d.Info()
		if err != nil {
			return err
		}
		if d.Type()&fs.ModeSymlink != 0 {
			to, _ := os.Readlink(path)
			out = append(out, rel+" -> "+to)
		} else {
			out = append(out, rel+" "+info.Mode().String())
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestCopyWorkspace(t *testing.T) {
	from := t.TempDir()
	write(t, filepath.Join(from, "main.go"), "package main", 0o644)
	write(t, filepath.Join(from, "bin", "tool"), "#!/bin/sh", 0o755)
	write(t, filepath.Join(from, ".git", "objects", "x"), "history", 0o644)
	write(t, filepath.Join(from, "vendored", ".git"), "gitdir: elsewhere", 0o644)
	write(t, filepath.Join(from, ".vise", "000001.vlog"), "store", 0o644)
	write(t, filepath.Join(from, ".gitignore"), "/bin", 0o644)
	write(t, filepath.Join(from, "fixed", "data"), "x", 0o444)
	if err := os.Mkdir(filepath.Join(from, "linked"), 0o755); err != nil {
		t.Fatal(err)
	}
	// "up" leaves the project and comes back by its name: from the copy it would lead to the original.
	for name, to := range map[string]string{"linked/near": "../main.go", "linked/far": "../../x", "linked/back": "a/../../main.go", "inside": "bin/tool", "up": "../" + filepath.Base(from) + "/main.go", "outside": "../..", "absolute": "/etc/passwd", "dangling": "nowhere"} {
		if err := os.Symlink(to, filepath.Join(from, name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := exec.Command("mkfifo", filepath.Join(from, "fifo")).Run(); err != nil {
		t.Log("no mkfifo:", err)
	}
	if err := os.Chmod(filepath.Join(from, "fixed"), 0o555); err != nil {
		t.Fatal(err)
	}
	// The copies may lie inside what is copied.
	under := filepath.Join(from, "runs")
	dir, cleanup, err := driver.PrepareWorkspace(t.Context(), driver.CopyWorkspace, from, under)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		".gitignore -rw-r--r--", "bin drwxr-xr-x", "bin/tool -rwxr-xr-x", "dangling -> nowhere", "fixed dr-xr-xr-x", "fixed/data -r--r--r--",
		"inside -> bin/tool", "linked drwxr-xr-x", "linked/near -> ../main.go", "main.go -rw-r--r--", "runs drwxr-xr-x", "vendored drwxr-xr-x",
	}
	got := tree(t, dir)
	for i := range got {
		got[i] = strings.Replace(got[i], "runs drwx------", "runs drwxr-xr-x", 1)
	}
	if !slices.Equal(got, want) {
		t.Errorf("copy holds\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if !filepath.IsAbs(dir) {
		t.Errorf("%s is not absolute", dir)
	}
	write(t, filepath.Join(dir, "main.go"), "changed", 0o644)
	if b, _ := os.ReadFile(filepath.Join(from, "main.go")); string(b) != "package main" {
		t.Error("the agent's change reached the original")
	}
	for range 2 {
		if err := cleanup(); err != nil {
			t.Error(err)
		}
	}
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("copy is still there: %v", err)
	}
	os.Chmod(filepath.Join(from, "fixed"), 0o755)
}

func TestCopyWorkspaceIsBounded(t *testing.T) {
	from, under := t.TempDir(), t.TempDir()
	f, err := os.Create(filepath.Join(from, "sparse"))
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Truncate(driver.MaxWorkspaceBytes + 1); err != nil {
		t.Fatal(err)
	}
	f.Close()
	_, cleanup, err := driver.PrepareWorkspace(t.Context(), driver.CopyWorkspace, from, under)
	if err == nil || !strings.Contains(err.Error(), "agent.workspace_from") {
		t.Errorf("error is %v", err)
	}
	if err := cleanup(); err != nil {
		t.Error(err)
	}
	if left := tree(t, under); len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
}

func TestOtherWorkspaces(t *testing.T) {
	from := t.TempDir()
	write(t, filepath.Join(from, "x"), "x", 0o644)
	dir, cleanup, err := driver.PrepareWorkspace(t.Context(), driver.ScratchWorkspace, from, "")
	if err != nil || len(tree(t, dir)) != 0 {
		t.Errorf("scratch: %v, %v", tree(t, dir), err)
	}
	if err := cleanup(); err != nil {
		t.Error(err)
	}
	dir, cleanup, err = driver.PrepareWorkspace(t.Context(), driver.InPlace, from, "")
	if err != nil || dir != from {
		t.Errorf("inplace: %s, %v", dir, err)
	}
	if err := cleanup(); err != nil {
		t.Error(err)
	}
	if len(tree(t, from)) != 1 {
		t.Error("cleanup of an in-place workspace removed the project")
	}
	if _, _, err := driver.PrepareWorkspace(t.Context(), driver.InPlace, filepath.Join(from, "none"), ""); err == nil {
		t.Error("a missing folder was accepted")
	}
	if _, _, err := driver.PrepareWorkspace(t.Context(), driver.CopyWorkspace, filepath.Join(from, "none"), ""); err == nil {
		t.Error("a missing folder was accepted")
	}
	if _, _, err := driver.PrepareWorkspace(t.Context(), "elsewhere", from, ""); err == nil {
		t.Error("an unknown mode was accepted")
	}
}

func TestEnviron(t *testing.T) {
	base := []string{"PATH=/bin", "HOME=/home/x", "LC_ALL=C", "SECRET=1", "MY_A=1", "MY_B=2", "MY_API_KEY=4", "MY_INDEX=https://a:b@example.org/", "OTHER=3", "broken", "=odd", "EMPTY="}
	for _, c := range []struct {
		name  string
		allow []string
		extra map[string]string
		want  string
	}{
		{"default", nil, nil, "HOME=/home/x LC_ALL=C PATH=/bin"},
		{"by name", []string{"OTHER", "EMPTY", "ABSENT"}, nil, "EMPTY= HOME=/home/x LC_ALL=C OTHER=3 PATH=/bin"},
		{"by prefix", []string{"MY_*"}, nil, "HOME=/home/x LC_ALL=C MY_A=1 MY_B=2 PATH=/bin"},
		{"a credential by its whole name only", []string{"MY_API_KEY"}, nil, "HOME=/home/x LC_ALL=C MY_API_KEY=4 PATH=/bin"},
		{"a star alone is no prefix", []string{"*"}, nil, "HOME=/home/x LC_ALL=C PATH=/bin"},
		{"extra wins", nil, map[string]string{"PATH": "/x", "VISE_RUN_SEED": "7"}, "HOME=/home/x LC_ALL=C PATH=/x VISE_RUN_SEED=7"},
	} {
		if got := strings.Join(driver.Environ(c.allow, c.extra, base), " "); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

func TestSweepWorkspaces(t *testing.T) {
	under := filepath.Join(t.TempDir(), "runs")
	if err := driver.SweepWorkspaces(under); err != nil {
		t.Fatalf("nothing to sweep: %v", err)
	}
	dir, _, err := driver.PrepareWorkspace(t.Context(), driver.ScratchWorkspace, "", filepath.Join(under, "run-1"))
	if err != nil {
		t.Fatal(err)
	}
	locked := filepath.Join(dir, "locked")
	if err := os.Mkdir(locked, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(locked, "file"), nil, 0o400); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(locked, 0o500); err != nil {
		t.Fatal(err)
	}
	if err := driver.SweepWorkspaces(under); err != nil {
		t.Fatal(err)
	}
	left, err := os.ReadDir(under)
	if err != nil || len(left) > 0 {
		t.Errorf("left: %v, %v", left, err)
	}
}
