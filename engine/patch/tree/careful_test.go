package tree_test

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"vise/engine/patch/run"
	"vise/engine/patch/tree"
)

// patchOf captures what change makes of a workspace of a project.
func patchOf(t testing.TB, root string, change func(ws string)) (base *tree.Tree, c *tree.Captured, objects string) {
	t.Helper()
	dir := t.TempDir()
	base, err := tree.Take(t.Context(), root, filepath.Join(dir, "bases"), nil)
	do(t, err)
	ws := filepath.Join(dir, "ws")
	do(t, base.Materialise(t.Context(), ws))
	change(ws)
	c, err = tree.Capture(t.Context(), base, ws, filepath.Join(dir, "objects"))
	do(t, err)
	return base, c, filepath.Join(dir, "objects")
}

// What an editor saves while a patch is written is never lost: each path is looked
// at right before it is replaced, and Write stops at one that is another.
func TestWriteLooksRightBeforeItReplaces(t *testing.T) {
	for name, edit := range map[string]func(root string){
		"changed":       func(root string) { write(t, root, "main.go", "saved meanwhile", 0o644) },
		"mode":          func(root string) { do(t, os.Chmod(filepath.Join(root, "main.go"), 0o600)) },
		"made":          func(root string) { write(t, root, "new.txt", "saved meanwhile", 0o644) },
		"made a folder": func(root string) { write(t, root, "new.txt/x", "saved meanwhile", 0o644) },
	} {
		t.Run(name, func(t *testing.T) {
			root := project(t, false)
			_, c, objects := patchOf(t, root, func(ws string) {
				write(t, ws, "main.go", "package main // edited\n", 0o644)
				write(t, ws, "new.txt", "new", 0o644)
				do(t, os.Remove(filepath.Join(ws, "run.sh")))
			})
			// The edit comes with the bytes of the last file: all are staged, none is replaced.
			from, edited := tree.Objects(objects), false
			err := tree.Write(root, c.Entries, func(e run.Entry) (io.ReadCloser, error) {
				if e.Path == "new.txt" && !edited {
					edited = true
					edit(root)
				}
				return from(e)
			})
			if err == nil || !strings.Contains(err.Error(), "changed in this moment") {
				t.Fatalf("it was written over: %v", err)
			}
			left, _ := filepath.Glob(filepath.Join(root, ".vise-new-*"))
			if b, _ := os.ReadFile(filepath.Join(root, "main.go")); name == "changed" && string(b) != "saved meanwhile" || len(left) > 0 {
				t.Errorf("main.go is %q; left over: %v", b, left)
			}
		})
	}
	root := project(t, false)
	_, c, objects := patchOf(t, root, func(ws string) { do(t, os.Remove(filepath.Join(ws, "run.sh"))) })
	write(t, root, "run.sh", "saved meanwhile", 0o755)
	if err := tree.Write(root, c.Entries, tree.Objects(objects)); err == nil {
		t.Error("a file that was changed meanwhile was removed")
	}
	// A workspace is nobody else's: there it is written as it stands.
	do(t, tree.Apply(root, c.Entries, tree.Objects(objects)))
}

// A disk that is full, or a source that fails, is met before anything is replaced.
func TestNothingIsReplacedBeforeAllBytesAreThere(t *testing.T) {
	root := project(t, false)
	_, c, objects := patchOf(t, root, func(ws string) {
		write(t, ws, "main.go", "package main // edited\n", 0o644)
		write(t, ws, "z/deep/new.txt", "new", 0o644)
	})
	from := tree.Objects(objects)
	err := tree.Write(root, c.Entries, func(e run.Entry) (io.ReadCloser, error) {
		if e.Path == "z/deep/new.txt" {
			return nil, errors.New("no space left")
		}
		return from(e)
	})
	if err == nil || tree.At(root, c.Entries, false) != "" {
		t.Errorf("%v; %q is not as it was", err, tree.At(root, c.Entries, false))
	}
	if _, err := os.Stat(filepath.Join(root, "z")); err == nil {
		t.Error("the folder made for the new file is left")
	}
}

// A name that is not UTF-8 is no part of a project, and its creation is seen: JSON
// would make it another name, and two of them one.
func TestNamesThatAreNotUTF8(t *testing.T) {
	root := project(t, false)
	if err := os.WriteFile(filepath.Join(root, "caf\xe9.txt"), []byte("x"), 0o644); err != nil {
		t.Skip("the file system takes UTF-8 only")
	}
	write(t, root, "caf\xe8.txt", "y", 0o644)
	do(t, os.Symlink("caf\xe9.txt", filepath.Join(root, "bad-link")))
	base, c, _ := patchOf(t, root, func(ws string) {
		if list, _ := filepath.Glob(filepath.Join(ws, "caf*")); len(list) > 0 {
			t.Errorf("the workspace has %q", list)
		}
		write(t, ws, "na\xefve.txt", "z", 0o644)
		do(t, os.Symlink("caf\xe9.txt", filepath.Join(ws, "link")))
	})
	had := base.Skipped
	if len(had) != 3 || had[`caf\xe9.txt`] == "" || had[`caf\xe8.txt`] == "" || had["bad-link"] == "" {
		t.Errorf("the base leaves out %q", had)
	}
	if len(c.Entries) != 0 || c.Unseen[`na\xefve.txt`] == "" || c.Unseen["link"] == "" {
		t.Errorf("captured %+v, not captured %q", c.Entries, c.Unseen)
	}
	now, err := tree.Look(t.Context(), root, nil)
	do(t, err)
	if moved := tree.Moved(base, now, 5); len(moved) > 0 {
		t.Errorf("the project has moved: %q", moved)
	}
}

// A git that fails is told, in words: what the ignore files keep out must not come
// into the base, and so before an agent, by the way.
func TestFailingGitIsNoPlainFolder(t *testing.T) {
	root := project(t, true)
	write(t, root, ".gitignore", ".env\n", 0o644)
	write(t, root, ".env", "KEY=1", 0o600)
	bin := t.TempDir()
	for code, cmd := range map[int]string{1: "ls-files", 128: "ls-files", 129: "check-ignore"} {
		write(t, bin, "git", fmt.Sprintf("#!/bin/sh\ncase \"$*\" in *%s*) exit %d;; *check-ignore*) exit 1;; esac\n", cmd, code), 0o755)
		t.Setenv("PATH", bin+string(os.PathListSeparator)+os.Getenv("PATH"))
		_, err := tree.Look(t.Context(), root, nil)
		if err == nil || strings.Contains(err.Error(), "%!") || !strings.Contains(err.Error(), cmd) {
			t.Errorf("code %d of %s: %v", code, cmd, err)
		}
	}
}

// Many small files come to a workspace, and from it, in a moment: only what is
// written to the project waits for the disk.
func BenchmarkLargePatch(b *testing.B) {
	root := project(b, false)
	base, c, objects := patchOf(b, root, func(ws string) {
		for i := range 9000 {
			write(b, ws, fmt.Sprintf("g/%d/f%d", i%50, i), fmt.Sprint(i), 0o644)
		}
	})
	for name, put := range map[string]func(string, []run.Entry, tree.Source) error{"workspace": tree.Apply, "project": tree.Write} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for range b.N {
				b.StopTimer()
				dir := filepath.Join(b.TempDir(), "ws")
				do(b, base.Materialise(b.Context(), dir))
				b.StartTimer()
				do(b, put(dir, c.Entries, tree.Objects(objects)))
			}
		})
	}
}
