package format_test

import (
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"vise/engine/trace"
	"vise/replay/format"
)

// tester is what tests, fuzz targets, benchmarks and properties have in common.
type tester interface {
	Helper()
	Errorf(format string, args ...any)
	Fatal(args ...any)
	Fatalf(format string, args ...any)
}

// collector keeps everything a reader hands out and checks the protocol of the sink.
type collector struct {
	tb       tester
	open     bool
	sessions []trace.Session
	turns    map[string][]trace.Turn
}

func newCollector(tb tester) *collector {
	return &collector{tb: tb, turns: map[string][]trace.Turn{}}
}

func (c *collector) Begin(s trace.Session) error {
	if c.open {
		c.tb.Errorf("session %s begins inside another", s.ID)
	}
	if _, ok := c.turns[s.ID]; ok {
		c.tb.Errorf("session id %s is not unique", s.ID)
	}
	c.open = true
	c.sessions = append(c.sessions, s)
	c.turns[s.ID] = nil
	return nil
}

func (c *collector) Turn(t trace.Turn) error {
	if want := len(c.turns[t.SessionID]); t.Index != want {
		c.tb.Errorf("session %s: turn %d after %d turns", t.SessionID, t.Index, want)
	}
	c.turns[t.SessionID] = append(c.turns[t.SessionID], t)
	return nil
}

func (c *collector) End(s trace.Session) error {
	if !c.open || s.ID != c.sessions[len(c.sessions)-1].ID {
		c.tb.Errorf("session %s ends out of order", s.ID)
	}
	c.open = false
	if got := trace.Count(c.turns[s.ID]); got != s.Counts {
		c.tb.Errorf("session %s: head counts %+v, turns hold %+v", s.ID, s.Counts, got)
	}
	c.sessions[len(c.sessions)-1] = s
	return nil
}

func read(tb tester, path string, o format.Options) (*collector, format.Summary, error) {
	tb.Helper()
	c := newCollector(tb)
	sum, err := format.Read(context.Background(), path, o, c)
	return c, sum, err
}

// corporaDir returns the folder of the third-party recordings, "" if there is none, or
// if the race detector watches: a reader is one goroutine.
func corporaDir() string {
	if race {
		return ""
	}
	dir := os.Getenv("VISE_CORPORA")
	if dir == "" {
		dir = filepath.Join("..", "..", "..", "shared", "corpora")
	}
	if _, err := os.Stat(filepath.Join(dir, "INDEX.tsv")); err != nil {
		return ""
	}
	return dir
}

// corpora is corporaDir, or skips the test.
func corpora(tb testing.TB) string {
	tb.Helper()
	dir := corporaDir()
	if dir == "" {
		tb.Skip("no recorded sessions of third parties here; set VISE_CORPORA to a folder with INDEX.tsv to run this")
	}
	return dir
}

type indexRow struct {
	path, format                          string
	sessions, turns, calls, steps, errors int
	label                                 string
}

func index(tb testing.TB, dir string) []indexRow {
	tb.Helper()
	f, err := os.Open(filepath.Join(dir, "INDEX.tsv"))
	if err != nil {
		tb.Fatal(err)
	}
	defer f.Close()
	r := csv.NewReader(f)
	r.Comma, r.LazyQuotes = '\t', true
	recs, err := r.ReadAll()
	if err != nil {
		tb.Fatal(err)
	}
	var rows []indexRow
	n := func(s string) int { v, _ := strconv.Atoi(s); return v }
	for _, c := range recs[1:] {
		rows = append(rows, indexRow{c[0], c[1], n(c[9]), n(c[10]), n(c[11]), n(c[12]), n(c[13]), c[14]})
	}
	return rows
}

