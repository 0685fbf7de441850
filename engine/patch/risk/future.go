package risk

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
)

// Text is a changed file with its text before and after; empty stands for absent,
// binary, linked and longer than MaxText.
type Text struct {
	Path, Type, Before, After string
	// Same tells that the bytes are the same: only the mode is another one. Unread,
	// that they are not and at least one side is no text, or too long to be read.
	Same, Unread bool
	// MovedTo is where a deleted path's bytes are now, "" for nowhere.
	MovedTo string
}

// MaxText is the longest text that the analysis of later effects reads, in bytes.
const MaxText = 1 << 20

// Finding is one thing that a patch can set off later.
type Finding struct {
	Path       string `json:"path"`
	Analyzer   string `json:"analyzer"`
	Risk       string `json:"risk"` // moderate, high, critical
	Trigger    string `json:"trigger"`
	Confidence string `json:"confidence"` // medium, high
}

// Future is the future blast radius: what the change can trigger after it is applied.
type Future struct {
	Score    int       `json:"score"` // 0 to 100
	Level    string    `json:"level"`
	Findings []Finding `json:"findings"`
}

// Profile chooses the reference's rules or ours.
type Profile string

// Profiles. Seed is AgentDiff 0.4 as it is; Default corrects its recorded defects.
const (
	Default Profile = "default"
	Seed    Profile = "seed"
)

var points = map[string]int{"low": 20, "moderate": 40, "high": 70, "critical": 90}

// Later looks at what the changes can set off later: workflows, install scripts,
// build back-ends, containers, make rules, editor tasks, agent instructions.
func Later(changes []Text, profile Profile) Future {
	f := Future{Level: "low", Findings: []Finding{}}
	for _, t := range changes {
		for _, a := range analyzers {
			risk, trigger := a.look(t, profile == Seed)
			if risk == "" {
				continue
			}
			f.Findings = append(f.Findings, Finding{t.Path, a.name, risk, trigger, cmp.Or(a.confidence, "high")})
		}
	}
	if len(f.Findings) == 0 {
		return f
	}
	slices.SortStableFunc(f.Findings, func(a, b Finding) int {
		return cmp.Or(strings.Compare(a.Path, b.Path), strings.Compare(a.Analyzer, b.Analyzer))
	})
	top := 0
	for _, x := range f.Findings {
		top = max(top, points[x.Risk])
	}
	f.Score = min(100, top+min(10, 2*(len(f.Findings)-1)))
	f.Level = levelOf(f.Score)
	return f
}

// analyzer looks at one change; "" means that it has nothing to say. With seed it
// judges as the reference does: whole files, exact places.
type analyzer struct {
	name, confidence string
	look             func(t Text, seed bool) (risk, trigger string)
}

var analyzers = []analyzer{
	{"github_actions", "", workflow},
	{"package_scripts", "", packageScripts},
	{"python_build", "", pythonBuild},
	{"container", "", container},
	{"makefile", "", makefile},
	{"editor_tasks", "", editorTasks},
	{"agent_config", "medium", agentFile},
}

var (
	workflowRun   = regexp.MustCompile(`(?im)^\s*(-\s*)?(run|pull_request_target)\s*:|^\s*(-\s*)?permissions\s*:\s*write-all`)
	recipe        = regexp.MustCompile(`(?m)^\t\S`)
	indented      = regexp.MustCompile(`(?m)^[ \t]+\S`)
	buildBackend  = regexp.MustCompile(`(?m)^\s*build-backend\s*=|^\s*\[project\.scripts\]`)
	containerGod  = regexp.MustCompile(`(?i)privileged:\s*true|/var/run/docker\.sock|network_mode:\s*["']?host`)
	containerRuns = regexp.MustCompile(`(?im)^\s*(RUN|CMD|ENTRYPOINT)\b|post(Create|Start)Command|\bcommand\s*:`)
	agentWords    = regexp.MustCompile(`(?i)\b(command|shell|execute|permission|allow|hook|tool)\b`)
	agentStems    = regexp.MustCompile(`(?i)\b(commands?|shells?|execut\w*|permissions?|allow\w*|hooks?|tools?)\b`)
)

func workflow(t Text, seed bool) (string, string) {
	low, where := t.Path, strings.HasPrefix(t.Path, ".github/workflows/")
	if !seed {
		low = strings.ToLower(t.Path)
		where = strings.Contains("/"+low, "/.github/workflows/") || strings.Contains("/"+low, "/.github/actions/")
		if k, ok := protectedNames[path.Base(low)]; ok && k == CI || inFolder(low, CI) && !strings.Contains("/"+low, "/.github/") {
			return "critical", "another CI service runs it"
		}
	}
	if !where || !strings.HasSuffix(low, ".yml") && !strings.HasSuffix(low, ".yaml") {
		return "", ""
	}
	if workflowRun.MatchString(t.After) {
		return "critical", "the workflow runs commands or widens its permissions"
	}
	return "high", "a workflow changes"
}

func inFolder(low string, kind Kind) bool {
	for part := range strings.SplitSeq(path.Dir(low), "/") {
		if protectedFolders[part] == kind {
			return true
		}
	}
	return false
}

