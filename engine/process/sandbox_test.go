//go:build linux

package process_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"vise/engine/guard"
	"vise/engine/process"
)

// confined starts the probe in a sandbox and returns what asks it.
func confined(t *testing.T, s process.Sandbox) (ask func(line string) string, p *process.Process) {
	t.Helper()
	spec := self(t, "probe")
	spec.Sandbox = &s
	spec.Env = append(spec.Env, "PATH="+os.Getenv("PATH"))
	p = run(t, spec)
	answers := bufio.NewReader(p.Stdout())
	return func(line string) string {
		t.Helper()
		fmt.Fprintln(p.Stdin(), line)
		text, err := answers.ReadString('\n')
		if err != nil {
			t.Fatalf("%s: the probe ended: %v; it wrote %q", line, err, p.Tail())
		}
		return strings.TrimSpace(text)
	}, p
}

// held skips the test loudly where the system cannot hold what it is about.
func needsFiles(t *testing.T, h process.Held) {
	t.Helper()
	if !h.Files {
		t.Skipf("FILES ARE NOT HELD HERE: %s", h.Detail())
	}
}

func needsNetwork(t *testing.T, h process.Held) {
	t.Helper()
	if h.Network != process.NetworkHeld {
		t.Skipf("THE NETWORK IS NOT HELD HERE: %s", h.Detail())
	}
}

type wants struct {
	line string
	ok   bool
}

func check(t *testing.T, ask func(string) string, list []wants) {
	t.Helper()
	for _, w := range list {
		if got := ask(w.line); strings.HasPrefix(got, "ok") != w.ok {
			t.Errorf("%s: %s, want ok %v", w.line, got, w.ok)
		}
	}
}

func put(t *testing.T, path, text string) string {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestSandboxFiles(t *testing.T) {
	base := t.TempDir()
	work, home := filepath.Join(base, "work"), filepath.Join(base, "home")
	put(t, filepath.Join(work, "a"), "a")
	key, plain := put(t, filepath.Join(home, ".ssh", "id"), "key"), put(t, filepath.Join(home, "notes"), "notes")
	token := put(t, filepath.Join(home, "elsewhere", "netrc"), "token")
	put(t, filepath.Join(home, ".config", "gh", "hosts.yml"), "token")
	put(t, filepath.Join(home, ".config", "editor", "rc"), "rc")
	store := put(t, filepath.Join(base, "store", "rules.md"), "rule")
	run := filepath.Join(base, "store", "runs", "1")
	put(t, filepath.Join(run, "x"), "x")
	for from, to := range map[string]string{".netrc": token, "shortcut": filepath.Join(home, ".ssh")} {
		if err := os.Symlink(to, filepath.Join(home, from)); err != nil {
			t.Fatal(err)
		}
	}
	outside := put(t, filepath.Join(base, "outside"), "outside")
	if err := os.Symlink(outside, filepath.Join(work, "out")); err != nil {
		t.Fatal(err)
	}

	ask, p := confined(t, process.Sandbox{Write: []string{work, run}, Hide: []string{filepath.Join(base, "store")}, Home: home,
		Network: process.Network{Open: true}})
	h := p.Held()
	needsFiles(t, h)
	if h.Network != process.NetworkOpen || h.Landlock < 1 || h.String() != "sandbox fs" {
		t.Errorf("held = %+v", h)
	}
	check(t, ask, []wants{
		{"write " + work + "/new", true},
		{"run mkdir -p " + work + "/d/e && mv " + work + "/new " + work + "/d/e/new && rm -r " + work + "/d", true},
		{"write " + run + "/new", true}, // what may be written wins over what is hidden
		{"read " + plain, true},
		{"read " + home + "/.config/editor/rc", true},
		{"read /etc/passwd", true},
		{"list /", true},
		{"list " + home, true},
		{"run true", true},
		{"write /dev/null", true},
		{"run echo x >/dev/null", true},

		{"write " + outside, false},
		{"append " + outside, false},
		{"append " + work + "/out", false}, // a link out of the workspace
		{"remove " + outside, false},
		{"move " + outside + " " + work + "/stolen", false},
		{"link " + key + " " + work + "/key", false},
		{"write " + base + "/new", false},
		{"write " + home + "/new", false},
		{"write /tmp/vise-sandbox-escape", false},
		{"read " + key, false},
		{"read " + home + "/shortcut/id", false},
		{"read " + home + "/.netrc", false},
		{"read " + token, false}, // hidden by what the link leads to
		{"read " + home + "/.config/gh/hosts.yml", false},
		{"read " + store, false},
		{"read /etc/shadow", false},
		{"write /dev/shm/vise-sandbox-escape", false},
		{"read /dev/tty", false},
		{fmt.Sprintf("environ %d", os.Getpid()), false},
	})
	if h.Landlock >= 3 {
		check(t, ask, []wants{{"truncate " + outside, false}})
	}
	if h.Landlock >= 6 {
		check(t, ask, []wants{{fmt.Sprintf("signal %d", os.Getpid()), false}})
	}
	for line, want := range map[string]string{"status NoNewPrivs": "ok 1", "status CapEff": "ok 0000000000000000", "status CapPrm": "ok 0000000000000000",
		"status CapBnd": "ok 0000000000000000", "limit": "ok 0"} {
		if os.Getuid() != 0 && strings.Contains(line, "CapBnd") {
			continue // nothing to drop it with, and nothing to gain from it under no_new_privs
		}
		if got := ask(line); got != want {
			t.Errorf("%s: %s, want %s", line, got, want)
		}
	}
	if b, err := os.ReadFile(outside); err != nil || string(b) != "outside" {
		t.Errorf("the file outside is %q, %v", b, err)
	}
}

// Sockets of other programs: what the kernel's version holds, and only that is asserted.
func TestSandboxSockets(t *testing.T) {
	work, base := t.TempDir(), t.TempDir()
	path := filepath.Join(base, "s")
	serve(t, "unix", path, "path")
	serve(t, "unix", fmt.Sprintf("@vise-test-%d", os.Getpid()), "abstract")
	ask, p := confined(t, process.Sandbox{Write: []string{work}, Network: process.Network{Open: true}})
	needsFiles(t, p.Held())
	if got := ask("unix " + path); strings.HasPrefix(got, "ok") != (p.Held().Landlock < 9) {
		t.Errorf("a socket by its path: %s with Landlock %d", got, p.Held().Landlock)
	}
	if got := ask(fmt.Sprintf("unix @vise-test-%d", os.Getpid())); strings.HasPrefix(got, "ok") != (p.Held().Landlock < 6) {
		t.Errorf("an abstract socket: %s with Landlock %d", got, p.Held().Landlock)
	}
	// What does not hold is said.
	if missing := strings.Join(p.Held().Missing, " "); strings.Contains(missing, "by their path") != (p.Held().Landlock < 9) {
		t.Errorf("missing: %s", missing)
	}
}

// serve answers every connection with a text until the test ends.
func serve(t *testing.T, network, address, text string) string {
	t.Helper()
	l, err := net.Listen(network, address)
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			io.WriteString(c, text)
			c.Close()
		}
	}()
	t.Cleanup(func() { l.Close(); <-done })
	return l.Addr().String()
}

