package patch

import (
	"strings"
	"testing"
)

// What each runner prints is no reason to doubt; a summary without its tests, or one
// more than the runner prints, is.
func TestDoubt(t *testing.T) {
	for name, c := range map[string]struct {
		argv   string
		text   string
		passed int
		says   string
	}{
		"cargo":                         {"cargo test", "running 1 test\ntest a ... ok\n\ntest result: ok. 1 passed; 0 failed\n\nrunning 0 tests\n\ntest result: ok. 0 passed; 0 failed\n", 1, ""},
		"cargo, quiet":                  {"make test", "running 2 tests\n..\ntest result: ok. 2 passed; 0 failed\n", 2, ""},
		"cargo, a summary alone":        {"cargo test", "running 2 tests\ntest result: ok. 2 passed; 0 failed\n", 2, "the end of 0 is shown"},
		"cargo, one summary more":       {"cargo test", "running 1 test\ntest a ... ok\ntest result: ok. 1 passed; 0 failed\ntest result: ok. 0 passed; 0 failed\n", 1, "2 summaries were printed for 1"},
		"unittest behind make, dots":    {"make test", "..s.\n----\nRan 4 tests in 0.001s\n\nOK (skipped=1)\n", 3, ""},
		"unittest twice behind make":    {"make test", ".\nRan 1 test in 0.001s\n\nOK\n.\nRan 1 test in 0.001s\n\nOK\n", 2, ""},
		"unittest, quiet":               {"python3 -m unittest -q", "Ran 4 tests in 0.001s\n\nOK\n", 4, ""},
		"unittest, after its summary":   {"python3 -m unittest -v", "Ran 1 test in 0.001s\n\nOK\ntest_a (t.T.test_a) ... ok\n", 1, "went on after"},
		"unittest, output after it":     {"python3 -m unittest -v", "test_a (t.T.test_a) ... ok\n\nRan 1 test in 0.001s\n\nOK\nwhat the program printed\n", 1, ""},
		"pytest":                        {"python3 -m pytest -q", "..s                  [100%]\n2 passed, 1 skipped in 0.01s\n", 2, ""},
		"pytest, by file":               {"pytest", "tests/test_a.py ..                 [ 66%]\nb.py .   [100%]\n\n=== 3 passed in 0.01s ===\n", 3, ""},
		"pytest -v":                     {"pytest -v", "a.py::test_a PASSED [ 50%]\na.py::test_b PASSED [100%]\n\n=== 2 passed in 0.01s ===\n", 2, ""},
		"pytest, a summary alone":       {"pytest -q", "2 passed in 0.01s\n", 2, "the end of 0 is shown"},
		"pytest, two summaries":         {"uv run pytest -q", "..   [100%]\n2 passed in 0.01s\n2 passed in 0.01s\n", 4, "there are 2"},
		"node, TAP":                     {"node --test", "TAP version 13\n# Subtest: a\n    ok 1 - b\nok 1 - a\n1..1\n# tests 1\n# pass 1\n# fail 0\n", 1, ""},
		"node, spec":                    {"npm test", "✔ adds (0.5ms)\n✔ takes (0.2ms)\nℹ tests 2\nℹ pass 2\nℹ fail 0\n", 2, ""},
		"node, a summary alone":         {"npm test", "# tests 2\n# pass 2\n# fail 0\n", 2, "the end of 0 is shown"},
		"mocha":                         {"npm test", "  calc\n    ✔ adds\n    ✔ takes\n\n  2 passing (4ms)\n", 2, ""},
		"mocha, a summary alone":        {"npm test", "  2 passing (4ms)\n", 2, "the end of 0 is shown"},
		"jest, no test is named":        {"npm test", "PASS ./a.test.js\n\nTests:       2 passed, 2 total\n", 2, ""},
		"a script that counts, as told": {"make test", "3 passed\n", 3, ""},
	} {
		got := doubt(strings.Fields(c.argv), c.text, c.passed)
		if (got == "") != (c.says == "") || !strings.Contains(got, c.says) {
			t.Errorf("%s: %q, want %q", name, got, c.says)
		}
		var lines summary
		lines.add([]byte(c.text))
		if kept := doubt(strings.Fields(c.argv), string(lines.kept), c.passed); kept != got {
			t.Errorf("%s: of the lines that are kept of a long output %q, of all %q", name, kept, got)
		}
	}
}

// The end of a line is kept, however long it is.
func TestLongLinesOfASummary(t *testing.T) {
	var s summary
	for range 3 {
		s.add([]byte("test_a (t.T.test_a) ... " + strings.Repeat("x", 9000)))
	}
	s.add([]byte("ok\nRan 1 test in 0.1s\n\nOK\n"))
	if len(s.kept) > 5000 || doubt(strings.Fields("python3 -m unittest -v"), string(s.kept), 1) != "" {
		t.Errorf("%d bytes are kept: …%s", len(s.kept), s.kept[max(0, len(s.kept)-60):])
	}
}
