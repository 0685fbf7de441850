package format_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"vise/replay/format"
)

// FuzzRead feeds the readers of all formats with damaged variants of our own
// recordings. Whatever comes, a reader ends without an error but the announced
// ones, the sink's protocol holds (the collector checks it), and reading again
// gives the same.
func FuzzRead(f *testing.F) {
	names := format.Formats()
	for i, name := range names {
		for _, s := range []string{"", "{}\n[]\n\x00", "[,0", `{"simulations":[{"messages":[{"role":"user"`} {
			f.Add(byte(i), []byte(s))
		}
		files, err := format.Walk(sessions(folders[name]))
		if err != nil {
			f.Fatal(err)
		}
		for _, file := range files {
			raw, err := os.ReadFile(file)
			if err != nil {
				f.Fatal(err)
			}
			if len(raw) < 16<<10 {
				f.Add(byte(i), raw)
			}
		}
	}
	path := filepath.Join(f.TempDir(), "in.jsonl")
	f.Fuzz(func(t *testing.T, which byte, raw []byte) {
		name := names[int(which)%len(names)]
		if err := os.WriteFile(path, raw, 0o600); err != nil {
			t.Fatal(err)
		}
		c, sum, err := read(t, path, format.Options{Format: name})
		if err != nil && !errors.Is(err, format.ErrUnrecognised) && name != "native" {
			t.Fatal(err)
		}
		if err == nil && c.open {
			t.Fatal("a session was left open")
		}
		again, sum2, _ := read(t, path, format.Options{Format: name})
		if sum2.Turns != sum.Turns || len(again.sessions) != len(c.sessions) {
			t.Fatalf("%s: reading again gives %+v, before %+v", name, sum2, sum)
		}
		for i := range c.sessions {
			if c.sessions[i].Digest != again.sessions[i].Digest {
				t.Fatalf("%s: reading again gives another digest", name)
			}
		}
	})
}

// folders of testdata/sessions by format, where they are not named alike.
var folders = map[string]string{"native": "native", "claude-code": "claude-code", "codex": "codex", "tau-bench": "tau", "tau2": "tau", "openai-chat": "openai", "openai-responses": "openai",
	"swe-agent": "swe-agent", "mini-swe-agent": "swe-agent",
	"otlp": "otel", "spans": "otel", "trail": "otel", "openai-agents": "otel", "gemini-cli": "gemini-cli", "openhands": "openhands", "inspect": "inspect",
	"who-and-when": "who-and-when", "agentdojo": "agentdojo", "atif": "atif", "harbor-sft": "atif", "langfuse": "langfuse", "langsmith": "langfuse", "cursor": "cursor", "anthropic-agents": "anthropic-agents"}

func FuzzDetect(f *testing.F) {
	for _, s := range []string{"", "{", "[", `{"vise":1,"type":"session"}`, `[{"traj":[],"reward":1}]`, "PK\x03\x04", `{"a":"` + "\n" + `{"type":"user","uuid":"x"}`} {
		f.Add([]byte(s))
	}
	path := filepath.Join(f.TempDir(), "in")
	f.Fuzz(func(t *testing.T, raw []byte) {
		if err := os.WriteFile(path, raw, 0o600); err != nil {
			t.Fatal(err)
		}
		file, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close()
		name, err := format.Detect(file)
		if (name == "") != errors.Is(err, format.ErrUnrecognised) {
			t.Fatalf("%q, %v", name, err)
		}
	})
}
