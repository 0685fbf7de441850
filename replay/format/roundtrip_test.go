package format_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	exporter "vise/engine/export"
	"vise/engine/guard"
	"vise/engine/score"
	"vise/engine/trace"
	"vise/replay/format"
	"vise/replay/format/native"
	"vise/replay/format/openai"
)

// exported is sessions in the native format.
func exported(tb tester, c *collector) []byte {
	tb.Helper()
	var b bytes.Buffer
	for _, s := range c.sessions {
		w := native.NewWriter(&b)
		if err := w.Session(s); err != nil {
			tb.Fatal(err)
		}
		for _, turn := range c.turns[s.ID] {
			if err := w.Turn(turn); err != nil {
				tb.Fatal(err)
			}
		}
	}
	return b.Bytes()
}

// export writes sessions in the native format and reads them again.
func export(tb tester, c *collector) (*collector, []byte) {
	tb.Helper()
	raw := exported(tb, c)
	dir, err := os.MkdirTemp("", "vise-roundtrip-*")
	if err != nil {
		tb.Fatal(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "out.jsonl")
	if err := os.WriteFile(path, raw, 0o600); err != nil {
		tb.Fatal(err)
	}
	back, sum, err := read(tb, path, format.Options{})
	if err != nil || sum.Format != native.Name || sum.DamagedTotal > 0 || len(sum.Unknown) > 0 {
		tb.Fatalf("reading what was written: %+v, %v", sum, err)
	}
	return back, raw
}

// same compares sessions as JSON, without the file they came from.
func same(tb tester, want, got *collector) {
	tb.Helper()
	text := func(c *collector) string {
		var b strings.Builder
		for _, s := range c.sessions {
			s.File = ""
			for _, v := range []any{s, c.turns[s.ID]} {
				raw, err := json.MarshalIndent(v, "", " ")
				if err != nil {
					tb.Fatal(err)
				}
				b.Write(raw)
				b.WriteByte('\n')
			}
		}
		return b.String()
	}
	if d := cmp.Diff(text(want), text(got)); d != "" {
		tb.Errorf("lost on the way (-want +got):\n%s", d[:min(len(d), 3000)])
	}
}

// Whatever was imported comes back the same from an export, digest included.
func TestNativeRoundTrip(t *testing.T) {
	var files []string
	own, err := format.Walk(sessions())
	if err != nil {
		t.Fatal(err)
	}
	files = append(files, own...)
	if dir := corporaDir(); dir != "" {
		for _, sub := range []string{"claude_code", "tau_bench"} {
			more, err := format.Walk(filepath.Join(dir, sub))
			if err != nil {
				t.Fatal(err)
			}
			files = append(files, more...)
		}
	}
	for _, f := range files {
		first, _, err := read(t, f, format.Options{})
		if err != nil {
			t.Fatal(err)
		}
		second, a := export(t, first)
		same(t, first, second)
		if strip := func(raw []byte) string { return noFile(t, raw) }; strip(a) != strip(exported(t, second)) {
			t.Errorf("%s: two exports differ", f)
		}
	}
}

// noFile clears what tells one export from another: the file and its damage.
func noFile(t *testing.T, raw []byte) string {
	t.Helper()
	var b strings.Builder
	for line := range bytes.Lines(raw) {
		if bytes.Contains(line, []byte(`"vise":1`)) {
			var head map[string]json.RawMessage
			if err := json.Unmarshal(line, &head); err != nil {
				t.Fatal(err)
			}
			delete(head, "file")
			line, _ = json.Marshal(head)
		}
		b.Write(line)
	}
	return b.String()
}

func TestNativeRoundTripProperty(t *testing.T) {
	text := rapid.StringN(0, 40, -1)
	at := rapid.Custom(func(t *rapid.T) time.Time {
		return time.Unix(rapid.Int64Range(1, 4e9).Draw(t, "s"), rapid.Int64Range(0, 999_999_999).Draw(t, "ns")).UTC()
	})
	spans := rapid.Custom(func(t *rapid.T) []trace.Span {
		var out []trace.Span
		for i := range rapid.IntRange(0, 4).Draw(t, "spans") {
			s := trace.Span{ID: string(rune('a' + i)), Kind: rapid.SampledFrom([]trace.Kind{trace.LLM, trace.TOOL, trace.AGENT, trace.CHAIN}).Draw(t, "kind"),
				Name: text.Draw(t, "name"), Input: text.Draw(t, "in"), Output: text.Draw(t, "out"), Thought: text.Draw(t, "thought"),
				Error: text.Draw(t, "error"), Pending: rapid.Bool().Draw(t, "pending")}
			if rapid.Bool().Draw(t, "clock") {
				s.Start, s.End = at.Draw(t, "start"), at.Draw(t, "end")
				cost := rapid.Float64Range(0, 9).Draw(t, "cost")
				s.Usage = trace.Usage{Input: rapid.Int64Range(0, 1<<60).Draw(t, "tokens"), CostUSD: &cost}
				s.Attrs = map[string]any{"n": json.Number("12345678901234567890"), "s": text.Draw(t, "attr"), "l": []any{true, nil}}
			}
			out = append(out, s)
		}
		return out
	})
	rapid.Check(t, func(t *rapid.T) {
		first := newCollector(t)
		s := trace.Session{ID: "p", Origin: trace.Recorded, Source: "acp", Agent: text.Draw(t, "agent"), Title: "t", System: text.Draw(t, "system"),
			TaskSummary: text.Draw(t, "task"), Label: "success", Started: at.Draw(t, "start"), Ended: at.Draw(t, "end").AddDate(200, 0, 0)}
		var turns []trace.Turn
		for i := range rapid.IntRange(0, 3).Draw(t, "turns") {
			turns = append(turns, trace.Turn{SessionID: "p", Index: i, TraceID: "p." + string(rune('0'+i)), Input: text.Draw(t, "input"),
				Synthetic: rapid.Bool().Draw(t, "synthetic"), StopReason: "end_turn", EndState: json.RawMessage(`{"n":1}`),
				ScopeHints: []trace.ScopeHint{{Key: "k", Description: text.Draw(t, "hint")}}, Spans: append([]trace.Span{}, spans.Draw(t, "list")...)})
		}
		first.sessions = []trace.Session{s}
		first.turns["p"] = turns
		second, _ := export(t, first) // the first reading may mask what looks like a credential
		third, _ := export(t, second)
		same(t, second, third)
		if len(second.turns["p"]) != len(turns) {
			t.Fatalf("%d turns of %d", len(second.turns["p"]), len(turns))
		}
		for i, turn := range turns {
			if got := second.turns["p"][i]; got.Input != turn.Input || len(got.Spans) != len(turn.Spans) {
				t.Fatalf("turn %d: %+v, want %+v", i, got, turn)
			}
		}
	})
}

// What a chat can hold comes back from an export as chat messages: inputs, answers,
// calls with their arguments and results.
func TestOpenAIRoundTrip(t *testing.T) {
	for _, file := range []string{"claude-code/desk.jsonl", "codex/rollout.jsonl", "openai/chat.json", "tau/tau2.json", "swe-agent/mini.traj.json", "inspect/log.json"} {
		first, _, err := read(t, sessions(file), format.Options{})
		if err != nil {
			t.Fatal(err)
		}
		var b bytes.Buffer
		w := openai.NewWriter(&b)
		for _, s := range first.sessions {
			err := w.Session(s)
			for _, turn := range first.turns[s.ID] {
				if err == nil {
					err = w.Turn(turn)
				}
			}
			if err == nil {
				err = w.End()
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		path := filepath.Join(t.TempDir(), "out.jsonl")
		if err := os.WriteFile(path, b.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
		second, sum, err := read(t, path, format.Options{})
		if err != nil || sum.Format != "openai-chat" || sum.Sessions != len(first.sessions) {
			t.Fatalf("%s: %+v, %v", file, sum, err)
		}
		for i := range first.sessions {
			if d := cmp.Diff(talk(first, i), talk(second, i)); d != "" {
				t.Errorf("%s, session %d (-want +got):\n%s", file, i, d)
			}
		}
	}
}

// What is exported over OTLP comes back with its label, its turns and their order, the
// ids, parents, errors and usage of its spans: of every recording of our own.
func TestOTLPRoundTrip(t *testing.T) {
	files, err := format.Walk(sessions())
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		first, _, err := read(t, file, format.Options{})
		if err != nil {
			t.Fatal(err)
		}
		for i, s := range first.sessions {
			if len(first.turns[s.ID]) == 0 {
				continue
			}
			var b bytes.Buffer
			for _, turn := range first.turns[s.ID] {
				if err := exporter.Turn(&b, s, turn, score.Report{}, guard.DefaultRedactor(), "test"); err != nil {
					t.Fatal(err)
				}
			}
			path := filepath.Join(t.TempDir(), "out.jsonl")
			if err := os.WriteFile(path, b.Bytes(), 0o600); err != nil {
				t.Fatal(err)
			}
			second, sum, err := read(t, path, format.Options{})
			if err != nil || sum.Format != "otlp" || sum.Sessions != 1 {
				t.Fatalf("%s: %+v, %v", file, sum, err)
			}
			if d := cmp.Diff(spelled(first, i), spelled(second, 0)); d != "" {
				t.Errorf("%s, session %d (-want +got):\n%s", file, i, d[:min(len(d), 1500)])
			}
		}
	}
}

// spelled is what an OTLP trace holds of a session.
func spelled(c *collector, i int) (lines []string) {
	s := c.sessions[i]
	lines = append(lines, fmt.Sprintf("%s label=%q title=%q %+v", s.ID, s.Label, s.Title, s.Counts))
	for _, turn := range c.turns[s.ID] {
		lines = append(lines, fmt.Sprintf("turn %d %q synthetic=%t stop=%q", turn.Index, turn.Input, turn.Synthetic, turn.StopReason))
		for _, s := range turn.Spans {
			parent := s.Parent
			if !slices.ContainsFunc(turn.Spans, func(o trace.Span) bool { return o.ID == parent }) {
				parent = "" // in another turn: a trace cannot say so
			}
			lines = append(lines, fmt.Sprintf("%s %s under %q %s in=%q out=%q thought=%q error=%q pending=%t %d/%d", s.Kind, s.ID, parent, s.Name, s.Input, s.Output, s.Thought, s.Error, s.Pending, s.Usage.Input, s.Usage.Output))
		}
	}
	return lines
}

// talk is what a chat holds of a session.
func talk(c *collector, i int) (lines []string) {
	for _, turn := range c.turns[c.sessions[i].ID] {
		if turn.Input != "" {
			lines = append(lines, "user "+turn.Input)
		}
		for _, s := range turn.Spans {
			switch s.Kind {
			case trace.LLM:
				lines = append(lines, "step "+s.Output)
			case trace.TOOL:
				out := s.Output
				if out == "" && !s.Pending {
					out = s.Error
				}
				lines = append(lines, fmt.Sprintf("call %s %s %s pending=%t", s.Name, s.Input, out, s.Pending))
			}
		}
	}
	return lines
}
