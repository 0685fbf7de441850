package follow

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"
)

// A file that grows without end takes a tenth of the time at most, however long one
// reading of it is and however many files stand beside it; these are read as often as ever.
func TestShare(t *testing.T) {
	dir := t.TempDir()
	big, small := filepath.Join(dir, "big.jsonl"), filepath.Join(dir, "small.jsonl")
	for _, f := range []string{big, small, filepath.Join(dir, "idle.jsonl")} {
		write(t, f, user("one"), os.O_TRUNC)
	}
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		var slow time.Duration
		reads := map[string]int{}
		err := run(ctx, []string{dir}, Options{Poll: time.Second}, func(files []string, done func(string)) ([]string, error) {
			time.Sleep(time.Second) // the store is opened
			done("")
			for _, f := range files {
				reads[f]++
				if f == big {
					time.Sleep(30 * time.Second)
					slow += 30 * time.Second
				}
				done(f)
				if f == big || f == small {
					write(t, f, user("more"), os.O_APPEND)
				}
			}
			return nil, nil
		}, false)
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Fatal(err)
		}
		if slow > 7*time.Minute || reads[big] < 10 || reads[small] < 500 {
			t.Errorf("%s of an hour went into one file: %d readings beside %d of a small one", slow, reads[big], reads[small])
		}
	})
}
