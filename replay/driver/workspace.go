package driver

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// WorkspaceMode says where an agent works.
type WorkspaceMode string

// The three modes.
const (
	CopyWorkspace    WorkspaceMode = "copy"    // a fresh copy of the project for this run
	ScratchWorkspace WorkspaceMode = "scratch" // an empty folder for this run
	InPlace          WorkspaceMode = "inplace" // the project itself
)

// Bounds of a copied workspace.
const (
	MaxWorkspaceBytes = 512 << 20
	MaxWorkspaceFiles = 50_000
)

// skipped are folders that are never copied: the history of the project and
// our own store are no business of an agent's throw-away copy.
var skipped = map[string]bool{".git": true, ".vise": true}

// PrepareWorkspace returns the absolute folder an agent works in and a cleanup
// that removes what was made for it (idempotent; never nil). from is the
// project's folder; a new folder is made inside under, or in the system's
// temporary folder when under is empty.
//
// A copy leaves out .git and .vise, sockets, pipes and devices; symbolic links
// are copied as links, not followed, and left out when they lead outside the
// project. It is refused above MaxWorkspaceBytes or MaxWorkspaceFiles, and given up
// when ctx ends.
func PrepareWorkspace(ctx context.Context, mode WorkspaceMode, from, under string) (dir string, cleanup func() error, err error) {
	nothing := func() error { return nil }
	if mode == InPlace {
		dir, err = filepath.Abs(from)
		if err == nil {
			_, err = os.Stat(dir)
		}
		if err != nil {
			return "", nothing, fmt.Errorf("prepare workspace: %w", err)
		}
		return dir, nothing, nil
	}
	if mode != CopyWorkspace && mode != ScratchWorkspace {
		return "", nothing, fmt.Errorf("prepare workspace: unknown mode %q; use copy, scratch or inplace", mode)
	}
	if under != "" {
		if err := os.MkdirAll(under, 0o700); err != nil {
			return "", nothing, fmt.Errorf("prepare workspace: %w", err)
		}
	}
	dir, err = os.MkdirTemp(under, "workspace-")
	if err != nil {
		return "", nothing, fmt.Errorf("prepare workspace: %w", err)
	}
	if dir, err = filepath.Abs(dir); err != nil {
		return "", nothing, fmt.Errorf("prepare workspace: %w", err)
	}
	cleanup = func() error {
		if err := Remove(dir); err != nil {
			return fmt.Errorf("remove workspace %s: %w", dir, err)
		}
		return nil
	}
	if mode == CopyWorkspace {
		if err := copyTree(ctx, from, dir, MaxWorkspaceBytes, MaxWorkspaceFiles); err != nil {
			cleanup()
			return "", nothing, fmt.Errorf("prepare workspace: copy %s: %w", from, err)
		}
	}
	return dir, cleanup, nil
}

// SweepWorkspaces removes all workspaces under a folder, which must exist for
// them alone: those that a killed process left behind. Only the process that owns
// the project may call it, and before its first run.
func SweepWorkspaces(under string) error {
	left, err := os.ReadDir(under)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("sweep workspaces: %w", err)
	}
	var failed []error
	for _, d := range left {
		if err := Remove(filepath.Join(under, d.Name())); err != nil {
			failed = append(failed, fmt.Errorf("sweep workspaces: %w", err))
		}
	}
	return errors.Join(failed...)
}

// Remove removes a folder and all below it, also where folders were made read-only.
func Remove(dir string) error {
	err := os.RemoveAll(dir)
	if err == nil {
		return nil
	}
	filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			os.Chmod(path, 0o700)
		}
		return nil
	})
	return os.RemoveAll(dir)
}

func copyTree(ctx context.Context, from, to string, maxBytes int64, maxFiles int) error {
	root, err := filepath.EvalSymlinks(from)
	if err != nil {
		return err
	}
	if root, err = filepath.Abs(root); err != nil {
		return err
	}
	self, err := filepath.EvalSymlinks(to)
	if err != nil {
		return err
	}
	files := 0
	left := maxBytes
	var modes []func() error // folders get their mode last: a read-only one could not be filled
	err = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if path == root {
			return nil
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if d.IsDir() && (skipped[d.Name()] || path == self) {
			return filepath.SkipDir // the copy may lie inside its own source
		}
		if d.Name() == ".git" {
			return nil // a worktree's or submodule's pointer file
		}
		if files++; files > maxFiles {
			return fmt.Errorf("more than %d files; set agent.workspace_from to a smaller folder, or agent.workspace to scratch or inplace", maxFiles)
		}
		rel, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		target := filepath.Join(to, rel)
		info, err := d.Info()
		if err != nil {
			return err
		}
		switch {
		case d.IsDir():
			modes = append(modes, func() error { return os.Chmod(target, info.Mode().Perm()) })
			return os.Mkdir(target, 0o700)
		case d.Type()&fs.ModeSymlink != 0:
			return copyLink(rel, path, target)
		case d.Type().IsRegular():
			if left -= info.Size(); left < 0 {
				return fmt.Errorf("more than %d MB; set agent.workspace_from to a smaller folder, or agent.workspace to scratch or inplace", maxBytes>>20)
			}
			return copyFile(path, target, info)
		}
		return nil
	})
	if err != nil {
		return err
	}
	for i := len(modes) - 1; i >= 0; i-- {
		if err := modes[i](); err != nil {
			return err
		}
	}
	return nil
}

// copyLink copies a link that leads nowhere but into the copy; any other is
// left out, since writing through it would reach the original.
func copyLink(rel, path, target string) error {
	to, err := os.Readlink(path)
	if err != nil {
		return err
	}
	if !staysInside(rel, to) {
		return nil
	}
	return os.Symlink(to, target)
}

// staysInside reports whether a link at rel, a path below the root without
// links in it, can only lead below the root: it is relative, goes up no
// further than the root, and only at its beginning. Whatever it goes through
// afterwards has passed the same test.
func staysInside(rel, to string) bool {
	if to == "" || filepath.IsAbs(to) {
		return false
	}
	depth := strings.Count(filepath.ToSlash(rel), "/")
	down := false
	for part := range strings.SplitSeq(filepath.ToSlash(to), "/") {
		switch {
		case part == "" || part == ".":
		case part != "..":
			down = true
		case down || depth == 0:
			return false
		default:
			depth--
		}
	}
	return true
}

func copyFile(path, target string, info fs.FileInfo) error {
	in, err := os.Open(path)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(target, os.O_WRONLY|os.O_CREATE|os.O_EXCL, info.Mode().Perm())
	if err != nil {
		return err
	}
	// A file that grows while it is copied is cut at the size that was counted.
	_, err = io.Copy(out, io.LimitReader(in, info.Size()))
	if cerr := out.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return err
	}
	return os.Chtimes(target, info.ModTime(), info.ModTime())
}
