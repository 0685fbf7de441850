package store_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"vise/store"
)

// The owner does what another process asks, and its refusal comes back in words.
func TestRequest(t *testing.T) {
	dir := t.TempDir()
	if _, err := store.Request(t.Context(), dir, []byte("x")); err == nil || !strings.Contains(err.Error(), "gone") {
		t.Errorf("without an owner: %v", err)
	}
	s, err := store.Open(t.Context(), store.Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if _, err := store.Request(t.Context(), dir, []byte("x")); err == nil || !strings.Contains(err.Error(), "takes no requests") {
		t.Errorf("without a handler: %v", err)
	}
	s.OnRequest(func(_ context.Context, request []byte) ([]byte, error) {
		if string(request) != "greet" {
			return nil, errors.New("not that")
		}
		return []byte("hello"), nil
	})
	reply, err := store.Request(t.Context(), dir, []byte("greet"))
	if err != nil || string(reply) != "hello" {
		t.Errorf("%q, %v", reply, err)
	}
	if _, err := store.Request(t.Context(), dir, []byte("other")); err == nil || !strings.Contains(err.Error(), "not that") {
		t.Errorf("a refusal: %v", err)
	}
	s.OnRequest(nil)
	if _, err := store.Request(t.Context(), dir, []byte("greet")); err == nil {
		t.Error("answered by nobody")
	}
}
