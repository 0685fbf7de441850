//go:build unix

package process

import (
	"os"
	"syscall"
)

// killGroup signals every member of the group; an empty group is an error of the kernel's.
func killGroup(pgid int, sig syscall.Signal) error {
	if pgid <= 1 {
		return syscall.EINVAL // -1 and 0 would mean everyone, or ourselves
	}
	return syscall.Kill(-pgid, sig)
}

func inodeOf(f *os.File) uint64 {
	info, err := f.Stat()
	if err != nil {
		return 0
	}
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return uint64(st.Ino)
	}
	return 0
}
