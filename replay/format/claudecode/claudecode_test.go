package claudecode_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"vise/engine/trace"
	"vise/replay/format/claudecode"
	"vise/replay/format/recording"
)

type sink struct {
	head  trace.Session
	turns []trace.Turn
}

func (s *sink) Begin(trace.Session) error { return nil }
func (s *sink) Turn(t trace.Turn) error   { s.turns = append(s.turns, t); return nil }
func (s *sink) End(h trace.Session) error { s.head = h; return nil }

// parse reads a log of the given lines.
func parse(t *testing.T, name string, lines ...string) (*sink, recording.Summary) {
	t.Helper()
	s := &sink{}
	rec := recording.NewRecorder(context.Background(), name, claudecode.Name, recording.Options{}, s)
	if err := claudecode.Read(strings.NewReader(strings.Join(lines, "\n")+"\n"), name, rec); err != nil {
		t.Fatal(err)
	}
	return s, rec.Summary()
}

func user(text string) string {
	return fmt.Sprintf(`{"type":"user","sessionId":"s","uuid":"u-%s","message":{"content":%q}}`, text, text)
}

func answer(id, text string) string {
	return fmt.Sprintf(`{"type":"assistant","sessionId":"s","message":{"id":%q,"content":[{"type":"text","text":%q}]}}`, id, text)
}

func call(msg, id string) string {
	return fmt.Sprintf(`{"type":"assistant","sessionId":"s","message":{"id":%q,"content":[{"type":"tool_use","id":%q,"name":"t","input":{}}]}}`, msg, id)
}

func result(id, text string) string {
	return fmt.Sprintf(`{"type":"user","sessionId":"s","message":{"content":[{"type":"tool_result","tool_use_id":%q,"content":%q}]}}`, id, text)
}

// names lists the spans of a turn as "kind name-or-id".
func names(t trace.Turn) string {
	var out []string
	for _, s := range t.Spans {
		name := s.Name
		if s.Kind == trace.TOOL || s.Kind == trace.LLM {
			name = s.ID
		}
		if s.Pending {
			name += "?"
		}
		out = append(out, string(s.Kind)+" "+name)
	}
	return strings.Join(out, ", ")
}

// A result that comes after the next input still answers its call.
func TestResultAfterNextInput(t *testing.T) {
	s, _ := parse(t, "s.jsonl", user("one"), call("m1", "c1"), user("two"), answer("m2", "x"), result("c1", "late but here"), user("three"))
	if len(s.turns) != 3 || names(s.turns[0]) != "LLM m1, TOOL c1" || s.turns[0].Spans[1].Output != "late but here" {
		t.Errorf("turns %+v", s.turns)
	}
}

// Only so many turns wait; a result that comes later still is kept, marked.
func TestResultFarTooLate(t *testing.T) {
	lines := []string{user("0"), call("m", "c1")}
	for i := 1; i < 9; i++ {
		lines = append(lines, user(fmt.Sprint(i)), answer(fmt.Sprint("m", i), "x"))
	}
	s, sum := parse(t, "s.jsonl", append(lines, result("c1", "at last"))...)
	last := s.turns[len(s.turns)-1]
	if len(s.turns) != 9 || names(s.turns[0]) != "LLM m, TOOL c1?" || names(last) != "LLM m8, CHAIN late_result" || len(sum.Notes) != 1 {
		t.Errorf("%q, %q, %v", names(s.turns[0]), names(last), sum.Notes)
	}
}

// A log that begins in the middle has its first steps in a synthetic turn.
func TestSyntheticTurn(t *testing.T) {
	s, _ := parse(t, "s.jsonl", result("gone", "x"), answer("m1", "going on"), user("next"))
	if len(s.turns) != 2 || !s.turns[0].Synthetic || names(s.turns[0]) != "CHAIN orphan_result, LLM m1" || s.turns[1].Synthetic || s.head.Counts.Turns != 1 {
		t.Errorf("turns %+v", s.turns)
	}
	// Records that are no act of the agent belong to the first input.
	s, _ = parse(t, "s.jsonl", `{"type":"system","subtype":"session_start","sessionId":"s"}`, user("hi"), answer("m1", "x"))
	if len(s.turns) != 1 || s.turns[0].Synthetic || names(s.turns[0]) != "CHAIN system/session_start, LLM m1" {
		t.Errorf("turns %+v", s.turns)
	}
}

// Two texts of the user with one parent: the person went back.
func TestRewind(t *testing.T) {
	at := func(text string) string {
		return fmt.Sprintf(`{"type":"user","sessionId":"s","parentUuid":"p","uuid":%q,"message":{"content":%q}}`, text, text)
	}
	s, _ := parse(t, "s.jsonl", user("start"), at("first try"), answer("m1", "x"), at("second try"), answer("m2", "x"))
	if len(s.turns) != 3 || names(s.turns[2]) != "CHAIN rewind, LLM m2" || s.turns[2].Spans[0].Attrs["abandons_from_turn"] != 1 {
		t.Errorf("turns %+v", s.turns)
	}
}

