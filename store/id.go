package store

import (
	"crypto/rand"
	"sync"
	"time"

	"github.com/oklog/ulid/v2"
)

// newULIDs returns a source of ids like "n-01J...": within one millisecond and one
// process they still ascend in the order they were made.
func newULIDs(now func() time.Time) func(prefix string) string {
	var mu sync.Mutex
	entropy := ulid.Monotonic(rand.Reader, 0)
	return func(prefix string) string {
		mu.Lock()
		defer mu.Unlock()
		id, err := ulid.New(ulid.Timestamp(now()), entropy)
		if err != nil {
			// The monotonic part overflowed within one millisecond: start a new one.
			entropy = ulid.Monotonic(rand.Reader, 0)
			id = ulid.MustNew(ulid.Timestamp(now()), entropy)
		}
		return prefix + "-" + id.String()
	}
}
