package config

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// write puts a project file into a folder of its own and returns its path.
func write(t testing.TB, doc string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), FileName)
	if err := os.WriteFile(file, []byte(doc), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestLaterLayersWin(t *testing.T) {
	user := write(t, "[repair]\nmax_turns = 2\ntimeout = \"2m\"\nmax_tokens = 10\nmodel = \"ollama/a\"\n[agent]\nenv = [\"MY_KEY\", \"-SHELL\"]\n")
	project := write(t, "[repair]\nmax_turns = 3\nmodel = \"builtin/heuristic\"\n\n[gate]\nwindow = 7\n[evaluate.thresholds]\ncoherence = 0.4\n[cases]\ncapture = false\n")
	c, origins, err := Load(LoadOptions{
		UserFile: user, ProjectFile: project,
		Environ: []string{"HARNESS_GATE_WINDOW=8", "HARNESS_REPAIR_TIMEOUT_S=1.5", "VISE_REPAIR_MAX_TURNS=4", "HARNESS_REPAIR_MAX_TURNS=99",
			"VISE_RULES_RETRIEVAL=off", "VISE_CASES_CAPTURE=", "VISE_AGENT_COMMAND=python agent.py", "VISE_EVALUATE_TIER1=[\"coherence\"]",
			"VISE_RUN_SEED=abc", "VISE_MOTION=0", "VISE_HOME=/x", "VISE_PROVIDERS_MY_BOX_BASE_URL=http://10.0.0.1/v1/", "PATH=/bin"},
		Flags: map[string]string{"repair.max_turns": "5", "ui.fps": "30"},
	})
	if err != nil {
		t.Fatal(err)
	}
	if c.Repair.MaxTurns != 5 || c.Repair.Timeout != 1500*time.Millisecond || c.Repair.MaxTokens != 10 || c.Repair.Model != "builtin/heuristic" ||
		c.Gate.Window != 8 || c.Rules.Retrieval || c.Cases.Capture || c.UI.FPS != 30 || c.Evaluate.Thresholds["coherence"] != 0.4 ||
		len(c.Evaluate.Tier1) != 1 || strings.Join(c.Agent.Command, "|") != "python|agent.py" || c.Providers["my_box"].BaseURL != "http://10.0.0.1/v1" {
		t.Fatalf("wrong values: %+v", c)
	}
	if env := strings.Join(c.Agent.Env, " "); !strings.Contains(env, "PATH") || !strings.Contains(env, "MY_KEY") || strings.Contains(env, "SHELL") {
		t.Fatalf("agent.env = %s", env)
	}
	if c.Root != filepath.Dir(project) || c.Path(".vise") != filepath.Join(c.Root, ".vise") || c.Path("/abs") != "/abs" {
		t.Fatalf("root = %s", c.Root)
	}
	for key, source := range map[string]string{
		"repair.max_turns": "flag", "repair.timeout": "HARNESS_REPAIR_TIMEOUT_S", "repair.max_tokens": user + ":4", "repair.model": project + ":3",
		"gate.window": "HARNESS_GATE_WINDOW", "gate.start_peak": "default with evaluate.by = local", "gate.drop": "default",
		"cases.capture": project + ":10", "evaluate.thresholds": project + ":7", "providers.my_box.base_url": "VISE_PROVIDERS_MY_BOX_BASE_URL",
	} {
		if o, ok := origins.Of(key); !ok || o.Origin != source {
			t.Errorf("%s came from %q, want %q", key, o.Origin, source)
		}
	}
}

func TestProblemsNameTheirPlace(t *testing.T) {
	tests := []struct {
		name, doc string
		want      []string // in order; "FILE" stands for the file
	}{
		{"syntax", "[agent]\ndriver = \n", []string{"FILE:2:10: "}},
		{"set twice", "[gate]\nwindow = 1\nwindow = 2\n", []string{"FILE:3:1: key window is already defined"}},
		{"not utf-8", "a = \"\xff\"", []string{"FILE:1:"}},
		{"section", "[repiar]\nmodel = \"a/b\"\n", []string{"FILE:1:2: repiar: there is no such section, did you mean repair?"}},
		{"key", "[repair]\n  max_turn = 3\n", []string{"FILE:2:3: repair.max_turn: there is no such key, did you mean max_turns?"}},
		{"key of another section", "[agent]\nmax_turns = 3\n", []string{"FILE:2:1: agent.max_turns: there is no such key, did you mean repair.max_turns?"}},
		{"type", "[repair]\nmax_turns = \"six\"\n", []string{"FILE:2:13: repair.max_turns: must be a whole number from 1 to 1000, not \"six\""}},
		{"column in code points", "gate.mode = \"ä\"\nagent = {driver = \"äöü\", command = 3}\n",
			[]string{"FILE:1:13: gate.mode", "FILE:2:19: agent.driver: must be one of acp, exec, none, not \"äöü\"", "FILE:2:36: agent.command: must be a list"}},
		{"range", "[repair]\nmax_turns = 0\ntemperature = 2.5\n[gate]\ntarget = nan\ndrop = inf\n",
			[]string{"FILE:2:13: repair.max_turns: must be a whole number from 1 to 1000, not 0", "FILE:3:15: repair.temperature: must be a number from 0 to 2", "FILE:5:10: gate.target", "FILE:6:8: gate.drop"}},
		{"duration", "[repair]\ntimeout = 60\nbackoff = \"soon\"\n[agent]\nturn_timeout = \"0s\"\n",
			[]string{"FILE:2:11: repair.timeout: must be a duration such as \"60s\" or \"5m\" of at least 1ms, not a bare number; write \"60s\" for seconds", "FILE:3:11: repair.backoff", "FILE:5:16: agent.turn_timeout"}},
		{"choice", "[agent]\nworkspace = \"copie\"\n", []string{"FILE:2:13: agent.workspace: must be one of copy, scratch, inplace, not \"copie\", did you mean copy?"}},
		{"list", "[agent]\ncommand = \"python agent.py\"\negress = [\"ok.example\", 1]\nenv = [\"A=b\"]\n",
			[]string{"FILE:2:11: agent.command: must be a list", "FILE:3:25: agent.egress", "FILE:4:8: agent.env: must be a list of variable names"}},
		{"metrics", "[evaluate]\ntier1 = [\"coherense\"]\nthresholds = { outcome_correct = 2, nothing = 1 }\n",
			[]string{"FILE:2:10: evaluate.tier1", "FILE:3:34: evaluate.thresholds: must be a number from 0 to 1, not 2", "FILE:3:37: evaluate.thresholds: \"nothing\" is not a metric"}},
		{"regexp", "[redact]\nextra = [\"(\"]\n", []string{"FILE:2:10: redact.extra"}},
		{"hints", "[[agent.hints.scopes]]\nkey = \"\"\napplicability = \"always\"\nwhy = 1\n", []string{"FILE:1:15: agent.hints", "FILE:1:15: agent.hints", "FILE:4:1: agent.hints: \"why\" is unknown"}},
		{"literal secret", "[providers.openai]\nkey = \"sk-live-abcdefghijklmnop\"\n", []string{"FILE:2:7: providers.openai.key: a secret must be a reference: env:NAME"}},
		{"address", "[providers.x]\nbase_url = \"https://me:pw@host/v1\"\n", []string{"FILE:2:12: providers.x.base_url: must be an address"}},
		{"provider", "[providers.x]\nkey = \"env:K\"\nbase = 1\n[providers.builtin]\nreasoning = true\n",
			[]string{"FILE:3:1: providers.x.base: there is no such key", "FILE:5:1: providers.builtin.reasoning: builtin answers in this process", "providers.x.base_url: is missing"}},
		{"price", "[providers.x]\nbase_url = \"http://h\"\nprice = { m = { input = 1 } }\n", []string{"FILE:3:11: providers.x.price: the price of \"m\" needs input and output"}},
		{"unknown provider", "[repair]\nmodel = \"opnai/gpt\"\n", []string{"FILE:2:9: repair.model: there is no provider \"opnai\", did you mean openai?"}},
		{"model form", "[repair]\nmodel = \"gpt\"\n", []string{"FILE:2:9: repair.model: must be provider/model"}},
		{"no validation", "[validate]\nenabled = false\n", []string{"FILE:2:11: validate.enabled: may be false only with evaluate.observe_only"}},
		{"provider of the agent", "[agent]\nprovider = \"opnai\"\n", []string{"FILE:2:12: agent.provider: there is no provider \"opnai\", did you mean openai?"}},
		{"metric in two tiers", "[evaluate]\ntier3 = [\"coherence\"]\n", []string{"FILE:2:1: evaluate.tier3: coherence is in evaluate.tier1 already"}},
		{"section as value", "agent = 3\n", []string{"FILE:1:1: agent: is a section"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			file := write(t, test.doc)
			c, origins, err := Load(LoadOptions{ProjectFile: file})
			var e *Error
			if !errors.As(err, &e) || c != nil || len(origins.List()) > 0 {
				t.Fatalf("Load = %v, %v, want an *Error", c, err)
			}
			if len(e.Problems) != len(test.want) {
				t.Fatalf("%d problems, want %d:\n%v", len(e.Problems), len(test.want), err)
			}
			for i, want := range test.want {
				if got := strings.Replace(e.Problems[i].String(), file, "FILE", 1); !strings.HasPrefix(got, want) && !(test.name == "provider" && strings.Contains(got, want)) {
					t.Errorf("problem %d is\n  %s\nwant\n  %s", i, got, want)
				}
			}
			if strings.Contains(err.Error(), "sk-live") || strings.Contains(err.Error(), "pw@") {
				t.Errorf("the error prints a secret: %v", err)
			}
		})
	}
}

func TestVariableProblemsNameTheVariable(t *testing.T) {
	for env, want := range map[string]string{
		"VISE_REPAIR_MAX_TURN=3":        "variable VISE_REPAIR_MAX_TURN: is not a setting; unset it or correct its name, did you mean VISE_REPAIR_MAX_TURNS?",
		"VISE_REPIAR_MODEL=a/b":         "variable VISE_REPIAR_MODEL: is not a setting",
		"VISE_REPAIR_MAX_TURNS=many":    "variable VISE_REPAIR_MAX_TURNS: repair.max_turns: must be a whole number",
		"HARNESS_REPAIR_TIMEOUT_S=-1":   "variable HARNESS_REPAIR_TIMEOUT_S: repair.timeout: must be a duration",
		"HARNESS_REPAIR_TIMEOUT_S=1e99": "variable HARNESS_REPAIR_TIMEOUT_S: repair.timeout: must be a duration",
		"VISE_REPAIR_TIMEOUT=60":        "variable VISE_REPAIR_TIMEOUT: repair.timeout: must be a duration",
		"VISE_PROVIDERS_X_COLOUR=1":     "variable VISE_PROVIDERS_X_COLOUR: is not a setting",
		"VISE_PROVIDERS_OPENAI_KEY=sk1": "variable VISE_PROVIDERS_OPENAI_KEY: providers.openai.key: a secret must be a reference",
		"HARNESS_RULE_VALIDATION=0":     "variable HARNESS_RULE_VALIDATION: validate.enabled: may be false only",
	} {
		if _, _, err := Load(LoadOptions{Environ: []string{env}}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s gives\n  %v\nwant\n  %s", env, err, want)
		}
	}
	for _, env := range []string{"VISE_LOG_FILE=x", "VISE_VECTORS=x", "VISE_CORPORA=x", "VISE_PACKET=x", "VISE=1", "VISE_=1", "VISE_MCP_TOKEN=x", "HARNESS_OTHER=1"} {
		if _, _, err := Load(LoadOptions{Environ: []string{env}}); err != nil {
			t.Errorf("%s is somebody else's variable: %v", env, err)
		}
	}
	if _, _, err := Load(LoadOptions{Flags: map[string]string{"repair.max_turn": "1"}}); err == nil || !strings.Contains(err.Error(), "flag repair.max_turn: there is no such key, did you mean max_turns?") {
		t.Errorf("unknown flag: %v", err)
	}
}

func TestProblemsAreBounded(t *testing.T) {
	var doc strings.Builder
	doc.WriteString("[agent]\n")
	const n = 3000
	for i := range n {
		fmt.Fprintf(&doc, "unknown_%d = 1\n", i)
	}
	file := write(t, doc.String())
	_, _, err := Load(LoadOptions{ProjectFile: file, Environ: []string{"VISE_UI_FPS=0"}})
	var e *Error
	if !errors.As(err, &e) || len(e.Problems) != MaxProblems || e.More != n+1-MaxProblems || len(err.Error()) > 20_000 {
		t.Fatalf("problems are not bounded: %d bytes", len(err.Error()))
	}
	big := write(t, "# "+strings.Repeat("x", MaxFile))
	if _, _, err := Load(LoadOptions{ProjectFile: big}); err == nil || !strings.Contains(err.Error(), "larger than 64 KiB") {
		t.Fatalf("big file: %v", err)
	}
}

// Places are counted on from the last one: one long line must not cost its square.
func TestLongLines(t *testing.T) {
	began := time.Now()
	_, _, err := Load(LoadOptions{ProjectFile: write(t, "redact.extra = ["+strings.Repeat("1,", MaxFile/2-20)+"]\n")})
	if err == nil || !strings.Contains(err.Error(), "with at most 256 entries") {
		t.Fatal(err)
	}
	if d := time.Since(began); d > 5*time.Second {
		t.Errorf("took %v", d)
	}
}

func TestVariablesHoldAnyText(t *testing.T) {
	c, _, err := Load(LoadOptions{Environ: []string{`HARNESS_DOMAIN_POLICY=["never refund twice"]`, `VISE_AGENT_COMMAND=["check it", "--now"]`,
		`VISE_EVALUATE_THRESHOLDS={ coherence = 0.1 }`, `VISE_AGENT_HINTS={ scopes = [{ key = "refunds" }] }`, `VISE_PROVIDERS_OPENAI_KEY=cmd:["pass", "a b"]`}})
	if err != nil {
		t.Fatal(err)
	}
	if c.Repair.DomainPolicy != `["never refund twice"]` || strings.Join(c.Agent.Command, "|") != "check it|--now" || c.Evaluate.Thresholds["coherence"] != 0.1 ||
		len(c.Agent.Hints.Scopes) != 1 || c.Providers["openai"].Key.String() != "cmd:pass …" {
		t.Fatalf("%+v", c)
	}
}

func TestByteOrderMark(t *testing.T) {
	if c, _, err := Load(LoadOptions{ProjectFile: write(t, "\xef\xbb\xbf[gate]\r\nwindow = 3\r\n")}); err != nil || c.Gate.Window != 3 {
		t.Fatal(err)
	}
}

func TestMissingFiles(t *testing.T) {
	none := filepath.Join(t.TempDir(), "none.toml")
	if _, _, err := Load(LoadOptions{UserFile: none}); err != nil {
		t.Fatal(err)
	}
	if _, _, err := Load(LoadOptions{ProjectFile: none}); err == nil || !strings.Contains(err.Error(), none+": there is no such file; vise init writes one") {
		t.Fatal(err)
	}
	if _, _, err := Load(LoadOptions{ProjectFile: t.TempDir()}); err == nil || !strings.Contains(err.Error(), "not a plain file") {
		t.Fatal(err)
	}
}

func TestStartPeak(t *testing.T) {
	c, _, err := Load(LoadOptions{})
	if err != nil || c.Gate.StartPeak == nil || *c.Gate.StartPeak != 1 {
		t.Fatalf("offline start peak = %v, %v", c.Gate.StartPeak, err)
	}
	c, o, err := Load(LoadOptions{Environ: []string{"VISE_GATE_START_PEAK=unset"}})
	if err != nil || c.Gate.StartPeak != nil {
		t.Fatalf("start peak = %v, %v, want unset", c.Gate.StartPeak, err)
	}
	if got, _ := o.Of("gate.start_peak"); got.Origin != "VISE_GATE_START_PEAK" || got.Value != "" {
		t.Fatalf("origin = %+v", got)
	}
}

// Doctor prints origins, so no layer may put a secret there.
func TestOriginsHoldNoSecret(t *testing.T) {
	file := write(t, "[agent]\ncommand = [\"a\", \"--api-key\", \"hunter2\", \"--token=hunter2\", \"--port\", \"80\"]\n[providers.openai]\nkey = \"cmd:pass show hunter2\"\n")
	_, origins, err := Load(LoadOptions{ProjectFile: file})
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range origins.List() {
		if strings.Contains(o.Value, "hunter2") {
			t.Errorf("%s shows a secret: %s", o.Key, o.Value)
		}
	}
	if o, _ := origins.Of("agent.command"); o.Value != `["a", "--api-key", "[hidden]", "--token=[hidden]", "--port", "80"]` {
		t.Errorf("agent.command = %s", o.Value)
	}
}

func FuzzLoad(f *testing.F) {
	f.Add(string(Template(ProjectOptions{})))
	f.Add("[agent]\nhints = {scopes=[{key='a'}]}\n[[agent.hints.scopes]]\n")
	f.Add("[providers.x]\nbase_url='http://h'\nprice={'*'={input=1,output=2}}\n[ui.keys]\nstep='s'\n")
	f.Add("a.b.c=[[[[1]]],{x={}}]\n[a]\n[[b]]\n[b.c]\n[[b]]\n")
	f.Add("gate.window=0x7fffffffffffffff\nbudget.usd=1e400\nstore.min_free='1e400TB'\nrepair.timeout='9999999h'")
	f.Add("é=1\n[\"\"]\n''=1\nagent=1979-05-27")
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, doc string) {
		file := filepath.Join(dir, FileName)
		if err := os.WriteFile(file, []byte(doc), 0o600); err != nil {
			t.Fatal(err)
		}
		c, origins, err := Load(LoadOptions{ProjectFile: file})
		var e *Error
		switch {
		case err == nil && (c == nil || len(origins.List()) < len(settings)):
			t.Fatal("neither an error nor a configuration")
		case err != nil && (!errors.As(err, &e) || len(e.Problems) == 0 || c != nil):
			t.Fatalf("not a list of problems: %v", err)
		case err == nil:
			valid(t, c)
		}
		// The same text as a variable or a flag must not panic either.
		_, _, _ = Load(LoadOptions{Environ: []string{"VISE_AGENT_HINTS=" + doc, "VISE_REDACT_EXTRA=" + doc, "VISE_" + doc + "=1"}, Flags: map[string]string{doc: doc}})
	})
}