// A response that turns up again, as after a resume, is no second step.
func TestResponseRepeated(t *testing.T) {
	s, _ := parse(t, "s.jsonl", user("one"), answer("m1", "x"), user("two"), answer("m1", "x again"))
	if s.head.Counts.Steps != 1 || names(s.turns[1]) != "CHAIN assistant_continued" {
		t.Errorf("%+v", s.turns)
	}
}

// Not turns: meta records, compaction summaries, hooks; the titles a log has.
func TestNotTurns(t *testing.T) {
	s, sum := parse(t, "s.jsonl",
		`{"type":"ai-title","sessionId":"s","aiTitle":"By the model"}`, user("hi"),
		`{"type":"user","sessionId":"s","isMeta":true,"message":{"content":"Caveat"}}`,
		`{"type":"user","sessionId":"s","isCompactSummary":true,"message":{"content":[{"type":"text","text":"Summary"}]}}`,
		`{"type":"attachment","sessionId":"s","attachment":{"type":"queued_command","prompt":"<task-notification/>"}}`,
		`{"type":"custom-title","sessionId":"s","customTitle":"By hand, sk-proj-Zz0011223344556677889900aabbccdd"}`,
		`{"type":"summary","summary":"Later and weaker"}`,
		`{"type":"assistant","sessionId":"s","isApiErrorMessage":true,"message":{"id":"e","model":"<synthetic>","content":[{"type":"text","text":"API Error: 529"}]}}`)
	if s.head.Counts != (trace.Counts{Turns: 1, Steps: 1}) || names(s.turns[0]) != "CHAIN meta, CHAIN compact_summary, CHAIN attachment/queued_command, LLM e" {
		t.Errorf("%+v, %q", s.head.Counts, names(s.turns[0]))
	}
	if e := s.turns[0].Spans[3]; e.Error != "API Error: 529" || e.Attrs["api_error"] != true {
		t.Errorf("error of the model %+v", e)
	}
	if !strings.HasPrefix(s.head.Title, "By hand, [redacted:api-key:") || len(sum.Notes) != 1 {
		t.Errorf("title %q, notes %v", s.head.Title, sum.Notes)
	}
}

// Secrets that stand where a text is shortened are masked before.
func TestErrorMaskedBeforeCut(t *testing.T) {
	text := strings.Repeat("x", 480) + " sk-proj-Zz0011223344556677889900aabbccdd"
	s, _ := parse(t, "s.jsonl", user("go"), call("m1", "c1"),
		fmt.Sprintf(`{"type":"user","sessionId":"s","message":{"content":[{"type":"tool_result","tool_use_id":"c1","is_error":true,"content":%q}]}}`, text))
	if e := s.turns[0].Spans[1].Error; strings.Contains(e, "sk-proj") {
		t.Errorf("error %q", e)
	}
}

// A sub-agent's file that no result names is kept with the session, damage and all.
func TestSubagentWithoutResult(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "s.jsonl")
	sub := claudecode.Subagents(path)
	if err := os.MkdirAll(sub, 0o700); err != nil {
		t.Fatal(err)
	}
	log := `{"type":"user","isSidechain":true,"agentId":"ab12cd","sessionId":"s","message":{"content":"count"}}` + "\n" +
		`{"type":"assistant","isSidechain":true,"agentId":"ab12cd","sessionId":"s","message":{"id":"x1","content":[{"type":"text","text":"one"}]}}` + "\n{\"type\":\"assi\n"
	if err := os.WriteFile(filepath.Join(sub, "agent-ab12cd.jsonl"), []byte(log), 0o600); err != nil {
		t.Fatal(err)
	}
	s, sum := parse(t, path, user("go"),
		`{"type":"assistant","sessionId":"s","message":{"id":"m1","content":[{"type":"tool_use","id":"c1","name":"Task","input":{"prompt":"count"}}]}}`)
	if len(s.turns) != 1 || names(s.turns[0]) != "LLM m1, TOOL c1?, AGENT sub-agent, LLM x1, CHAIN damaged" || sum.DamagedTotal != 1 {
		t.Fatalf("%q, %+v", names(s.turns[0]), sum)
	}
	if a := s.turns[0].Spans[2]; a.Parent != "c1" || a.Input != "count" {
		t.Errorf("agent %+v", a)
	}
	if s.turns[0].Spans[3].Parent != s.turns[0].Spans[2].ID {
		t.Errorf("response %+v", s.turns[0].Spans[3])
	}
}
