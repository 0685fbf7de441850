package driver

import (
	"strings"
	"testing"
)

// What an agent wrote last may be a credential; the error goes to panes, logs and
// standard error.
func TestErrorIsMasked(t *testing.T) {
	e := &Error{Kind: AgentExited, Op: "prompt turn 0", Stderr: "dying with sk-proj-" + "Kk8Kk8Kk8Kk8Kk8Kk8Kk8Kk8"}
	if s := e.Error(); strings.Contains(s, "Kk8Kk8") || !strings.Contains(s, "it last wrote: dying with [redacted:") {
		t.Error(s)
	}
}
