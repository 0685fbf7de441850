//go:build linux

package process_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// probe is a confined program that tries what its lines of input say, one word
// and its argument each, and answers with "ok" or the error.
func probe() {
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		verb, arg, _ := strings.Cut(lines.Text(), " ")
		out, err := try(verb, arg)
		if err != nil {
			out = "no: " + err.Error()
		}
		if err == nil {
			out = "ok " + out
		}
		fmt.Println(strings.TrimSpace(strings.ReplaceAll(out, "\n", " ")))
	}
}

func try(verb, arg string) (string, error) {
	switch verb {
	case "read":
		b, err := os.ReadFile(arg)
		return string(b), err
	case "list":
		_, err := os.ReadDir(arg)
		return "", err
	case "write":
		return "", os.WriteFile(arg, []byte("x"), 0o600)
	case "append":
		f, err := os.OpenFile(arg, os.O_WRONLY|os.O_APPEND, 0)
		if err == nil {
			f.Close()
		}
		return "", err
	case "truncate":
		return "", os.Truncate(arg, 0)
	case "remove":
		return "", os.Remove(arg)
	case "move":
		from, to, _ := strings.Cut(arg, " ")
		return "", os.Rename(from, to)
	case "link":
		from, to, _ := strings.Cut(arg, " ")
		return "", os.Link(from, to)
	case "run":
		b, err := exec.Command("sh", "-c", arg).CombinedOutput()
		return strings.TrimSpace(string(b)), err
	case "tcp", "unix", "udp":
		c, err := net.DialTimeout(verb, arg, 2*time.Second)
		if err != nil {
			return "", err
		}
		defer c.Close()
		if verb == "udp" {
			_, err = c.Write([]byte("x"))
			return "", err
		}
		c.SetDeadline(time.Now().Add(time.Minute))
		b, err := io.ReadAll(c)
		return string(b), err
	case "mptcp":
		d := net.Dialer{Timeout: 2 * time.Second}
		d.SetMultipathTCP(true)
		c, err := d.Dial("tcp", arg)
		if err == nil {
			c.Close()
		}
		return "", err
	case "family":
		var n int
		fmt.Sscan(arg, &n)
		fd, err := unix.Socket(n, unix.SOCK_STREAM, 0)
		if n == unix.AF_NETLINK {
			fd, err = unix.Socket(n, unix.SOCK_RAW, unix.NETLINK_ROUTE)
		}
		if err == nil {
			unix.Close(fd)
		}
		return "", err
	case "listen":
		var plain net.ListenConfig
		plain.SetMultipathTCP(false) // which Landlock does not know
		l, err := plain.Listen(context.Background(), "tcp", arg)
		if err == nil {
			l.Close()
		}
		return "", err
	case "get":
		t := &http.Client{Transport: &http.Transport{Proxy: http.ProxyFromEnvironment}, Timeout: 5 * time.Second}
		r, err := t.Get(arg)
		if err != nil {
			return "", err
		}
		defer r.Body.Close()
		b, err := io.ReadAll(r.Body)
		if r.StatusCode != 200 {
			err = errors.New(r.Status + " " + strings.TrimSpace(string(b)))
		}
		return string(b), err
	case "tunnel":
		proxy, to, _ := strings.Cut(arg, " ")
		c, err := net.DialTimeout("tcp", proxy, 2*time.Second)
		if err != nil {
			return "", err
		}
		defer c.Close()
		c.SetDeadline(time.Now().Add(time.Minute))
		// The request follows at once, before the tunnel stands.
		fmt.Fprintf(c, "CONNECT %s HTTP/1.1\r\nHost: %s\r\n\r\nGET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", to, to)
		b, err := io.ReadAll(c)
		return strings.ReplaceAll(string(b), "\r\n", " "), err
	case "signal":
		var pid int
		fmt.Sscan(arg, &pid)
		return "", syscall.Kill(pid, 0)
	case "environ":
		b, err := os.ReadFile(filepath.Join("/proc", arg, "environ"))
		if err == nil && len(b) == 0 {
			err = errors.New("empty")
		}
		return "", err
	case "status":
		b, err := os.ReadFile("/proc/self/status")
		for line := range strings.SplitSeq(string(b), "\n") {
			if v, ok := strings.CutPrefix(line, arg+":\t"); ok {
				return v, err
			}
		}
		return "", errors.New("no such line")
	case "env":
		return os.Getenv(arg), nil
	case "limit":
		var l unix.Rlimit
		what := unix.RLIMIT_CORE
		if arg == "processes" {
			what = unix.RLIMIT_NPROC
		}
		err := unix.Getrlimit(what, &l)
		return fmt.Sprint(l.Max), err
	case "sockets": // that it holds
		d, err := os.ReadDir("/proc/self/fd")
		var found []string
		for _, e := range d {
			if to, err := os.Readlink("/proc/self/fd/" + e.Name()); err == nil && strings.HasPrefix(to, "socket:") {
				found = append(found, e.Name())
			}
		}
		return strings.Join(found, " "), err
	}
	return "", errors.New("unknown probe " + verb)
}