var installScripts = set("preinstall install postinstall prepare prepublish")
var moreInstallScripts = set("prepack postpack prepublishonly dependencies preprepare postprepare")

func packageScripts(t Text, seed bool) (string, string) {
	if strings.ToLower(path.Base(t.Path)) != "package.json" {
		return "", ""
	}
	before, after := scripts(t.Before), scripts(t.After)
	risk, trigger := "", ""
	for _, name := range slices.Sorted(maps.Keys(after)) {
		if old, ok := before[name]; ok && old == after[name] {
			continue
		}
		if installScripts[name] || !seed && moreInstallScripts[strings.ToLower(name)] {
			return "critical", fmt.Sprintf("the script %s runs on install or publish", name)
		}
		risk, trigger = "high", fmt.Sprintf("the script %s is new or different", name)
	}
	return risk, trigger
}

func scripts(text string) map[string]string {
	var file struct {
		Scripts map[string]any `json:"scripts"`
	}
	if json.Unmarshal([]byte(text), &file) != nil {
		return nil
	}
	out := map[string]string{}
	for k, v := range file.Scripts {
		out[k] = fmt.Sprint(v)
	}
	return out
}

func pythonBuild(t Text, seed bool) (string, string) {
	base := strings.ToLower(path.Base(t.Path))
	if !seed && (base == "setup.py" || base == "conftest.py") && t.Before != t.After {
		return "high", base + " runs as code"
	}
	if base != "pyproject.toml" || t.Before == t.After {
		return "", ""
	}
	looked := t.After
	if !seed {
		looked = added(t.Before, t.After) // only what the patch brings
	}
	marked := false
	for _, mark := range []string{"build-backend", "[build-system]", "[project.scripts]", "[project.entry-points"} {
		marked = marked || strings.Contains(looked, mark)
	}
	switch {
	case !marked:
		return "", ""
	case buildBackend.MatchString(looked):
		return "high", "the build back-end or an installed command changes"
	}
	return "moderate", "the build section changes"
}

// added returns the lines of after that before does not hold.
func added(before, after string) string {
	have := map[string]bool{}
	for l := range strings.SplitSeq(before, "\n") {
		have[l] = true
	}
	var out []string
	for l := range strings.SplitSeq(after, "\n") {
		if !have[l] {
			out = append(out, l)
		}
	}
	return strings.Join(out, "\n")
}

var composeNames = set("docker-compose.yml docker-compose.yaml compose.yml compose.yaml")

func container(t Text, seed bool) (string, string) {
	base := strings.ToLower(path.Base(t.Path))
	ours := base == "dockerfile" || strings.HasPrefix(base, "dockerfile.") || composeNames[base] || strings.HasPrefix(t.Path, ".devcontainer/")
	if !seed {
		low := "/" + strings.ToLower(t.Path)
		ours = ours || base == "containerfile" || strings.HasPrefix(base, "containerfile.") || strings.Contains(low, "/.devcontainer/")
	}
	switch {
	case !ours:
		return "", ""
	case containerGod.MatchString(t.After):
		return "critical", "a container gets the host"
	case containerRuns.MatchString(t.After):
		return "high", "a container runs commands"
	}
	return "moderate", "a container definition changes"
}

func makefile(t Text, seed bool) (string, string) {
	base := strings.ToLower(path.Base(t.Path))
	text, rule := t.After, recipe
	names := base == "makefile" || base == "gnumakefile"
	if !seed {
		text = added(t.Before, t.After)
		switch {
		case base == "justfile" || base == ".justfile" || base == "rakefile" || base == "taskfile.yml" || base == "taskfile.yaml":
			names, rule = true, indented
		case strings.HasPrefix(base, "makefile.") || strings.HasSuffix(base, ".mk"):
			names = true
		}
	}
	if !names || !rule.MatchString(text) {
		return "", ""
	}
	return "high", "a make rule runs commands"
}

func editorTasks(t Text, seed bool) (string, string) {
	at := t.Path == ".vscode/tasks.json"
	if !seed {
		low := "/" + strings.ToLower(t.Path)
		at = strings.HasSuffix(low, "/.vscode/tasks.json") || strings.HasSuffix(low, "/.vscode/launch.json")
	}
	if !at {
		return "", ""
	}
	var file struct {
		Tasks []map[string]any `json:"tasks"`
	}
	if json.Unmarshal([]byte(t.After), &file) == nil {
		for _, task := range file.Tasks {
			if task["command"] != nil || task["args"] != nil {
				return "high", "an editor task runs a command"
			}
		}
	}
	return "moderate", "editor tasks change"
}

func agentFile(t Text, seed bool) (string, string) {
	low := strings.ToLower(t.Path)
	words := agentWords
	at := low == "agents.md" || low == "claude.md" || low == ".gitconfig" || low == ".gitmodules"
	for _, dir := range []string{".codex/", ".claude/", ".githooks/"} {
		at = at || strings.HasPrefix(low, dir)
	}
	if !seed {
		k, _ := Protected(low)
		at, words = at || k == AgentConfig || k == Hooks, agentStems
	}
	switch {
	case !at:
		return "", ""
	case words.MatchString(t.After):
		return "high", "instructions of an agent speak of commands or permissions"
	}
	return "moderate", "instructions of an agent change"
}