func TestSandboxNetwork(t *testing.T) {
	service, other := serve(t, "tcp4", "127.0.0.1:0", "service"), serve(t, "tcp4", "127.0.0.1:0", "other")
	local := serve(t, "tcp4", "127.0.0.1:0", "local model")
	udp, err := net.ListenPacket("udp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer udp.Close()
	hosts, err := guard.ParseHosts([]string{local})
	if err != nil {
		t.Fatal(err)
	}
	ask, p := confined(t, process.Sandbox{Required: false, Write: []string{t.TempDir()},
		Network: process.Network{Services: []string{service}, Hosts: hosts}})
	needsNetwork(t, p.Held())
	if got := ask("sockets"); got != "ok" {
		t.Errorf("it inherited sockets: %s", got)
	}
	if got := ask("tcp " + service); got != "ok service" {
		t.Errorf("our service: %s", got)
	}
	if got := ask("tcp " + local); got != "ok local model" {
		t.Errorf("a listed loopback host: %s", got)
	}
	check(t, ask, []wants{
		{"tcp " + other, false},
		{"mptcp " + other, false},
		{"udp 192.0.2.1:53", false}, // no route at all
		{"tcp 192.0.2.1:443", false},
		{"listen 127.0.0.1:0", true}, // its own loopback is its own
	})
	ask("udp " + udp.LocalAddr().String()) // sent into its own loopback, where nobody listens
	udp.SetReadDeadline(time.Now().Add(200 * time.Millisecond))
	if n, _, err := udp.ReadFrom(make([]byte, 10)); err == nil {
		t.Errorf("a datagram of %d bytes came out", n)
	}
	path := filepath.Join(t.TempDir(), "s")
	serve(t, "unix", path, "path")
	check(t, ask, []wants{
		{"unix " + path, false}, // by Landlock or by the filter
		{fmt.Sprintf("family %d", unix.AF_NETLINK), true},
		{fmt.Sprintf("family %d", unix.AF_INET6), true},
	})
	if p.Held().Landlock < 9 { // then it is the filter
		check(t, ask, []wants{{fmt.Sprintf("family %d", unix.AF_VSOCK), false}})
	}
	if strings.Contains(p.Held().Detail(), "by their path") {
		t.Errorf("held, and told to be missing: %s", p.Held().Detail())
	}
	for _, line := range []string{"status CapEff", "status CapBnd"} {
		if got := ask(line); got != "ok 0000000000000000" {
			t.Errorf("%s: %s", line, got)
		}
	}
	if got := ask("limit processes"); got != "ok 4096" {
		t.Errorf("processes: %s", got)
	}
	if got := ask("env HTTPS_PROXY"); got != "ok" {
		t.Errorf("a proxy is announced and there is none: %s", got)
	}
}

// Names are resolved and judged by the proxy: the listed one passes, in a tunnel
// and as a plain request, and no other.
func TestSandboxProxy(t *testing.T) {
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "plain page") }))
	defer web.Close()
	_, port, _ := net.SplitHostPort(web.Listener.Addr().String())
	hosts := guard.Hosts{{Name: hostname(t), Port: portOf(port)}}
	var log strings.Builder
	spec := self(t, "probe")
	spec.Stderr = &log
	spec.Sandbox = &process.Sandbox{Write: []string{t.TempDir()}, Network: process.Network{Hosts: hosts}}
	p := run(t, spec)
	needsNetwork(t, p.Held())
	answers := bufio.NewReader(p.Stdout())
	ask := func(line string) string {
		fmt.Fprintln(p.Stdin(), line)
		text, err := answers.ReadString('\n')
		if err != nil {
			t.Fatalf("%s: %v; it wrote %q", line, err, p.Tail())
		}
		return strings.TrimSpace(text)
	}
	if got := ask("get http://" + net.JoinHostPort(hosts[0].Name, port)); got != "ok plain page" {
		t.Errorf("a listed host: %s", got)
	}
	if got := ask("get http://other.test/"); !strings.Contains(got, "403") || !strings.Contains(got, "not among the allowed hosts") {
		t.Errorf("another host: %s", got)
	}
	if got := ask("get http://" + hosts[0].Name + ":1/"); !strings.Contains(got, "403") {
		t.Errorf("another port: %s", got)
	}
	if got := ask("get https://other.test/"); !strings.Contains(got, "Forbidden") {
		t.Errorf("a tunnel to another host: %s", got)
	}
	proxy, _ := strings.CutPrefix(ask("env https_proxy"), "ok http://")
	if got := ask("tunnel " + proxy + " " + net.JoinHostPort(hosts[0].Name, port)); !strings.Contains(got, "plain page") {
		t.Errorf("a tunnel: %s", got)
	}
	p.Stop()
	if !strings.Contains(log.String(), "other.test:80 was refused") || strings.Count(log.String(), "other.test:443") != 1 {
		t.Errorf("log = %q", log.String())
	}
}

