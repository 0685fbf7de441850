package format_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"vise/engine/trace"
	"vise/replay/format"
)

// Very long lines are read whole, at a memory that is a small multiple of them.
func TestB07LongLines(t *testing.T) {
	if testing.Short() {
		t.Skip("writes 110 MB")
	}
	path := filepath.Join(t.TempDir(), "long.jsonl")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	line := func(format string, args ...any) {
		if _, err := fmt.Fprintf(f, format+"\n", args...); err != nil {
			t.Fatal(err)
		}
	}
	images, texts := 25<<20, 80<<20
	if race {
		images, texts = images/8, texts/8
	}
	image := strings.Repeat("QUJD", images/4)
	text := strings.Repeat("lorem ipsum ", texts/12)
	line(`{"type":"user","sessionId":"long","message":{"content":"hi"}}`)
	line(`{"type":"assistant","message":{"id":"m1","content":[{"type":"tool_use","id":"t1","name":"shot","input":{}},{"type":"tool_use","id":"t2","name":"cat","input":{}}]}}`)
	line(`{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"t1","content":[{"type":"image","source":{"type":"base64","media_type":"image/png","data":"%s"}}]}]}}`, image)
	line(`{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"t2","content":"%s"}]}}`, text)
	line(`{"type":"user","message":{"content":"bye"}}`)
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	size := len(text)
	image, text = "", ""
	runtime.GC()
	peak := &peakSink{}
	sum, err := format.Read(context.Background(), path, format.Options{}, peak)
	if err != nil {
		t.Fatal(err)
	}
	if sum.Turns != 2 || sum.Calls != 2 || sum.DamagedTotal != 0 || len(peak.outputs) != 2 || !strings.HasPrefix(peak.outputs[0], fmt.Sprintf("[image image/png %d bytes sha256:", images/4*3)) || len(peak.outputs[1]) != size/12*12 {
		t.Errorf("%+v", sum)
	}
	t.Logf("heap of %d MB for a line of %d MB", peak.heap>>20, size>>20)
	if limit := uint64(6 * size); peak.heap > limit {
		t.Errorf("heap of %d MB for a line of %d MB", peak.heap>>20, size>>20)
	}
}

type peakSink struct {
	heap    uint64
	outputs []string
}

func (p *peakSink) Begin(trace.Session) error { return nil }
func (p *peakSink) Turn(t trace.Turn) error {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	p.heap = max(p.heap, m.HeapInuse)
	for _, s := range t.Spans {
		if s.Kind == trace.TOOL {
			p.outputs = append(p.outputs, s.Output)
		}
	}
	return nil
}
func (p *peakSink) End(trace.Session) error { return nil }

func TestDetect(t *testing.T) {
	for _, c := range []struct{ content, want string }{
		{"", "empty"},
		{"\n \n", "recognised 0 of 0"},
		{"hello\nworld\n", "recognised 0 of 2"},
		{`{"a":1}` + "\n" + `{"b":2}` + "\n" + `{"c":3}`, "recognised 0 of 3"},
		{"PK\x03\x04rest", "inspect"},
		{"version https://git-lfs.github.com/spec/v1\noid", "Git LFS"},
		{`{"resourceSpans":[]}`, "recognised 0 of 1"},
		{"\x1f\x8b\x08\x00rest", "gunzip"},
		{"\x28\xb5\x2f\xfdrest", "unzstd"},
		{"\xff\xfe{\x00\"\x00", "UTF-16"},
		{"{\x00\"\x00", "UTF-16LE"},
		{"\x00{\x00\"", "UTF-16BE"},
		{`[{"type":"user","uuid":"u","sessionId":"s","message":{"content":"hi"}}]`, "array of claude-code records"},
	} {
		path := filepath.Join(t.TempDir(), "x.jsonl")
		if err := os.WriteFile(path, []byte(c.content), 0o600); err != nil {
			t.Fatal(err)
		}
		_, _, err := read(t, path, format.Options{})
		if !errors.Is(err, format.ErrUnrecognised) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: %v, want %q", c.content, err, c.want)
		}
	}
	// What comes first may be damaged or a byte order mark.
	for _, head := range []string{"\xef\xbb\xbf", "{\"type\":\"us\n", "\x00\x00\n", "null\n"} {
		path := filepath.Join(t.TempDir(), "x.txt")
		if err := os.WriteFile(path, []byte(head+`{"type":"user","uuid":"u","sessionId":"s","message":{"content":"hi"}}`), 0o600); err != nil {
			t.Fatal(err)
		}
		_, sum, err := read(t, path, format.Options{})
		if err != nil || sum.Format != "claude-code" || sum.Turns != 1 {
			t.Errorf("after %q: %+v, %v", head, sum, err)
		}
	}
	// Chat messages stand in an array, or one a line.
	for _, whole := range []string{
		`{"role":"system","content":"Be kind."}` + "\n" + `{"role":"user","content":"hi"}` + "\n" + `{"role":"assistant","content":"hello"}` + "\n" + `{"role":"user","content":"bye"}` + "\n",
		`[{"role":"user","content":"hi"},{"role":"assistant","content":"hello"},{"role":"user","content":"bye"}]`,
	} {
		path := filepath.Join(t.TempDir(), "x.jsonl")
		if err := os.WriteFile(path, []byte(whole), 0o600); err != nil {
			t.Fatal(err)
		}
		_, sum, err := read(t, path, format.Options{})
		if err != nil || sum.Format != "openai-chat" || sum.Sessions != 1 || sum.Turns != 2 || sum.Steps != 1 || sum.DamagedTotal != 0 {
			t.Errorf("%q: %+v, %v", whole, sum, err)
		}
	}
	if _, _, err := read(t, sessions("native", "desk.jsonl"), format.Options{Format: "nonsense"}); err == nil || !strings.Contains(err.Error(), "claude-code") {
		t.Errorf("unknown format: %v", err)
	}
	if _, _, err := read(t, t.TempDir(), format.Options{}); err == nil {
		t.Error("a folder was read")
	}
}

