package cli

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"vise/engine/guard"
)

// A file that cannot be read while it grows is one refused file and one remark; when it
// can be read again it is none.
func TestFollowRefuses(t *testing.T) {
	var told bytes.Buffer
	f := &following{app: &app{errw: &told, red: guard.DefaultRedactor()}, refused: map[string]string{}}
	for range 100 {
		f.refuse("a.jsonl", errors.New("read a.jsonl: permission denied"))
	}
	f.refuse("b.jsonl", errors.New("read b.jsonl: permission denied"))
	if lines := strings.Count(told.String(), "\n"); lines != 2 || len(f.refused) != 2 {
		t.Errorf("%d refused, %d lines: %s", len(f.refused), lines, &told)
	}
	f.refuse("a.jsonl", errors.New("read a.jsonl: input/output error"))
	f.refuse("b.jsonl", nil)
	if lines := strings.Count(told.String(), "\n"); lines != 3 || len(f.refused) != 1 {
		t.Errorf("%d refused, %d lines: %s", len(f.refused), lines, &told)
	}
}
