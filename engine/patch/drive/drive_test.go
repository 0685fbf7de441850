package drive_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"vise/engine/internal/vectors"
	"vise/engine/patch/drive"
)

func TestVectorsCommand(t *testing.T) {
	type input struct {
		Argv    []string `json:"argv"`
		RunID   string   `json:"run_id"`
		Attempt int      `json:"attempt"`
	}
	vectors.RunPatch(t, "command", func(t *testing.T, in input) any {
		c, err := drive.Seed(drive.Request{Argv: in.Argv, Prompt: "<PROMPT>"})
		if err != nil {
			t.Fatal(err)
		}
		at := slices.Index(c.Argv, "<PROMPT>")
		rule := "appended"
		if at == 2 && len(in.Argv) > 1 && slices.Contains([]string{"exec", "-p", "--print", "ask"}, in.Argv[1]) {
			rule = "inserted_at_2"
		}
		return map[string]any{"argv": c.Argv, "prompt_index": at, "rule": rule,
			"prompt_contains": []string{fmt.Sprintf(".agentdiff/repair/%s/attempt-%d-packet.json", in.RunID, in.Attempt)}}
	})
}

func TestVectorsRedactArgv(t *testing.T) {
	type input struct {
		Argv []string `json:"argv"`
	}
	vectors.RunPatch(t, "redact_argv", func(t *testing.T, in input) any {
		return map[string]any{"argv": drive.Redact(in.Argv)}
	})
}

// build checks command lines: words before, words after, the adapter.
func build(t *testing.T, rows [][3]string) {
	t.Helper()
	for _, c := range rows {
		got, err := drive.Build(drive.Request{Argv: strings.Split(c[0], "|"), Prompt: "P", Packet: []byte("{}")})
		if err != nil {
			t.Fatal(err)
		}
		if s := strings.Join(got.Argv, "|"); s != c[1] || got.Adapter != c[2] {
			t.Errorf("%s\n gave %s (%s)\nwant %s (%s)", c[0], s, got.Adapter, c[1], c[2])
		}
		if (got.Stdin != nil) != (c[2] == "generic") {
			t.Errorf("%s: stdin %q", c[0], got.Stdin)
		}
	}
}

// The prompt takes the place of the old one.
func TestD01PromptTakesThePlaceOfTheOld(t *testing.T) {
	build(t, [][3]string{
		{"codex|exec|old", "codex|exec|P", "codex"},
		{"codex|exec", "codex|exec|P", "codex"},
		{"codex|exec|-", "codex|exec|P", "codex"},
		{"codex|--model|x|exec|--json|old", "codex|--model|x|exec|--json|P", "codex"},
		{"codex|exec|old|-C|dir|--full-auto", "codex|exec|P|-C|dir|--full-auto", "codex"},
		{"codex|e|old", "codex|e|P", "codex"},
		{"codex|exec|resume|--last|old", "codex|exec|P", "codex"},
		{"claude|-p|old|--output-format|json", "claude|-p|P|--output-format|json", "claude"},
		{"claude|-p=old", "claude|-p|P", "claude"},
		{"claude|old", "claude|-p|P", "claude"},
		{"claude|-p|--allowedTools|Edit|Bash", "claude|-p|P|--allowedTools|Edit|Bash", "claude"},
		{"claude|-p|old|--resume|abc", "claude|-p|P", "claude"},
		{"gemini|-p|old", "gemini|-p|P", "gemini"},
		{"gemini|--prompt=old", "gemini|--prompt=P", "gemini"},
		{"gemini|old", "gemini|-p|P", "gemini"},
		{"opencode|run|--model|a/b|old|words", "opencode|run|--model|a/b|P", "opencode"},
		{"aider|--message|old|a.py|b.py", "aider|--message|P|a.py|b.py", "aider"},
		{"aider|-m=old|--yes", "aider|-m=P|--yes", "aider"},
		{"copilot|-p|old|--allow-all-tools", "copilot|-p|P|--allow-all-tools", "copilot"},
	})
	if _, err := drive.Build(drive.Request{}); err == nil {
		t.Error("no command was built from nothing")
	}
}

