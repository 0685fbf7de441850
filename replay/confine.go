package replay

import (
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"vise/engine/guard"
	"vise/engine/process"
	"vise/replay/driver"
)

// Modes of Agent.Sandbox.
const (
	SandboxAuto     = "auto"     // what the system can hold; the network only when hosts are listed
	SandboxOff      = "off"      // nothing
	SandboxRequired = "required" // files and network, or the agent is not started
)

// surroundings are what a run's agent is given beside its workspace.
type surroundings struct {
	box *process.Sandbox  // nil: not confined
	env map[string]string // set in its environment
	dir string            // of its private folders; "" when there are none
}

// surround makes the private folders of a run below under and says what its agent
// may touch: its workspace, a home and a temporary folder of its own, the entries
// of the real home that are listed, the rule server, and the listed hosts. Where
// the system cannot hold files the agent keeps the real home: a private one would
// only take its logins away.
func (a Agent) surround(environ []string, under, workspace string, hide, services []string) (s surroundings, err error) {
	if a.Sandbox == SandboxOff || a.Sandbox == "" {
		return s, nil
	}
	home := variable(environ, "HOME")
	box := &process.Sandbox{
		Required: a.Sandbox == SandboxRequired, Write: []string{workspace}, Hide: hide, Home: home,
		Network: process.Network{Open: a.Sandbox == SandboxAuto && len(a.Egress) == 0, Services: services, Hosts: a.Egress},
	}
	s.box = box
	if !process.FilesCanBeHeld() {
		return s, nil
	}
	s.dir = under
	own, temp := filepath.Join(under, "home"), filepath.Join(under, "tmp")
	for _, d := range []string{own, temp} {
		if err := os.MkdirAll(d, 0o700); err != nil {
			return s, fmt.Errorf("make the agent's own folders: %w", err)
		}
	}
	box.Write = append(box.Write, own, temp)
	s.env = map[string]string{"HOME": own, "TMPDIR": temp}
	for _, entry := range a.Home {
		from := filepath.Join(home, entry)
		if _, err := os.Stat(from); err != nil || home == "" {
			if home == "" || errors.Is(err, fs.ErrNotExist) {
				err = fmt.Errorf("%s is not there; let the agent make it once outside of vise, or take it off the list", from)
			}
			return s, fmt.Errorf("agent.home: %w", err)
		}
		to := filepath.Join(own, entry)
		if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
			return s, fmt.Errorf("agent.home: %w", err)
		}
		if err := os.Symlink(from, to); err != nil && !errors.Is(err, fs.ErrExist) {
			return s, fmt.Errorf("agent.home: %w", err)
		}
		box.Write = append(box.Write, from)
	}
	return s, nil
}

// hint says, behind an error of the start, what may help an agent that was confined.
func (s surroundings) hint(err error) error {
	if s.env == nil || driver.KindOf(err) == driver.StartFailed || errors.Is(err, process.ErrNotHeld) || driver.KindOf(err) == driver.Cancelled {
		return err
	}
	return fmt.Errorf("%w (it ran in a sandbox with a HOME of its own: agent.home gives it its login or cache, agent.sandbox = \"off\" tries without)", err)
}

// remove takes the private folders away; links in them are not followed.
func (s surroundings) remove() {
	if s.dir == "" {
		return
	}
	for _, name := range []string{"home", "tmp"} {
		_ = driver.Remove(filepath.Join(s.dir, name)) // the next start sweeps what is left
	}
	_ = os.Remove(s.dir) // only when empty
}

// service is the loopback address of a URL of ours, for a sandbox.
func service(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return u.Host
}

// variable is the value of a name in an environment; the last one wins.
func variable(environ []string, name string) (value string) {
	for _, kv := range environ {
		if n, v, ok := strings.Cut(kv, "="); ok && n == name {
			value = v
		}
	}
	return value
}

// told adds to what is known about an agent what only its settings tell of its sandbox.
func (a Agent) told(i driver.Info) driver.Info {
	h := &i.Held
	if a.Sandbox == SandboxOff {
		*h = process.None("agent.sandbox is off")
	}
	h.Missing = slices.Clone(h.Missing)
	if h.Files && a.Workspace == "inplace" {
		h.Missing = append(h.Missing, "the project itself can be changed, vise's store in it included: agent.workspace is inplace")
	}
	if h.Network == process.NetworkOpen && a.Sandbox == SandboxAuto && len(a.Egress) == 0 {
		h.Missing = append(h.Missing, "the network is open: agent.egress lists no host")
	}
	return i
}

// withSandbox adds what the journal says about a sandbox: bounded words.
func withSandbox(h process.Held, data map[string]any) map[string]any {
	data["sandbox"] = h.String()
	if len(h.Missing) > 0 {
		data["sandbox_missing"] = guard.Line(strings.Join(h.Missing, "; "), 600)
	}
	return data
}