// accepted lists the files whose counts differ from the reference counter's, by
// how much, and why ours are kept.
var accepted = map[string]struct {
	sessions, turns, calls, steps, errors, masked int
	why                                           string
}{
	"claude_code/agent-sessions-small-catalog.jsonl": {errors: -1,
		why: "one call and two results without ids: the second result, an error, answers no call. It is kept as orphan_result; errors count calls"},
	"claude_code/subagent-dir/0a1b2c3d-4e5f-4061-8071-2a3b4c5d6e7f.jsonl": {calls: 1, steps: 1,
		why: "the sub-agent's own file is read with the session that launched it; the reference counts it as a file of its own"},
	"codex/agent-sessions-schema-drift.jsonl": {steps: 1,
		why: "an answer without a type: the reference counts messages by their type"},
	"codex/agentsview-standard_session.jsonl": {steps: 1,
		why: "an answer without a type, as above"},
	"codex/exec-stream-2.jsonl": {steps: 1,
		why: "a command is asked for by an answer of the model, the message after it is another one; the reference counts messages"},
	"codex/exec-stream-4.jsonl": {steps: 1, why: "as above"},
	"openai_chat/litellm-request-response-django__django-11451.json": {masked: 7,
		why: "the agent writes password=\"...\" and SECRET_KEY = '...' into files"},
	"atif/hello-world-context-summarization.trajectory.summarization-1-summary.json": {turns: -1, calls: -2, steps: -2,
		why: "steps copied from the main trajectory are no new ones (is_copied_context)"},
	"atif/hello-world-context-summarization.trajectory.summarization-1-answers.json": {turns: -2, calls: -2, steps: -3, why: "copied steps, as above"},
	"atif/hello-world-invalid-json.traces.json": {sessions: -3, turns: -6, steps: -6,
		why: "every episode repeats the one before: they are one session"},
	"atif/hello-world-context-summarization.traces.json": {sessions: -5, turns: -15, steps: -12,
		why: "two chains of episodes, before and after the summary"},
	"langfuse_langsmith/langfuse-koog-2025-08-26.trace.json": {calls: 2,
		why: "two calls exported as SPAN by an older client; they carry a call id"},
	"langfuse_langsmith/anthropic_managed_builtin_tools.jsonl":                     {steps: 1, why: "a model request that only calls a tool is a step too; the reference counts messages"},
	"langfuse_langsmith/anthropic_managed_custom_tools.jsonl":                      {steps: 1, why: "as above"},
	"langfuse_langsmith/anthropic_managed_mcp_tools_reject.jsonl":                  {errors: 1, why: "a rejected call comes back with is_error; the reference counts no errors here"},
	"inspect/log_tool_call_error.json":                                             {errors: -11, why: "its results answer no call: they are kept as orphan_result with their errors, and errors count calls"},
	"otel/trail-swe-72822db6e120878d916b515c2501246b.json":                         {steps: -1, why: "one span stands in the file twice, with one id"},
	"swe_agent/mini-1.1__deepseek_chat_test_1-100__django__django-12453.traj.json": {masked: 2, why: "SECRET_KEY='...' in a settings file"},
	"swe_agent/mini-1.1__deepseek_chat_test_1-100__django__django-11039.traj.json": {masked: 1, why: "SECRET_KEY='...' in a settings file"},
	"swe_agent/mini-1.1__deepseek_chat_test_1-100__django__django-11630.traj.json": {masked: 1, why: "SECRET_KEY='...' in a settings file"},
	"tau_bench/tau2-gpt-4o-telecom.json": {turns: -5, calls: -125,
		why: "125 calls are the user's own, not the agent's; 5 user messages are such a call with a remark beside it, which opens no turn"},
	"tau_bench/tau2-activegraph-20260531-191847-173904.json": {calls: -2,
		why: "two calls are the user's own"},
	"tau_bench/tau2-activegraph-20260601-041221-091109.json": {turns: -2, calls: -5,
		why: "five calls are the user's own, two of them with a remark beside it"},
}

// families are the formats of the index that can be read.
var families = map[string]bool{"claude_code": true, "tau_bench": true, "codex": true, "openai_chat": true, "swe_agent": true, "otel": true, "gemini_cli": true, "openhands": true, "inspect": true,
	"who_and_when": true, "atif": true, "langfuse": true, "langsmith": true, "cursor": true}

// readable reports whether a row of the index is a recording of its own: not a note
// about another file, and not a part of a recording that lies in a folder.
func readable(row indexRow) bool {
	return families[row.format] && !strings.HasSuffix(row.path, ".meta.json") && row.sessions > 0
}

func TestCorporaCounts(t *testing.T) {
	dir := corpora(t)
	seen := 0
	for _, row := range index(t, dir) {
		if !readable(row) {
			continue
		}
		seen++
		t.Run(row.path, func(t *testing.T) {
			c, sum, err := read(t, filepath.Join(dir, row.path), format.Options{})
			if err != nil {
				t.Fatal(err)
			}
			got := indexRow{row.path, row.format, sum.Sessions, sum.Turns, sum.Calls, sum.Steps, sum.Errors, row.label}
			want := row
			if d, ok := accepted[row.path]; ok {
				want.sessions += d.sessions
				want.turns, want.calls, want.steps, want.errors = want.turns+d.turns, want.calls+d.calls, want.steps+d.steps, want.errors+d.errors
			}
			if row.format == "who_and_when" {
				// The reference counts every entry as a step; here the code runner's are
				// calls, and what a human says is neither.
				got.steps, got.calls, got.errors = entries(c), 0, 0
			}
			if row.format == "otel" || row.format == "langfuse" {
				// The reference counts roots as turns and every span with an error status.
				// Here a trace is a turn, and only calls count; all errors must be there.
				want.turns, got.errors = row.sessions, failed(c)
			}
			if got != want {
				t.Errorf("\n got %+v\nwant %+v", got, want)
			}
			// Labels of mini-swe-agent come from reports beside the recordings.
			if got, want := labels(c.sessions), sorted(row.label); row.label != "" && row.format != "swe_agent" && got != want {
				t.Errorf("labels %s, want %s", got, want)
			}
			// Pages that the agents of Who&When read hold tokens of their servers.
			if want := accepted[row.path].masked; sum.Masked != want && row.format != "who_and_when" {
				t.Errorf("masked %d texts, want %d", sum.Masked, want)
			}
		})
	}
	if seen == 0 {
		t.Error("the index names no file of a format that can be read")
	}
}

