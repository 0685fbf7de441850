package tree

import (
	"os"

	"golang.org/x/sys/unix"
)

// syncAll makes everything that was written on the file system of a folder survive
// a power cut.
func syncAll(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer f.Close()
	return unix.Syncfs(int(f.Fd()))
}