// The program decides where a prompt goes, whatever stands around it, and a program
// that is not known gets none.
func TestD02ProgramDecidesWhereThePromptGoes(t *testing.T) {
	build(t, [][3]string{
		{"codex|login", "codex|login", "generic"},
		{"env|A=1|codex|exec|old", "env|A=1|codex|exec|P", "codex"},
		{"npx|-y|@openai/codex@latest|exec|old", "npx|-y|@openai/codex@latest|exec|P", "codex"},
		{"timeout|-k|5|10m|/opt/bin/claude|-p|old", "timeout|-k|5|10m|/opt/bin/claude|-p|P", "claude"},
		{"claude|--output-format|json|-p|old", "claude|--output-format|json|-p|P", "claude"},
		{"gemini|-m|flash|--prompt|old|-y", "gemini|-m|flash|--prompt|P|-y", "gemini"},
		{"goose|run|-i|task.txt", "goose|run|-t|P", "goose"},
		{"goose|run|--text|old|--no-session", "goose|run|--text|P|--no-session", "goose"},
		{"docker|exec|box|agent", "docker|exec|box|agent", "generic"},
		{"mkdir|-p|a/b", "mkdir|-p|a/b", "generic"},
		{"sh|-c|codex exec old", "sh|-c|codex exec old", "generic"},
		{"./fix.py", "./fix.py", "generic"},
	})
}

func TestSessionIsResumed(t *testing.T) {
	for in, out := range map[string]string{
		"codex|exec|--json|old": "codex|exec|resume|S|--json|P", "claude|-p|old": "claude|-p|P|--resume|S", "gemini|-p|old": "gemini|-p|P|--resume|S",
		"opencode|run|old": "opencode|run|P|--session|S", "goose|run|-t|old": "goose|run|-t|P|--resume|--name|S", "aider|--msg|old": "aider|--msg|P|--restore-chat-history",
	} {
		got, err := drive.Build(drive.Request{Argv: strings.Split(in, "|"), Prompt: "P", SessionID: "S"})
		if s := strings.Join(got.Argv, "|"); err != nil || s != out {
			t.Errorf("%s gave %s, %v; want %s", in, s, err, out)
		}
	}
}

func TestRead(t *testing.T) {
	for name, c := range map[string]struct{ out, text, session, scope string }{
		"plain":      {"I fixed it.\n", "I fixed it.", "", ""},
		"claude":     {`{"type":"result","result":"Done.","session_id":"s1"}`, "Done.", "s1", ""},
		"codex":      {"{\"type\":\"thread.started\",\"thread_id\":\"t1\"}\n{\"type\":\"item.completed\",\"item\":{\"type\":\"agent_message\",\"text\":\"First\"}}\n{\"type\":\"item.completed\",\"item\":{\"type\":\"agent_message\",\"text\":\"Last\"}}\n", "Last", "t1", ""},
		"opencode":   {"{\"type\":\"text\",\"sessionID\":\"o1\",\"part\":{\"type\":\"text\",\"text\":\"ok\"}}\n", "ok", "o1", ""},
		"scope":      {"I cannot.\nVISE-NEEDS-SCOPE: go.mod must name a newer version\n", "I cannot.\nVISE-NEEDS-SCOPE: go.mod must name a newer version", "", "go.mod must name a newer version"},
		"json scope": {`{"result":"**VISE-NEEDS-SCOPE: CI**","session_id":""}`, "**VISE-NEEDS-SCOPE: CI**", "", "CI"},
	} {
		a := drive.Read([]byte(c.out))
		if a.Text != c.text || a.SessionID != c.session || a.NeedsScope != c.scope {
			t.Errorf("%s: %+v", name, a)
		}
	}
}

func FuzzBuild(f *testing.F) {
	f.Add("codex\x00exec\x00x")
	f.Add("npx\x00-y\x00claude\x00-p\x00--add-dir")
	f.Fuzz(func(t *testing.T, line string) {
		argv := strings.Split(line, "\x00")
		got, err := drive.Build(drive.Request{Argv: argv, Prompt: "PROMPT-9", Packet: []byte("{}")})
		if err != nil {
			return
		}
		n := 0
		for _, w := range got.Argv {
			if w == "PROMPT-9" || strings.HasSuffix(w, "=PROMPT-9") {
				n++
			}
		}
		if strings.Contains(line, "PROMPT-9") {
			return
		}
		if got.Adapter != "generic" && n != 1 {
			t.Errorf("%q gave %q: the prompt is there %d times", argv, got.Argv, n)
		}
		drive.Redact(argv)
	})
}
