//go:build linux

package process_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"vise/engine/process"
)

// TestMain lets the test binary play the programs that are started.
func TestMain(m *testing.M) {
	switch os.Getenv("TEST_ROLE") {
	case "":
		goleak.VerifyTestMain(m)
	case "deaf": // ignores the polite signal, has a child of the same kind, and never ends
		signal.Ignore(syscall.SIGTERM)
		if os.Getenv("TEST_DEPTH") == "" {
			child := exec.Command(os.Args[0])
			child.Env = append(os.Environ(), "TEST_DEPTH=1")
			if err := child.Start(); err != nil {
				panic(err)
			}
			fmt.Println(child.Process.Pid)
		}
		for {
			time.Sleep(time.Hour)
		}
	case "parent": // starts a sleeper through the package, tells its pid, waits to be killed
		spec := process.Spec{Command: []string{"sleep", "300"}}
		if os.Getenv("TEST_BOX") != "" {
			spec.Sandbox = &process.Sandbox{}
		}
		p, err := process.Start(context.Background(), spec)
		if err != nil {
			panic(err)
		}
		fmt.Println(p.Record().PID)
		time.Sleep(time.Hour)
	case "keeper": // starts a program with a child, tells its record, waits to be killed
		p, err := process.Start(context.Background(), sh("sleep 300 & wait"))
		if err != nil {
			panic(err)
		}
		if err := json.NewEncoder(os.Stdout).Encode(p.Record()); err != nil {
			panic(err)
		}
		time.Sleep(time.Hour)
	case "probe":
		probe()
	}
}

func self(t *testing.T, role string) process.Spec {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return process.Spec{Command: []string{exe}, Env: []string{"TEST_ROLE=" + role}, Grace: 200 * time.Millisecond}
}

func sh(script string) process.Spec {
	return process.Spec{Command: []string{"sh", "-c", script}, Env: []string{"PATH=" + os.Getenv("PATH")}, Grace: 200 * time.Millisecond, Drain: 200 * time.Millisecond}
}

func run(t *testing.T, spec process.Spec) *process.Process {
	t.Helper()
	p, err := process.Start(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Kill() })
	return p
}

func wait(t *testing.T, p *process.Process, limit time.Duration) process.Exit {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	e, err := p.Wait(ctx)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// gone waits until a pid is no living process.
func gone(t *testing.T, pid int) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil || strings.Contains(string(b), ") Z ") {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("process %d lives on", pid)
		}
	}
}

func readPid(t *testing.T, r io.Reader) int {
	t.Helper()
	var pid int
	if _, err := fmt.Fscan(r, &pid); err != nil {
		t.Fatal(err)
	}
	return pid
}

func TestExit(t *testing.T) {
	for _, c := range []struct {
		script, text string
		ok           bool
	}{
		{"exit 0", "exit status 0", true},
		{"exit 3", "exit status 3", false},
		{"kill -KILL $$", "ended by signal: killed", false},
	} {
		e := wait(t, run(t, sh(c.script)), 30*time.Second)
		if e.String() != c.text || e.OK() != c.ok {
			t.Errorf("%s: %v, ok %v", c.script, e, e.OK())
		}
	}
}

func TestStreams(t *testing.T) {
	spec := sh("cat; echo trouble >&2")
	var out, errs bytes.Buffer
	spec.Stdin, spec.Stdout, spec.Stderr = strings.NewReader("hello"), &out, &errs
	p := run(t, spec)
	wait(t, p, time.Minute)
	if out.String() != "hello" || errs.String() != "trouble\n" || p.Tail() != "trouble\n" {
		t.Errorf("out %q, err %q, tail %q", out.String(), errs.String(), p.Tail())
	}
	// With pipes: our end of the input is the filter's end.
	p = run(t, sh("cat"))
	io.WriteString(p.Stdin(), "piped")
	p.Stdin().Close()
	b, err := io.ReadAll(p.Stdout())
	if string(b) != "piped" || err != nil {
		t.Errorf("got %q, %v", b, err)
	}
}

// A megabyte that is still in the pipe when its writer has gone is not lost to a slow reader.
func TestSlowReaderGetsEverything(t *testing.T) {
	p := run(t, sh("head -c 60000 /dev/zero"))
	<-p.Exited()
	var n int
	for buf := make([]byte, 10000); ; time.Sleep(60 * time.Millisecond) {
		k, err := p.Stdout().Read(buf)
		n += k
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if n != 60000 {
		t.Errorf("read %d of 60000 bytes", n)
	}
}

func TestLogIsBounded(t *testing.T) {
	spec := sh("head -c 100000 /dev/zero | tr '\\0' a >&2; echo last words >&2")
	var log bytes.Buffer
	spec.Stderr, spec.MaxLog = &log, 1000
	p := run(t, spec)
	wait(t, p, time.Minute)
	if !strings.HasPrefix(log.String(), strings.Repeat("a", 1000)+"\n[log cut here") || log.Len() > 1100 {
		t.Errorf("log has %d bytes", log.Len())
	}
	if tail := p.Tail(); len(tail) > 8<<10 || !strings.HasSuffix(tail, "last words\n") {
		t.Errorf("tail has %d bytes and ends %q", len(tail), tail[max(0, len(tail)-20):])
	}
}

func TestNothingIsInherited(t *testing.T) {
	t.Setenv("VISE_TEST_SECRET", "x")
	var out bytes.Buffer
	wait(t, run(t, process.Spec{Command: []string{"env"}, Stdout: &out}), 30*time.Second)
	if strings.Contains(out.String(), "VISE_TEST_SECRET") {
		t.Errorf("environment is %q", out.String())
	}
}

// A busy program that ignores the polite signal and has a child like itself.
func TestStopEndsTheWholeGroup(t *testing.T) {
	for name, end := range map[string]func(*process.Process, context.CancelFunc) process.Exit{
		"stop": func(p *process.Process, _ context.CancelFunc) process.Exit { return p.Stop() },
		"kill": func(p *process.Process, _ context.CancelFunc) process.Exit { return p.Kill() },
		"context": func(p *process.Process, cancel context.CancelFunc) process.Exit {
			cancel()
			<-p.Done()
			return p.Stop()
		},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			p, err := process.Start(ctx, self(t, "deaf"))
			if err != nil {
				t.Fatal(err)
			}
			child := readPid(t, p.Stdout())
			if e := end(p, cancel); e.Signal != "killed" {
				t.Errorf("exit = %v", e)
			}
			gone(t, p.Record().PID)
			gone(t, child)
		})
	}
}