// hostname is a name of this machine that resolves to a loopback address, to have
// a host without a network.
func hostname(t *testing.T) string {
	t.Helper()
	for _, name := range []string{"ip6-localhost", "localhost.localdomain", "localhost."} {
		if addrs, err := net.LookupHost(name); err == nil && len(addrs) > 0 && addrs[0] == "127.0.0.1" {
			return strings.TrimSuffix(name, ".")
		}
	}
	name, err := os.Hostname()
	if err == nil {
		if addrs, err := net.LookupHost(name); err == nil && len(addrs) > 0 {
			return strings.ToLower(name)
		}
	}
	t.Skip("NO NAME OF THIS MACHINE RESOLVES: the proxy is not tried")
	return ""
}

func portOf(s string) uint16 {
	var n uint16
	fmt.Sscan(s, &n)
	return n
}

// Without user namespaces a required sandbox refuses, and any other says what is missing.
func TestSandboxWithoutNamespaces(t *testing.T) {
	if os.Getenv("TEST_INSIDE") == "" {
		// In a namespace whose limit is zero no further one can be made.
		cmd := exec.Command(os.Args[0], "-test.run=^TestSandboxWithoutNamespaces$", "-test.v")
		cmd.Env = append(os.Environ(), "TEST_INSIDE=1")
		cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWUSER,
			UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
			GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}}}
		out, err := cmd.CombinedOutput()
		if err != nil && cmd.ProcessState == nil {
			t.Skipf("NO USER NAMESPACES HERE AT ALL: %v", err)
		}
		if err != nil || !strings.Contains(string(out), "--- PASS") {
			t.Errorf("inside: %v\n%s", err, out)
		}
		return
	}
	if err := os.WriteFile("/proc/sys/user/max_user_namespaces", []byte("0"), 0); err != nil {
		t.Fatalf("forbid namespaces: %v", err)
	}
	service := serve(t, "tcp4", "127.0.0.1:0", "service")
	other := serve(t, "tcp4", "127.0.0.1:0", "other")
	s := process.Sandbox{Write: []string{t.TempDir()}, Network: process.Network{Services: []string{service}}}
	ask, p := confined(t, s)
	h := p.Held()
	if h.Network == process.NetworkHeld || !strings.Contains(h.Detail(), "user namespaces are refused") {
		t.Errorf("held = %+v", h)
	}
	if got := ask("tcp " + service); got != "ok service" {
		t.Errorf("our service: %s", got)
	}
	if h.Network == process.NetworkPorts {
		check(t, ask, []wants{{"tcp " + other, false}, {"listen 127.0.0.1:0", false}, {"mptcp " + other, false}, {"udp " + other, false}})
		if strings.Contains(h.Detail(), "UDP and MPTCP") {
			t.Errorf("held, and told to be missing: %s", h.Detail())
		}
		if h.String() != "sandbox fs+ports" {
			t.Errorf("badge %q", h)
		}
	}
	// Names go through a proxy outside, whose port is allowed.
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "plain page") }))
	defer web.Close()
	_, port, _ := net.SplitHostPort(web.Listener.Addr().String())
	host := hostname(t)
	viaProxy := s
	viaProxy.Network.Hosts = guard.Hosts{{Name: host, Port: portOf(port)}}
	ask, _ = confined(t, viaProxy)
	if got := ask("get http://" + net.JoinHostPort(host, port)); got != "ok plain page" {
		t.Errorf("a listed host: %s", got)
	}
	if got := ask("get http://other.test/"); !strings.Contains(got, "403") {
		t.Errorf("another host: %s", got)
	}
	spec := self(t, "probe")
	s.Required = true
	spec.Sandbox = &s
	if _, err := process.Start(t.Context(), spec); !errors.Is(err, process.ErrNotHeld) || !strings.Contains(err.Error(), "user namespaces") {
		t.Errorf("required: %v", err)
	}
}

