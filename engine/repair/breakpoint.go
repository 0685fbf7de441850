package repair

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"vise/engine/rule"
	"vise/engine/score"
)

// maxBreakpoint bounds the text of a breakpoint, in bytes.
const maxBreakpoint = 300

// Breakpoint says where a repair that runs by itself is to be held. It is one or more
// terms, separated by blanks, all of which must hold:
//
//	tool:harness_rule_add    a call of the tool is about to run; "*" stands for anything,
//	                         "harness_" may be left out
//	arg:reason_code          the arguments of that call contain the text, letters of either case
//	arg:scope=refunds        its argument scope does
//	metric:tool_correctness  a notice of the episode alerts on the metric, or the call
//	                         proposes a rule about it; metric:NAME<0.5 also compares the
//	                         value that the notice reports
//	verdict:unactionable     the call is about to end the episode so: candidate, duplicate,
//	                         already_covered, no_proposal, unactionable, "*" any of them
//	cost>0.01                the run has cost more, in US dollars; an unknown price never holds
//	tokens>4000 turn>3       likewise the tokens of the run, in and out, and its model turns
//
// A value with blanks stands in double quotes.
type Breakpoint struct {
	text  string
	terms []breakTerm
}

type breakTerm struct {
	key, name, value string // name: an argument, a metric
	less             bool
	compares         bool // of a metric: with limit
	limit            float64
}

// breakVerdicts are the ends that a call can bring.
var breakVerdicts = []string{"candidate", "duplicate", "already_covered", "no_proposal", "unactionable"}

// ParseBreakpoint reads a breakpoint. Errors name the term and what could be meant: one
// that could never hold is refused.
func ParseBreakpoint(text string) (Breakpoint, error) {
	if len(text) > maxBreakpoint {
		return Breakpoint{}, fmt.Errorf("breakpoint: longer than %d bytes", maxBreakpoint)
	}
	words, err := breakWords(text)
	if err != nil {
		return Breakpoint{}, err
	}
	if len(words) == 0 {
		return Breakpoint{}, fmt.Errorf("breakpoint: it is empty; write e.g. tool:harness_rule_add, arg:scope=refunds, metric:tool_correctness, verdict:unactionable, cost>0.01")
	}
	b := Breakpoint{text: strings.TrimSpace(text)}
	for _, w := range words {
		t, err := parseBreakTerm(w)
		if err != nil {
			return Breakpoint{}, fmt.Errorf("breakpoint: %w", err)
		}
		b.terms = append(b.terms, t)
	}
	return b, nil
}

// String is the text that the breakpoint was read from.
func (b Breakpoint) String() string { return b.text }

// breakWords splits at blanks outside of quotes.
func breakWords(text string) ([]string, error) {
	var out []string
	var w strings.Builder
	quoted, some := false, false
	for _, r := range text {
		switch {
		case r == '"':
			quoted, some = !quoted, true
		case !quoted && (r == ' ' || r == '\t' || r == '\n'):
			if some {
				out = append(out, w.String())
			}
			w.Reset()
			some = false
		default:
			w.WriteRune(r)
			some = true
		}
	}
	if quoted {
		return nil, fmt.Errorf("breakpoint: a quote is not closed in %s", text)
	}
	if some {
		out = append(out, w.String())
	}
	return out, nil
}

func parseBreakTerm(w string) (t breakTerm, err error) {
	for _, key := range []string{"cost", "tokens", "turn"} {
		rest, ok := strings.CutPrefix(w, key+">")
		if !ok {
			continue
		}
		t.key = key
		if t.limit, err = strconv.ParseFloat(rest, 64); err != nil || !(t.limit >= 0) {
			return t, fmt.Errorf("%s: %q is no number of at least 0", w, rest)
		}
		return t, nil
	}
	var ok bool
	t.key, t.value, ok = strings.Cut(w, ":")
	if !ok || t.value == "" {
		return t, fmt.Errorf("%q: write tool:NAME, arg:TEXT, arg:NAME=TEXT, metric:NAME, verdict:KIND, cost>N, tokens>N or turn>N", w)
	}
	switch t.key {
	case "tool":
		known := toolNames()
		if !slices.ContainsFunc(known, func(name string) bool { return toolMatches(t.value, name) }) {
			return t, fmt.Errorf("there is no tool %s; the repair agent has %s", t.value, strings.Join(known, ", "))
		}
	case "arg":
		if name, value, ok := strings.Cut(t.value, "="); ok {
			t.name, t.value = name, value
		}
		t.value = strings.ToLower(t.value)
		if t.value == "" {
			return t, fmt.Errorf("%s: say what the argument is to contain", w)
		}
	case "metric":
		t.name = t.value
		if i := strings.IndexAny(t.value, "<>"); i >= 0 {
			t.name, t.compares, t.less = t.value[:i], true, t.value[i] == '<'
			if t.limit, err = strconv.ParseFloat(t.value[i+1:], 64); err != nil || math.IsNaN(t.limit) {
				return t, fmt.Errorf("%s: %q is no number", w, t.value[i+1:])
			}
		}
		if !score.KnownMetric(t.name) {
			return t, fmt.Errorf("there is no metric %s; known are %s", t.name, strings.Join(score.Metrics(), ", "))
		}
	case "verdict":
		if t.value != "*" && !slices.Contains(breakVerdicts, t.value) {
			return t, fmt.Errorf("there is no verdict %s; an episode ends as %s", t.value, strings.Join(breakVerdicts, ", "))
		}
	default:
		return t, fmt.Errorf("%q: there is no %s; write tool, arg, metric or verdict", w, t.key)
	}
	return t, nil
}

