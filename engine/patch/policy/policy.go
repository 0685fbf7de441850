// Package policy decides what a patch may touch: which files may be written
// without a question, which need a person and which are forbidden, which program
// may make the patch, and what proves it. It is pure.
package policy

import (
	"fmt"
	"slices"
	"strings"
)

// Action is what a policy says about a path or a program.
type Action string

// Actions, from mild to strict.
const (
	Allow  Action = "allow"
	Review Action = "review"
	Deny   Action = "deny"
)

// Stricter returns the stricter of two actions.
func Stricter(a, b Action) Action {
	rank := []Action{Allow, Review, Deny}
	if slices.Index(rank, b) > slices.Index(rank, a) {
		return b
	}
	return a
}

// Policy is one policy file. Globs are those of Match.
type Policy struct {
	// Version of the file's form: 1 or 2, which mean the same here.
	Version    int        `json:"version" toml:"version"`
	Filesystem Filesystem `json:"filesystem" toml:"filesystem"`
	Process    Process    `json:"process" toml:"process"`
	Network    Network    `json:"network" toml:"network"`
	Limits     Limits     `json:"limits" toml:"limits"`
	Scoring    Scoring    `json:"scoring" toml:"scoring"`
	Proof      Proof      `json:"proof" toml:"proof"`
}

// Filesystem decides paths: deny, then review, then allow_write, then default.
type Filesystem struct {
	AllowWrite []string `json:"allow_write" toml:"allow_write"`
	Review     []string `json:"review" toml:"review"`
	Deny       []string `json:"deny" toml:"deny"`
	Default    Action   `json:"default" toml:"default"`
}

// Process decides programs by their base name, in the order of Filesystem.
type Process struct {
	Allow   []string `json:"allow" toml:"allow"`
	Review  []string `json:"review" toml:"review"`
	Deny    []string `json:"deny" toml:"deny"`
	Default Action   `json:"default" toml:"default"`
}

// Network says whether the agent may use the network: "observe" leaves it open,
// "off" needs a sandbox that closes it.
type Network struct {
	Mode string `json:"mode" toml:"mode"`
}

// Limits bound a patch; nil is no limit. A patch over one of the file limits
// needs a person, duration_seconds ends the agent.
type Limits struct {
	FilesChanged    *int `json:"files_changed" toml:"files_changed"`
	FilesDeleted    *int `json:"files_deleted" toml:"files_deleted"`
	DurationSeconds *int `json:"duration_seconds" toml:"duration_seconds"`
}

// Scoring changes the weights of the immediate blast radius by name (see risk.Weights).
type Scoring struct {
	Weights map[string]int `json:"weights" toml:"weights"`
}

// Proof are the commands that prove a patch, each an argument list, run one after
// the other in a clean workspace. Network opens the network to them.
type Proof struct {
	Network bool       `json:"network" toml:"network"`
	Setup   [][]string `json:"setup" toml:"setup"`
	Build   [][]string `json:"build" toml:"build"`
	Tests   [][]string `json:"tests" toml:"tests"`
}

// Default is the policy of a project without a policy file: everything may be
// written but secrets, any program may write it, and the proof is detected.
// Protected paths (see risk.Protected) ask for a person whatever a policy says.
func Default() Policy {
	p := Policy{Version: 2, Filesystem: Filesystem{
		AllowWrite: []string{"**"},
		Deny: []string{"**/.env", "**/.env.*", "**/*.pem", "**/*.key", "**/*.p12", "**/*.pfx", "**/id_rsa", "**/id_ed25519", "**/id_dsa",
			"**/.ssh/**", "**/.aws/**", "**/.kube/**", "**/.gnupg/**"},
	}, Process: Process{Default: Allow}}
	return p.filled()
}

// filled sets what a file left out.
func (p Policy) filled() Policy {
	for _, l := range []*[]string{&p.Filesystem.AllowWrite, &p.Filesystem.Review, &p.Filesystem.Deny, &p.Process.Allow, &p.Process.Review, &p.Process.Deny} {
		if *l == nil {
			*l = []string{}
		}
	}
	for _, l := range []*[][]string{&p.Proof.Setup, &p.Proof.Build, &p.Proof.Tests} {
		if *l == nil {
			*l = [][]string{}
		}
	}
	if p.Filesystem.Default == "" {
		p.Filesystem.Default = Review
	}
	if p.Process.Default == "" {
		p.Process.Default = Review
	}
	if p.Network.Mode == "" {
		p.Network.Mode = "observe"
	}
	if p.Scoring.Weights == nil {
		p.Scoring.Weights = map[string]int{}
	}
	return p
}

// Decision is what a policy says, and by which of its rules.
type Decision struct {
	Action  Action `json:"action"`
	Subject string `json:"subject"`
	// Rule names the list and the place in it, as "filesystem.deny[1]".
	Rule    string `json:"rule"`
	Pattern string `json:"pattern,omitempty"` // "" when the default decided
}

// Path decides a path; the error is ErrPath.
func (p Policy) Path(path string) (Decision, error) {
	subject, err := Normal(path)
	if err != nil {
		return Decision{}, err
	}
	f := p.Filesystem
	return decide("filesystem", "allow_write", subject, f.Deny, f.Review, f.AllowWrite, f.Default), nil
}

// Command decides a program by its base name. No command at all is denied.
func (p Policy) Command(argv []string) Decision {
	if len(argv) == 0 || argv[0] == "" {
		return Decision{Action: Deny, Rule: "process: no command"}
	}
	name := strings.ReplaceAll(argv[0], `\`, "/")
	name = name[strings.LastIndexByte(name, '/')+1:]
	return decide("process", "allow", name, p.Process.Deny, p.Process.Review, p.Process.Allow, p.Process.Default)
}

func decide(section, allowName, subject string, deny, review, allow []string, def Action) Decision {
	if def == "" {
		def = Review
	}
	for _, l := range []struct {
		name     string
		action   Action
		patterns []string
	}{{"deny", Deny, deny}, {"review", Review, review}, {allowName, Allow, allow}} {
		for i, pattern := range l.patterns {
			if Match(pattern, subject) {
				return Decision{l.action, subject, fmt.Sprintf("%s.%s[%d]", section, l.name, i), pattern}
			}
		}
	}
	return Decision{Action: def, Subject: subject, Rule: section + ".default"}
}
