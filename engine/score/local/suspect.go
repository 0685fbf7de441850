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
	// nothing before it says, at most five. On chats of several agents with a labelled
	// mistake the first suspect was right in 0.13 to 0.58 of the sessions, the labelled
	// step among the first three in 0.50 to 0.82; on other recordings it is no better
	// than the first model step (own measurement). A suspect is to be looked at, no more.
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
			if result := !step || span.Name != name; result && last >= 0 && (span.Error != "" || failure(span.Output)) {
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
			last, name = len(out)-1, span.Name
		}
	}
	slices.SortStableFunc(out, func(a, b Suspect) int { return cmp.Compare(b.Weight, a.Weight) })
	return out
}

func (x *Suspect) add(w float64, reason string) {
	if !slices.Contains(x.Reasons, reason) {
		x.Weight += w
		x.Reasons = append(x.Reasons, reason)
	}
}