func toolNames() []string {
	var out []string
	for _, t := range toolDefinitions() {
		out = append(out, t.Name)
	}
	slices.Sort(out)
	return out
}

func toolMatches(pattern, name string) bool {
	return wild(pattern, name) || wild("harness_"+pattern, name)
}

// wild matches a name with a pattern in which "*" stands for any text.
func wild(pattern, name string) bool {
	parts := strings.Split(pattern, "*")
	if len(parts) == 1 {
		return pattern == name
	}
	if !strings.HasPrefix(name, parts[0]) {
		return false
	}
	name = name[len(parts[0]):]
	for _, p := range parts[1 : len(parts)-1] {
		i := strings.Index(name, p)
		if i < 0 {
			return false
		}
		name = name[i+len(p):]
	}
	return strings.HasSuffix(name, parts[len(parts)-1])
}

// At reports whether the breakpoint holds at a checkpoint. After a call it never does:
// what came of it is seen at the checkpoint that follows.
func (b Breakpoint) At(c Checkpoint) bool {
	if len(b.terms) == 0 || c.Point == AfterTool {
		return false
	}
	for _, t := range b.terms {
		if !t.at(c) {
			return false
		}
	}
	return true
}

// Lasting reports whether what the breakpoint asks for stays true for the rest of a run
// once it is: who goes on from such a checkpoint must not be held at every further one.
func (b Breakpoint) Lasting() bool {
	return !slices.ContainsFunc(b.terms, func(t breakTerm) bool { return t.key == "tool" || t.key == "arg" || t.key == "verdict" })
}

func (t breakTerm) at(c Checkpoint) bool {
	switch t.key {
	case "cost":
		return c.Spent.CostUSD != nil && *c.Spent.CostUSD > t.limit
	case "tokens":
		return float64(c.Spent.Input+c.Spent.Output) > t.limit
	case "turn":
		return float64(c.Turn) > t.limit
	case "metric":
		return t.metric(c)
	}
	if c.Call == nil {
		return false
	}
	switch t.key {
	case "tool":
		return toolMatches(t.value, c.Call.Name)
	case "arg":
		if t.name == "" {
			return strings.Contains(strings.ToLower(c.Call.Arguments), t.value)
		}
		return strings.Contains(strings.ToLower(argument(c, t.name)), t.value)
	}
	end := argument(c, "resolution")
	if c.Call.Name == toolNoticeAck {
		end = "candidate"
	}
	return c.Point == BeforeResolve && (t.value == "*" || end == t.value)
}

func (t breakTerm) metric(c Checkpoint) bool {
	for _, n := range c.Notices {
		for _, m := range n.Metrics {
			switch {
			case m.Name != t.name:
			case !t.compares:
				return true
			case m.Value != nil && (t.less && *m.Value < t.limit || !t.less && *m.Value > t.limit):
				return true
			}
		}
	}
	return !t.compares && c.Call != nil && c.Call.Name == toolRuleAdd && argument(c, "metric") == t.name
}

// argument is an argument of the checkpoint's call as text, "" when there is none.
func argument(c Checkpoint, name string) string {
	var args map[string]any
	if json.Unmarshal([]byte(c.Call.Arguments), &args) != nil {
		return ""
	}
	switch v := args[name].(type) {
	case nil:
		return ""
	case []any, map[string]any:
		raw, _ := json.Marshal(v)
		return string(raw)
	default:
		return rule.TextOf(v)
	}
}
