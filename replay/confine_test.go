package replay

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"vise/engine/guard"
	"vise/engine/process"
	"vise/replay/driver"
)

func TestSurroundings(t *testing.T) {
	if !process.FilesCanBeHeld() {
		t.Skip("FILES CANNOT BE HELD HERE")
	}
	home, under, workspace := t.TempDir(), filepath.Join(t.TempDir(), "run"), t.TempDir()
	for _, d := range []string{".agent", ".config/agent"} {
		if err := os.MkdirAll(filepath.Join(home, d), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	environ := []string{"HOME=/elsewhere", "HOME=" + home}
	a := Agent{Sandbox: SandboxAuto, Home: []string{".agent", ".config/agent"}}
	s, err := a.surround(environ, under, workspace, []string{"/store"}, []string{"127.0.0.1:1"})
	if err != nil {
		t.Fatal(err)
	}
	if own := s.env["HOME"]; own == home || s.env["TMPDIR"] == "" || !slices.Contains(s.box.Write, own) || !slices.Contains(s.box.Write, s.env["TMPDIR"]) {
		t.Errorf("environment %v, writes %v", s.env, s.box.Write)
	}
	if !s.box.Network.Open || s.box.Required || s.box.Home != home || !slices.Equal(s.box.Hide, []string{"/store"}) {
		t.Errorf("box %+v", s.box)
	}
	// What is kept of the home is the real thing, and may be changed.
	for _, e := range a.Home {
		to, err := os.Readlink(filepath.Join(s.env["HOME"], e))
		if err != nil || to != filepath.Join(home, e) || !slices.Contains(s.box.Write, to) {
			t.Errorf("%s leads to %s, %v", e, to, err)
		}
	}
	s.remove()
	if _, err := os.Stat(under); !os.IsNotExist(err) {
		t.Errorf("the run's folder is left: %v", err)
	}
	if _, err := os.Stat(filepath.Join(home, ".agent")); err != nil {
		t.Errorf("the real home was touched: %v", err)
	}

	a.Home = []string{".absent"}
	s, err = a.surround(environ, under, workspace, nil, nil)
	if err == nil || !strings.Contains(err.Error(), ".absent is not there") {
		t.Errorf("an entry that is missing: %v", err)
	}
	s.remove()
}

// The network is held as soon as hosts are listed, or when the sandbox is required.
func TestNetworkOfTheSandbox(t *testing.T) {
	hosts, err := guard.ParseHosts([]string{"api.example.com"})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		mode           string
		hosts          guard.Hosts
		open, required bool
	}{{SandboxAuto, nil, true, false}, {SandboxAuto, hosts, false, false}, {SandboxRequired, nil, false, true}, {SandboxRequired, hosts, false, true}} {
		s, err := Agent{Sandbox: c.mode, Egress: c.hosts}.surround(nil, t.TempDir(), t.TempDir(), nil, nil)
		if err != nil || s.box.Network.Open != c.open || s.box.Required != c.required {
			t.Errorf("%s with %d hosts: %+v, %v", c.mode, len(c.hosts), s.box, err)
		}
		s.remove()
	}
	s, err := Agent{Sandbox: SandboxOff}.surround(nil, "/nowhere", "/nowhere", nil, nil)
	if err != nil || s.box != nil || s.env != nil {
		t.Errorf("off: %+v, %v", s, err)
	}
	s.remove()
}

// What only the settings know about a sandbox is told with it.
func TestToldOfTheSandbox(t *testing.T) {
	held := driver.Info{Held: process.Held{Files: true, Network: process.NetworkOpen, Landlock: 7}}
	i := Agent{Sandbox: SandboxAuto, Workspace: "inplace"}.told(held)
	if d := i.Held.Detail(); !strings.HasPrefix(d, "sandbox fs: ") || !strings.Contains(d, "agent.egress lists no host") || !strings.Contains(d, "inplace") {
		t.Errorf("detail %q", d)
	}
	if d := (Agent{Sandbox: SandboxOff}).told(held).Held.Detail(); d != "no sandbox: agent.sandbox is off" {
		t.Errorf("detail %q", d)
	}
	data := withSandbox(i.Held, map[string]any{})
	if data["sandbox"] != "sandbox fs" || !strings.Contains(data["sandbox_missing"].(string), "agent.egress") {
		t.Errorf("journal %v", data)
	}
}
