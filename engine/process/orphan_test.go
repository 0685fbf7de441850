//go:build linux

package process_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"vise/engine/process"
)

// Grandchildren that have left the group and hold nothing of ours are found all
// the same, in a sandbox too, and told.
func TestDetachedGrandchildren(t *testing.T) {
	for name, box := range map[string]*process.Sandbox{"plain": nil, "files": {Network: process.Network{Open: true}}, "files and network": {}} {
		t.Run(name, func(t *testing.T) {
			spec := sh("setsid sh -c 'sleep 300 & echo $! >&3; exec sleep 300 </dev/null >/dev/null 2>&1 3>&-' 3>&1 >/dev/null 2>&1 & echo $!; sleep 0.2; exit 0")
			spec.Sandbox = box
			var out bytes.Buffer
			spec.Stdout = &out
			e := wait(t, run(t, spec), 10*time.Second)
			if len(e.Leftover) < 2 || !strings.Contains(e.String(), "detached descendant(s) killed") {
				t.Errorf("exit = %v", e)
			}
			for _, field := range strings.Fields(out.String()) {
				pid, err := strconv.Atoi(field)
				if err != nil {
					t.Fatal(err)
				}
				gone(t, pid)
			}
		})
	}
}

// What a killed leader left of its group is found by the mark of its record.
func TestReapFindsWhatTheLeaderLeft(t *testing.T) {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	parent := exec.Command(exe)
	parent.Env = append(os.Environ(), "TEST_ROLE=keeper")
	out, err := parent.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := parent.Start(); err != nil {
		t.Fatal(err)
	}
	var r process.Record
	var child int
	if err := json.NewDecoder(out).Decode(&r); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(time.Minute); child == 0; time.Sleep(10 * time.Millisecond) {
		b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", r.PID, r.PID))
		fmt.Sscan(string(b), &child)
		if time.Now().After(deadline) {
			t.Fatal("no child of the leader")
		}
	}
	parent.Process.Kill()
	parent.Wait()
	gone(t, r.PID) // it dies with its parent; its child does not
	killed, err := process.Reap(r)
	if err != nil || len(killed) != 1 || killed[0].PID != child || killed[0].Command == "" {
		t.Errorf("reaped %v instead of %d: %v", killed, child, err)
	}
	gone(t, child)
}

// The children of a program that is killed die with it, confined or not.
func TestChildDiesWithUs(t *testing.T) {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, box := range []string{"", "1"} {
		parent := exec.Command(exe)
		parent.Env = append(os.Environ(), "TEST_ROLE=parent", "TEST_BOX="+box)
		out, err := parent.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := parent.Start(); err != nil {
			t.Fatal(err)
		}
		child := readPid(t, out)
		parent.Process.Kill()
		parent.Wait()
		gone(t, child)
	}
}
