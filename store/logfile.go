package store

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// dropEmptyLogs removes the log files that a killed owner had created and not yet
// given a size. They hold nothing, but Badger takes an empty log for one that it
// has just made itself, and refuses to open a database that it did not make.
func dropEmptyLogs(dir string) error {
	files, err := os.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("open store: look for unfinished logs: %w", err)
	}
	for _, f := range files {
		switch filepath.Ext(f.Name()) {
		case ".mem", ".vlog":
		default:
			continue
		}
		info, err := f.Info()
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err == nil && info.Mode().IsRegular() && info.Size() == 0 {
			err = os.Remove(filepath.Join(dir, f.Name()))
		}
		if err != nil {
			return fmt.Errorf("open store: drop the unfinished log %s: %w", f.Name(), err)
		}
	}
	return nil
}
