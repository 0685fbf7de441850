package format_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"vise/engine/trace"
	"vise/replay/format"
)

// The tests of this file are named after rows of testdata/publicbugs.txt: faults that
// users of other programs reported, made anew on ours.

// damage is what a reading says about damaged records, as "line:offset reason".
func damage(sum format.Summary) (list []string) {
	for _, d := range sum.Damaged {
		list = append(list, fmt.Sprintf("%d:%d %s", d.Line, d.Offset, d.Reason))
	}
	return list
}

// kept returns the outputs of the spans of a name: what has no place in the model
// stands there as it was.
func kept(turns []trace.Turn, name string) (list []string) {
	for _, t := range turns {
		for _, s := range t.Spans {
			if s.Name == name && s.Kind == trace.CHAIN {
				list = append(list, s.Output)
			}
		}
	}
	return list
}

// lineAt returns where a line of a file begins, in bytes, and the line.
func lineAt(t *testing.T, path string, n int) (int, string) {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.SplitAfter(string(raw), "\n")
	return len(strings.Join(lines[:n-1], "")), strings.TrimSuffix(lines[n-1], "\n")
}

// written puts lines into a file of their own.
func written(t *testing.T, name, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// A line cut in the middle costs itself and nothing behind it, and is told with its place.
func TestB01CutLine(t *testing.T) {
	head, turns, sum := one(t, "claude-code", "b01-line-cut.jsonl")
	offset, line := lineAt(t, sessions("claude-code", "b01-line-cut.jsonl"), 4)
	if sum.Records != 9 || sum.DamagedTotal != 1 || head.Damaged != 1 || damage(sum)[0] != fmt.Sprintf("4:%d record is cut off", offset) {
		t.Errorf("%d records, %d damaged in the head, %q", sum.Records, head.Damaged, damage(sum))
	}
	if raw := kept(turns, "damaged"); len(raw) != 1 || raw[0] != line {
		t.Errorf("the line is kept as %q, want %q", raw, line)
	}
	if len(turns) != 2 || turns[0].Input != "Where is order A-17?" || turns[1].Input != "Refund it, please." {
		t.Errorf("turns %+v", turns)
	}
	if _, _, err := read(t, sessions("claude-code", "b01-line-cut.jsonl"), format.Options{Strict: true}); !errors.Is(err, format.ErrDamaged) || !strings.Contains(err.Error(), fmt.Sprintf("line 4 at byte %d", offset)) {
		t.Errorf("strict: %v", err)
	}
}

// Two appends raced: one line holds two whole records, or one and a half.
func TestB02GluedRecords(t *testing.T) {
	say := func(id, text string) string {
		return fmt.Sprintf(`{"type":"user","sessionId":"s","uuid":"%s","message":{"content":"%s"}}`, id, text)
	}
	path := written(t, "s.jsonl", say("u1", "one")+say("u2", "two")+"\n"+say("u3", "three")+say("u4", "four")[:40]+"\n"+say("u5", "five")+"\n")
	c, sum, err := read(t, path, format.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var inputs []string
	for _, turn := range c.turns[c.sessions[0].ID] {
		inputs = append(inputs, turn.Input)
	}
	if strings.Join(inputs, " ") != "one two three five" || sum.Records != 4 || len(sum.Damaged) != 1 || sum.Damaged[0].Line != 2 || sum.Damaged[0].Bytes != 40 {
		t.Errorf("turns %q, %d records, damage %q", inputs, sum.Records, damage(sum))
	}
}

// A record that parses and has no known shape is flagged, shown raw, and is no turn.
func TestB04MessageOfCharacters(t *testing.T) {
	_, turns, sum := one(t, "claude-code", "b04-shape.jsonl")
	if sum.Unknown["user (malformed)"] != 1 || len(turns) != 2 || turns[0].Input != "Where is order A-17?" || turns[1].Input != "Refund it, please." {
		t.Errorf("unknown %v, turns %+v", sum.Unknown, turns)
	}
	if raw := kept(turns, "malformed"); len(raw) != 2 || !strings.Contains(raw[0], `"0"`) {
		t.Errorf("kept %q", raw)
	}
	for _, turn := range turns {
		if turn.Input == "" || len(turn.Spans) == 0 || turn.Spans[len(turn.Spans)-1].Output == "" {
			t.Errorf("an empty answer came of it: %+v", turn)
		}
	}
}

// Raw line feeds inside a text: the pieces are one record; where they give none they
// are one damaged region, not one per piece.
func TestB05RawLineFeeds(t *testing.T) {
	_, turns, sum := one(t, "claude-code", "b05-line-feeds.jsonl")
	if got := span(t, turns[0], "toolu_A").Output; got != "shipped\non\n\nMonday {or so}" || sum.DamagedTotal != 0 || sum.Records != 10 {
		t.Errorf("joined to %q, damage %q", got, damage(sum))
	}
	user := func(text string) string {
		return `{"type":"user","sessionId":"s","message":{"content":"` + text + `"}}` + "\n"
	}
	path := written(t, "s.jsonl", user("one")+user("two")[:50]+"\n"+strings.Repeat("a piece\n", 200)+user("three")+user("four"))
	c, sum, err := read(t, path, format.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if n := len(c.turns[c.sessions[0].ID]); n != 3 || sum.DamagedTotal > 2 {
		t.Errorf("%d turns, %d damages: %q", n, sum.DamagedTotal, damage(sum))
	}
}

// Lines end at a line feed only: other separators of Unicode are text.
func TestB06UnicodeSeparators(t *testing.T) {
	_, turns, sum := one(t, "claude-code", "b06-separators.jsonl")
	if turns[0].Input != "one\u2028two\u2029three\u0085four" || sum.Records != 2 || sum.DamagedTotal != 0 {
		t.Errorf("%q, %d records, damage %q", turns[0].Input, sum.Records, damage(sum))
	}
}

// An invalid byte is replaced and told; reading goes on, today and the next time.
func TestB09InvalidUTF8(t *testing.T) {
	var lines []string
	for i := range 50 {
		text := fmt.Sprint("record ", i+1)
		if i == 4 {
			text = "rec\xfford 5"
		}
		lines = append(lines, `{"type":"user","sessionId":"s","uuid":"u`+fmt.Sprint(i)+`","message":{"content":"`+text+`"}}`)
	}
	path := written(t, "s.jsonl", strings.Join(lines, "\n")+"\n")
	c, sum, err := read(t, path, format.Options{})
	if err != nil {
		t.Fatal(err)
	}
	turns := c.turns[c.sessions[0].ID]
	if len(turns) != 50 || turns[4].Input != "rec\uFFFDord 5" || sum.DamagedTotal != 1 || sum.Damaged[0].Line != 5 {
		t.Errorf("%d turns, damage %q", len(turns), damage(sum))
	}
	again, _, err := read(t, path, format.Options{})
	if err != nil || again.sessions[0].Digest != c.sessions[0].Digest {
		t.Errorf("read again it is another session: %v", err)
	}
}

// Records of a type that nobody knows yet are kept where they stood.
func TestB10UnknownType(t *testing.T) {
	_, turns, sum := one(t, "claude-code", "b10-future.jsonl")
	if len(sum.Unknown) != 1 || sum.Unknown["zz-future"] != 3 || len(turns) != 2 || len(kept(turns, "zz-future")) != 3 {
		t.Errorf("unknown %v, %d turns, kept %q", sum.Unknown, len(turns), kept(turns, "zz-future"))
	}
}

// When the vendor renames all its records the file is refused, with the count of what
// was not recognised: no empty, healthy session comes of it.
func TestB11RenamedRecords(t *testing.T) {
	raw, err := os.ReadFile(sessions("codex", "rollout.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	records := strings.Count(string(raw), "\n")
	renamed := regexp.MustCompile(`"type":\s*"([\w.]+)"`).ReplaceAllString(string(raw), `"type":"new_$1"`)
	path := written(t, "rollout.jsonl", renamed)
	for _, name := range []string{"", "codex"} {
		c, sum, err := read(t, path, format.Options{Format: name})
		if !errors.Is(err, format.ErrUnrecognised) || len(c.sessions) != 0 {
			t.Errorf("format %q: %d sessions, %v", name, len(c.sessions), err)
			continue
		}
		if name != "" && (sum.Records != records || !strings.Contains(err.Error(), fmt.Sprintf("recognised 0 of %d records", records))) {
			t.Errorf("%d records of %d: %v", sum.Records, records, err)
		}
	}
	// The same of the other formats of lines.
	for _, file := range []string{"claude-code/desk.jsonl", "codex/exec.jsonl", "native/desk.jsonl"} {
		raw, err := os.ReadFile(sessions(file))
		if err != nil {
			t.Fatal(err)
		}
		renamed := regexp.MustCompile(`"type":\s*"([\w.]+)"`).ReplaceAllString(string(raw), `"type":"new_$1"`)
		for _, name := range []string{"", strings.Split(file, "/")[0]} {
			c, _, err := read(t, written(t, "s.jsonl", renamed), format.Options{Format: name})
			if !errors.Is(err, format.ErrUnrecognised) || len(c.sessions) != 0 {
				t.Errorf("%s as %q: %d sessions, %v", file, name, len(c.sessions), err)
			}
		}
	}
}

// The parts of a message are put in the order of their numbers, 10 after 9, whichever
// of the two conventions carries them: see TestConventionsAgree, which also compares.
func TestB18IndexedParts(t *testing.T) {
	message := map[string]any{"openinference.span.kind": "LLM", "llm.output_messages.0.message.content": "ok", "llm.input_messages.0.message.role": "user"}
	var parts []map[string]string
	var want []string
	for i := range 12 {
		text := fmt.Sprint("part ", i)
		key := fmt.Sprintf("llm.input_messages.0.message.contents.%d.message_content.", i)
		message[key+"type"], message[key+"text"] = "text", text
		parts = append(parts, map[string]string{"type": "text", "content": text})
		want = append(want, text)
	}
	asJSON, err := json.Marshal([]any{map[string]any{"role": "user", "parts": parts}})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, attrs := range []map[string]any{message, {"gen_ai.operation.name": "chat", "gen_ai.input.messages": string(asJSON),
		"gen_ai.output.messages": `[{"role":"assistant","parts":[{"type":"text","content":"ok"}]}]`}} {
		var list []any
		for k, v := range attrs { // a map: in no order
			list = append(list, map[string]any{"key": k, "value": map[string]any{"stringValue": v}})
		}
		doc, err := json.Marshal(map[string]any{"resourceSpans": []any{map[string]any{"scopeSpans": []any{map[string]any{"spans": []any{map[string]any{
			"traceId": "5b8efff798038103d269b633813fc60c", "spanId": "eee19b7ec3c1b174", "name": "chat", "attributes": list,
			"startTimeUnixNano": "1781294600000000000", "endTimeUnixNano": "1781294600000000009"}}}}}}})
		if err != nil {
			t.Fatal(err)
		}
		c, _, err := read(t, written(t, "spans.json", string(doc)), format.Options{})
		if err != nil {
			t.Fatal(err)
		}
		turn := c.turns[c.sessions[0].ID][0]
		if turn.Spans[0].Output != "ok" {
			t.Errorf("answer %+v", turn.Spans[0])
		}
		got = append(got, turn.Input)
	}
	if got[0] != strings.Join(want, "\n") || got[1] != got[0] {
		t.Errorf("%q", got)
	}
}
