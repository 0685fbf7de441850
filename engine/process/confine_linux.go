package process

import (
	"bytes"
	"context"
	"encoding/gob"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"vise/engine/guard"
)

// FilesCanBeHeld reports whether a sandbox would hold files on this system.
func FilesCanBeHeld() bool { return landlockABI() > 0 }

// box is our side of a program that is about to be confined.
type box struct {
	order    order
	held     Held
	program  *exec.Cmd // as it would be started without a box
	relays   *relays
	hosts    guard.Hosts
	outside  net.Listener // of the proxy, when there is no namespace
	conn     *net.UnixConn
	required bool
	open     bool // the network is to be left alone
}

// minRequired is the first version of Landlock that holds the emptying of files.
const minRequired = 3

// handshake bounds the time from the start of the box to that of the program.
// Measured are 15 to 30 ms; the bound is for a machine under load.
const handshake = 20 * time.Second

// newBox decides what is held. It returns nil when there is nothing to hold;
// held says so then.
func newBox(spec Spec, program *exec.Cmd) (*box, Held, error) {
	s := spec.Sandbox
	abi := landlockABI()
	b := &box{program: program, required: s.Required, open: s.Network.Open, relays: newRelays(), order: order{
		Path: program.Path, Argv: program.Args, Env: lastOfEach(program.Env), Parent: os.Getpid(), ABI: abi, Write: resolvedAll(s.Write), Hidden: s.hidden(),
	}}
	b.held = Held{Files: abi > 0, Network: NetworkOpen, Landlock: abi}
	// A filter of socket families holds what Landlock learned with version 9 only.
	b.order.Filter = !s.Network.Open && abi < 9 && filterArch != 0
	if abi == 0 {
		b.miss("the kernel has no Landlock (5.13 or later, and among its security modules), so files are not held")
	} else {
		for _, m := range []struct {
			below int
			what  string
		}{{3, "files outside can be emptied"}, {6, "other programs of the user can be signalled"},
			{9, "sockets of other programs can be reached by their path"}} {
			if abi < m.below && !(m.below == 9 && b.order.Filter) {
				b.miss(fmt.Sprintf("%s (Landlock %d; it takes %d)", m.what, abi, m.below))
			}
		}
	}
	if !s.Network.Open {
		if err := b.services(s.Network); err != nil {
			return nil, Held{}, fmt.Errorf("start %s: sandbox: %w", spec.Name, err)
		}
		b.order.Namespace, b.held.Network = true, NetworkHeld
	}
	if err := b.refusal(spec.Name); err != nil {
		return nil, b.held, err
	}
	if abi == 0 && s.Network.Open {
		return nil, b.held, nil
	}
	return b, b.held, nil
}

// services splits what may be reached into addresses that are passed on as they
// are and names that go through the proxy.
func (b *box) services(n Network) error {
	add := func(address string) error {
		at, err := netip.ParseAddrPort(address)
		if err != nil || !at.Addr().Unmap().IsLoopback() {
			return fmt.Errorf("service %q is no loopback address with a port", address)
		}
		if !slices.Contains(b.order.Services, address) {
			b.order.Services = append(b.order.Services, address)
			b.order.Ports = append(b.order.Ports, at.Port())
		}
		return nil
	}
	for _, s := range n.Services {
		if err := add(s); err != nil {
			return err
		}
	}
	for _, h := range n.Hosts {
		if !h.Loopback() {
			b.hosts = append(b.hosts, h)
			continue
		}
		ports := []uint16{h.Port}
		if h.Port == 0 {
			ports = []uint16{80, 443}
		}
		name := h.Name
		if name == "localhost" {
			name = "127.0.0.1"
		}
		for _, p := range ports {
			if err := add(net.JoinHostPort(name, strconv.Itoa(int(p)))); err != nil {
				return err
			}
		}
	}
	if len(b.order.Services) > maxServices {
		return fmt.Errorf("%d loopback services; at most %d can be passed on", len(b.order.Services), maxServices)
	}
	b.order.Proxy = len(b.hosts) > 0
	return nil
}

