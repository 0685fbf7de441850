//go:build linux

package process_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
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
	spec.Env = append(spec.Env, "HTTPS_PROXY=http://proxy.test:3128")
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
	if got := ask("env HTTPS_PROXY"); !strings.HasPrefix(got, "ok http://127.0.0.1:") {
		t.Errorf("the proxy of the environment is in the way of ours: %s", got)
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
