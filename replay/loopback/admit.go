package loopback

import (
	"net/http"
	"time"
)

// MaxRequests is how many requests a server of a run answers at once; more are told to
// come back.
const MaxRequests = 64

// Admit serves the requests that bring the token of a run, as many at once as
// MaxRequests, and tells next whose they are.
func (t *Tokens[T]) Admit(now func() time.Time, next func(w http.ResponseWriter, r *http.Request, run T)) http.Handler {
	slots := make(chan struct{}, MaxRequests)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		run, known := t.Lookup(Bearer(r.Header), now())
		if !known {
			w.Header().Set("WWW-Authenticate", `Bearer realm="vise"`)
			http.Error(w, "the token is unknown, expired or revoked", http.StatusUnauthorized)
			return
		}
		select {
		case slots <- struct{}{}:
			defer func() { <-slots }()
		default:
			w.Header().Set("Retry-After", "1")
			http.Error(w, "too many requests at once", http.StatusServiceUnavailable)
			return
		}
		next(w, r, run)
	})
}