// A start that fails inside the box is told like any other.
func TestSandboxStartErrors(t *testing.T) {
	box := &process.Sandbox{Write: []string{t.TempDir()}, Network: process.Network{Open: true}}
	file := put(t, filepath.Join(t.TempDir(), "text"), "text")
	for _, c := range []struct {
		name    string
		command string
		is      error
	}{{"missing", "no-such-program-anywhere", exec.ErrNotFound}, {"missing path", "/no/such/program", fs.ErrNotExist}, {"not executable", file, fs.ErrPermission}} {
		_, err := process.Start(t.Context(), process.Spec{Command: []string{c.command}, Sandbox: box})
		if !errors.Is(err, c.is) || !strings.Contains(err.Error(), c.command) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := process.Start(ctx, process.Spec{Command: []string{"true"}, Sandbox: box}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	bad := &process.Sandbox{Network: process.Network{Services: []string{"192.0.2.1:80"}}}
	if _, err := process.Start(t.Context(), process.Spec{Command: []string{"true"}, Sandbox: bad}); err == nil || !strings.Contains(err.Error(), "no loopback address") {
		t.Errorf("service elsewhere: %v", err)
	}
}

// Everything about the end of a program holds in a box, too.
func TestSandboxedGroupEnds(t *testing.T) {
	spec := self(t, "deaf")
	spec.Sandbox = &process.Sandbox{Write: []string{t.TempDir()}, Network: process.Network{Services: nil}}
	p := run(t, spec)
	child := readPid(t, p.Stdout())
	if !p.Record().Alive() {
		t.Error("the record does not fit the program")
	}
	if e := p.Stop(); e.Signal != "killed" {
		t.Errorf("exit = %v", e)
	}
	gone(t, p.Record().PID)
	gone(t, child)
}

func TestArgumentsAreBytes(t *testing.T) {
	var out strings.Builder
	spec := process.Spec{Command: []string{"printf", "%s", "\xff\xfe"}, Env: []string{"X=\xff", "PATH=" + os.Getenv("PATH")}, Stdout: &out,
		Sandbox: &process.Sandbox{Network: process.Network{Open: true}}}
	wait(t, run(t, spec), 10*time.Second)
	if out.String() != "\xff\xfe" {
		t.Errorf("got %q", out.String())
	}
}

func BenchmarkStart(b *testing.B) {
	for _, c := range []struct {
		name string
		box  *process.Sandbox
	}{{"plain", nil}, {"files", &process.Sandbox{Home: os.Getenv("HOME"), Network: process.Network{Open: true}}},
		{"files+network", &process.Sandbox{Home: os.Getenv("HOME")}}} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				p, err := process.Start(b.Context(), process.Spec{Command: []string{"true"}, Stdout: io.Discard, Sandbox: c.box})
				if err != nil {
					b.Fatal(err)
				}
				<-p.Done()
			}
		})
	}
}
