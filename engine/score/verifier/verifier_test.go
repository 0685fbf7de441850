package verifier

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"vise/engine/process"
	"vise/engine/trace"
)

// script makes a verifier of a shell script.
func script(t *testing.T, body string) *Verifier {
	t.Helper()
	v, err := New(Options{Command: []string{"sh", "-c", body}, Env: []string{"PATH=" + os.Getenv("PATH")}, Timeout: 20 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func question() Question {
	return Question{Session: trace.Session{ID: "s-1", Origin: trace.Replay, CaseID: "c-1"}, Inputs: []string{"first", "refund it"},
		Turn: trace.Turn{Index: 1, EndState: json.RawMessage(`{"refunded":true}`), Spans: []trace.Span{
			{ID: "a", Kind: trace.TOOL, Name: "refund", Input: `{"id":"A"}`, Output: "done"},
			{ID: "b", Kind: trace.LLM, Output: "It is refunded."}, {ID: "c", Kind: trace.LLM}}}}
}

// TestVerdicts: only what is exactly a verdict is a score. Everything else is no
// score, never 0 and never 1.
func TestVerdicts(t *testing.T) {
	for name, c := range map[string]struct {
		script string
		value  float64
		ok     bool
		reason string
	}{
		"true":                 {"echo true", 1, true, ""},
		"false":                {"echo false", 0, true, ""},
		"a number":             {"echo 0.25", 0.25, true, ""},
		"no opinion":           {"echo null", 0, false, ""},
		"NaN":                  {"echo NaN", 0, false, `"NaN" is no JSON`},
		"infinite":             {"echo 1e999", 0, false, "not in [0,1]"},
		"percent":              {"echo 85", 0, false, `"85" is not in [0,1]`},
		"negative":             {"echo -0.1", 0, false, "not in [0,1]"},
		"text":                 {`echo '"0.9"'`, 0, false, "neither a number"},
		"an object":            {`echo '{"score":1}'`, 0, false, "neither a number"},
		"two values":           {"echo true false", 0, false, "more than one value"},
		"prose":                {"echo looks good", 0, false, "is no JSON"},
		"nothing":              {"true", 0, false, "wrote nothing"},
		"a bad end":            {"echo true; echo boom >&2; exit 3", 0, false, "exit status 3: boom"},
		"too much":             {"yes 1", 0, false, "it wrote too much"},
		"it reads its input":   {"grep -q '\"refunded\":true' && echo true", 1, true, ""},
		"it reads nothing":     {"exec <&-; echo true", 1, true, ""},
		"no credential for it": {"test -z \"$PANDAPROBE_API_KEY\" && echo true", 1, true, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("PANDAPROBE_API_KEY", "secret")
			var value float64
			got, err := script(t, c.script).Verify(t.Context(), question())
			ok := got.Value != nil
			if ok {
				value = *got.Value
			}
			if value != c.value || ok != c.ok || (err != nil) != (c.reason != "") || err != nil && !strings.Contains(err.Error(), c.reason) {
				t.Errorf("%v %v, %v; want %v %v, %q", value, ok, err, c.value, c.ok, c.reason)
			}
		})
	}
}

func TestTheVerifierIsBounded(t *testing.T) {
	v, err := New(Options{Command: []string{"sh", "-c", "echo true; sleep 60"}, Env: []string{"PATH=" + os.Getenv("PATH")}, Timeout: 300 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	if got, err := v.Verify(t.Context(), question()); got.Value != nil || err == nil || !strings.Contains(err.Error(), "evaluate.verifier_timeout (300ms)") {
		t.Errorf("%v, %v", got, err)
	}
	ctx, stop := context.WithCancelCause(t.Context())
	why := errors.New("closed")
	stop(why)
	if _, err := v.Verify(ctx, question()); !errors.Is(err, why) {
		t.Errorf("%v", err)
	}
}

// TestTheVerifierIsConfined: it may write into its own folder only, and that is gone
// afterwards; where the kernel holds nothing, the verdict says so.
func TestTheVerifierIsConfined(t *testing.T) {
	dir, scratch := t.TempDir(), t.TempDir()
	v, err := New(Options{Command: []string{"sh", "-c", `echo x > "$TMPDIR/own" || exit 9; if echo x > outside 2>/dev/null; then echo 0; else echo 1; fi`}, Dir: dir,
		Env: []string{"PATH=" + os.Getenv("PATH")}, Timeout: 30 * time.Second, Scratch: scratch, Sandbox: &process.Sandbox{Network: process.Network{Open: true}}})
	if err != nil {
		t.Fatal(err)
	}
	got, err := v.Verify(t.Context(), question())
	if err != nil || got.Value == nil {
		t.Fatalf("%+v, %v", got, err)
	}
	if held := *got.Value == 1; held != got.Held.Files {
		t.Errorf("could not write outside: %v; %s", held, got.Held.Detail())
	}
	if left, _ := os.ReadDir(scratch); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// TestDocument: what the program is told, and that it is bounded.
func TestDocument(t *testing.T) {
	d := newDocument(question())
	if d.Answer != "It is refunded." || d.TurnIndex != 1 || len(d.Inputs) != 2 || len(d.Spans) != 3 || string(d.EndState) != `{"refunded":true}` || d.CaseID != "c-1" {
		t.Errorf("%+v", d)
	}
	q := question()
	for range 200 {
		q.Turn.Spans = append(q.Turn.Spans, trace.Span{Kind: trace.TOOL, Output: strings.Repeat("x", 300<<10)})
	}
	d = newDocument(q)
	raw, err := json.Marshal(d)
	if err != nil || len(raw) > maxSpans+1<<20 || d.Cut == 0 || d.Omitted == 0 || len(d.Spans)+d.Omitted != 203 {
		t.Errorf("%d bytes, cut %d, omitted %d of %d, %v", len(raw), d.Cut, d.Omitted, len(d.Spans)+d.Omitted, err)
	}
}

// TestIdentity: an edited script is another verifier.
func TestIdentity(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "check.sh")
	identity := func(text string, argv ...string) string {
		if err := os.WriteFile(file, []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
		v, err := New(Options{Command: argv, Dir: dir, Timeout: time.Second})
		if err != nil {
			t.Fatal(err)
		}
		return v.Identity()
	}
	one := identity("echo true", "./check.sh")
	if again := identity("echo true", "./check.sh"); again != one {
		t.Errorf("%s and %s", one, again)
	}
	if identity("echo false", "./check.sh") == one || identity("echo true", "sh", "check.sh") == one {
		t.Error("another program of the same identity")
	}
}

// TestAChangedProgramIsNotTaken: neither when an agent has written over it nor when it is gone.
func TestAChangedProgramIsNotTaken(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "check.sh")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("echo false")
	v, err := New(Options{Command: []string{"sh", "check.sh"}, Dir: dir, Env: []string{"PATH=" + os.Getenv("PATH")}, Timeout: 20 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	if got, err := v.Verify(t.Context(), question()); err != nil || *got.Value != 0 {
		t.Fatalf("%+v, %v", got, err)
	}
	write("echo true")
	if got, err := v.Verify(t.Context(), question()); err == nil || got.Value != nil || !strings.Contains(err.Error(), "check.sh has changed") {
		t.Errorf("written over: %+v, %v", got, err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if _, err := v.Verify(t.Context(), question()); err == nil || !strings.Contains(err.Error(), "check.sh has changed") {
		t.Errorf("removed: %v", err)
	}
	write("echo false")
	if got, err := v.Verify(t.Context(), question()); err != nil || *got.Value != 0 {
		t.Errorf("back again: %+v, %v", got, err)
	}
}
