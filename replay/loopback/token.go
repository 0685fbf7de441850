package loopback

import (
	"crypto/rand"
	"crypto/sha256"
	"net/http"
	"strings"
	"sync"
	"time"
)

// Tokens are the runs that a server knows, by the tokens they were given. Only the
// digests of tokens are kept: looking one up tells nothing about others by the time
// it takes. The zero value is ready; it is safe for concurrent use.
type Tokens[T any] struct {
	mu   sync.RWMutex
	runs map[[sha256.Size]byte]entry[T]
}

type entry[T any] struct {
	run   T
	until time.Time
}

// Grant makes a token for a run, good until the given time (zero: until Revoke).
// Tokens that are over at now are forgotten.
func (t *Tokens[T]) Grant(run T, now, until time.Time) string {
	token := rand.Text()
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.runs == nil {
		t.runs = map[[sha256.Size]byte]entry[T]{}
	}
	for key, e := range t.runs {
		if !e.until.IsZero() && !now.Before(e.until) {
			delete(t.runs, key)
		}
	}
	t.runs[sha256.Sum256([]byte(token))] = entry[T]{run, until}
	return token
}

// Lookup returns a token's run.
func (t *Tokens[T]) Lookup(token string, now time.Time) (run T, ok bool) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	e, ok := t.runs[sha256.Sum256([]byte(token))]
	if !ok || !e.until.IsZero() && !now.Before(e.until) {
		return run, false
	}
	return e.run, true
}

// Revoke ends a token at once.
func (t *Tokens[T]) Revoke(token string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.runs, sha256.Sum256([]byte(token)))
}

// Bearer is the token of a request, "" when it has none.
func Bearer(h http.Header) string {
	token, ok := strings.CutPrefix(h.Get("Authorization"), "Bearer ")
	if !ok {
		return ""
	}
	return token
}
