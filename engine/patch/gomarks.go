package patch

import (
	"bytes"
	"path/filepath"
	"slices"
	"strings"

	"vise/engine/patch/run"
)

// marked is the value of -v under which a Go test binary marks what it says itself by a
// byte that tests do not print (see `go doc test2json`; Go 1.20 and later).
const marked = "-v=test2json"

// goTest reports a command that is `go test` itself.
func goTest(argv []string) bool {
	return len(argv) > 1 && filepath.Base(argv[0]) == "go" && argv[1] == "test"
}

// tellsMarks reports a `go test` whose results are marked.
func tellsMarks(argv []string) bool { return goTest(argv) && slices.Contains(argv, marked) }

// markByte begins what a test binary says under `marked`.
const markByte = 0x16

// goMarks passes on what `go test` with marks writes as the text of `go test -v`, and
// counts tests by the marked lines: a text that only looks like a result is none.
type goMarks struct {
	to func([]byte)

	inLine bool   // something of a line was passed on
	mark   []byte // the marked line that is being read, without its mark; nil = another line
	// What was counted, subtests included.
	runs, passed, failed, skipped int
}

// maxMark is the longest marked line that is read as such, in bytes.
const maxMark = 4 << 10

// Write never fails.
func (g *goMarks) Write(b []byte) (int, error) {
	rest := b
	for len(rest) > 0 {
		switch {
		case g.mark != nil:
			end := bytes.IndexByte(rest, '\n')
			n := end + 1
			if end < 0 {
				n = len(rest)
			}
			g.mark = append(g.mark, rest[:n]...)
			rest = rest[n:]
			if end >= 0 || len(g.mark) > maxMark {
				g.take()
			}
		case rest[0] == markByte:
			if g.inLine {
				g.to([]byte("\n"))
			}
			g.inLine, g.mark, rest = false, make([]byte, 0, 80), rest[1:]
		default:
			n := bytes.IndexByte(rest, markByte)
			if n < 0 {
				n = len(rest)
			}
			g.to(rest[:n])
			g.inLine, rest = rest[n-1] != '\n', rest[n:]
		}
	}
	return len(b), nil
}

// Close passes on the beginning of a marked line.
func (g *goMarks) Close() {
	if len(g.mark) > 0 {
		g.take()
	}
}

func (g *goMarks) take() {
	line := g.mark
	g.mark, g.inLine = nil, line[len(line)-1] != '\n'
	switch text := strings.TrimLeft(string(line[:min(len(line), 40)]), " "); {
	case strings.HasPrefix(text, "=== NAME "): // whose output follows: nobody asked
		g.inLine = false
		return
	case strings.HasPrefix(text, "=== RUN "):
		g.runs++
	case strings.HasPrefix(text, "--- PASS: "):
		g.passed++
	case strings.HasPrefix(text, "--- FAIL: "):
		g.failed++
	case strings.HasPrefix(text, "--- SKIP: "):
		g.skipped++
	}
	g.to(line)
}

// counting makes runners tell how many tests ran, and which: go test by marked lines,
// unittest by a line for each.
func counting(tests [][]string) [][]string {
	out := slices.Clone(tests)
	for i, argv := range out {
		switch {
		case goTest(argv) && !tellsEvents(argv):
			plain := slices.DeleteFunc(slices.Clone(argv), func(a string) bool { return verboseFlag(a) })
			out[i] = slices.Insert(plain, 2, marked)
		case unittest(argv) && !slices.ContainsFunc(argv[3:], func(a string) bool {
			return a == "-v" || a == "--verbose" || a == "-q" || a == "--quiet"
		}):
			out[i] = append(slices.Clone(argv), "-v")
		}
	}
	return out
}

func verboseFlag(a string) bool {
	return a == "-v" || a == "--v" || strings.HasPrefix(a, "-v=") || strings.HasPrefix(a, "--v=")
}

// tellsEvents reports a `go test` that writes JSON: no text to be counted.
func tellsEvents(argv []string) bool {
	return slices.ContainsFunc(argv, func(a string) bool { return strings.HasPrefix(strings.TrimLeft(a, "-"), "json") && a[0] == '-' })
}

// unmarked is the command for a go that knows no marks, when that is why f failed; nil
// for every other failure.
func unmarked(argv []string, f run.Phase) []string {
	if f.Passed || !tellsMarks(argv) || !strings.Contains(f.Output, `invalid boolean value "test2json" for -v`) {
		return nil
	}
	out := slices.Clone(argv)
	out[slices.Index(out, marked)] = "-v"
	return out
}

// unittest reports a command that is Python's unittest itself.
func unittest(argv []string) bool {
	return len(argv) > 2 && strings.HasPrefix(filepath.Base(argv[0]), "python") && argv[1] == "-m" && argv[2] == "unittest"
}
