package tree

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// Materialise writes the snapshot to dir, which must be empty or missing. Modes
// and links are kept.
func (t *Tree) Materialise(ctx context.Context, dir string) error {
	fail := func(err error) error { return fmt.Errorf("make a workspace from the base: %w", err) }
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fail(err)
	}
	pack, err := os.Open(t.pack)
	if err != nil {
		return fail(err)
	}
	defer pack.Close()
	paths := slices.Sorted(maps.Keys(t.Files))
	if err := folders(dir, paths); err != nil {
		return fail(err)
	}
	mask, err := umask(dir)
	if err != nil {
		return fail(err)
	}
	err = each(ctx, paths, func(p string) error {
		f := t.Files[p]
		name := filepath.Join(dir, filepath.FromSlash(p))
		if f.Link != "" {
			return os.Symlink(f.Link, name)
		}
		return create(name, io.NewSectionReader(pack, f.Offset, f.Size), f.Size, os.FileMode(f.Mode), mask)
	})
	if err != nil {
		return fail(err)
	}
	return nil
}

// folders makes the parents of the paths; they are sorted, so a folder comes after its own parent.
func folders(dir string, paths []string) error {
	last := "."
	for _, p := range paths {
		d := path.Dir(p)
		if d == last || strings.HasPrefix(last, d+"/") {
			continue
		}
		if err := os.MkdirAll(filepath.Join(dir, filepath.FromSlash(d)), 0o755); err != nil {
			return err
		}
		last = d
	}
	return nil
}

// umask finds out which permission bits the system takes from new files; setting
// the mode of every file once more would cost a third of the whole copy.
func umask(dir string) (os.FileMode, error) {
	name := filepath.Join(dir, ".vise-probe")
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o777)
	if err != nil {
		return 0, err
	}
	defer os.Remove(name)
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	return 0o777 &^ info.Mode().Perm(), nil
}

// create writes a new file with exactly these permission bits.
func create(name string, r io.Reader, size int64, mode, mask os.FileMode) error {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL|noFollow, mode)
	if err != nil {
		return err
	}
	err = section(f, r, size)
	if mode&mask != 0 {
		err = errors.Join(err, f.Chmod(mode))
	}
	return errors.Join(err, f.Close())
}

// Content returns the bytes of a file of the snapshot, at most max of them; more is an error.
func (t *Tree) Content(p string, max int64) ([]byte, error) {
	f, ok := t.Files[p]
	if !ok || f.Link != "" {
		return nil, fmt.Errorf("read %s of the base: it is no file there", p)
	}
	if f.Size > max {
		return nil, fmt.Errorf("read %s of the base: it has %d bytes, more than %d", p, f.Size, max)
	}
	pack, err := os.Open(t.pack)
	if err != nil {
		return nil, fmt.Errorf("read %s of the base: %w", p, err)
	}
	defer pack.Close()
	b := make([]byte, f.Size)
	if _, err := pack.ReadAt(b, f.Offset); err != nil && !(errors.Is(err, io.EOF) && f.Size == 0) {
		return nil, fmt.Errorf("read %s of the base: %w", p, err)
	}
	return b, nil
}

// Repository gives a workspace a git repository of its own that borrows the
// objects of the project's, for agents and tools that want one. Nothing that
// happens in it reaches the project. It is no error when the project has none.
func Repository(ctx context.Context, root, dir string) error {
	if _, err := os.Lstat(filepath.Join(root, ".git")); err != nil {
		return nil // no repository, or the project is a part of a larger one
	}
	tmp := dir + ".git-tmp"
	defer os.RemoveAll(tmp)
	if _, err := mustGit(ctx, filepath.Dir(dir), nil, "clone", "-q", "--shared", "--no-checkout", "--no-tags", root, tmp); err != nil {
		return fmt.Errorf("give the workspace a git repository: %w", err)
	}
	if err := os.Rename(filepath.Join(tmp, ".git"), filepath.Join(dir, ".git")); err != nil {
		return fmt.Errorf("give the workspace a git repository: %w", err)
	}
	if _, err := mustGit(ctx, dir, nil, "remote", "remove", "origin"); err != nil {
		return fmt.Errorf("give the workspace a git repository: %w", err)
	}
	// A repository without a commit has no index to read.
	if _, exit, err := git(ctx, dir, nil, "rev-parse", "-q", "--verify", "HEAD"); err != nil || !exit.OK() {
		return nil
	}
	if _, err := mustGit(ctx, dir, nil, "reset", "-q", "--mixed"); err != nil {
		return fmt.Errorf("give the workspace a git repository: %w", err)
	}
	return nil
}
