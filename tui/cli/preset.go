package cli

import (
	"maps"
	"os"
	"path/filepath"
	"slices"

	"vise/engine/config"
)

// preset is how a well-known agent is launched. The command lines are those of the
// agents' own documentation and of the registry of the Agent Client Protocol.
type preset struct {
	command []string
	home    []string // where the agent keeps its login, below the home folder
}

var presets = map[string]preset{
	"claude":   {command: []string{"npx", "-y", "@zed-industries/claude-agent-acp"}, home: []string{".claude", ".claude.json"}},
	"codex":    {command: []string{"codex-acp"}, home: []string{".codex"}},
	"gemini":   {command: []string{"gemini", "--experimental-acp"}, home: []string{".gemini"}},
	"goose":    {command: []string{"goose", "acp"}, home: []string{".config/goose", ".local/share/goose"}},
	"opencode": {command: []string{"opencode", "acp"}, home: []string{".config/opencode", ".local/share/opencode", ".cache/opencode"}},
	"qwen":     {command: []string{"qwen", "--acp"}, home: []string{".qwen"}},
}

func presetNames() []string { return slices.Sorted(maps.Keys(presets)) }

// projectOptions are the settings of a new project for an agent: one word that names
// a preset, "custom" for none, or the words of a command. A command that speaks no
// protocol has a driver of its own.
func projectOptions(agent []string, driver, home string) config.ProjectOptions {
	o := config.ProjectOptions{Command: agent, Driver: driver}
	if driver != "" || len(agent) != 1 {
		return o
	}
	if agent[0] == "custom" {
		o.Command = nil
		return o
	}
	p, known := presets[agent[0]]
	if !known {
		return o
	}
	o.Command = p.command
	for _, entry := range p.home {
		// What is not there cannot be given; the agent makes it at its first login.
		if _, err := os.Stat(filepath.Join(home, entry)); home != "" && err == nil {
			o.Home = append(o.Home, entry)
		}
	}
	return o
}
