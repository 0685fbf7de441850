package recording

import (
	"errors"
	"fmt"
	"os"
)

// errPart: a part of a recording is a link, a pipe, a device or a folder.
var errPart = errors.New("not a plain file")

// OpenPart opens a file that a recording brings with it and nobody named. It has to be
// a plain file: opening a pipe would wait for its writer, and a link may lead to what
// is no recording at all.
func OpenPart(path string) (*os.File, error) {
	before, err := os.Lstat(path)
	if err != nil {
		return nil, err
	}
	if !before.Mode().IsRegular() {
		return nil, fmt.Errorf("open %s: %w", path, errPart)
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	if now, err := file.Stat(); err != nil || !os.SameFile(before, now) {
		file.Close() // nothing was written
		return nil, fmt.Errorf("open %s: %w", path, errPart)
	}
	return file, nil
}
