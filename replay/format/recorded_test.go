package format_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"vise/replay/format"
	"vise/replay/format/recording"
)

// A session that is named after its file is not named after a key in that name.
func TestSecretInFileName(t *testing.T) {
	const key = "hf_" + "abcdefghijklmnopqrstuvwxyzABCDEFGH"
	path := written(t, "run "+key+".jsonl", `{"type":"user","message":{"content":"hi"}}`+"\n")
	c, sum, err := read(t, path, format.Options{})
	if err != nil || len(c.sessions) != 1 || sum.Masked == 0 {
		t.Fatalf("%d sessions, %+v, %v", len(c.sessions), sum, err)
	}
	all, err := json.Marshal(map[string]any{"heads": c.sessions, "turns": c.turns})
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(all), key) || !strings.HasPrefix(c.sessions[0].ID, "run-redacted-api-key-") {
		t.Errorf("the key is kept: %s", all)
	}
}

// A log that was appended to itself, or holds every line twice, holds the same
// session as before.
func TestRepeatedRecords(t *testing.T) {
	for name, records := range map[string][]string{
		"claude": {
			`{"type":"user","uuid":"u1","sessionId":"s","timestamp":"2026-01-02T03:04:05.001Z","message":{"content":"hi"}}`,
			`{"type":"assistant","uuid":"u2","message":{"id":"m1","content":[{"type":"tool_use","id":"t1","name":"ls","input":{}}]}}`,
			`{"type":"user","uuid":"u3","message":{"content":[{"type":"tool_result","tool_use_id":"t1","content":"ok"}]}}`,
			`{"type":"assistant","uuid":"u4","message":{"id":"m2","content":[{"type":"tool_use","name":"pwd","input":{}}]}}`,
		},
		"codex": {
			`{"timestamp":"2026-01-02T03:04:05.001Z","type":"session_meta","payload":{"id":"s"}}`,
			`{"timestamp":"2026-01-02T03:04:05.002Z","type":"response_item","payload":{"type":"message","role":"user","content":[{"type":"input_text","text":"hi"}]}}`,
			`{"timestamp":"2026-01-02T03:04:05.003Z","type":"response_item","payload":{"type":"function_call","name":"ls","arguments":"{}","call_id":"c1"}}`,
			`{"timestamp":"2026-01-02T03:04:05.004Z","type":"response_item","payload":{"type":"function_call_output","call_id":"c1","output":"ok"}}`,
			`{"timestamp":"2026-01-02T03:04:05.005Z","type":"response_item","payload":{"type":"message","role":"user","content":[{"type":"input_text","text":"hi"}]}}`,
		},
	} {
		file := strings.Join(records, "\n") + "\n"
		once, _, err := read(t, written(t, name+".jsonl", file), format.Options{})
		if err != nil {
			t.Fatal(err)
		}
		twice := ""
		for _, r := range records {
			twice += r + "\n" + r + "\n"
		}
		for _, text := range []string{file + file, twice} {
			c, sum, err := read(t, written(t, name+".jsonl", text), format.Options{})
			if err != nil {
				t.Fatal(err)
			}
			if len(c.sessions) != 1 || c.sessions[0].Counts != once.sessions[0].Counts || c.sessions[0].Counts.Calls == 0 {
				t.Errorf("%s: %+v, once %+v", name, c.sessions, once.sessions[0].Counts)
			}
			if notes := strings.Join(sum.Notes, "\n"); !strings.Contains(notes, fmt.Sprintf("%d repeats left out", len(records))) {
				t.Errorf("%s: notes %q", name, notes)
			}
		}
	}
}

// Without ids and times only the record right behind its like is a repeat: the
// same may be said again later.
func TestRepeatedWithoutTime(t *testing.T) {
	start, turn, done := `{"type":"thread.started","thread_id":"s"}`+"\n", `{"type":"turn.started"}`+"\n", `{"type":"turn.completed"}`+"\n"
	c, _, err := read(t, written(t, "exec.jsonl", start+turn+turn+done+turn+done), format.Options{})
	if err != nil || len(c.sessions) != 1 || c.sessions[0].Counts.Turns != 2 {
		t.Errorf("%+v, %v", c.sessions, err)
	}
}

