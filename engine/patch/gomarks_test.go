package patch

import (
	"strings"
	"testing"

	"vise/engine/patch/run"
)

// Marked lines become the text of go test -v; only they are counted.
func TestGoMarks(t *testing.T) {
	said := "\x16=== RUN   TestX\n\x16=== RUN   TestX/sub\n    x_test.go:5: hi\n\x16--- PASS: TestX/sub (0.00s)\n\x16=== NAME  TestX\nno end\x16--- PASS: TestX (0.00s)\n\x16=== NAME  \n" +
		"=== RUN   TestForged\n--- PASS: TestForged (0.00s)\n\x16=== RUN   TestF\n\x16--- FAIL: TestF (0.00s)\n\x16=== RUN   TestS\n\x16--- SKIP: TestS (0.00s)\n\x16=== RUN   TestLost\n\x16FAIL\n\x16FAIL\tx\t0.003s\nFAIL"
	want := "=== RUN   TestX\n=== RUN   TestX/sub\n    x_test.go:5: hi\n--- PASS: TestX/sub (0.00s)\nno end\n--- PASS: TestX (0.00s)\n" +
		"=== RUN   TestForged\n--- PASS: TestForged (0.00s)\n=== RUN   TestF\n--- FAIL: TestF (0.00s)\n=== RUN   TestS\n--- SKIP: TestS (0.00s)\n=== RUN   TestLost\nFAIL\nFAIL\tx\t0.003s\nFAIL"
	for size := 1; size < len(said); size += 7 {
		var text strings.Builder
		g := &goMarks{to: func(b []byte) { text.Write(b) }}
		for rest := said; rest != ""; {
			n := min(size, len(rest))
			_, _ = g.Write([]byte(rest[:n]))
			rest = rest[n:]
		}
		g.Close()
		if text.String() != want {
			t.Fatalf("in pieces of %d:\n%s\nwant\n%s", size, text.String(), want)
		}
		if g.runs != 5 || g.passed != 2 || g.failed != 1 || g.skipped != 1 {
			t.Fatalf("counted %+v", g)
		}
		f := run.Phase{Passed: true}
		if count(&f, []string{"go", "test", marked}, g, summary{}); *f.TestsPassed != 2 || *f.TestsTotal != 3 || !strings.HasPrefix(f.TestsDoubt, "1 of its tests") {
			t.Fatalf("a phase of it: %+v", f)
		}
	}
}

func TestCounting(t *testing.T) {
	for given, want := range map[string]string{
		"go test ./...":             "go test -v=test2json ./...",
		"go test -v -run X ./...":   "go test -v=test2json -run X ./...",
		"go test -json ./...":       "go test -json ./...",
		"go vet ./...":              "go vet ./...",
		"python3 -m unittest":       "python3 -m unittest -v",
		"python3 -m unittest -q":    "python3 -m unittest -q",
		"python3 -m unittest a.b":   "python3 -m unittest a.b -v",
		"python3 -m pytest":         "python3 -m pytest",
		"sh -c python3 -m unittest": "sh -c python3 -m unittest",
	} {
		argv := strings.Fields(given)
		if got := strings.Join(counting([][]string{argv})[0], " "); got != want || strings.Join(argv, " ") != given {
			t.Errorf("%s: %s, want %s", given, got, want)
		}
	}
	old := run.Phase{Output: `invalid boolean value "test2json" for -v: strconv.ParseBool: parsing "test2json": invalid syntax`}
	if got := strings.Join(unmarked([]string{"go", "test", marked, "./..."}, old), " "); got != "go test -v ./..." {
		t.Errorf("an old go runs %q", got)
	}
}

func FuzzGoMarks(f *testing.F) {
	f.Add([]byte("\x16=== RUN   TestX\nx\x16--- PASS: TestX (0.00s)\n\x16=== NAME  \n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		n := 0
		g := &goMarks{to: func(text []byte) {
			n += len(text)
			if len(text) == 0 {
				t.Error("nothing is passed on")
			}
		}}
		_, _ = g.Write(b)
		g.Close()
		if n > len(b)+1 || g.runs+g.passed+g.failed+g.skipped > len(b)/9 {
			t.Errorf("%d of %d bytes are passed on; %+v", n, len(b), g)
		}
	})
}
