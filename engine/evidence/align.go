package evidence

import (
	"strings"

	"vise/engine/trace"
)

// maxAligned bounds the calls of one turn that are put beside each other by name; further
// ones are put beside each other by their place.
const maxAligned = 200

// Beside is one row of two runs side by side: a tool call, or the answer of a turn.
type Beside struct {
	Turn int `json:"turn"` // index of the turn in both runs
	// CallA and CallB are the places among the turn's tool calls, from 1; 0 = no call.
	CallA int `json:"call_a,omitempty"`
	CallB int `json:"call_b,omitempty"`
	// What differs: "" = nothing; call (one of them did not make it), arguments, result
	// (one failed), answer.
	What string `json:"what,omitempty"`
	// A and B are what each did there, bounded; "" = nothing.
	A string `json:"a"`
	B string `json:"b"`
}

// Align puts two runs side by side, turn by turn. Within a turn calls are matched by
// name in their order (the longest common subsequence), so that one call more does not
// make all that follow differ; matched calls are compared by arguments, whatever the
// order of the keys, and by whether they failed. The answer of the turn is the last row.
// Calls for which ours says so are left out.
func Align(a, b []trace.Turn, ours func(tool string) bool) []Beside {
	var out []Beside
	for i := range max(len(a), len(b)) {
		var x, y trace.Turn
		index := 0
		if i < len(a) {
			x = a[i]
			index = x.Index
		}
		if i < len(b) {
			y = b[i]
			if i >= len(a) {
				index = y.Index
			}
		}
		out = append(out, alignCalls(index, calls(x, ours), calls(y, ours))...)
		p, q := x.Answer(), y.Answer()
		row := Beside{Turn: index, A: bounded(p), B: bounded(q)}
		if strings.Join(strings.Fields(p), " ") != strings.Join(strings.Fields(q), " ") {
			row.What = "answer"
		}
		if p != "" || q != "" {
			out = append(out, row)
		}
	}
	return out
}

func alignCalls(turn int, a, b []trace.Span) (out []Beside) {
	row := func(i, j int) {
		r := Beside{Turn: turn, What: "call"}
		if i >= 0 {
			r.CallA, r.A = i+1, callText(a[i])
		}
		if j >= 0 {
			r.CallB, r.B = j+1, callText(b[j])
		}
		switch {
		case i < 0 || j < 0 || a[i].Name != b[j].Name:
		case !sameJSON(a[i].Input, b[j].Input):
			r.What = "arguments"
		case (a[i].Error == "") != (b[j].Error == ""):
			r.What, r.A, r.B = "result", bounded(outcomeText(a[i])), bounded(outcomeText(b[j]))
		default:
			r.What = ""
		}
		out = append(out, r)
	}
	i, j := 0, 0
	n, m := min(len(a), maxAligned), min(len(b), maxAligned)
	common := subsequences(a[:n], b[:m])
	for i < n || j < m {
		switch {
		case i < n && j < m && a[i].Name == b[j].Name:
			row(i, j)
			i, j = i+1, j+1
		case j == m || i < n && common[i+1][j] == common[i][j]:
			row(i, -1)
			i++
		default:
			row(-1, j)
			j++
		}
	}
	for ; i < len(a) || j < len(b); i, j = i+1, j+1 {
		p, q := i, j
		if i >= len(a) {
			p = -1
		}
		if j >= len(b) {
			q = -1
		}
		row(p, q)
	}
	return out
}

// subsequences are the lengths of the longest common subsequences of names: at [i][j]
// that of a from i on and b from j on.
func subsequences(a, b []trace.Span) [][]int {
	out := make([][]int, len(a)+1)
	for i := range out {
		out[i] = make([]int, len(b)+1)
	}
	for i := len(a) - 1; i >= 0; i-- {
		for j := len(b) - 1; j >= 0; j-- {
			if a[i].Name == b[j].Name {
				out[i][j] = out[i+1][j+1] + 1
			} else {
				out[i][j] = max(out[i+1][j], out[i][j+1])
			}
		}
	}
	return out
}

// FirstDifference is the place of the first row that differs, -1 when none does.
func FirstDifference(rows []Beside) int {
	for i, r := range rows {
		if r.What != "" {
			return i
		}
	}
	return -1
}
