//go:build linux

package process_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"vise/engine/process"
)

func TestRun(t *testing.T) {
	var live bytes.Buffer
	r, err := process.Run(t.Context(), sh("echo one; echo two >&2; echo three; cat; exit 3"), process.Bounds{Time: time.Minute, Output: 1000},
		func(b []byte) { live.Write(b) })
	if err != nil || r.Exit.Code != 3 || r.OK() || r.TimedOut {
		t.Errorf("ran %+v, %v", r, err)
	}
	if want := "one\ntwo\nthree\n"; r.Output.Text() != want || live.String() != want {
		t.Errorf("output %q, live %q", r.Output.Text(), live.String())
	}
	if r.Held.String() != "no sandbox" {
		t.Errorf("held %v", r.Held)
	}
}

func TestRunKeepsBothEnds(t *testing.T) {
	r, err := process.Run(t.Context(), sh("echo begin; head -c 300000 /dev/zero | tr '\\0' x; echo; echo end"), process.Bounds{Time: time.Minute, Output: 1000}, nil)
	if err != nil || !r.OK() {
		t.Fatalf("ran %+v, %v", r, err)
	}
	text := r.Output.Text()
	if !strings.HasPrefix(text, "begin\nxxx") || !strings.HasSuffix(text, "xxx\nend\n") || !strings.Contains(text, "\n[... 299011 bytes left out ...]\n") ||
		len(r.Output.Head) != 500 || len(r.Output.Tail) != 500 {
		t.Errorf("left %d, text begins %q", r.Output.Left, text[:40])
	}
}

// Whatever the pieces, the two ends are those of the whole.
func TestRunOutputIsThatOfTheWhole(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		pieces := rapid.SliceOfN(rapid.SliceOfN(rapid.Byte(), 0, 40), 0, 12).Draw(t, "pieces")
		limit := rapid.IntRange(1, 60).Draw(t, "limit")
		whole := bytes.Join(pieces, nil)
		o := process.KeepEnds(limit, pieces)
		half := max(limit/2, 1)
		head := whole[:min(half, len(whole))]
		rest := whole[len(head):]
		tail := rest[max(0, len(rest)-half):]
		if !bytes.Equal(o.Head, head) || !bytes.Equal(o.Tail, tail) || o.Left != int64(len(rest)-len(tail)) {
			t.Fatalf("limit %d of %q: %q, %q, %d", limit, whole, o.Head, o.Tail, o.Left)
		}
	})
}

func TestRunEndsTheGroupInTime(t *testing.T) {
	begun := time.Now()
	r, err := process.Run(t.Context(), sh("echo $$; sleep 300 & sleep 300"), process.Bounds{Time: 300 * time.Millisecond, Output: 1000}, nil)
	if err != nil || !r.TimedOut || r.OK() || time.Since(begun) > time.Minute {
		t.Errorf("ran %+v, %v", r, err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("enough")
	said := filepath.Join(t.TempDir(), "said")
	go func() {
		for ; ctx.Err() == nil; time.Sleep(5 * time.Millisecond) {
			if _, err := os.Stat(said); err == nil {
				cancel(why)
			}
		}
	}()
	r, err = process.Run(ctx, sh("echo so far; : > '"+said+"'; sleep 300"), process.Bounds{Time: time.Minute, Output: 1000}, nil)
	if !errors.Is(err, why) || r.Output.Text() != "so far\n" {
		t.Errorf("ran %+v, %v", r, err)
	}
	if _, err := process.Run(t.Context(), sh("true"), process.Bounds{}, nil); err == nil {
		t.Error("ran without bounds")
	}
}