// A child in the group does not outlive a leader that ends by itself.
func TestGroupEndsWithItsLeader(t *testing.T) {
	p := run(t, sh("sleep 300 & echo $!; exit 0"))
	child := readPid(t, p.Stdout())
	if e := wait(t, p, time.Minute); !e.OK() {
		t.Errorf("exit = %v", e)
	}
	gone(t, child)
}

// A grandchild that has left the group holds our pipe: waiting ends all the
// same, and so does the grandchild.
func TestB49DetachedGrandchildHoldsThePipe(t *testing.T) {
	p := run(t, sh("setsid sleep 300 & echo $!; sleep 0.3; exit 0"))
	pid := readPid(t, p.Stdout())
	go io.Copy(io.Discard, p.Stdout())
	e := wait(t, p, time.Minute)
	if len(e.Leftover) != 1 || e.Code != 0 || !strings.Contains(e.String(), "detached descendant(s) killed") {
		t.Errorf("exit = %v", e)
	}
	gone(t, pid)
	for _, left := range e.Leftover {
		gone(t, left.PID)
	}
}

// The parent-death signal follows the forking thread: threads that end must not take a child along.
func TestChildOutlivesThreads(t *testing.T) {
	p := run(t, sh("sleep 300"))
	for range 20 {
		done := make(chan struct{})
		go func() {
			runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
			close(done)
		}()
		<-done
	}
	q := run(t, sh("sleep 300")) // a second child, forked while the first lives
	time.Sleep(100 * time.Millisecond)
	for _, x := range []*process.Process{p, q} {
		if !x.Record().Alive() {
			t.Errorf("process %d died with a thread", x.Record().PID)
		}
	}
}

func TestReapNeedsTheStartTime(t *testing.T) {
	p := run(t, sh("sleep 300"))
	r := p.Record()
	if r.StartTime == 0 || r.PGID != r.PID || !strings.HasPrefix(r.Command, "sh -c") {
		t.Fatalf("record = %+v", r)
	}
	other := r
	other.StartTime++
	unknown := r
	unknown.StartTime = 0
	other.Mark, unknown.Mark = "", "" // as a store of an older release has them
	for _, r := range []process.Record{other, unknown, {}, {PID: 1, PGID: 1}, {PID: -1, PGID: -1}} {
		if killed, err := process.Reap(r); len(killed) > 0 || err != nil {
			t.Errorf("reaped %+v: %v", r, err)
		}
	}
	if !r.Alive() {
		t.Fatal("process is gone")
	}
	if killed, err := process.Reap(r); len(killed) == 0 || killed[0].PID != r.PID || err != nil {
		t.Errorf("reaped %v: %v", killed, err)
	}
	if e := wait(t, p, time.Minute); e.Signal != "killed" {
		t.Errorf("exit = %v", e)
	}
	if killed, err := process.Reap(r); len(killed) > 0 || err != nil {
		t.Errorf("reaped twice: %v", err)
	}
}

func TestStartErrors(t *testing.T) {
	if _, err := process.Start(t.Context(), process.Spec{}); err == nil || !strings.Contains(err.Error(), "no command") {
		t.Errorf("no command: %v", err)
	}
	if _, err := process.Start(t.Context(), process.Spec{Command: []string{"no-such-program-anywhere"}}); !errors.Is(err, exec.ErrNotFound) {
		t.Errorf("missing program: %v", err)
	}
	file := filepath.Join(t.TempDir(), "text")
	if err := os.WriteFile(file, []byte("text"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := process.Start(t.Context(), process.Spec{Command: []string{file}}); err == nil || !strings.Contains(err.Error(), file) {
		t.Errorf("not executable: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := process.Start(ctx, sh("exit 0")); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

func TestWaitIsBounded(t *testing.T) {
	p := run(t, sh("sleep 300"))
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := p.Wait(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("wait: %v", err)
	}
}

func TestNoDescriptorsLeak(t *testing.T) {
	count := func() int {
		d, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Fatal(err)
		}
		return len(d)
	}
	wait(t, run(t, sh("exit 0")), 30*time.Second)
	before := count()
	for range 20 {
		wait(t, run(t, sh("exit 0")), 30*time.Second)
		process.Start(t.Context(), process.Spec{Command: []string{"no-such-program-anywhere"}})
	}
	if after := count(); after > before+2 {
		t.Errorf("%s descriptors leaked", strconv.Itoa(after-before))
	}
}
