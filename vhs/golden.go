package vhs

import (
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"
)

// masked stands in a golden for what differs from run to run.
const masked = "¤"

// volatile is what differs from run to run: ids, times of day, measured
// durations, process ids, the demo's folder.
var volatile = regexp.MustCompile(strings.Join([]string{
	`\b\d{8}T\d{6}Z-[0-9a-f]{12}\b`,              // patch runs
	`\b[0-9a-f]{12}\b`,                           // their short form, and the heads of digests
	`  [0-9a-f]{1,11}…`,                          // a column of them, or of counts, that is cut
	`\b(?:run|[a-z])-[0-9A-Za-z]*…`,              // an id cut at the edge of a column
	`\b(?:run|[a-z])-01[0-9A-HJKMNP-TV-Z]{4,24}`, // ids that hold a time
	`(?:run|[a-z])-[0-9A-HJKMNP-TV-Z]{6}\b`,      // their short form
	`\be-[0-9a-f]{4,12}\b`,                       // episodes
	`\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z`,
	`\b\d\d:\d\d(?::\d\d(?:\.\d+)?)?\b`, // times of day
	`\b\d+(?:\.\d+)? ?(?:µs|ms|s)\b`,    // durations
	`\b\d+ (?:characters|tokens)\b`,     // a prompt holds ids and times
	`\bpid[ =][0-9.e+]+`,
	`vise-demo-\d+`,
}, "|"))

// mask replaces what is volatile in a row by marks of the same width.
func mask(row string) string {
	return volatile.ReplaceAllStringFunc(row, func(m string) string {
		return strings.Repeat(masked, utf8.RuneCountInString(m))
	})
}

var (
	marks  = regexp.MustCompile(` *` + masked + `+ *`)
	blanks = regexp.MustCompile(` +`)
)

// same compares two masked rows. Between two vertical borders, text that holds
// something volatile may differ in the width of that, in the blanks that make up
// for it, and in where it is cut; all other text must be equal cell by cell.
func same(a, b string) bool {
	if a == b {
		return true
	}
	x, y := strings.Split(a, "│"), strings.Split(b, "│")
	if len(x) != len(y) {
		return false
	}
	for i := range x {
		if x[i] != y[i] && !alike(x[i], y[i]) {
			return false
		}
	}
	return true
}

// alike compares two texts that differ.
func alike(a, b string) bool {
	if !strings.Contains(a, masked) || !strings.Contains(b, masked) {
		return false
	}
	a, b = loose(a), loose(b)
	short, isCut := strings.CutSuffix(a, "…")
	long, bothCut := strings.CutSuffix(b, "…")
	if !isCut || !bothCut {
		return a == b
	}
	short, long = strings.TrimSpace(short), strings.TrimSpace(long)
	if len(short) > len(long) {
		short, long = long, short
	}
	return strings.HasPrefix(long, short) && utf8.RuneCountInString(long)-utf8.RuneCountInString(short) <= cutSlack
}

// cutSlack is by how much a duration may be longer in one run than in another.
const cutSlack = 6

func loose(text string) string {
	return strings.TrimSpace(blanks.ReplaceAllString(marks.ReplaceAllString(text, " "+masked+" "), " "))
}

// Golden writes the recorded frames down, volatile parts masked: first line the
// grid, then per frame a line "── name ──" and its rows.
func (r *Result) Golden() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d x %d\n", r.Cols, r.Rows)
	for _, f := range r.Frames {
		if !f.Recorded {
			continue
		}
		fmt.Fprintf(&b, "── %s ──\n", f.Name)
		b.WriteString(screenText(f.Lines))
	}
	return b.String()
}

// screenText is a screen down to its last row that is not empty.
func screenText(lines []string) string {
	rows := make([]string, len(lines))
	for i, l := range lines {
		rows[i] = mask(l)
	}
	return strings.TrimRight(strings.Join(rows, "\n"), "\n") + "\n"
}

// Diff lists the rows in which two goldens differ beyond what is volatile; empty when they agree.
func Diff(want, got string) string {
	var b strings.Builder
	x, y := strings.Split(want, "\n"), strings.Split(got, "\n")
	for i := range max(len(x), len(y)) {
		if l, r := at(x, i), at(y, i); !same(l, r) {
			fmt.Fprintf(&b, "%4d - %s\n     + %s\n", i+1, l, r)
		}
	}
	return b.String()
}

func at(rows []string, i int) string {
	if i < len(rows) {
		return rows[i]
	}
	return ""
}
