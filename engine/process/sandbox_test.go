//go:build linux

package process_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

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
