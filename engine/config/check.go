package config

import (
	"fmt"
	"strings"
)

// modelID checks provider/model; whether the provider exists is known only when
// all layers are read. "" takes a model back.
func modelID(s string) error {
	if s == "" {
		return nil
	}
	if _, _, ok := SplitModel(s); !ok || len(s) > 256 || strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r == 0x7f }) {
		return fmt.Errorf("%s is not of that form", quote(s))
	}
	return nil
}

// maxPolicy bounds the domain policy, in bytes; it is part of every repair prompt.
const maxPolicy = 32 << 10

func long(s string) error {
	if len(s) > maxPolicy {
		return fmt.Errorf("it is longer than %d bytes", maxPolicy)
	}
	return path(s)
}

func optional(check func(string) error) func(string) error {
	return func(s string) error {
		if s == "" {
			return nil
		}
		return check(s)
	}
}

// cross checks what no single key can see. where points at the layer that set a key.
func cross(c *Config, where func(key string) Problem, ps *problems) {
	complain := func(key, format string, args ...any) {
		p := where(key)
		p.Key, p.Message = key, fmt.Sprintf(format, args...)
		ps.add(p)
	}
	for _, u := range []struct {
		key    string
		set    bool
		reason string
	}{
		{"agent.egress", len(c.Agent.Egress) > 0 && c.Agent.Sandbox == "off", "nothing holds the agent to these hosts while agent.sandbox is off"},
		{"agent.idle_timeout", c.Agent.Driver == "exec" && c.Agent.IdleTimeout != Default().Agent.IdleTimeout, "a command of driver exec may be silent until it answers; agent.turn_timeout bounds it"},
		{"agent.effects", c.Agent.Driver == "exec" && c.Agent.Effects != Default().Agent.Effects, "a command of driver exec asks vise for nothing; agent.sandbox holds what it does"},
		{"agent.servers", len(c.Agent.Servers) > 0 && c.Agent.Driver != "acp", "only an agent of the Agent Client Protocol (agent.driver = \"acp\") is told of tool servers"},
		{"agent.mode", c.Agent.Mode != "" && c.Agent.Driver != "acp", "modes are part of the Agent Client Protocol (agent.driver = \"acp\")"},
		{"agent.options", len(c.Agent.Options) > 0 && c.Agent.Driver != "acp", "they are part of the Agent Client Protocol (agent.driver = \"acp\")"},
		{"agent.home", len(c.Agent.Home) > 0 && c.Agent.Sandbox == "off", "without a sandbox the agent has your whole home folder"},
		{"repair.trace", c.Repair.Trace && c.Export.OTLPEndpoint == "", "there is nowhere to send the traces; set export.otlp_endpoint too"},
	} {
		if u.set {
			complain(u.key, "is refused: %s", u.reason)
		}
	}
	if !c.Validate.Enabled && !c.Evaluate.ObserveOnly {
		complain("validate.enabled", "may be false only with evaluate.observe_only = true: without validation every rule would count as proven")
	}
	if c.Evaluate.By == "judge" && c.Evaluate.JudgeModel == "" {
		complain("evaluate.by", "\"judge\" needs evaluate.judge_model")
	}
	if provider, _, ok := SplitModel(c.Evaluate.JudgeModel); ok && provider == Builtin {
		complain("evaluate.judge_model", "%s is refused: the built-in models repair, they do not judge; use the model of another provider", quote(c.Evaluate.JudgeModel))
	}
	for _, m := range []struct{ key, id string }{{"repair.model", c.Repair.Model}, {"evaluate.judge_model", c.Evaluate.JudgeModel}} {
		provider, _, ok := SplitModel(m.id)
		if !ok {
			continue
		}
		if names := c.ProviderNames(); provider != Builtin && c.Providers[provider].BaseURL == "" {
			complain(m.key, "there is no provider %s%s; known are %s; another one needs providers.%s.base_url",
				quote(provider), meant(provider, names), strings.Join(names, ", "), provider)
		}
	}
	if name := c.Agent.Provider; name != "" && c.Providers[name].BaseURL == "" {
		names := c.ProviderNames()
		complain("agent.provider", "there is no provider %s%s; known are %s; another one needs providers.%s.base_url",
			quote(name), meant(name, names), strings.Join(names, ", "), name)
	}
	for name, p := range c.Providers {
		if p.BaseURL == "" {
			complain("providers."+name+".base_url", "is missing: a provider that is not built in needs its address")
		}
	}
	seen := map[string]string{}
	for _, tier := range []struct {
		key  string
		list []string
	}{{"evaluate.tier1", c.Evaluate.Tier1}, {"evaluate.tier2", c.Evaluate.Tier2}, {"evaluate.tier3", c.Evaluate.Tier3}} {
		for _, metric := range tier.list {
			if first := seen[metric]; first != "" {
				complain(tier.key, "%s is in %s already; a metric belongs to one tier", metric, first)
			}
			seen[metric] = tier.key
		}
	}
}
