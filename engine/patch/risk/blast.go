package risk

import (
	"cmp"
	"path"
	"slices"
	"strings"

	"vise/engine/patch/policy"
)

// Change is what the scores look at of one changed file.
type Change struct {
	Path        string
	Type        string // created, modified, deleted
	Decision    policy.Action
	ModeChanged bool
}

// Counters are what a run counted beside its changes.
type Counters struct {
	OrphanProcesses, OpenedPorts, LimitViolations int
}

// Component is one part of a score.
type Component struct {
	Name   string `json:"name"`
	Count  int    `json:"count"`
	Weight int    `json:"weight"`
	Points int    `json:"points"`
}

// Blast is the immediate blast radius of a patch. It is shown and decides nothing.
type Blast struct {
	Score      int            `json:"score"` // 0 to 100
	Raw        int            `json:"raw_score"`
	Level      string         `json:"level"` // low, moderate, high, critical
	Counts     map[string]int `json:"counts"`
	Components []Component    `json:"components"`
}

// Weights are the points of each component, as AgentDiff 0.4 has them.
var Weights = map[string]int{
	"review_created": 8, "review_modified": 4, "review_deleted": 12, "denied_mutation": 30, "denied_deletion": 40, "sensitive_path": 35,
	"dependency_change": 8, "mode_change": 8, "orphan_process": 10, "opened_port": 5, "budget_violation": 12, "scope_drift": 2,
}

// driftFree is how many changes outside the allowed scope cost nothing extra.
const driftFree = 5

// Radius scores the changes; weights override Weights by name, and a weight of 0
// removes its component but not its count.
func Radius(changes []Change, c Counters, weights map[string]int) Blast {
	weight := func(name string) int {
		if w, ok := weights[name]; ok {
			return w
		}
		return Weights[name]
	}
	b := Blast{Components: []Component{}, Counts: map[string]int{"files_changed": len(changes), "files_deleted": 0, "unexpected_files": 0, "sensitive_files": 0,
		"dependency_changes": 0, "orphan_processes": c.OrphanProcesses, "ports_opened": c.OpenedPorts, "budget_violations": c.LimitViolations}}
	add := func(name, weightName string, n int) {
		if w := weight(weightName); w > 0 && n > 0 {
			b.Components = append(b.Components, Component{name, n, w, n * w})
			b.Raw += n * w
		}
	}
	sorted := slices.Clone(changes)
	slices.SortStableFunc(sorted, func(x, y Change) int {
		return cmp.Or(strings.Compare(x.Path, y.Path), strings.Compare(x.Type, y.Type))
	})
	for _, ch := range sorted {
		deleted := ch.Type == "deleted"
		if deleted {
			b.Counts["files_deleted"]++
		}
		switch {
		case ch.Decision == policy.Review:
			b.Counts["unexpected_files"]++
			add("review_mutation", "review_"+ch.Type, 1)
		case ch.Decision == policy.Deny && deleted:
			b.Counts["unexpected_files"]++
			add("denied_mutation", "denied_deletion", 1)
		case ch.Decision == policy.Deny:
			b.Counts["unexpected_files"]++
			add("denied_mutation", "denied_mutation", 1)
		}
		if secret(ch.Path, sensitiveFolders) {
			b.Counts["sensitive_files"]++
			add("sensitive_path", "sensitive_path", 1)
		}
		if dependencyNames[strings.ToLower(path.Base(ch.Path))] {
			b.Counts["dependency_changes"]++
			add("dependency_change", "dependency_change", 1)
		}
		if ch.ModeChanged {
			add("mode_change", "mode_change", 1)
		}
	}
	add("orphan_process", "orphan_process", c.OrphanProcesses)
	add("opened_port", "opened_port", c.OpenedPorts)
	add("budget_violation", "budget_violation", c.LimitViolations)
	add("scope_drift", "scope_drift", max(0, b.Counts["unexpected_files"]-driftFree))
	b.Score = min(100, b.Raw)
	b.Level = levelOf(b.Score)
	return b
}

// sensitiveFolders are those of the risk of a path without .kube, as the reference has it.
var sensitiveFolders = set(".aws .ssh credentials secrets")

func levelOf(score int) string {
	switch {
	case score <= 20:
		return "low"
	case score <= 40:
		return "moderate"
	case score <= 70:
		return "high"
	}
	return "critical"
}
