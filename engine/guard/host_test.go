package guard

import (
	"strings"
	"testing"
)

func TestHosts(t *testing.T) {
	list, err := ParseHosts([]string{"api.Example.com", "*.models.test", "127.0.0.1:8080", "[::1]:9000", "::1", "local_host:81"})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name string
		port uint16
		ok   bool
	}{
		{"api.example.com", 443, true},
		{"API.example.com.", 80, true},
		{"api.example.com", 22, false},
		{"xapi.example.com", 443, false},
		{"example.com", 443, false},
		{"eu.models.test", 443, true},
		{"a.b.models.test", 443, true},
		{"models.test", 443, false},
		{"evilmodels.test", 443, false},
		{"127.0.0.1", 8080, true},
		{"127.0.0.1", 8081, false},
		{"::ffff:127.0.0.1", 8080, true},
		{"::1", 9000, true},
		{"[::1]", 443, true},
		{"local_host", 81, true},
		{"", 443, false},
	} {
		if ok := list.Allow(c.name, c.port); ok != c.ok {
			t.Errorf("%s:%d: %v, want %v", c.name, c.port, ok, c.ok)
		}
	}
	for _, h := range list {
		back, err := ParseHost(h.String())
		if err != nil || back != h {
			t.Errorf("%+v reads back as %+v, %v", h, back, err)
		}
	}
}

func TestHostsThatAreNone(t *testing.T) {
	for _, s := range []string{"", "https://api.example.com", "host:", "host:0", "host:70000", "a b", "*", "*.", "-x.com", "a..b", "x*.com",
		"host:80:90", "fe80::1%eth0", strings.Repeat("a.", 200), "host\n"} {
		if h, err := ParseHost(s); err == nil {
			t.Errorf("%q is read as %+v", s, h)
		}
	}
}

func TestLoopbackHosts(t *testing.T) {
	for s, want := range map[string]bool{"localhost:1": true, "127.0.0.2:80": true, "[::1]:1": true, "*.localhost": false, "10.0.0.1": false, "localhost.evil.test": false} {
		h, err := ParseHost(s)
		if err != nil || h.Loopback() != want {
			t.Errorf("%s: %v, %v", s, h.Loopback(), err)
		}
	}
}

// Whatever is read as a host is written so that it reads back as the same.
func FuzzParseHost(f *testing.F) {
	for _, s := range []string{"api.example.com", "*.x.test:8080", "[::1]:80", "::1", "127.0.0.1", "[::ffff:1.2.3.4]:1", "a..b", "[", "]:1", "*.*.x"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		h, err := ParseHost(s)
		if err != nil {
			return
		}
		if back, err := ParseHost(h.String()); err != nil || back != h {
			t.Fatalf("%q: %+v reads back as %+v, %v", s, h, back, err)
		}
		port := h.Port
		if port == 0 {
			port = 443
		}
		if !h.Below && !(Hosts{h}).Allow(h.Name, port) {
			t.Fatalf("%q does not allow itself", s)
		}
	})
}
