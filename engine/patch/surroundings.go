package patch

import (
	"errors"
	"os"
	"path/filepath"
	"strings"

	"vise/engine/process"
)

// inside replaces the project's path in arguments by the workspace's: an agent
// that is told an absolute folder must not work in the project itself. Paths in own,
// the store's folder, stay: it is no part of the workspace.
func inside(argv []string, root, own, ws string) []string {
	below := func(p, dir string) bool { return p == dir || strings.HasPrefix(p, dir+string(filepath.Separator)) }
	out := append([]string{}, argv...)
	for i, a := range out {
		if i == 0 {
			continue
		}
		name, value, glued := strings.Cut(a, "=")
		if !glued || !strings.HasPrefix(name, "-") {
			name, value = "", a
		}
		if below(value, root) && !below(value, own) {
			value = ws + strings.TrimPrefix(value, root)
			if name != "" {
				value = name + "=" + value
			}
			out[i] = value
		}
	}
	return out
}

// environ adds what a program in a workspace needs: its own place for temporary
// files, and caches that do not reach the user's.
func environ(base []string, tmp, cache string) []string {
	set := map[string]bool{}
	out := []string{}
	for _, kv := range base {
		name, _, _ := strings.Cut(kv, "=")
		set[name] = true
		if name != "TMPDIR" && name != "PWD" && name != "OLDPWD" {
			out = append(out, kv)
		}
	}
	out = append(out, "TMPDIR="+tmp)
	for name, dir := range map[string]string{"XDG_CACHE_HOME": "", "GOCACHE": "go-build", "npm_config_cache": "npm", "PIP_CACHE_DIR": "pip", "UV_CACHE_DIR": "uv"} {
		if !set[name] {
			out = append(out, name+"="+filepath.Join(cache, dir))
		}
	}
	return append(out, "PYTHONDONTWRITEBYTECODE=1")
}

// cacheDirs are caches that the environment names itself; they must be writable.
func cacheDirs(env []string) []string {
	var out []string
	for _, kv := range env {
		name, value, _ := strings.Cut(kv, "=")
		switch name {
		case "XDG_CACHE_HOME", "GOCACHE", "npm_config_cache", "PIP_CACHE_DIR", "UV_CACHE_DIR":
			if filepath.IsAbs(value) {
				out = append(out, value)
			}
		}
	}
	return out
}

// sandbox confines a program to its workspace; nil when it is switched off. With
// must, a network that is not open has to hold, or the program is not started.
func (b *Bench) sandbox(ws, tmp, cache string, more []string, open, must bool) (*process.Sandbox, error) {
	if err := os.MkdirAll(cache, 0o700); err != nil {
		return nil, err
	}
	if b.o.Sandbox == "off" {
		if !open && must {
			return nil, errors.New("the policy closes the network (network.mode = \"off\"), and agent.sandbox is off: nothing could hold it")
		}
		return nil, nil
	}
	s := &process.Sandbox{Required: b.o.Sandbox == "required" || !open && must, Home: b.o.Home, Hide: []string{b.o.Dir}, Write: []string{ws, tmp, cache}, Network: process.Network{Open: open}}
	for _, dir := range more {
		if _, err := os.Stat(dir); err == nil {
			s.Write = append(s.Write, dir)
		}
	}
	return s, nil
}

// agentState are the places where known agents keep their logins and sessions.
func (b *Bench) agentState() []string {
	if b.o.Home == "" {
		return nil
	}
	var out []string
	for _, p := range []string{".claude", ".claude.json", ".codex", ".gemini", ".qwen", ".copilot", ".aider", ".config/opencode", ".local/share/opencode", ".local/state/opencode",
		".config/goose", ".local/share/goose", ".local/state/goose", ".cache/opencode"} {
		out = append(out, filepath.Join(b.o.Home, p))
	}
	for _, p := range b.o.HomeEntries {
		out = append(out, filepath.Join(b.o.Home, p))
	}
	return append(out, cacheDirs(b.o.AgentEnv)...)
}

func held(h process.Held, s *process.Sandbox) string {
	if s == nil {
		return "no sandbox: switched off"
	}
	return h.Detail()
}
