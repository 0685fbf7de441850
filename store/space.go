package store

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// guard refuses when less than need bytes are free. Asking the kernel takes about a
// microsecond, so every write asks.
func (s *Store) guard(need uint64) error {
	if s.o.Free == nil {
		return nil
	}
	free, err := s.o.Free(s.o.Dir)
	if err != nil {
		return fmt.Errorf("ask for the free space of %s: %w", s.o.Dir, err)
	}
	if free < need {
		return &FullError{Dir: s.o.Dir, Free: free, Need: need}
	}
	return nil
}

// statfs returns the bytes that an ordinary user may still write under dir.
func statfs(dir string) (uint64, error) {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return 0, err
	}
	return uint64(st.Bavail) * uint64(st.Bsize), nil
}