// A log whose record types have all been renamed is refused, not read as a short session.
func TestRenamedTypes(t *testing.T) {
	raw, err := os.ReadFile(sessions("codex", "rollout.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"session_meta", "response_item", "event_msg", "turn_context", "compacted"} {
		raw = bytes.ReplaceAll(raw, []byte(`"type":"`+name+`"`), []byte(`"type":"v2.`+name+`"`))
	}
	path := filepath.Join(t.TempDir(), "rollout.jsonl")
	if err := os.WriteFile(path, raw, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, o := range []format.Options{{}, {Format: "codex"}} {
		c, _, err := read(t, path, o)
		if !errors.Is(err, format.ErrUnrecognised) || !strings.Contains(err.Error(), "recognised 0 of 26") || len(c.sessions) > 0 {
			t.Errorf("%d sessions, %v", len(c.sessions), err)
		}
	}
}

// An error of the sink and the end of the context end the reading at once.
func TestReadStops(t *testing.T) {
	boom := errors.New("boom")
	for _, file := range []string{"claude-code/desk.jsonl", "tau/tau2.json", "native/desk.jsonl"} {
		if _, err := format.Read(context.Background(), sessions(file), format.Options{}, failing{boom}); !errors.Is(err, boom) {
			t.Errorf("%s: %v", file, err)
		}
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		if _, err := format.Read(ctx, sessions(file), format.Options{}, discard{}); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", file, err)
		}
	}
}

type failing struct{ err error }

func (f failing) Begin(trace.Session) error { return nil }
func (f failing) Turn(trace.Turn) error     { return f.err }
func (f failing) End(trace.Session) error   { return nil }

// In every format the memory is a small multiple of the longest record.
func TestLongRecords(t *testing.T) {
	const size = 6 << 20 / 12 * 12
	dir := t.TempDir()
	text := strings.Repeat("lorem ipsum ", size/12)
	for name, content := range map[string]string{
		"codex": `{"type":"session_meta","payload":{"id":"x"}}` + "\n" + `{"type":"response_item","payload":{"type":"function_call","name":"cat","call_id":"c","arguments":"{}"}}` + "\n" +
			`{"type":"response_item","payload":{"type":"function_call_output","call_id":"c","output":"` + text + `"}}` + "\n",
		"openai-chat": `{"messages":[{"role":"assistant","tool_calls":[{"id":"c","function":{"name":"cat","arguments":"{}"}}]},{"role":"tool","tool_call_id":"c","content":"` + text + `"}]}`,
		"gemini-cli":  `{"sessionId":"x","projectHash":"y","messages":[{"type":"gemini","content":"","toolCalls":[{"id":"c","name":"cat","args":{},"status":"success","result":[{"functionResponse":{"id":"c","response":{"output":"` + text + `"}}}]}]}]}`,
		"otlp":        `{"resourceSpans":[{"scopeSpans":[{"spans":[{"traceId":"t","spanId":"s","name":"n","attributes":[{"key":"gen_ai.operation.name","value":{"stringValue":"execute_tool"}},{"key":"gen_ai.tool.call.result","value":{"stringValue":"` + text + `"}}]}]}]}]}`,
		"inspect":     `{"version":2,"status":"success","eval":{"task":"t"},"samples":[{"id":1,"epoch":1,"messages":[{"role":"assistant","tool_calls":[{"id":"c","function":"cat","arguments":{}}],"content":""},{"role":"tool","tool_call_id":"c","content":"` + text + `"}]}]}`,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	text = ""
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 5 {
		t.Fatal(entries, err)
	}
	for _, e := range entries {
		runtime.GC()
		p := &peakSink{}
		sum, err := format.Read(context.Background(), filepath.Join(dir, e.Name()), format.Options{}, p)
		if err != nil || sum.Format != e.Name() || len(p.outputs) != 1 || len(p.outputs[0]) != size {
			t.Fatalf("%s: %+v, %v", e.Name(), sum, err)
		}
		t.Logf("%s: heap of %d MB for a record of %d MB", e.Name(), p.heap>>20, size>>20)
		if p.heap > 10*size {
			t.Errorf("%s: heap of %d MB for a record of %d MB", e.Name(), p.heap>>20, size>>20)
		}
	}
}
