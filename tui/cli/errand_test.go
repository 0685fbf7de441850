package cli

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"vise/tui/action"
)

// A command line of the workbench is split as a shell would, and nothing is expanded.
func TestSplitWords(t *testing.T) {
	for line, want := range map[string][]string{
		`codex exec 'mend the tests'`: {"codex", "exec", "mend the tests"},
		`a "b c"d  e`:                 {"a", "b cd", "e"},
		`a '' \ b $HOME *`:            {"a", "", " b", "$HOME", "*"},
		`a 'it''s' "\"x\""`:           {"a", "its", `"x"`},
	} {
		if got, err := splitWords(line); err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %q, %v", line, got, err)
		}
	}
	for _, line := range []string{"", "  ", "a 'b", `a\`} {
		if got, err := splitWords(line); err == nil {
			t.Errorf("%q: %q", line, got)
		}
	}
}

// What an open workbench forbids other processes, it does itself: import, score, run a
// coding agent.
func TestErrands(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "vise.toml"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	recording, err := filepath.Glob("../../testdata/demo/*.jsonl")
	if err != nil || len(recording) == 0 {
		recording, err = filepath.Glob("../../testdata/demo/*/*")
	}
	if err != nil || len(recording) == 0 {
		t.Fatalf("no recording: %v", err)
	}
	from, err := filepath.Abs(recording[0])
	if err != nil {
		t.Fatal(err)
	}
	a := &app{out: &output{w: os.Stderr}, errw: os.Stderr, dir: dir, env: []string{"HOME=" + filepath.Dir(from), "PATH=" + os.Getenv("PATH")}}
	a.logLevel = "warn"
	if err := a.prepare(); err != nil {
		t.Fatal(err)
	}
	err = a.withHarness(t.Context(), needs{}, func(h *harness) error {
		bench, err := a.bench(h.cfg, h.store, h.Events(), h.ledger)
		if err != nil {
			return err
		}
		do := a.errands(h, bench)
		said, err := do[action.Import](t.Context(), "~/"+filepath.Base(from))
		if err != nil || !strings.HasPrefix(said, "imported ") {
			t.Fatalf("import: %q, %v", said, err)
		}
		if _, err := do[action.Import](t.Context(), "nowhere"); err == nil {
			t.Error("imported nothing without an error")
		}
		ids, err := recordedSessions(h.store)
		if err != nil || len(ids) == 0 {
			t.Fatalf("sessions %v, %v", ids, err)
		}
		if said, err = do[action.Score](t.Context(), ids[0]); err != nil || !strings.Contains(said, " scored by ") {
			t.Errorf("score: %q, %v", said, err)
		}
		if said, err = do[action.Agent](t.Context(), `sh -c 'echo mended > note.txt'`); err != nil || !strings.HasPrefix(said, "patch run ") {
			t.Errorf("agent: %q, %v", said, err)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
