package local

import (
	"cmp"
	"slices"
	"strings"

	"vise/engine/trace"
)

// invented are words of an agent that works with made-up data.
var invented = lex(`\b(mock\w*|simulat\w*|placeholder|sample data|hypothetical\w*|assum(e|es|ed|ing|ption)\w*)\b|your[_ ]api[_ ]key`)

// perNumber and maxNumbers weigh numbers that nothing before a step says.
const (
	perNumber  = 0.2
	maxNumbers = 5
)

// Suspect is one step of a session that may be where it went wrong.
type Suspect struct {
	Turn   int
	SpanID string
	// Weight: 1 when the next result is an error (so the step that caused it, not the
	// one that reports it), 1 for words of invented data, 0.2 for each number that
	// nothing before it says, at most five. Own measurement: of 114 Who&When chats the
	// first suspect is the labelled step in 0.25 (0.18 to 0.34), the first three hold it
	// in 0.67 (0.58 to 0.75), where any step would in 0.13 and 0.38; of 34 TRAIL traces
	// in 0.32 and 0.59, where the last three steps hold it in 0.91. A suspect is to be
	// looked at, no more.
	Weight  float64
	Reasons []string
}

// Suspects returns every step the agent took, the most suspicious first, in order
// of time among equals.
func Suspects(s trace.Session, turns []trace.Turn) []Suspect {
	var known seen
	known.add(s.System)
	var out []Suspect
	last, name := -1, "" // the step that issued what comes next, and who took it
	for _, t := range turns {
		known.add(t.Input)
		for i := range t.Spans {
			span := &t.Spans[i]
			if span.Kind == trace.TOOL && ours(span) {
				continue
			}
			step := span.Kind == trace.LLM || span.Kind == trace.AGENT && !strings.EqualFold(span.Name, "user")
			// In a chat of several agents the result of a step is the next agent's message.
			if result := !step || actor(span.Name) != name; result && last >= 0 && (span.Error != "" || failure(span.Output)) {
				out[last].add(1, "what came next is an error")
			}
			if !step || blank(span.Output) {
				known.add(span.Output)
				continue
			}
			x := Suspect{Turn: t.Index, SpanID: span.ID}
			if m := invented.FindStringIndex(fold(span.Output)); m != nil {
				x.add(1, "speaks of invented data: "+quote(between(span.Output, m[0], m[1])))
			}
			strange := map[string]bool{}
			eachNumber(span.Output, func(n []byte) {
				if len(strange) < maxNumbers && telling(string(n)) && !known.hasNumber(n) {
					strange[string(n)] = true
				}
			})
			if len(strange) > 0 {
				x.add(perNumber*float64(len(strange)), "numbers that nothing before says")
			}
			known.add(span.Output)
			out = append(out, x)
			last, name = len(out)-1, actor(span.Name)
		}
	}
	slices.SortStableFunc(out, func(a, b Suspect) int { return cmp.Compare(b.Weight, a.Weight) })
	return out
}

// actor is who a step's name names, without what some recordings say of the step
// behind it: "Orchestrator (thought)".
func actor(name string) string {
	name, _, _ = strings.Cut(name, " (")
	return name
}

func (x *Suspect) add(w float64, reason string) {
	if !slices.Contains(x.Reasons, reason) {
		x.Weight += w
		x.Reasons = append(x.Reasons, reason)
	}
}
