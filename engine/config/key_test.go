package config

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

func TestKeysAreComplete(t *testing.T) {
	seen := map[string]bool{}
	for _, k := range keys() {
		if seen[k.Name] || strings.Count(k.Name, ".") != 1 || k.Wants == "" || !strings.HasPrefix(k.Variables[0], "VISE_") {
			t.Errorf("key %+v", k)
		}
		for _, v := range k.Variables {
			if seen[v] {
				t.Errorf("%s sets two keys", v)
			}
			seen[v] = true
		}
		seen[k.Name] = true
	}
	valid(t, Default())
}

// The template, as written and with every line uncommented, is a valid file that
// changes nothing but what it says.
func TestTemplate(t *testing.T) {
	doc := Template(ProjectOptions{Command: []string{"{vise}", "sample-agent"}})
	c, origins, err := Load(LoadOptions{ProjectFile: write(t, string(doc))})
	if err != nil {
		t.Fatal(err)
	}
	if c.Repair.Model != "builtin/heuristic" || strings.Join(Expand(c.Agent.Command, "/bin/v"), " ") != "/bin/v sample-agent" || c.Agent.Command[0] != "{vise}" {
		t.Fatalf("template sets %q and %q", c.Repair.Model, c.Agent.Command)
	}
	for _, o := range origins.List() {
		if o.File != "" && o.Key != "repair.model" && o.Key != "agent.command" {
			t.Errorf("the template sets %s", o.Key)
		}
	}
	all := regexp.MustCompile(`(?m)^# ([a-z0-9_]+ = |\[)`).ReplaceAllString(string(doc), "$1")
	if _, origins, err = Load(LoadOptions{ProjectFile: write(t, all)}); err != nil {
		t.Fatalf("uncommented template: %v\n%s", err, all)
	}
	for _, k := range keys() {
		if o, _ := origins.Of(k.Name); o.File == "" {
			t.Errorf("%s is not in the template", k.Name)
		} else if o.Value != k.Default && !strings.Contains("agent.command agent.env agent.egress agent.home agent.hints agent.mode agent.options agent.servers agent.provider repair.model", k.Name) {
			t.Errorf("%s = %s in the template, default %s", k.Name, o.Value, k.Default)
		}
	}
}

func TestFind(t *testing.T) {
	root := t.TempDir()
	deep := filepath.Join(root, "a", "b")
	if err := os.MkdirAll(filepath.Join(deep, FileName), 0o755); err != nil { // a folder of that name is no file
		t.Fatal(err)
	}
	if got, ok := Find(deep); ok && strings.HasPrefix(got, root) {
		t.Fatalf("Find = %s", got)
	}
	file := filepath.Join(root, FileName)
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if got, ok := Find(deep); !ok || got != file {
		t.Fatalf("Find = %s, %t, want %s", got, ok, file)
	}
}

func TestUserFile(t *testing.T) {
	for want, env := range map[string][]string{
		"/x/vise/vise.toml":         {"XDG_CONFIG_HOME=/x", "HOME=/h"},
		"/h/.config/vise/vise.toml": {"XDG_CONFIG_HOME=x", "HOME=/h"},
		"":                          {"PATH=/bin"},
	} {
		if got := UserFile(env); got != want {
			t.Errorf("UserFile(%v) = %s, want %s", env, got, want)
		}
	}
}

// key describes one setting.
type key struct {
	Name string // section.key
	// Variables that set it: its own VISE_SECTION_KEY first, then that of the reference harness, if it has one.
	Variables []string
	Wants     string // what may be written
	Default   string // as TOML; "" = unset
}

// keys returns every fixed key with its variables, type and default, in the order
// of documents. Providers are not among them: they have names of their own.
func keys() []key {
	def := Default()
	all := make([]key, 0, len(settings))
	for _, s := range settings {
		k := key{Name: s.name, Variables: []string{s.variable()}, Wants: s.kind.wants, Default: s.kind.show(def)}
		if s.seed != "" {
			k.Variables = append(k.Variables, s.seed)
		}
		all = append(all, k)
	}
	return all
}
