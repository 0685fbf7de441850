package acp

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// desk is a workspace with what an agent may find in one.
func desk(t *testing.T) (dir, outside string) {
	t.Helper()
	base := t.TempDir()
	dir, outside = filepath.Join(base, "work"), filepath.Join(base, "outside")
	for _, d := range []string{filepath.Join(dir, "sub"), filepath.Join(dir, ".vise"), outside} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for name, text := range map[string]string{
		"work/a.txt": "one\ntwo\nthree\n", "work/no-end": "one\ntwo", "work/crlf": "one\r\ntwo\r\n", "work/empty": "", "work/binary": "a\x00b",
		"work/latin": "caf\xe9", "work/.vise/rules": "secret", "outside/secret": "secret", "work/sub/b.txt": "b",
	} {
		if err := os.WriteFile(filepath.Join(base, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for link, to := range map[string]string{"out": outside, "in": "sub", "file-out": filepath.Join(outside, "secret"), "up": "../outside", "loop": "loop", "file-in": "sub/b.txt"} {
		if err := os.Symlink(to, filepath.Join(dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	return dir, outside
}

func TestFilesAreRead(t *testing.T) {
	dir, outside := desk(t)
	f, err := openFiles(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer f.close()
	for _, c := range []struct {
		path        string
		line, limit int
		want, err   string
	}{
		{path: "a.txt", limit: -1, want: "one\ntwo\nthree\n"},
		{path: filepath.Join(dir, "a.txt"), limit: -1, want: "one\ntwo\nthree\n"},
		{path: "a.txt", line: 2, limit: 1, want: "two\n"},
		{path: "a.txt", line: 2, limit: -1, want: "two\nthree\n"},
		{path: "a.txt", line: 0, limit: 1, want: "one\n"},
		{path: "a.txt", line: 9, limit: 3, want: ""},
		{path: "a.txt", limit: 0, want: ""},
		{path: "no-end", line: 2, limit: 5, want: "two"},
		{path: "crlf", line: 1, limit: 1, want: "one\r\n"},
		{path: "empty", limit: -1, want: ""},
		{path: "in/b.txt", limit: -1, want: "b"},
		{path: "file-in", limit: -1, want: "b"},
		{path: "absent", limit: -1, err: "no such file"},
		{path: "binary", limit: -1, err: "no text"},
		{path: "latin", limit: -1, err: "no text"},
		{path: "sub", limit: -1, err: "no regular file"},
		{path: "../outside/secret", limit: -1, err: "outside the workspace"},
		{path: filepath.Join(outside, "secret"), limit: -1, err: "outside the workspace"},
		{path: "/etc/passwd", limit: -1, err: "outside the workspace"},
		{path: "", limit: -1, err: "no path"},
		{path: "out/secret", limit: -1, err: "escapes"},
		{path: "file-out", limit: -1, err: "escapes"},
		{path: "up/secret", limit: -1, err: "escapes"},
		{path: "loop", limit: -1, err: "too many"},
	} {
		rel, err := f.rel(c.path)
		got := ""
		if err == nil {
			got, err = f.read(rel, c.line, c.limit)
		}
		if got != c.want || (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
			t.Errorf("%q from %d, %d lines: %q, %v; want %q, %q", c.path, c.line, c.limit, got, err, c.want, c.err)
		}
	}
}

func TestFilesAreWritten(t *testing.T) {
	dir, outside := desk(t)
	if err := os.Chmod(filepath.Join(dir, "a.txt"), 0o750); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(filepath.Join(dir, "no-end"), 0o444); err != nil {
		t.Fatal(err)
	}
	f, err := openFiles(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer f.close()
	for _, c := range []struct{ path, lands, err string }{
		{"new.txt", "new.txt", ""},
		{"a.txt", "a.txt", ""},
		{"deep/er/new.txt", "deep/er/new.txt", ""},
		{"in/c.txt", "sub/c.txt", ""},
		{"file-in", "sub/b.txt", ""},
		{"no-end", "", "read-only"},
		{"sub", "", "no regular file"},
		{"out/x", "", "escapes"},
		{"file-out", "", "outside the workspace"},
		{"up/x", "", "escapes"},
		{"loop", "", "too many links"},
		{"../x", "", "outside the workspace"},
		{".", "", "no regular file"},
	} {
		rel, err := f.rel(c.path)
		if err == nil {
			err = f.write(rel, "text of "+c.path)
		}
		if (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
			t.Errorf("%s: %v, want %q", c.path, err, c.err)
			continue
		}
		if c.lands != "" {
			if b, err := os.ReadFile(filepath.Join(dir, c.lands)); string(b) != "text of "+c.path {
				t.Errorf("%s: %s holds %q, %v", c.path, c.lands, b, err)
			}
		}
	}
	if info, err := os.Stat(filepath.Join(dir, "a.txt")); err != nil || info.Mode().Perm() != 0o750 {
		t.Errorf("the mode is lost: %v, %v", info, err)
	}
	if b, _ := os.ReadFile(filepath.Join(outside, "secret")); string(b) != "secret" {
		t.Errorf("what lies outside was written: %q", b)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, ".vise-*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
	if err := f.write("big", strings.Repeat("x", maxFileText+1)); err == nil {
		t.Error("a text beyond the bound was written")
	}
}

// A closed folder in the workspace is neither read nor written, whatever leads to it.
func TestClosedFolders(t *testing.T) {
	dir, _ := desk(t)
	for link, to := range map[string]string{"store": ".vise", "rules": ".vise/rules"} {
		if err := os.Symlink(to, filepath.Join(dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	f, err := openFiles(dir, []string{filepath.Join(dir, ".vise")})
	if err != nil {
		t.Fatal(err)
	}
	defer f.close()
	for _, path := range []string{".vise/rules", "store/rules", "rules", "sub/../.vise/rules"} {
		if got, err := f.read(path, 0, -1); err == nil {
			t.Errorf("%s was read: %q", path, got)
		}
		if err := f.write(path, "forged"); err == nil {
			t.Errorf("%s was written", path)
		}
	}
	if b, _ := os.ReadFile(filepath.Join(dir, ".vise/rules")); string(b) != "secret" {
		t.Errorf("the closed folder holds %q", b)
	}
	if got, err := f.read("sub/b.txt", 0, -1); got != "b" || err != nil {
		t.Errorf("a file beside it: %q, %v", got, err)
	}
	if err := f.write("new/deep.txt", "x"); err != nil {
		t.Error(err)
	}
}
