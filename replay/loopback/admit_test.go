package loopback_test

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"vise/replay/loopback"
)

// Who has no token is refused, who has one is served, and only so many at once.
func TestAdmit(t *testing.T) {
	t.Parallel()
	var tokens loopback.Tokens[string]
	token := tokens.Grant("run-1", time.Now(), time.Time{})
	inside, leave := make(chan string), make(chan struct{})
	h := tokens.Admit(time.Now, func(_ http.ResponseWriter, _ *http.Request, run string) {
		inside <- run
		<-leave
	})
	ask := func(token string) *httptest.ResponseRecorder {
		r := httptest.NewRequest("GET", "/", nil)
		r.Header.Set("Authorization", "Bearer "+token)
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		return w
	}
	if w := ask("other"); w.Code != http.StatusUnauthorized || w.Header().Get("WWW-Authenticate") == "" {
		t.Errorf("an unknown token: %d", w.Code)
	}
	over := make(chan int)
	for range loopback.MaxRequests {
		go func() { over <- ask(token).Code }()
	}
	for range loopback.MaxRequests {
		if run := <-inside; run != "run-1" {
			t.Errorf("served as %q", run)
		}
	}
	if w := ask(token); w.Code != http.StatusServiceUnavailable || w.Header().Get("Retry-After") != "1" {
		t.Errorf("one too many: %d", w.Code)
	}
	close(leave)
	for range loopback.MaxRequests {
		if code := <-over; code != http.StatusOK {
			t.Errorf("one of the first: %d", code)
		}
	}
}
