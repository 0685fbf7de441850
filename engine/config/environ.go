package config

import (
	"fmt"
	"slices"
	"strings"
)

// Reserved are variables of vise that are no settings: seed, session, turn, trace file and
// rules of an agent run, the run and the packet of a patch attempt, the mark of what we
// start, the folders of test data, reduced motion and what a terminal can do. An agent may
// start vise, and a shell may have read .vise/serve.env: none of them is a mistake there.
var Reserved = []string{"VISE_RUN_SEED", "VISE_SESSION_ID", "VISE_TURN_INDEX", "VISE_TRACE", "VISE_RULES_URL", "VISE_RULES_TOKEN", "VISE_MCP_TOKEN",
	"VISE_RUN_ID", "VISE_PACKET", "VISE_PROCESS", "VISE_VECTORS", "VISE_CORPORA", "VISE_MOTION", "VISE_ASCII", "VISE_NO_SYNC"}

// environment variables by name; where one is listed twice the last wins, as in os/exec.
func variables(environ []string) map[string]string {
	m := make(map[string]string, len(environ))
	for _, entry := range environ {
		if name, text, ok := strings.Cut(entry, "="); ok {
			m[name] = text
		}
	}
	return m
}

// fromEnvironment applies every variable that sets a key. An empty variable is as
// good as none. The variable of vise wins over that of the reference harness.
func (l *loader) fromEnvironment(environ []string) {
	vars := variables(environ)
	known := map[string]bool{}
	for i := range settings {
		s := &settings[i]
		known[s.variable()] = true
		name := s.variable()
		if vars[name] == "" {
			name = s.seed
		}
		if name == "" || vars[name] == "" {
			continue
		}
		l.set(s, looseValue(vars[name], name == s.seed), Problem{Variable: name, layer: l.layer})
	}
	var rest []string
	for name, text := range vars {
		if strings.HasPrefix(name, "VISE_") && text != "" && !known[name] && !slices.Contains(Reserved, name) {
			rest = append(rest, name)
		}
	}
	slices.Sort(rest)
	for _, name := range rest {
		l.unknownVariable(name, vars[name])
	}
}

// unknownVariable applies VISE_PROVIDERS_NAME_FIELD and complains about what looks
// like a key: VISE_, a section (or nearly one), and something after it. Other
// variables that start with VISE_ are somebody else's.
func (l *loader) unknownVariable(name, text string) {
	section, key, ok := strings.Cut(strings.ToLower(strings.TrimPrefix(name, "VISE_")), "_")
	if !ok || key == "" {
		return
	}
	at := Problem{Variable: name, layer: l.layer}
	if section == "providers" {
		for _, field := range providerVariables {
			if provider, found := strings.CutSuffix(key, "_"+field); found && provider != "" {
				l.provider(provider, field, looseValue(text, false), at)
				return
			}
		}
		at.Message = "is not a setting; a provider has VISE_PROVIDERS_NAME_BASE_URL, _KEY and _REASONING"
		l.problems.add(at)
		return
	}
	near := slices.Contains(sections, section)
	for _, s := range sections {
		near = near || len(section) > 3 && distance(section, s) == 1
	}
	if !near {
		return
	}
	var choices []string
	for _, s := range settings {
		choices = append(choices, s.variable())
	}
	at.Message = fmt.Sprintf("is not a setting; unset it or correct its name%s", meant(name, choices))
	l.problems.add(at)
}
