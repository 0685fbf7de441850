package process

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"slices"
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
func reap(cmd *exec.Cmd, g *group) error {
	pid := cmd.Process.Pid
	for {
		var info unix.Siginfo
		err := unix.Waitid(unix.P_PID, pid, &info, unix.WEXITED|unix.WNOWAIT, nil)
		if err != unix.EINTR {
			break
		}
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	killGroup(pid, syscall.SIGKILL)
	g.gone = true
	return cmd.Wait() // at once: it has ended, and its output goes to files
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

// markRounds bounds the search for marked processes: one that forks while it is
// looked for is found in the next round.
const markRounds = 5

// killMarked kills every process whose environment holds the mark and returns
// their pids. An environment is what it was when the program was started, so one
// that removes the mark from its own is found all the same, and one that starts
// another program without it is not.
func killMarked(mark string) []Descendant {
	if mark == "" {
		return nil
	}
	want := []byte("\x00" + MarkVariable + "=" + mark + "\x00")
	var killed []Descendant
	for range markRounds {
		found := false
		for _, pid := range allProcesses() {
			b, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
			if err != nil || !bytes.Contains(append([]byte{0}, b...), want) {
				continue
			}
			d := Descendant{pid, commandOf(pid)}
			marked := func() bool {
				b, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
				return err == nil && bytes.Contains(append([]byte{0}, b...), want)
			}
			if killExactly(pid, marked) && !slices.ContainsFunc(killed, func(k Descendant) bool { return k.PID == pid }) {
				killed, found = append(killed, d), true
			}
		}
		if !found {
			break
		}
	}
	return killed
}

// commandOf is the command line of a process, with blanks between the arguments.
func commandOf(pid int) string {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	if err != nil {
		return ""
	}
	return bounded(strings.ToValidUTF8(strings.TrimSpace(strings.ReplaceAll(string(b), "\x00", " ")), "\uFFFD"), 200)
}

// killExactly kills a process if it still is the one that is meant once it is held by
// a descriptor: its number may have gone to another since.
func killExactly(pid int, meant func() bool) bool {
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return false
	}
	defer unix.Close(fd)
	return meant() && unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0) == nil
}

// allProcesses are the pids there are, but for ours and that of init.
func allProcesses() []int {
	d, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer d.Close()
	names, _ := d.Readdirnames(-1)
	var out []int
	for _, name := range names {
		if pid, err := strconv.Atoi(name); err == nil && pid > 1 && pid != os.Getpid() {
			out = append(out, pid)
		}
	}
	return out
}

// killHolders kills processes that hold a pipe with one of the inodes and
// returns their pids. Ourselves and our direct children are spared: a child
// between fork and exec holds every descriptor for a moment, and the one
// program that was meant to hold the pipe is dead already.
func killHolders(inodes ...uint64) []Descendant {
	want := map[string]bool{}
	for _, n := range inodes {
		if n != 0 {
			want[fmt.Sprintf("pipe:[%d]", n)] = true
		}
	}
	if len(want) == 0 {
		return nil
	}
	var killed []Descendant
	for _, pid := range allProcesses() {
		if parentOf(pid) == os.Getpid() || !holds(pid, want) {
			continue
		}
		d := Descendant{pid, commandOf(pid)}
		if killExactly(pid, func() bool { return holds(pid, want) }) {
			killed = append(killed, d)
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
