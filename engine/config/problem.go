package config

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// MaxProblems bounds how many problems one Error lists; the rest is counted.
const MaxProblems = 20

// Problem is one thing to correct. Either File (with Line and Column, from 1,
// columns in code points; 0 = the whole file) or Variable or Flag says where.
type Problem struct {
	File     string `json:"file,omitempty"`
	Line     int    `json:"line,omitempty"`
	Column   int    `json:"column,omitempty"`
	Variable string `json:"variable,omitempty"`
	Flag     string `json:"flag,omitempty"`
	Key      string `json:"key,omitempty"`
	Message  string `json:"message"`

	layer int // order of reporting
}

// String is "FILE:LINE:COLUMN: KEY: MESSAGE", or the variable or flag in place of the file.
func (p Problem) String() string {
	var b strings.Builder
	switch {
	case p.Variable != "":
		fmt.Fprintf(&b, "variable %s: ", p.Variable)
	case p.Flag != "":
		fmt.Fprintf(&b, "flag %s: ", p.Flag)
	case p.File != "" && p.Line > 0:
		fmt.Fprintf(&b, "%s:%d:%d: ", p.File, p.Line, p.Column)
	case p.File != "":
		fmt.Fprintf(&b, "%s: ", p.File)
	}
	if p.Key != "" {
		fmt.Fprintf(&b, "%s: ", p.Key)
	}
	return b.String() + p.Message
}

// Error lists everything that is wrong with a configuration at once.
type Error struct {
	Problems []Problem // at most MaxProblems
	More     int       // problems beyond those listed
}

// Error names every listed problem on a line of its own.
func (e *Error) Error() string {
	if len(e.Problems) == 1 && e.More == 0 {
		return "configuration: " + e.Problems[0].String()
	}
	var b strings.Builder
	fmt.Fprintf(&b, "configuration: %d problems", len(e.Problems)+e.More)
	for _, p := range e.Problems {
		b.WriteString("\n  " + p.String())
	}
	if e.More > 0 {
		fmt.Fprintf(&b, "\n  and %d more", e.More)
	}
	return b.String()
}

// problems collects what the layers find.
type problems struct {
	list    []Problem
	dropped int
}

// maxCollected bounds what is kept for sorting; the rest is only counted.
const maxCollected = 50 * MaxProblems

func (ps *problems) full() bool { return len(ps.list) >= maxCollected }

func (ps *problems) add(p Problem) {
	if ps.full() {
		ps.dropped++
		return
	}
	ps.list = append(ps.list, p)
}

// err returns the collected problems in layer and file order, or nil.
func (ps *problems) err() error {
	if len(ps.list) == 0 {
		return nil
	}
	slices.SortStableFunc(ps.list, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.layer, b.layer), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	shown := min(len(ps.list), MaxProblems)
	return &Error{Problems: ps.list[:shown:shown], More: len(ps.list) - shown + ps.dropped}
}

// meant returns ", did you mean X?" for the nearest of the choices, or "".
func meant(word string, choices []string) string {
	if len(word) > 64 {
		return ""
	}
	best, at := "", 2+(len(word)-1)/4
	for _, c := range choices {
		if d := distance(strings.ToLower(word), strings.ToLower(c)); d < at {
			best, at = c, d
		}
	}
	if best == "" {
		return ""
	}
	return fmt.Sprintf(", did you mean %s?", best)
}

// distance is the number of inserted, removed, replaced or swapped neighbouring
// bytes that turn one word into the other (optimal string alignment).
func distance(a, b string) int {
	before, prev, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := 1; i <= len(a); i++ {
		before, prev, row = prev, row, before
		row[0] = i
		for j := 1; j <= len(b); j++ {
			step := 1
			if a[i-1] == b[j-1] {
				step = 0
			}
			row[j] = min(prev[j]+1, row[j-1]+1, prev[j-1]+step)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
	}
	return row[len(b)]
}

// quote shows a value in a message: one line, bounded, control characters escaped.
func quote(s string) string {
	const limit = 60
	if r := []rune(s); len(r) > limit {
		s = string(r[:limit]) + "…"
	}
	return fmt.Sprintf("%q", s)
}
