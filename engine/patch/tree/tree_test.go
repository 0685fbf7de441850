package tree_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"vise/engine/patch/run"
	"vise/engine/patch/tree"
)

func write(t testing.TB, root, p, text string, mode os.FileMode) {
	t.Helper()
	name := filepath.Join(root, p)
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	os.Remove(name)
	if err := os.WriteFile(name, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(name, mode); err != nil {
		t.Fatal(err)
	}
}

func do(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func gitRepo(t testing.TB, root string) {
	t.Helper()
	for _, args := range [][]string{{"init", "-q"}, {"add", "-A"}, {"-c", "user.name=t", "-c", "user.email=t@t", "commit", "-qm", "base"}} {
		if out, err := exec.Command("git", append([]string{"-C", root}, args...)...).CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v %s", args, err, out)
		}
	}
}

// A project with one file of each kind, in a git work tree or not.
func project(t testing.TB, git bool) string {
	root := t.TempDir()
	write(t, root, "main.go", "package main\n", 0o644)
	write(t, root, "run.sh", "#!/bin/sh\n", 0o755)
	write(t, root, "private.txt", "p", 0o600)
	write(t, root, "pkg/a.txt", strings.Repeat("a", 100), 0o644)
	write(t, root, "pkg/b.bin", "b\x00b", 0o644)
	write(t, root, ".gitignore", "out/\n*.log\n", 0o644)
	do(t, os.Symlink("a.txt", filepath.Join(root, "pkg/link")))
	if git {
		gitRepo(t, root)
		write(t, root, "out/made.txt", "x", 0o644)
	}
	write(t, root, "node_modules/dep/index.js", "x", 0o644)
	if git {
		write(t, root, ".git/info/exclude", "node_modules\n", 0o644)
	}
	return root
}

// TestRoundTrip takes a snapshot, makes a workspace, changes it in every way a
// patch can, and writes the captured patch to a second workspace, which is then
// equal to the first.
func TestRoundTrip(t *testing.T) {
	for _, git := range []bool{false, true} {
		t.Run(fmt.Sprintf("git=%v", git), func(t *testing.T) {
			root, dir := project(t, git), t.TempDir()
			base, err := tree.Take(t.Context(), root, filepath.Join(dir, "bases"), nil)
			do(t, err)
			if len(base.Files) != 7 || base.Git != git {
				t.Fatalf("the base has %d files: %v", len(base.Files), base.Files)
			}
			ws := filepath.Join(dir, "ws")
			do(t, base.Materialise(t.Context(), ws))
			do(t, tree.Repository(t.Context(), root, ws))
			if out, err := exec.Command("git", "-C", ws, "status", "--porcelain").CombinedOutput(); git && (err != nil || len(out) > 0) {
				t.Errorf("the workspace's repository: %v %s", err, out)
			}
			write(t, ws, "main.go", "package main // edited\n", 0o644)
			write(t, ws, "new/deep/file.txt", "new", 0o644) // D5: a new folder
			write(t, ws, "tool.sh", "#!/bin/sh\n# tool\n", 0o755)
			write(t, ws, "pkg/c.bin", "c\x00c", 0o644)
			write(t, ws, "debug.log", "noise", 0o644)
			write(t, ws, "__pycache__/x.pyc", "noise", 0o644)
			do(t, os.Chmod(filepath.Join(ws, "private.txt"), 0o640))
			do(t, os.Rename(filepath.Join(ws, "pkg/a.txt"), filepath.Join(ws, "pkg/renamed.txt")))
			do(t, os.Remove(filepath.Join(ws, "pkg/link")))
			do(t, os.Symlink("../main.go", filepath.Join(ws, "pkg/link")))
			do(t, os.Remove(filepath.Join(ws, "run.sh")))
			do(t, os.Symlink("/etc/passwd", filepath.Join(ws, "outside")))

			c, err := tree.Capture(t.Context(), base, ws, filepath.Join(dir, "objects"))
			do(t, err)
			var got []string
			for _, e := range c.Entries {
				got = append(got, e.ChangeType+" "+e.Path)
				if e.Path == "pkg/renamed.txt" && e.RenamedFrom != "pkg/a.txt" {
					t.Errorf("the rename is not seen: %+v", e)
				}
				if (e.Path == "pkg/c.bin") != e.Binary {
					t.Errorf("%s: binary = %v", e.Path, e.Binary)
				}
			}
			want := "modified main.go,created new/deep/file.txt,deleted pkg/a.txt,created pkg/c.bin,modified pkg/link,created pkg/renamed.txt,modified private.txt,deleted run.sh,created tool.sh"
			if !git {
				want = strings.Replace("created debug.log,"+want, ",created debug.log", "", 1)
			}
			if strings.Join(got, ",") != want {
				t.Errorf("entries are\n%s, want\n%s", strings.Join(got, ","), want)
			}
			if c.Unseen["outside"] == "" {
				t.Errorf("a link out of the project is not reported: %v", c.Unseen)
			}

			second := filepath.Join(dir, "second")
			do(t, base.Materialise(t.Context(), second))
			if p := tree.At(second, c.Entries, false); p != "" {
				t.Errorf("the fresh workspace differs from the base at %s", p)
			}
			do(t, tree.Apply(second, c.Entries, tree.Objects(filepath.Join(dir, "objects"))))
			if p := tree.At(second, c.Entries, true); p != "" {
				t.Errorf("after applying, %s is not what the patch says", p)
			}
			if info, err := os.Stat(filepath.Join(second, "tool.sh")); err != nil || info.Mode().Perm() != 0o755 {
				t.Errorf("the executable bit is lost: %v %v", info, err)
			}
			do(t, tree.Apply(second, tree.Reverse(base, c.Entries), base.Originals))
			now, err := tree.Look(t.Context(), second, nil)
			do(t, err)
			if moved := tree.Moved(base, now, 9); len(moved) > 0 {
				t.Errorf("undone, the workspace still differs: %v", moved)
			}
			if _, err := os.Stat(filepath.Join(second, "new")); !os.IsNotExist(err) {
				t.Error("an empty folder is left behind")
			}
		})
	}
}

// carried makes a change in a workspace and returns a second workspace with the
// captured patch of it.
func carried(t *testing.T, change func(ws string)) string {
	t.Helper()
	root, dir := project(t, false), t.TempDir()
	base, err := tree.Take(t.Context(), root, filepath.Join(dir, "bases"), nil)
	do(t, err)
	ws, second := filepath.Join(dir, "ws"), filepath.Join(dir, "second")
	do(t, base.Materialise(t.Context(), ws))
	change(ws)
	c, err := tree.Capture(t.Context(), base, ws, filepath.Join(dir, "objects"))
	do(t, err)
	do(t, base.Materialise(t.Context(), second))
	do(t, tree.Apply(second, c.Entries, tree.Objects(filepath.Join(dir, "objects"))))
	return second
}

// A file in a new folder is part of a patch that applies.
func TestD05NewFolderIsApplied(t *testing.T) {
	second := carried(t, func(ws string) { write(t, ws, "new/deep/file.txt", "new", 0o644) })
	if b, err := os.ReadFile(filepath.Join(second, "new/deep/file.txt")); err != nil || string(b) != "new" {
		t.Errorf("it holds %q, %v", b, err)
	}
}

// Modes are kept: in a workspace, in a patch, and where it is applied.
func TestD22ModesAreKept(t *testing.T) {
	second := carried(t, func(ws string) {
		for p, want := range map[string]os.FileMode{"run.sh": 0o755, "private.txt": 0o600, "main.go": 0o644} {
			if info, err := os.Stat(filepath.Join(ws, p)); err != nil || info.Mode().Perm() != want {
				t.Errorf("in the workspace %s is %v, %v", p, info.Mode(), err)
			}
		}
		write(t, ws, "tool.sh", "x", 0o750)
		do(t, os.Chmod(filepath.Join(ws, "main.go"), 0o755))
	})
	for p, want := range map[string]os.FileMode{"run.sh": 0o755, "private.txt": 0o600, "main.go": 0o755, "tool.sh": 0o750} {
		if info, err := os.Stat(filepath.Join(second, p)); err != nil || info.Mode().Perm() != want {
			t.Errorf("applied, %s is %v, %v", p, info.Mode(), err)
		}
	}
}

// Links inside the project are part of the base and of a patch, and hinder nothing;
// nor does a file that has two names.
func TestD31LinksHinderNothing(t *testing.T) {
	second := carried(t, func(ws string) {
		do(t, os.Symlink("../main.go", filepath.Join(ws, "pkg/second")))
		do(t, os.Link(filepath.Join(ws, "main.go"), filepath.Join(ws, "other.go")))
	})
	for p, want := range map[string]string{"pkg/link": "a.txt", "pkg/second": "../main.go"} {
		if target, err := os.Readlink(filepath.Join(second, p)); err != nil || target != want {
			t.Errorf("%s leads to %q, %v", p, target, err)
		}
	}
	if b, err := os.ReadFile(filepath.Join(second, "other.go")); err != nil || string(b) != "package main\n" {
		t.Errorf("the second name holds %q, %v", b, err)
	}
}

// D21: editing a file that was dirty already, or any file outside git, is another base.
func TestD21BaseIsItsContent(t *testing.T) {
	root, dir := project(t, true), t.TempDir()
	write(t, root, "main.go", "package main // dirty\n", 0o644)
	first, err := tree.Take(t.Context(), root, dir, nil)
	do(t, err)
	again, err := tree.Take(t.Context(), root, dir, nil)
	do(t, err)
	write(t, root, "main.go", "package main // dirtY\n", 0o644)
	moved, err := tree.Take(t.Context(), root, dir, nil)
	do(t, err)
	if first.Digest != again.Digest || first.Digest == moved.Digest {
		t.Errorf("digests %s, %s, %s", first.Digest, again.Digest, moved.Digest)
	}
	if got := tree.Moved(first, moved, 5); len(got) != 1 || got[0] != "main.go" {
		t.Errorf("moved: %v", got)
	}
}

// D23: ignore files that the agent edits hide nothing; those of the base decide.
func TestD23EditedIgnoreFilesHideNothing(t *testing.T) {
	root, dir := project(t, true), t.TempDir()
	base, err := tree.Take(t.Context(), root, filepath.Join(dir, "bases"), nil)
	do(t, err)
	ws := filepath.Join(dir, "ws")
	do(t, base.Materialise(t.Context(), ws))
	write(t, ws, ".gitignore", "*\n", 0o644)
	write(t, ws, "hidden.sh", "x", 0o755)
	c, err := tree.Capture(t.Context(), base, ws, filepath.Join(dir, "objects"))
	do(t, err)
	if len(c.Entries) != 2 || c.Entries[1].Path != "hidden.sh" {
		t.Errorf("entries %+v", c.Entries)
	}
}

// A link in the project must not lead a patch out of it.
func TestApplyStaysInside(t *testing.T) {
	root, outside := t.TempDir(), t.TempDir()
	do(t, os.Symlink(outside, filepath.Join(root, "d")))
	objects := t.TempDir()
	sum, size, mode := run.Sum([]byte("x")), int64(1), 0o644
	do(t, os.WriteFile(filepath.Join(objects, sum), []byte("x"), 0o600))
	for _, p := range []string{"d/file", "../file"} {
		err := tree.Apply(root, []run.Entry{{Path: p, ChangeType: run.Created, ResultSHA256: &sum, ResultMode: &mode, Size: &size}}, tree.Objects(objects))
		if err == nil {
			t.Errorf("%s was written", p)
		}
	}
	if list, _ := os.ReadDir(outside); len(list) > 0 {
		t.Errorf("outside holds %v", list)
	}
	other := run.Sum([]byte("y"))
	do(t, os.WriteFile(filepath.Join(objects, other), []byte("x"), 0o600))
	if err := tree.Apply(root, []run.Entry{{Path: "f", ResultSHA256: &other, ResultMode: &mode, Size: &size}}, tree.Objects(objects)); err == nil {
		t.Error("changed bytes were applied")
	}
}

// BenchmarkWorkspace measures a project of 20,000 files: taking the base for the
// first time, and making a workspace of it. Together they may take two seconds.
func BenchmarkWorkspace(b *testing.B) {
	root := b.TempDir()
	text := []byte(strings.Repeat("some line of source code\n", 80))
	for i := range 20_000 {
		name := filepath.Join(root, fmt.Sprintf("d%03d/s%d/f%d.go", i%200, i%3, i))
		if i < 600 {
			do(b, os.MkdirAll(filepath.Dir(name), 0o755))
		}
		do(b, os.WriteFile(name, append(text, fmt.Sprint(i)...), 0o644))
	}
	b.Run("base", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			dir, err := os.MkdirTemp(root+"/..", "bases")
			do(b, err)
			_, err = tree.Take(context.Background(), root, dir, nil)
			do(b, err)
			b.StopTimer()
			os.RemoveAll(dir)
			b.StartTimer()
		}
	})
	base, err := tree.Take(context.Background(), root, b.TempDir(), nil)
	do(b, err)
	b.Run("workspace", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			dir, err := os.MkdirTemp(root+"/..", "ws")
			do(b, err)
			do(b, base.Materialise(context.Background(), filepath.Join(dir, "ws")))
			b.StopTimer()
			os.RemoveAll(dir)
			b.StartTimer()
		}
	})
	b.ReportMetric(float64(runtime.GOMAXPROCS(0)), "procs")
}

// A patch of too many files is none that could be taken, which a person is told; it is no
// fault of this machine.
func TestPatchOfTooManyFilesIsUnseen(t *testing.T) {
	root := project(t, false)
	_, c, _ := patchOf(t, root, func(ws string) {
		do(t, os.Mkdir(filepath.Join(ws, "many"), 0o755))
		for i := range 20_001 {
			do(t, os.WriteFile(filepath.Join(ws, "many", fmt.Sprint(i)), nil, 0o644))
		}
	})
	if len(c.Entries) != 0 || !strings.Contains(c.Unseen["the patch as a whole"], "files, more than 20000") {
		t.Errorf("%d entries, not captured %q", len(c.Entries), c.Unseen)
	}
}
