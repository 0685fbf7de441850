package cli

import (
	"strings"
	"testing"
	"time"

	"vise/engine/config"
)

// A program that is to give a key and does not end is ended.
func TestAKeyThatDoesNotCome(t *testing.T) {
	was := keyTime
	keyTime = 300 * time.Millisecond
	defer func() { keyTime = was }()
	a := &app{env: []string{"PATH=/usr/bin:/bin"}}
	ended := make(chan error, 1)
	go func() {
		_, err := a.keyring(&config.Config{Root: t.TempDir()}).Resolve(t.Context(), `cmd:["sh", "-c", "exec sleep 600"]`)
		ended <- err
	}()
	select {
	case err := <-ended:
		if err == nil || !strings.Contains(err.Error(), "no key within") {
			t.Errorf("%v", err)
		}
	case <-time.After(30 * time.Second):
		t.Fatal("it still waits for the program")
	}
}
