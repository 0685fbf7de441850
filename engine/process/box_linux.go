package process

import (
	"encoding/gob"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// boxName is the name (argv[0]) under which we start ourselves to become a
// confined program. No command line can be mistaken for it.
const boxName = "vise: sandbox"

// boxFD is the socket on which the box gets its order and answers.
const boxFD = 3

// order is what the box is told.
type order struct {
	Path   string
	Argv   []string
	Env    []string
	Parent int // it dies with this process

	ABI    int // of Landlock; 0: files are not held
	Write  []string
	Hidden []string

	Namespace bool // in a network of its own: listen for the parent
	Services  []string
	Proxy     bool     // listen for the proxy, too
	ProxyPort int      // without a namespace it listens outside already
	HoldPorts bool     // by Landlock
	Filter    bool     // of system calls
	Ports     []uint16 // which are then allowed
}

// answer is a line from the box. The first is without an error and carries the
// listening sockets; a later one says why the program was not started. When it
// is, the socket closes without another word.
type answer struct {
	Error string        `json:"error,omitempty"`
	Stage string        `json:"stage,omitempty"`
	Errno syscall.Errno `json:"errno,omitempty"`
}

// Stages of an answer.
const (
	stageNetwork  = "network"
	stageLandlock = "landlock"
	stageExec     = "exec"
)

// A program that imports this package can be the box. It must be so before
// anything else of the program runs, hence in init.
func init() {
	if len(os.Args) > 0 && os.Args[0] == boxName {
		enterBox()
		os.Exit(126)
	}
}

// maxOrder bounds an order: arguments and environment cannot be larger for the kernel.
const maxOrder = 16 << 20

// enterBox reads the order, gives up what is not allowed and becomes the
// program. It returns only when it cannot.
func enterBox() {
	runtime.LockOSThread() // what follows is about the thread that becomes the program
	unix.CloseOnExec(boxFD)
	var o order
	// Not JSON: arguments, variables and paths are bytes, not text.
	err := gob.NewDecoder(io.LimitReader(fdReader(boxFD), maxOrder)).Decode(&o)
	if err != nil {
		fmt.Fprintln(os.Stderr, "sandbox: no order was given:", err)
		return
	}
	// The wish to die with the parent does not survive a change of credentials.
	if err := unix.Prctl(unix.PR_SET_PDEATHSIG, uintptr(unix.SIGKILL), 0, 0, 0); err != nil || os.Getppid() != o.Parent {
		return // it has died already
	}
	env := o.Env
	var fds []int
	if o.Namespace {
		var port int
		if fds, port, err = openNetwork(o); err != nil {
			say(answer{Stage: stageNetwork, Error: err.Error(), Errno: errnoOf(err)}, nil)
			return
		}
		if o.Proxy {
			o.ProxyPort = port
		}
	}
	if o.Proxy {
		env = lastOfEach(append(env, proxyEnv(o.ProxyPort)...))
	}
	if say(answer{}, fds) != nil {
		return
	}
	for _, fd := range fds {
		unix.Close(fd)
	}
	if err := confine(o); err != nil {
		say(answer{Stage: stageLandlock, Error: err.Error(), Errno: errnoOf(err)}, nil)
		return
	}
	err = syscall.Exec(o.Path, o.Argv, env)
	say(answer{Stage: stageExec, Error: err.Error(), Errno: errnoOf(err)}, nil)
}

// confine gives up files, capabilities and core dumps.
func confine(o order) error {
	if err := unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{}); err != nil {
		return fmt.Errorf("no core dumps: %w", err)
	}
	if o.Namespace {
		// Processes and threads are counted per namespace here. Without one the count
		// would be over all programs of the user, which nobody can set sensibly.
		if err := unix.Setrlimit(unix.RLIMIT_NPROC, &unix.Rlimit{Cur: maxProcesses, Max: maxProcesses}); err != nil {
			return fmt.Errorf("bound processes: %w", err)
		}
	}
	for c := range uintptr(64) {
		_ = unix.Prctl(unix.PR_CAPBSET_DROP, c, 0, 0, 0) // refused where we have none to drop
	}
	_ = unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0)
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("no new privileges: %w", err)
	}
	if o.ABI > 0 {
		if err := holdFiles(o); err != nil {
			return err
		}
	}
	if o.Filter {
		if err := filterCalls(socketFilter(!o.Namespace)); err != nil {
			return err
		}
	}
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var none [2]unix.CapUserData
	if err := unix.Capset(&header, &none[0]); err != nil {
		return fmt.Errorf("drop capabilities: %w", err)
	}
	return nil
}

// maxProcesses bounds processes and threads of a program in a namespace of its
// own; the kernel exempts programs started by root.
const maxProcesses = 4096