// A log without ids and times that was written twice, one whole after the other, holds
// the session once: when the second is the first, record by record, and not before.
func TestWholeCopies(t *testing.T) {
	log := []string{
		`{"type":"thread.started","thread_id":"s"}`, `{"type":"turn.started"}`,
		`{"type":"item.completed","item":{"id":"i0","type":"command_execution","command":"ls","aggregated_output":"a","exit_code":0,"status":"completed"}}`,
		`{"type":"item.completed","item":{"id":"i1","type":"agent_message","text":"done"}}`,
		`{"type":"turn.completed","usage":{"input_tokens":10,"output_tokens":2}}`,
	}
	again := slices.Clone(log)
	again[3] = `{"type":"item.completed","item":{"id":"i1","type":"agent_message","text":"done again"}}`
	for _, c := range []struct {
		name    string
		records []string
		turns   int
		dropped int
		damaged int
	}{
		{"twice", slices.Concat(log, log), 1, 5, 0},
		{"three times", slices.Concat(log, log, log), 1, 10, 0},
		{"resumed", slices.Concat(log, again), 2, 0, 0},
		{"resumed, and all of it twice", slices.Concat(log, again, log, again), 2, 10, 0},
		{"cut off in the second", slices.Concat(log, log[:4]), 2, 0, 0},
		{"damaged in the second", slices.Concat(log, log[:3], []string{`{"type":"item`}, log[3:]), 2, 0, 1},
	} {
		got, sum, err := read(t, written(t, "exec.jsonl", strings.Join(c.records, "\n")+"\n"), format.Options{})
		if err != nil || len(got.sessions) != 1 || got.sessions[0].Counts.Turns != c.turns || got.sessions[0].Counts.Calls != c.turns || sum.DamagedTotal != c.damaged {
			t.Errorf("%s: %+v, %v", c.name, sum, err)
		}
		if notes := strings.Join(sum.Notes, "\n"); c.dropped > 0 != strings.Contains(notes, fmt.Sprintf("%d repeats left out", c.dropped)) {
			t.Errorf("%s: notes %q", c.name, notes)
		}
	}
}

// Records that are printed over several lines, one after the other, are the records
// of the same log on one line each.
func TestRecordsOverSeveralLines(t *testing.T) {
	for name, records := range map[string][]string{
		"claude": {
			`{"type":"user","uuid":"u1","sessionId":"s","message":{"content":"hi"}}`,
			`{"type":"assistant","uuid":"u2","message":{"id":"m1","content":[{"type":"tool_use","id":"t1","name":"ls","input":{}}]}}`,
		},
		"codex": {
			`{"timestamp":"2026-01-02T03:04:05.001Z","type":"session_meta","payload":{"id":"s"}}`,
			`{"timestamp":"2026-01-02T03:04:05.003Z","type":"response_item","payload":{"type":"function_call","name":"ls","arguments":"{}","call_id":"c1"}}`,
		},
		"chat": {
			`{"messages":[{"role":"user","content":"hi"},{"role":"assistant","tool_calls":[{"id":"c1","type":"function","function":{"name":"ls","arguments":"{}"}}]}]}`,
			`{"messages":[{"role":"user","content":"ho"},{"role":"assistant","tool_calls":[{"id":"c2","type":"function","function":{"name":"ls","arguments":"{}"}}]}]}`,
		},
	} {
		var printed bytes.Buffer
		for _, r := range records {
			if err := json.Indent(&printed, []byte(r), "", "  "); err != nil {
				t.Fatal(err)
			}
			printed.WriteByte('\n')
		}
		want, _, err := read(t, written(t, name+".jsonl", strings.Join(records, "\n")+"\n"), format.Options{})
		if err != nil {
			t.Fatal(err)
		}
		got, sum, err := read(t, written(t, name+".jsonl", printed.String()), format.Options{})
		if err != nil || len(got.sessions) != len(want.sessions) || sum.DamagedTotal != 0 || sum.Calls == 0 {
			t.Errorf("%s: %d sessions, want %d, %+v, %v", name, len(got.sessions), len(want.sessions), sum, err)
			continue
		}
		for i, s := range got.sessions {
			if s.Counts != want.sessions[i].Counts {
				t.Errorf("%s: %+v, want %+v", name, s.Counts, want.sessions[i].Counts)
			}
		}
	}
}

// A log of which no record can be read is no session.
func TestNothingRead(t *testing.T) {
	c, _, err := read(t, written(t, "s.jsonl", `{"type":"user","sessionId":"s","message":{"content":"hi`+"\n"), format.Options{Format: "claude-code"})
	if !errors.Is(err, format.ErrUnrecognised) || len(c.sessions) != 0 {
		t.Errorf("%d sessions, %v", len(c.sessions), err)
	}
}

// What is not kept of many sessions is told in one note.
func TestAsideOnce(t *testing.T) {
	rec := recording.NewRecorder(t.Context(), "x", "test", format.Options{}, newCollector(t))
	for range 89 {
		rec.Aside(map[string]int{"think": 2, "null": 1})
	}
	if got := rec.Summary().Notes; len(got) != 1 || got[0] != "not kept, they hold no message: think 178, null 89" {
		t.Errorf("notes %q", got)
	}
}