// entries counts all spans.
func entries(c *collector) (n int) {
	for _, turns := range c.turns {
		for _, t := range turns {
			n += len(t.Spans)
		}
	}
	return n
}

// failed counts the spans with an error, whatever their kind.
func failed(c *collector) (n int) {
	for _, turns := range c.turns {
		for _, t := range turns {
			for _, s := range t.Spans {
				if s.Error != "" {
					n++
				}
			}
		}
	}
	return n
}

func sorted(list string) string {
	parts := strings.Split(list, ",")
	slices.Sort(parts)
	return strings.Join(parts, ",")
}

// labels counts the labels as the index writes them, in alphabetical order.
func labels(sessions []trace.Session) string {
	n := map[string]int{}
	for _, s := range sessions {
		n[s.Label]++
	}
	var parts []string
	for _, l := range slices.Sorted(maps.Keys(n)) {
		parts = append(parts, fmt.Sprintf("%s:%d", l, n[l]))
	}
	return strings.Join(parts, ",")
}

// TestCorporaForeign: what lies beside recordings and holds no session (annotations,
// reports, single events, logs without samples) is refused, never read as one.
func TestCorporaForeign(t *testing.T) {
	dir := corpora(t)
	for _, row := range index(t, dir) {
		if readable(row) || row.format == "none" || strings.HasSuffix(row.path, ".meta.json") {
			continue
		}
		path := filepath.Join(dir, row.path)
		if _, err := os.Stat(path); err != nil {
			continue
		}
		_, sum, err := read(t, path, format.Options{})
		if !errors.Is(err, format.ErrUnrecognised) {
			t.Errorf("%s (%s): read as %s with %d sessions, error %v", row.path, row.format, sum.Format, sum.Sessions, err)
		}
	}
}

// TestCorporaCut: wherever a file breaks off, what stands before is kept.
func TestCorporaCut(t *testing.T) {
	dir := corpora(t)
	rng := rand.New(rand.NewPCG(1, 2))
	for _, row := range index(t, dir) {
		if !readable(row) {
			continue
		}
		raw, err := os.ReadFile(filepath.Join(dir, row.path))
		if err != nil {
			t.Fatal(err)
		}
		ordered := row.format == "claude_code" || row.format == "tau_bench" || row.format == "codex" // sessions come in the order of the file
		cuts := 1
		var whole *collector
		if ordered {
			if whole, _, err = read(t, filepath.Join(dir, row.path), format.Options{}); err != nil {
				t.Fatal(err)
			}
			if len(raw) < 1<<20 {
				cuts = 3
			}
		}
		for range cuts {
			at := 1 + rng.IntN(len(raw)-1)
			path := filepath.Join(t.TempDir(), filepath.Base(row.path))
			if err := os.WriteFile(path, raw[:at], 0o600); err != nil {
				t.Fatal(err)
			}
			c, sum, err := read(t, path, format.Options{})
			if err != nil && !errors.Is(err, format.ErrUnrecognised) {
				t.Errorf("%s cut at %d: %v", row.path, at, err)
			}
			if !ordered {
				if sum.Sessions > 0 && len(c.turns[c.sessions[0].ID]) == 0 && sum.DamagedTotal == 0 {
					t.Errorf("%s cut at %d: a session without turns and without damage", row.path, at)
				}
				continue
			}
			// All sessions but the last one are complete.
			for i, s := range c.sessions[:max(len(c.sessions)-1, 0)] {
				if s.Digest != whole.sessions[i].Digest {
					t.Errorf("%s cut at %d: session %s changed", row.path, at, s.ID)
				}
			}
			if n := len(c.sessions); n > 0 {
				last := c.turns[c.sessions[n-1].ID]
				all := whole.turns[whole.sessions[n-1].ID]
				for i := range last[:max(len(last)-1, 0)] {
					if last[i].Input != all[i].Input && last[i].Input != "" {
						t.Errorf("%s cut at %d: turn %d changed", row.path, at, i)
					}
				}
			}
			if row.format == "tau_bench" && sum.DamagedTotal == 0 && err == nil {
				t.Errorf("%s cut at %d: no damage reported", row.path, at)
			}
		}
	}
}

func BenchmarkReadTau(b *testing.B)  { benchmark(b, "tau_bench/tau-gpt-4o-airline.json") }
func BenchmarkReadTau2(b *testing.B) { benchmark(b, "tau_bench/tau2-opus46-airline.json") }
func BenchmarkReadClaude(b *testing.B) {
	benchmark(b, "claude_code/reliability-python-to-rust-port-aa526173.jsonl")
}

type discard struct{}

func (discard) Begin(trace.Session) error { return nil }
func (discard) Turn(trace.Turn) error     { return nil }
func (discard) End(trace.Session) error   { return nil }

func benchmark(b *testing.B, file string) {
	path := filepath.Join(corpora(b), file)
	info, err := os.Stat(path)
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(info.Size())
	b.ReportAllocs()
	for b.Loop() {
		if _, err := format.Read(context.Background(), path, format.Options{}, discard{}); err != nil {
			b.Fatal(err)
		}
	}
}
