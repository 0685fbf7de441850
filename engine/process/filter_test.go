//go:build linux

package process_test

import (
	"context"
	"errors"
	"os/exec"
	"strings"
	"testing"
	"time"

	"vise/engine/process"
)

func TestFilter(t *testing.T) {
	limits := process.Limits{Time: 20 * time.Second, Output: 1000}
	for name, c := range map[string]struct {
		script string
		limits process.Limits
		out    string
		exit   int
		err    error
	}{
		"in and out":              {`read x; echo "<$x>"`, limits, "<hello>\n", 0, nil},
		"input left unread":       {`echo done`, limits, "done\n", 0, nil},
		"a bad end is no error":   {`echo half; exit 3`, limits, "half\n", 3, nil},
		"too slow":                {`echo early; sleep 60`, process.Limits{Time: 300 * time.Millisecond, Output: 1000}, "early\n", -1, process.ErrTime},
		"too much":                {`while :; do echo 0123456789; done`, limits, strings.Repeat("0123456789\n", 91)[:1000], -1, process.ErrOutput},
		"too much and then ended": {`echo 0123456789`, process.Limits{Time: time.Minute, Output: 4}, "0123", 0, process.ErrOutput},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := process.Filter(t.Context(), sh(c.script), []byte("hello\n"), c.limits)
			if !errors.Is(err, c.err) || string(got.Out) != c.out {
				t.Fatalf("%q, %v; want %q, %v", got.Out, err, c.out, c.err)
			}
			if c.err == nil && got.Exit.Code != c.exit {
				t.Errorf("exit %v, want %d", got.Exit, c.exit)
			}
		})
	}
	t.Run("nothing is left of the group", func(t *testing.T) {
		mark := "37.0419" // seconds nobody else sleeps
		if _, err := process.Filter(t.Context(), sh("sleep "+mark+" & sleep "+mark), nil, process.Limits{Time: 300 * time.Millisecond, Output: 10}); !errors.Is(err, process.ErrTime) {
			t.Fatal(err)
		}
		if out, _ := exec.Command("pgrep", "-f", "sleep "+mark).Output(); len(out) > 0 {
			t.Errorf("still there: %s", out)
		}
	})
	t.Run("the context ends it", func(t *testing.T) {
		ctx, stop := context.WithCancelCause(t.Context())
		why := errors.New("enough")
		time.AfterFunc(200*time.Millisecond, func() { stop(why) })
		if _, err := process.Filter(ctx, sh("sleep 60"), nil, process.Limits{Time: time.Minute, Output: 10}); !errors.Is(err, why) {
			t.Errorf("%v", err)
		}
	})
}
