package risk

import (
	"strings"
	"testing"
)

// Source that is no test, and reaches for its test runner, is looked at by a person.
func TestReaches(t *testing.T) {
	for name, c := range map[string]struct {
		path, before, after, says string
	}{
		"python, skipped from the source":  {"src/calc.py", "", "import unittest\ndef add(a, b): raise unittest.SkipTest()\n", "import unittest"},
		"python, an inner exception":       {"src/calc.py", "x = 1\n", "x = E._ShouldStop()\n", "_ShouldStop"},
		"python, out at once":              {"src/calc.py", "", "import os\nos._exit(0)\n", "os._exit("},
		"python, as before":                {"src/fork.py", "os._exit(1)\n", "os._exit(1)\nx = 2\n", ""},
		"python, one more":                 {"src/fork.py", "os._exit(1)\n", "os._exit(1)\nos._exit(0)\n", "os._exit("},
		"python, a test":                   {"tests/test_calc.py", "", "import unittest\n", ""},
		"python, a module for the runner":  {"unittest.py", "", "import sys\nsys.exit(0)\n", "stands in"},
		"python, a word of it":             {"src/calc.py", "", "# import unittest later\nimport unittested\n", ""},
		"go, marks of the runner":          {"x.go", "", "package x\nfunc init() { print(\"\\x16=== RUN   TestX\") }\n", `\x16===`},
		"go, out at once":                  {"x.go", "", "package x\nfunc init() { syscall.Exit(0) }\n", "syscall.Exit("},
		"go, the package of tests":         {"x.go", "", "package x\n\nimport (\n\t\"fmt\"\n\t\"testing\"\n)\n", `"testing"`},
		"go, a test":                       {"x_test.go", "", "package x\n\nimport \"testing\"\n", ""},
		"node, the runner":                 {"src/x.mjs", "", "import { test } from 'node:test'\n", "node:test"},
		"what is no source":                {"notes.md", "", "import unittest\n", ""},
		"python, what stood in is removed": {"unittest.py", "import sys\n", "", ""},
	} {
		x := Text{Path: c.path, Type: "modified", Before: c.before, After: c.after}
		if strings.HasSuffix(name, "removed") {
			x.Type = "deleted"
		}
		if got := Reaches(x); (got == "") != (c.says == "") || !strings.Contains(got, c.says) {
			t.Errorf("%s: %q, want %q", name, got, c.says)
		}
	}
}
