package store

import (
	"errors"
	"os"
	"testing"
	"time"
)

// A writer waits for a command that only reads and for an owner that is closing, and is
// refused beside one that keeps the store.
func TestWritersWaitForPassingOwners(t *testing.T) {
	for name, c := range map[string]struct {
		passing, announces, closes, waits bool
	}{
		"a reader":                {passing: true, waits: true},
		"an owner that closes":    {closes: true, waits: true},
		"an owner that stays":     {},
		"a reader that announces": {passing: true, announces: true, waits: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			lock, err := acquire(dir, c.passing)
			if err != nil {
				t.Fatal(err)
			}
			if c.announces {
				if err := lock.announce(dir + "/socket"); err != nil {
					t.Fatal(err)
				}
			}
			if c.closes {
				lock.closing()
			}
			if !c.waits {
				_, err := Open(t.Context(), Options{Dir: dir, MinFree: 1})
				var busy *BusyError
				if !errors.As(err, &busy) || busy.PID != os.Getpid() {
					t.Errorf("opened beside an owner: %v", err)
				}
				lock.release()
				return
			}
			go func() {
				time.Sleep(4 * lockPatience)
				lock.release()
			}()
			s, err := Open(t.Context(), Options{Dir: dir, MinFree: 1})
			if err != nil {
				t.Fatal(err)
			}
			s.Close()
		})
	}
}