func (b *box) miss(s string) { b.held.Missing = append(b.held.Missing, s) }

// refusal is the error of a required sandbox that does not hold; nil when it does.
// Files that can be emptied are not held.
func (b *box) refusal(name string) error {
	if !b.required || b.order.ABI >= minRequired && (b.open || b.held.Network == NetworkHeld) {
		return nil
	}
	return fmt.Errorf("start %s: %w: %s", name, ErrNotHeld, b.held.Detail())
}

// ErrNotHeld is found in the error of a required sandbox that the system cannot give.
var ErrNotHeld = errors.New("the required sandbox cannot be held here")

// withoutNamespace falls back to ports, where Landlock knows them, after the
// system refused a namespace.
func (b *box) withoutNamespace(why error) {
	b.order.Namespace = false
	b.held.Network, b.order.HoldPorts = NetworkOpen, false
	b.miss(fmt.Sprintf("the network cannot be held: %v", why))
	if b.order.ABI >= 4 {
		b.held.Network, b.order.HoldPorts = NetworkPorts, true
		b.miss("TCP reaches the allowed ports of every host")
		if b.order.ABI < 10 && !b.order.Filter {
			b.miss("UDP and MPTCP are open")
		}
	}
}

// command is the process that becomes the program, with our end of its socket.
func (b *box) command() (*exec.Cmd, *os.File, error) {
	if b.order.Proxy && !b.order.Namespace {
		l, err := net.Listen("tcp4", "127.0.0.1:0")
		if err != nil {
			return nil, nil, fmt.Errorf("listen for the proxy: %w", err)
		}
		b.outside = l
		b.order.ProxyPort = l.Addr().(*net.TCPAddr).Port
		b.order.Ports = append(b.order.Ports, uint16(b.order.ProxyPort))
	}
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, os.NewSyscallError("socketpair", err)
	}
	ours, theirs := os.NewFile(uintptr(pair[0]), "box"), os.NewFile(uintptr(pair[1]), "box")
	defer ours.Close()
	c, err := net.FileConn(ours)
	if err != nil {
		theirs.Close()
		return nil, nil, err
	}
	if b.conn != nil {
		b.conn.Close() // of the attempt with a namespace
	}
	b.conn = c.(*net.UnixConn)
	cmd := exec.Command("/proc/self/exe")
	cmd.Args = []string{boxName}
	cmd.Dir, cmd.Env = b.program.Dir, []string{}
	cmd.ExtraFiles = []*os.File{theirs}
	cmd.SysProcAttr = groupAttr()
	if b.order.Namespace {
		at := cmd.SysProcAttr
		at.Cloneflags = syscall.CLONE_NEWUSER | syscall.CLONE_NEWNET
		at.UidMappings = []syscall.SysProcIDMap{{ContainerID: os.Getuid(), HostID: os.Getuid(), Size: 1}}
		at.GidMappings = []syscall.SysProcIDMap{{ContainerID: os.Getgid(), HostID: os.Getgid(), Size: 1}}
		at.AmbientCaps = []uintptr{unix.CAP_NET_ADMIN, unix.CAP_NET_BIND_SERVICE, unix.CAP_SETPCAP}
	}
	return cmd, theirs, nil
}

// enter gives the order to the started box, takes its sockets and returns when
// the program runs in its place. errNamespace is found in the error when it
// could not set its namespace up.
func (b *box) enter(ctx context.Context, log io.Writer) error {
	b.relays.log = log
	defer b.conn.Close()
	b.conn.SetDeadline(time.Now().Add(handshake))
	defer context.AfterFunc(ctx, func() { b.conn.SetDeadline(time.Unix(1, 0)) })()
	if err := gob.NewEncoder(b.conn).Encode(b.order); err != nil {
		return fmt.Errorf("sandbox: give the order: %w", err)
	}
	if err := b.conn.CloseWrite(); err != nil {
		return fmt.Errorf("sandbox: give the order: %w", err)
	}
	first, rest, fds, err := b.firstAnswer()
	if err != nil {
		return fmt.Errorf("sandbox: %w", err)
	}
	if first.Error != "" {
		closeAll(fds)
		if first.Stage == stageNetwork {
			return fmt.Errorf("%w: %s", errNamespace, first.Error)
		}
		return first.err(b.program.Path)
	}
	if err := b.serve(fds); err != nil {
		return fmt.Errorf("sandbox: %w", err)
	}
	more, err := io.ReadAll(io.LimitReader(b.conn, 64<<10))
	if err != nil {
		return fmt.Errorf("sandbox: wait for the program: %w", err)
	}
	rest = append(rest, more...)
	if len(bytes.TrimSpace(rest)) == 0 {
		return nil // the socket closed with the start of the program
	}
	var second answer
	if err := json.Unmarshal(rest, &second); err != nil {
		return fmt.Errorf("sandbox: answer: %w", err)
	}
	return second.err(b.program.Path)
}

