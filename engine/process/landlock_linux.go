package process

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Landlock, as the kernel's manual page landlock(7) describes it, through its
// three system calls. Only the calling thread is restricted, which is enough for
// a thread that replaces the whole program next.

// landlockABI is the version the kernel speaks; 0 when it has none or was started without it.
func landlockABI() int {
	v, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if errno != 0 {
		return 0
	}
	return int(v)
}

// Rights by use.
const (
	fsRead  = unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_EXECUTE
	fsFile  = fsRead | unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_TRUNCATE
	fsWrite = fsFile | unix.LANDLOCK_ACCESS_FS_READ_DIR | unix.LANDLOCK_ACCESS_FS_REMOVE_DIR | unix.LANDLOCK_ACCESS_FS_REMOVE_FILE |
		unix.LANDLOCK_ACCESS_FS_MAKE_DIR | unix.LANDLOCK_ACCESS_FS_MAKE_REG | unix.LANDLOCK_ACCESS_FS_MAKE_SOCK |
		unix.LANDLOCK_ACCESS_FS_MAKE_FIFO | unix.LANDLOCK_ACCESS_FS_MAKE_SYM | unix.LANDLOCK_ACCESS_FS_REFER
)

// fsHandled are the rights a version knows: what is handled and not allowed is refused.
func fsHandled(abi int) uint64 {
	all := uint64(1<<13 - 1)
	for _, r := range []struct {
		from  int
		right uint64
	}{{2, unix.LANDLOCK_ACCESS_FS_REFER}, {3, unix.LANDLOCK_ACCESS_FS_TRUNCATE}, {5, unix.LANDLOCK_ACCESS_FS_IOCTL_DEV},
		{9, unix.LANDLOCK_ACCESS_FS_RESOLVE_UNIX}} {
		if abi >= r.from {
			all |= r.right
		}
	}
	return all
}

// ruleset is a set of rules under construction.
type ruleset struct {
	fd  int
	fs  uint64 // rights handled
	net uint64
}

// newRuleset handles all the version can hold of files, signals and abstract
// sockets, and with ports of TCP and UDP.
func newRuleset(abi int, ports bool) (*ruleset, error) {
	attr := unix.LandlockRulesetAttr{Handled_access_fs: fsHandled(abi)}
	size := uintptr(8)
	if abi >= 4 {
		size = 16
		if ports {
			attr.Handled_access_net = unix.LANDLOCK_ACCESS_NET_BIND_TCP | unix.LANDLOCK_ACCESS_NET_CONNECT_TCP
		}
	}
	if abi >= 6 {
		size = 24
		attr.Scoped = unix.LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET | unix.LANDLOCK_SCOPE_SIGNAL
	}
	if abi >= 10 && ports {
		attr.Handled_access_net |= unix.LANDLOCK_ACCESS_NET_BIND_UDP | unix.LANDLOCK_ACCESS_NET_CONNECT_SEND_UDP
	}
	fd, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(&attr)), size, 0)
	if errno != 0 {
		return nil, os.NewSyscallError("landlock_create_ruleset", errno)
	}
	return &ruleset{int(fd), attr.Handled_access_fs, attr.Handled_access_net}, nil
}

// allow grants rights on a path and all below it. A path that is gone or cannot
// be looked at is left out: nothing is granted on it then.
func (r *ruleset) allow(path string, rights uint64) error {
	fd, err := unix.Open(path, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return nil
	}
	if st.Mode&unix.S_IFMT != unix.S_IFDIR {
		rights &= fsFile
	}
	if rights &= r.fs; rights == 0 {
		return nil
	}
	// The kernel's structure is packed: 12 bytes, of which Go's 16 are a prefix.
	attr := unix.LandlockPathBeneathAttr{Allowed_access: rights, Parent_fd: int32(fd)}
	if _, _, errno := unix.Syscall6(unix.SYS_LANDLOCK_ADD_RULE, uintptr(r.fd), unix.LANDLOCK_RULE_PATH_BENEATH,
		uintptr(unsafe.Pointer(&attr)), 0, 0, 0); errno != 0 {
		return &os.PathError{Op: "landlock_add_rule", Path: path, Err: errno}
	}
	return nil
}

// rulePort is LANDLOCK_RULE_NET_PORT.
const rulePort = 2

// connect allows TCP connections to a port.
func (r *ruleset) connect(port uint16) error {
	if r.net == 0 {
		return nil
	}
	attr := struct{ access, port uint64 }{unix.LANDLOCK_ACCESS_NET_CONNECT_TCP, uint64(port)}
	if _, _, errno := unix.Syscall6(unix.SYS_LANDLOCK_ADD_RULE, uintptr(r.fd), rulePort, uintptr(unsafe.Pointer(&attr)), 0, 0, 0); errno != 0 {
		return os.NewSyscallError("landlock_add_rule", errno)
	}
	return nil
}

// restrict puts the rules on the calling thread, for good.
func (r *ruleset) restrict() error {
	if _, _, errno := unix.Syscall(unix.SYS_LANDLOCK_RESTRICT_SELF, uintptr(r.fd), 0, 0); errno != 0 {
		return os.NewSyscallError("landlock_restrict_self", errno)
	}
	return unix.Close(r.fd)
}

// Bounds of readable: more than that is left unreadable.
const maxReadable = 50_000

// readable lists paths that together hold everything but the hidden ones: a rule
// can allow, not deny, so a folder with something hidden below it is opened up
// into its entries. Links are left out, since a rule on one is a rule on what it
// leads to; what is added to such a folder later is not readable. Folders with
// nothing hidden come first: a full one must not cost the system's own their place.
func readable(hidden []string) []string {
	var out []string
	var open func(dir string)
	open = func(dir string) {
		entries, _ := os.ReadDir(dir)
		var partly []string
		for _, e := range entries {
			if e.Type()&os.ModeSymlink != 0 || len(out) >= maxReadable {
				continue
			}
			path := filepath.Join(dir, e.Name())
			if slices.Contains(hidden, path) {
				continue
			}
			if e.IsDir() && slices.ContainsFunc(hidden, func(h string) bool { return strings.HasPrefix(h, path+"/") }) {
				partly = append(partly, path)
				continue
			}
			out = append(out, path)
		}
		for _, path := range partly {
			open(path)
		}
	}
	open("/")
	return out
}
