package config

import (
	"bytes"
	"fmt"
)

// ProjectOptions are the settings that a new project file does not leave commented out.
type ProjectOptions struct {
	// Command is the agent's argv; empty leaves agent.command commented out.
	Command []string
	// Driver of the agent and how it gets its input; "" keeps the defaults.
	Driver, Input string
	// Home are entries of the home folder that are the agent's own.
	Home []string
	// Model of the repair agent; "" = builtin/heuristic, which is free and needs no network.
	Model string
}

// Template returns a project file in which every key stands with its default,
// commented out, below what it means. Load accepts it as it is.
func Template(o ProjectOptions) []byte {
	if o.Model == "" {
		o.Model = Builtin + "/heuristic"
	}
	set := map[string]string{"repair.model": tomlText(o.Model)}
	if len(o.Command) > 0 {
		set["agent.command"] = tomlList(o.Command)
	}
	if len(o.Home) > 0 {
		set["agent.home"] = tomlList(o.Home)
	}
	for name, value := range map[string]string{"agent.driver": o.Driver, "agent.input": o.Input} {
		if value != "" {
			set[name] = tomlText(value)
		}
	}
	def := Default()
	examples := map[string]string{
		"agent.command": `["my-agent", "--acp"]`, "agent.env": `["MY_AGENT_API_KEY"]`,
		"agent.provider": `"openai"`, "agent.mode": `"plan"`, "agent.servers": `{ orders = ["orders-mcp", "--stdio"] }`, "agent.options": `{ model = "small" }`,
		"agent.egress": `["api.example.com"]`, "agent.home": `[".my-agent"]`,
		"agent.hints": `{ task_summary = "a refund desk", scopes = [{ key = "refunds", description = "Refunds of orders." }] }`,
	}

	var b bytes.Buffer
	b.WriteString("# Settings of vise for this project. Lines that start with \"#\" show the default or an example.\n" +
		"# Later layers win: defaults, user file, this file, VISE_SECTION_KEY variables, flags.\n" +
		"# `vise doctor` prints every effective value and where it came from.\n")
	section := ""
	for _, s := range settings {
		if s.section() != section {
			section = s.section()
			fmt.Fprintf(&b, "\n[%s]\n", section)
		}
		if s.help != "" {
			fmt.Fprintf(&b, "# %s\n", s.help)
		}
		if text, ok := set[s.name]; ok {
			fmt.Fprintf(&b, "%s = %s\n", s.key(), text)
			continue
		}
		text := examples[s.name]
		if text == "" {
			text = s.kind.show(def)
		}
		if text == "" {
			text = `"unset"`
		}
		fmt.Fprintf(&b, "# %s = %s\n", s.key(), text)
	}
	b.WriteString("\n# Model providers: any OpenAI-compatible address. Keys only by reference: env:NAME, file:PATH or cmd:ARGV.\n" +
		"# [providers.mine]\n# base_url = \"http://127.0.0.1:8080/v1\"\n# key = \"env:MY_API_KEY\"\n# reasoning = false\n" +
		"# price = { \"*\" = { input = 0.25, output = 2.0 } }\n")
	return b.Bytes()
}