var errNamespace = errors.New("no namespace of its own")

// firstAnswer reads the first line and the sockets that come with it.
func (b *box) firstAnswer() (first answer, rest []byte, fds []int, err error) {
	buf, oob := make([]byte, 64<<10), make([]byte, unix.CmsgSpace(4*(maxServices+1)))
	var got []byte
	for !bytes.Contains(got, []byte("\n")) {
		n, on, _, _, err := b.conn.ReadMsgUnix(buf, oob)
		if on > 0 {
			fds = append(fds, passed(oob[:on])...)
		}
		if err == nil && n == 0 {
			err = errors.New("it ended before it answered")
		}
		if err != nil {
			closeAll(fds)
			return first, nil, nil, err
		}
		got = append(got, buf[:n]...)
	}
	line, rest, _ := bytes.Cut(got, []byte("\n"))
	if err := json.Unmarshal(line, &first); err != nil {
		closeAll(fds)
		return first, nil, nil, fmt.Errorf("answer: %w", err)
	}
	return first, rest, fds, nil
}

func passed(oob []byte) (fds []int) {
	msgs, err := unix.ParseSocketControlMessage(oob)
	if err != nil {
		return nil
	}
	for _, m := range msgs {
		got, err := unix.ParseUnixRights(&m)
		if err == nil {
			fds = append(fds, got...)
		}
	}
	return fds
}

func closeAll(fds []int) {
	for _, fd := range fds {
		unix.Close(fd)
	}
}

// serve starts the relays on the sockets of the namespace and the proxy.
func (b *box) serve(fds []int) error {
	want := 0
	if b.order.Namespace {
		want = len(b.order.Services)
		if b.order.Proxy {
			want++
		}
	}
	if len(fds) != want {
		closeAll(fds)
		return fmt.Errorf("%d sockets came instead of %d", len(fds), want)
	}
	var failed error
	for i, fd := range fds {
		f := os.NewFile(uintptr(fd), "listener")
		l, err := net.FileListener(f)
		f.Close()
		switch {
		case err != nil:
			failed = err
		case i < len(b.order.Services):
			b.relays.forward(l, b.order.Services[i])
		default:
			b.relays.proxy(l, b.hosts)
		}
	}
	if b.outside != nil {
		b.relays.proxy(b.outside, b.hosts)
	}
	return failed
}

// close ends the relays, whether the program was started or not.
func (b *box) close() {
	if b.conn != nil {
		b.conn.Close()
	}
	if b.outside != nil {
		b.outside.Close()
	}
	b.relays.close()
}

// err is the failure as a start without a box would tell it.
func (a answer) err(path string) error {
	if a.Stage == stageExec && a.Errno != 0 {
		return &fs.PathError{Op: "fork/exec", Path: path, Err: a.Errno}
	}
	return fmt.Errorf("sandbox: %s: %s", a.Stage, a.Error)
}

func resolvedAll(paths []string) []string {
	var out []string
	for _, p := range paths {
		if r := resolved(p); r != "" {
			out = append(out, r)
		} else if abs, err := filepath.Abs(p); err == nil {
			out = append(out, abs)
		}
	}
	return out
}

// namespaced reports whether the next start asks for a namespace.
func (b *box) namespaced() bool { return b.order.Namespace }