// valid re-checks what Load promises: every value survives its own way through a file.
func valid(t *testing.T, c *Config) {
	t.Helper()
	for _, s := range settings {
		shown := s.kind.show(c)
		if shown == "" || s.name == "agent.command" || s.name == "evaluate.verifier" || s.name == "agent.env" {
			continue
		}
		root, _, err := parseTOML([]byte("v = " + shown))
		if err != nil {
			t.Fatalf("%s shows %s, which is not TOML: %v", s.name, shown, err)
		}
		s.kind.set(Default(), root.table[0].value, func(_ place, format string, args ...any) {
			t.Fatalf("%s holds %s, which it does not accept: "+format, append([]any{s.name, shown}, args...)...)
		})
	}
}

func BenchmarkLoad(b *testing.B) {
	file := write(b, string(Template(ProjectOptions{})))
	b.ReportAllocs()
	for b.Loop() {
		if _, _, err := Load(LoadOptions{ProjectFile: file}); err != nil {
			b.Fatal(err)
		}
	}
}

// TestSettingsThatWouldDoNothingAreRefused: what is not built in is refused, so
// that nobody relies on it.
func TestSettingsThatWouldDoNothingAreRefused(t *testing.T) {
	for _, line := range []string{"agent.egress = [\"example.com\"]\nagent.sandbox = \"off\"", "agent.home = [\".agent\"]\nagent.sandbox = \"off\"",
		`repair.trace = true`} {
		key, _, _ := strings.Cut(line, " ")
		_, _, err := Load(LoadOptions{ProjectFile: write(t, line+"\n")})
		if err == nil || !strings.Contains(err.Error(), key+": is refused: ") {
			t.Errorf("%s: %v", line, err)
		}
	}
}
