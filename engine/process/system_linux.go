package process

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// groupAttr makes the child lead a session and group of its own, so that no
// terminal of ours is its terminal, and die with the thread that forks it.
func groupAttr() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL}
}

// reap waits for the end of a child, kills what is left of its group and only
// then reaps it: until then nobody else can get the number of the group.
func reap(cmd *exec.Cmd) error {
	pid := cmd.Process.Pid
	for {
		var info unix.Siginfo
		err := unix.Waitid(unix.P_PID, pid, &info, unix.WEXITED|unix.WNOWAIT, nil)
		if err != unix.EINTR {
			break
		}
	}
	killGroup(pid, syscall.SIGKILL)
	return cmd.Wait()
}

// startTime reads the start of a process in clock ticks since boot; false when
// there is none of that number or it has ended.
func startTime(pid int) (uint64, bool) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, false
	}
	// The name in parentheses may hold anything, parentheses included.
	i := bytes.LastIndexByte(b, ')')
	if i < 0 {
		return 0, false
	}
	f := bytes.Fields(b[i+1:]) // f[0] is field 3 (state), the start time is field 22
	if len(f) < 20 || f[0][0] == 'Z' || f[0][0] == 'X' {
		return 0, false
	}
	t, err := strconv.ParseUint(string(f[19]), 10, 64)
	return t, err == nil
}

// killHolders kills processes that hold a pipe with one of the inodes and
// returns their pids. Ourselves and our direct children are spared: a child
// between fork and exec holds every descriptor for a moment, and the one
// program that was meant to hold the pipe is dead already.
func killHolders(inodes ...uint64) []int {
	want := map[string]bool{}
	for _, n := range inodes {
		if n != 0 {
			want[fmt.Sprintf("pipe:[%d]", n)] = true
		}
	}
	dirs, err := os.ReadDir("/proc")
	if err != nil || len(want) == 0 {
		return nil
	}
	var killed []int
	for _, d := range dirs {
		pid, err := strconv.Atoi(d.Name())
		if err != nil || pid <= 1 || pid == os.Getpid() || parentOf(pid) == os.Getpid() || !holds(pid, want) {
			continue
		}
		if syscall.Kill(pid, syscall.SIGKILL) == nil {
			killed = append(killed, pid)
		}
	}
	return killed
}

func holds(pid int, want map[string]bool) bool {
	dir := fmt.Sprintf("/proc/%d/fd", pid)
	fds, err := os.ReadDir(dir)
	if err != nil {
		return false // another user's
	}
	for _, fd := range fds {
		if to, err := os.Readlink(dir + "/" + fd.Name()); err == nil && want[to] {
			return true
		}
	}
	return false
}

func parentOf(pid int) int {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	s := string(b)
	f := strings.Fields(s[strings.LastIndexByte(s, ')')+1:])
	if len(f) < 2 {
		return 0
	}
	ppid, _ := strconv.Atoi(f[1])
	return ppid
}
