package builtin

import (
	"encoding/json"
	"slices"
	"strings"

	"vise/engine/pattern"
)

// class is a failure the heuristic recognises.
type class string

const (
	missingArgument class = "missing argument"
	invalidArgument class = "invalid argument"
	unknownTool     class = "unknown tool"
	repeatedFailure class = "repeated failing call"
	ignoredError    class = "ignored error"
	loop            class = "loop"
	gaveUp          class = "gave up early"
)

// finding is the one failure a rule is written about.
type finding struct {
	class    class
	tool     string // machine name, "" when the failure is about no tool
	argument string // "" when the error names none
	times    int    // how often it was seen
}

// evidence is the part of a trace inspection that is looked at.
type evidence struct {
	OK     bool   `json:"ok"`
	Answer string `json:"answer"`
	Spans  []span `json:"tool_spans"`
}

type span struct {
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"`
	Result    string          `json:"result"`
	Error     string          `json:"error"`
	Pending   bool            `json:"pending"`
}

// failure returns the text of a failed call, "" when it did not fail. A format
// that flags no errors still writes them into the result.
func (s span) failure() string {
	if s.Error != "" {
		if s.Result != "" && s.Result != s.Error {
			return s.Error + "\n" + s.Result
		}
		return s.Error
	}
	head := cut(s.Result, 400)
	if failed.MatchString(head) || failedJSON.MatchString(head) {
		return s.Result
	}
	return ""
}

// key identifies a call: its name and arguments.
func (s span) key() string {
	args := strings.TrimSpace(string(s.Arguments))
	var v any
	if json.Unmarshal(s.Arguments, &v) == nil {
		if text, ok := v.(string); ok { // arguments kept as JSON text
			if json.Unmarshal([]byte(text), &v) != nil {
				v = text
			}
		}
		if raw, err := json.Marshal(v); err == nil { // object keys come out sorted
			args = string(raw)
		}
	}
	return s.Name + "\x00" + args
}

// keys lists the argument names of the call.
func (s span) keys() []string {
	raw := s.Arguments
	var text string
	if json.Unmarshal(raw, &text) == nil {
		raw = json.RawMessage(text)
	}
	var m map[string]json.RawMessage
	if json.Unmarshal(raw, &m) != nil {
		return nil
	}
	out := make([]string, 0, len(m))
	for k := range m {
		out = append(out, k)
	}
	slices.Sort(out)
	return out
}

var (
	failed = pattern.New(`(?i)^\W*(?:(?:unexpected|internal|runtime|tool|api|http|input|validation|invalid|unknown|usage)\s?)*\w*(?:error|exception)\b` +
		`|^\W*(?:traceback|fatal|failed|failure|invalid|missing|permission denied|command not found|timed? ?out|unknown|unsupported|rejected|refused|denied)\b` +
		`|^\W*<tool_use_error>`)
	failedJSON = pattern.New(`(?i)^\s*[{\[].*"(?:error|errors|exception|error_message)"\s*:\s*(?:"[^"]|\{\s*"|\[\s*[{"]|true)` +
		`|^\s*\{.*"(?:success|succeeded|ok)"\s*:\s*false|^\s*\{.*"status"\s*:\s*"(?:error|failed|failure)"`)
	unknownName = pattern.New(`(?i)\b(?:unknown|unsupported|unrecogni[sz]ed|invalid|no such|undefined)\s+(?:tool|function|action|command name|method)s?\b` +
		`|\b(?:tool|function)\s+\W?[\w.\-]{1,80}\W?\s+(?:is\s+)?(?:not found|does not exist|is unknown|not available|not recognized|is not a)` +
		`|\bno (?:tool|function) (?:named|called)\b|\bnot a (?:known|valid) (?:tool|function)\b`)
	givingUp = pattern.New(`(?i)\b(?:un(?:able|fortunately unable) to|could(?:n['’]t| not)|can(?:['’]t|not)|was(?:n['’]t| not) able to|insufficient information|give up|giving up|nothing (?:more|else) I can do|failed to)\b`)
	admitted = pattern.New(`(?i)\b(?:error|fail(?:ed|ure|s)?|unable|could(?:n['’]t| not)|can(?:['’]t|not)|problem|issue|sorry|apologi[sz]e|unfortunately|did(?:n['’]t| not)|invalid|missing|rejected|not (?:found|available|possible|allowed))\b`)
)

// diagnose looks for one failure in the result of a trace inspection, the most
// telling class first: an error that names what was wrong says more than the
// mere fact that a call was repeated.
func diagnose(result string) finding {
	var e evidence
	if json.Unmarshal([]byte(result), &e) != nil || !e.OK {
		return finding{}
	}
	// Calls to the rule tools are ours, not the task's.
	spans := slices.DeleteFunc(e.Spans, func(s span) bool { return strings.Contains(s.Name, "harness_rule") })

	// Unrepaired failures count before repaired ones, then the more frequent, then the later.
	lastGood := map[string]int{}
	for i, s := range spans {
		if s.failure() == "" && !s.Pending {
			lastGood[s.Name] = i
		}
	}
	type weight struct {
		finding
		unrepaired bool
		at         int
	}
	blame := map[finding]*weight{}
	same := map[string]int{}
	calls := map[string]int{}
	var failing, repeating, looping *weight
	for i, s := range spans {
		good, healed := lastGood[s.Name]
		open := !healed || good < i
		text := s.failure()
		if text == "" {
			calls[s.key()]++
			if n := calls[s.key()]; n >= 3 && (looping == nil || n >= looping.times) {
				looping = &weight{finding{class: loop, tool: s.Name, times: n}, open, i}
			}
			continue
		}
		same[s.key()]++
		if n := same[s.key()]; n >= 2 && (repeating == nil || n >= repeating.times) {
			repeating = &weight{finding{class: repeatedFailure, tool: s.Name, times: n}, open, i}
		}
		if open {
			failing = &weight{finding{class: ignoredError, tool: s.Name, times: 1}, true, i}
		}
		f := finding{tool: s.Name}
		switch {
		case unknownName.MatchString(cut(text, 600)):
			f.class = unknownTool
		default:
			f.class, f.argument = blamed(text, s.keys())
		}
		if f.class == "" {
			continue
		}
		w := blame[f]
		if w == nil {
			w = &weight{finding: f}
			blame[f] = w
		}
		w.times++
		w.at = i
		w.unrepaired = w.unrepaired || open
	}
	var best *weight
	for _, w := range blame {
		if best == nil || better(w.unrepaired, best.unrepaired, w.argument != "", best.argument != "", w.times-best.times, w.at-best.at) {
			best = w
		}
	}
	quit := givingUp.MatchString(e.Answer)
	switch {
	case best != nil && (best.argument != "" || best.class == unknownTool):
		return best.finding
	case repeating != nil:
		return repeating.finding
	case best != nil:
		return best.finding
	case looping != nil:
		return looping.finding
	case failing != nil && e.Answer != "" && !admitted.MatchString(e.Answer):
		return failing.finding
	case quit && failing != nil:
		return finding{class: gaveUp, tool: failing.tool, times: 1}
	case quit && len(spans) <= 2:
		return finding{class: gaveUp, times: 1}
	}
	return finding{}
}

// better compares two findings in the order the arguments are given.
func better(open, bestOpen, named, bestNamed bool, times, at int) bool {
	switch {
	case open != bestOpen:
		return open
	case named != bestNamed:
		return named
	case times != 0:
		return times > 0
	}
	return at > 0
}
