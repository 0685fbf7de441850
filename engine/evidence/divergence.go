package evidence

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"vise/engine/trace"
)

// maxShown bounds the texts of a divergence, in code points.
const maxShown = 200

// Divergence is the first place where the run with the candidate did something else
// than the one without.
type Divergence struct {
	// Turn is its index, Call the place among the turn's tool calls, from 1; 0 is the
	// answer.
	Turn int `json:"turn"`
	Call int `json:"call"`
	// What differs: call, arguments, result, answer, end.
	What string `json:"what"`
	// Control and Treatment are what each did there, bounded; "" = nothing.
	Control   string `json:"control"`
	Treatment string `json:"treatment"`
}

// Diverge finds the first difference between two runs of the same inputs, turn by
// turn: the tool calls in order (name, arguments, whether they failed), then the
// answer. Calls for which ours says so are left out: reading a rule is no difference
// in what was done. nil means that they did the same.
func Diverge(control, treatment []trace.Turn, ours func(tool string) bool) *Divergence {
	for i := range max(len(control), len(treatment)) {
		switch {
		case i >= len(control):
			return &Divergence{Turn: treatment[i].Index, What: "end", Treatment: bounded(treatment[i].Input)}
		case i >= len(treatment):
			return &Divergence{Turn: control[i].Index, What: "end", Control: bounded(control[i].Input)}
		}
		a, b := calls(control[i], ours), calls(treatment[i], ours)
		for j := range max(len(a), len(b)) {
			d := &Divergence{Turn: control[i].Index, Call: j + 1, What: "call"}
			switch {
			case j >= len(a):
				d.Treatment = callText(b[j])
				return d
			case j >= len(b):
				d.Control = callText(a[j])
				return d
			}
			d.Control, d.Treatment = callText(a[j]), callText(b[j])
			switch {
			case a[j].Name != b[j].Name:
				return d
			case !sameJSON(a[j].Input, b[j].Input):
				d.What = "arguments"
				return d
			case (a[j].Error == "") != (b[j].Error == ""):
				d.What, d.Control, d.Treatment = "result", bounded(outcomeText(a[j])), bounded(outcomeText(b[j]))
				return d
			}
		}
		if x, y := control[i].Answer(), treatment[i].Answer(); strings.Join(strings.Fields(x), " ") != strings.Join(strings.Fields(y), " ") {
			return &Divergence{Turn: control[i].Index, What: "answer", Control: bounded(x), Treatment: bounded(y)}
		}
	}
	return nil
}

// Words say it in one line.
func (d Divergence) Words() string {
	side := func(s string) string {
		if s == "" {
			return "nothing"
		}
		return s
	}
	place := fmt.Sprintf("turn %d, the answer", d.Turn)
	switch {
	case d.What == "end":
		place = fmt.Sprintf("turn %d, which only one of them reached", d.Turn)
	case d.Call > 0:
		place = fmt.Sprintf("turn %d, call %d (%s)", d.Turn, d.Call, d.What)
	}
	return fmt.Sprintf("%s: without the rule %s; with it %s", place, side(d.Control), side(d.Treatment))
}

func calls(t trace.Turn, ours func(string) bool) []trace.Span {
	var out []trace.Span
	for _, s := range t.Spans {
		if s.Kind == trace.TOOL && (ours == nil || !ours(s.Name)) {
			out = append(out, s)
		}
	}
	return out
}

func callText(s trace.Span) string { return bounded(s.Name + " " + s.Input) }

func outcomeText(s trace.Span) string {
	if s.Error != "" {
		return s.Name + " failed: " + s.Error
	}
	return s.Name + " answered: " + s.Output
}

// sameJSON compares arguments by what they say; the order of keys does not matter.
func sameJSON(a, b string) bool {
	if a == b {
		return true
	}
	x, okX := decoded(a)
	y, okY := decoded(b)
	return okX && okY && sameValue(x, y)
}

// decoded keeps numbers as they are written: an order's number may be above 2^53.
func decoded(text string) (v any, ok bool) {
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	err := d.Decode(&v)
	return v, err == nil && !d.More()
}

func sameValue(a, b any) bool {
	switch x := a.(type) {
	case map[string]any:
		y, ok := b.(map[string]any)
		return ok && maps.EqualFunc(x, y, sameValue)
	case []any:
		y, ok := b.([]any)
		return ok && slices.EqualFunc(x, y, sameValue)
	case json.Number:
		y, ok := b.(json.Number)
		return ok && sameNumber(x, y)
	}
	return a == b
}

// sameNumber takes 1 and 1.0 for the same. Long or with an exponent, numbers are compared
// as far as a float64 goes, unless they are whole.
func sameNumber(a, b json.Number) bool {
	if a == b {
		return true
	}
	if whole(a) && whole(b) {
		return false
	}
	x, errX := a.Float64()
	y, errY := b.Float64()
	return errX == nil && errY == nil && x == y
}

func whole(n json.Number) bool { return !strings.ContainsAny(n.String(), ".eE") }

func bounded(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	if r := []rune(s); len(r) > maxShown {
		return string(r[:maxShown-1]) + "…"
	}
	return s
}
