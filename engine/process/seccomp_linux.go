package process

import (
	"os"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// A filter of system calls, seccomp(2), closes what neither a namespace nor
// Landlock before version 9 holds: sockets of other programs that are reached by
// their path, sockets to the host of a virtual machine, and rings through which
// sockets can be made without the call that is looked at. Only socket families
// are filtered, so that no program has to be adapted to a list of calls.

// filterArch is the architecture a filter is written for; 0 where we have none.
var filterArch = map[string]uint32{"amd64": unix.AUDIT_ARCH_X86_64, "arm64": unix.AUDIT_ARCH_AARCH64}[runtime.GOARCH]

// Offsets in struct seccomp_data; both architectures are little-endian.
const (
	atCall     = 0
	atArch     = 4
	atFamily   = 16 // lower half of the first argument
	atKind     = 24 // of the second
	atProtocol = 32 // of the third
)

const (
	x32Calls   = 0x40000000 // calls of the x32 convention on amd64
	kindOfType = 0xf        // the type of a socket without its flags
)

// socketFilter allows IP and netlink sockets and no others. streams allows of IP
// only plain TCP, where Landlock alone holds the ports.
func socketFilter(streams bool) []unix.SockFilter {
	// Answers stand at the end; jumps are written by name and resolved below.
	type step struct {
		code uint16
		k    uint32
		yes  string
		no   string
	}
	const load, equal, above = unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, unix.BPF_JMP | unix.BPF_JGE | unix.BPF_K
	steps := []step{
		{code: load, k: atArch},
		{code: equal, k: filterArch, no: "absent"},
		{code: load, k: atCall},
		{code: above, k: x32Calls, yes: "absent"},
		{code: equal, k: unix.SYS_IO_URING_SETUP, yes: "absent"},
		{code: equal, k: unix.SYS_SOCKET, no: "allow"},
		{code: load, k: atFamily},
		{code: equal, k: unix.AF_NETLINK, yes: "allow"},
		{code: equal, k: unix.AF_INET, yes: "ip"},
		{code: equal, k: unix.AF_INET6, yes: "ip", no: "refuse"},
	}
	ip := len(steps)
	if streams {
		steps = append(steps,
			step{code: load, k: atKind},
			step{code: unix.BPF_ALU | unix.BPF_AND | unix.BPF_K, k: kindOfType},
			step{code: equal, k: unix.SOCK_STREAM, no: "refuse"},
			step{code: load, k: atProtocol},
			step{code: equal, k: unix.IPPROTO_IP, yes: "allow"},
			step{code: equal, k: unix.IPPROTO_TCP, yes: "allow", no: "refuse"},
		)
	}
	ends := map[string]int{"ip": ip, "allow": len(steps), "refuse": len(steps) + 1, "absent": len(steps) + 2}
	var out []unix.SockFilter
	for i, s := range steps {
		f := unix.SockFilter{Code: s.code, K: s.k}
		if s.yes != "" {
			f.Jt = uint8(ends[s.yes] - i - 1)
		}
		if s.no != "" {
			f.Jf = uint8(ends[s.no] - i - 1)
		}
		out = append(out, f)
	}
	for _, answer := range []uint32{unix.SECCOMP_RET_ALLOW, unix.SECCOMP_RET_ERRNO | uint32(unix.EACCES), unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS)} {
		out = append(out, unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: answer})
	}
	return out
}

// filterCalls puts a filter on the calling thread, for good; no_new_privs must be set.
func filterCalls(f []unix.SockFilter) error {
	prog := unix.SockFprog{Len: uint16(len(f)), Filter: &f[0]}
	if _, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, 0, uintptr(unsafe.Pointer(&prog))); errno != 0 {
		return os.NewSyscallError("seccomp", errno)
	}
	runtime.KeepAlive(f)
	return nil
}
