package cli_test

import (
	"fmt"
	"syscall"
	"testing"
	"time"
)

// An interrupt while the program starts: whatever it had begun by then, the
// terminal is as before, nothing is left behind, and the exit says so.
func TestInterruptWhileStarting(t *testing.T) {
	for _, ms := range []int{0, 5, 10, 20, 30, 45, 60, 80, 100, 150} {
		t.Run(fmt.Sprint(ms, "ms"), func(t *testing.T) {
			d, tmp := terminal(t, 100, 30, nil, "demo")
			time.Sleep(time.Duration(ms) * time.Millisecond)
			d.Signal(syscall.SIGINT)
			// Before the program has begun with anything the signal itself ends it, which
			// a shell tells as 130, too.
			if code := d.Exit(); code != 130 && (code != -1 || d.Raw() != "") {
				t.Errorf("exit %d after %q", code, d.Raw())
			}
			d.Restored()
			clean(t, tmp)
		})
	}
}
