package process

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// Secrets are hidden in the home that HOME names and in the one the system knows.
func TestHiddenHomes(t *testing.T) {
	passwd := filepath.Join(t.TempDir(), "passwd")
	if err := os.WriteFile(passwd, []byte("root:x:0:0:root:/root:/bin/sh\n\nbroken\ndesk:x:1000:1000:a:b:/home/desk:/bin/sh\nme:x:1001:1001::/home/me:/bin/sh"), 0o600); err != nil {
		t.Fatal(err)
	}
	for uid, want := range map[int]string{0: "/root", 1001: "/home/me", 1000: "", 7: ""} {
		if got := listedHome(passwd, uid); got != want {
			t.Errorf("home of %d is %q, want %q", uid, got, want)
		}
	}
	if got := listedHome(passwd+"-none", 0); got != "" {
		t.Errorf("home without a file is %q", got)
	}
	home := resolved(t.TempDir())
	key := filepath.Join(home, ".ssh")
	if err := os.Mkdir(key, 0o700); err != nil {
		t.Fatal(err)
	}
	hidden := (&Sandbox{Home: home}).hidden()
	if !slices.Contains(hidden, key) || slices.Contains(hidden, filepath.Join(home, ".aws")) || !slices.Contains(hidden, "/dev") {
		t.Errorf("hidden are %v", hidden)
	}
}

// What a required sandbox accepts: held in full, and nothing less.
func TestRequired(t *testing.T) {
	for _, c := range []struct {
		abi     int
		open    bool
		network string
		ok      bool
	}{
		{7, false, NetworkHeld, true},
		{3, false, NetworkHeld, true},
		{7, true, NetworkOpen, true}, // it was not asked for
		{7, false, NetworkPorts, false},
		{3, false, NetworkOpen, false},
		{2, false, NetworkHeld, false}, // files can be emptied
		{0, false, NetworkHeld, false},
		{0, true, NetworkOpen, false},
	} {
		b := &box{required: true, open: c.open, order: order{ABI: c.abi}, held: Held{Files: c.abi > 0, Network: c.network, Landlock: c.abi}}
		if err := b.refusal("agent"); (err == nil) != c.ok || err != nil && !errors.Is(err, ErrNotHeld) {
			t.Errorf("Landlock %d, open %v, network %s: %v", c.abi, c.open, c.network, err)
		}
		b.required = false
		if err := b.refusal("agent"); err != nil {
			t.Errorf("not required: %v", err)
		}
	}
}

// One agent's login is none of another's: what agents keep below a home is hidden
// from all of them unless it is given (Write wins).
func TestLoginsOfAgentsAreHidden(t *testing.T) {
	home := t.TempDir()
	for _, f := range []string{".codex/auth.json", ".claude/.credentials.json", ".gemini/oauth_creds.json", ".local/share/opencode/auth.json", ".env"} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(home, f)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(home, f), []byte("secret"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	hidden := (&Sandbox{Home: home}).hidden()
	for _, f := range []string{".codex", ".claude", ".gemini", ".local/share/opencode", ".env"} {
		if !slices.Contains(hidden, filepath.Join(home, f)) {
			t.Errorf("%s can be read", f)
		}
	}
}
