package store

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// LinkError tells that the store's folder, or something in it, is a symbolic link.
// The folder can come with a cloned repository, and a link in it could lead a write, a
// truncation or a removal to any file of the user.
type LinkError struct {
	Path   string
	Reason string
}

func (e *LinkError) Error() string {
	return fmt.Sprintf("open store: %s is a symbolic link%s: vise does not follow it; remove it, or set store.path to the folder that is meant", e.Path, e.Reason)
}

// linkDepths is how many levels of the store's folder are looked at: deeper, workspaces
// of agents lie, which may hold links. The names of patch runs are one level deeper.
var linkDepths = map[string]int{"": 2, "patch": 3}

// CheckFolder refuses a store's folder in which a name that vise writes to could be a
// symbolic link, with *LinkError. The folder itself may be one when it leads to a store
// or to an empty folder. A folder that is not there yet is fine.
func CheckFolder(dir string) error {
	info, err := os.Lstat(dir)
	if unseen(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("open store: %w", err)
	}
	if info.Mode()&fs.ModeSymlink != 0 {
		entries, err := os.ReadDir(dir)
		if err != nil {
			return &LinkError{Path: dir, Reason: " to what cannot be read"}
		}
		if _, err := os.Lstat(filepath.Join(dir, "store")); err != nil && len(entries) > 0 {
			return &LinkError{Path: dir, Reason: " to a folder that holds no store and is not empty"}
		}
	}
	return refuseLinks(dir, linkDepths[""])
}

func refuseLinks(dir string, depth int) error {
	entries, err := os.ReadDir(dir)
	if unseen(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("open store: %w", err)
	}
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		switch {
		case e.Type()&fs.ModeSymlink != 0:
			if strings.HasPrefix(e.Name(), ".#") {
				continue // the lock of an editor; no name of ours begins so
			}
			return &LinkError{Path: path}
		case e.IsDir() && depth > 1:
			next := depth - 1
			if d := linkDepths[e.Name()]; depth == linkDepths[""] && d > 0 {
				next = d - 1
			}
			if err := refuseLinks(path, next); err != nil {
				return err
			}
		}
	}
	return nil
}

// unseen reports that there is nothing to look at: what opens it says why it cannot.
func unseen(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) || errors.Is(err, unix.ENOTDIR)
}