func holdFiles(o order) error {
	r, err := newRuleset(o.ABI, o.HoldPorts)
	if err != nil {
		return err
	}
	if err := r.allow("/", unix.LANDLOCK_ACCESS_FS_READ_DIR); err != nil {
		return err
	}
	for _, p := range readable(o.Hidden) {
		if err := r.allow(p, fsRead); err != nil {
			return err
		}
	}
	for _, p := range o.Write {
		if err := r.allow(p, fsWrite); err != nil {
			return err
		}
	}
	for _, p := range []string{"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"} {
		if err := r.allow(p, fsFile); err != nil {
			return err
		}
	}
	for _, p := range o.Ports {
		if err := r.connect(p); err != nil {
			return err
		}
	}
	return r.restrict()
}

// openNetwork brings the loopback interface of the namespace up and listens for
// the services, and last for the proxy, whose port it returns.
func openNetwork(o order) (fds []int, proxyPort int, err error) {
	if err := loopbackUp(); err != nil {
		return nil, 0, fmt.Errorf("bring the loopback interface up: %w", err)
	}
	for _, s := range o.Services {
		fd, _, err := listenIn(s)
		if err != nil {
			return nil, 0, fmt.Errorf("listen on %s: %w", s, err)
		}
		fds = append(fds, fd)
	}
	if o.Proxy {
		fd, port, err := listenIn("127.0.0.1:0")
		if err != nil {
			return nil, 0, fmt.Errorf("listen for the proxy: %w", err)
		}
		fds, proxyPort = append(fds, fd), port
	}
	return fds, proxyPort, nil
}

func listenIn(address string) (fd, port int, err error) {
	at, err := netip.ParseAddrPort(address)
	if err != nil {
		return 0, 0, err
	}
	family, addr := unix.AF_INET6, at.Addr().Unmap()
	var sa unix.Sockaddr = &unix.SockaddrInet6{Port: int(at.Port()), Addr: addr.As16()}
	if addr.Is4() {
		family, sa = unix.AF_INET, &unix.SockaddrInet4{Port: int(at.Port()), Addr: addr.As4()}
	}
	fd, err = unix.Socket(family, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return 0, 0, os.NewSyscallError("socket", err)
	}
	if err = unix.Bind(fd, sa); err == nil {
		err = unix.Listen(fd, 128)
	}
	if err == nil {
		sa, err = unix.Getsockname(fd)
	}
	if err != nil {
		unix.Close(fd)
		return 0, 0, err
	}
	if in4, ok := sa.(*unix.SockaddrInet4); ok {
		port = in4.Port
	}
	return fd, port, nil
}

// loopbackUp sets the flags of "lo" (netdevice(7)).
func loopbackUp() error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	req, err := unix.NewIfreq("lo")
	if err != nil {
		return err
	}
	req.SetUint16(unix.IFF_UP | unix.IFF_RUNNING)
	if _, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), unix.SIOCSIFFLAGS, uintptr(unsafe.Pointer(req))); errno != 0 {
		return errno
	}
	return nil
}

// lastOfEach keeps of variables with the same name the last, as os/exec does: a
// program that is given both takes the first, which was to be replaced.
func lastOfEach(env []string) []string {
	seen := map[string]bool{}
	var out []string
	for _, v := range slices.Backward(env) {
		name, _, _ := strings.Cut(v, "=")
		if !seen[name] {
			out = append(out, v)
		}
		seen[name] = true
	}
	slices.Reverse(out)
	return out
}

// proxyEnv tells a program of the proxy in every way that is in use. Node obeys
// these variables only when NODE_USE_ENV_PROXY is set.
func proxyEnv(port int) []string {
	url := "http://127.0.0.1:" + strconv.Itoa(port)
	env := []string{"NODE_USE_ENV_PROXY=1"}
	for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"} {
		env = append(env, name+"="+url, strings.ToLower(name)+"="+url)
	}
	const local = "localhost,127.0.0.1,::1"
	return append(env, "NO_PROXY="+local, "no_proxy="+local)
}

// say writes an answer, with sockets when there are any.
func say(a answer, fds []int) error {
	raw, err := json.Marshal(a)
	if err != nil {
		return err
	}
	var rights []byte
	if len(fds) > 0 {
		rights = unix.UnixRights(fds...)
	}
	return unix.Sendmsg(boxFD, append(raw, '\n'), rights, nil, unix.MSG_NOSIGNAL)
}

func errnoOf(err error) syscall.Errno {
	var errno syscall.Errno
	errors.As(err, &errno)
	return errno
}

// fdReader reads a descriptor without handing it to the runtime's poller, which
// would still hold it when the program is replaced.
type fdReader int

func (fd fdReader) Read(b []byte) (int, error) {
	for {
		n, err := unix.Read(int(fd), b)
		switch {
		case err == unix.EINTR:
			continue
		case err != nil:
			return 0, err
		case n == 0:
			return 0, io.EOF
		}
		return n, nil
	}
}
