package builtin

import (
	"fmt"
	"slices"
	"strings"

	"vise/engine/pattern"
)

// metrics lists, per class, the metrics it is about, the closest first.
var metrics = map[class][]string{
	missingArgument: {"argument_correctness", "tool_correctness", "step_efficiency", "task_completion"},
	invalidArgument: {"argument_correctness", "tool_correctness", "step_efficiency", "task_completion"},
	unknownTool:     {"tool_correctness", "argument_correctness", "task_completion"},
	repeatedFailure: {"tool_correctness", "step_efficiency", "argument_correctness", "task_completion"},
	ignoredError:    {"tool_correctness", "task_completion", "coherence"},
	loop:            {"step_efficiency", "tool_correctness", "task_completion"},
	gaveUp:          {"task_completion", "coherence"},
}

// metric is the closest metric that alerts, else the closest one.
func (f finding) metric(alerting []string) string {
	list := metrics[f.class]
	for _, m := range list {
		if slices.Contains(alerting, m) {
			return m
		}
	}
	return list[0]
}

// query is what the rules are searched for.
func (f finding) query() string {
	return strings.Join(strings.Fields(f.tool+" "+f.argument+" "+string(f.class)), " ")
}

// why tells the finding in one sentence.
func (f finding) why() string {
	s := "I recognise: " + string(f.class)
	if f.tool != "" {
		s += " at " + f.tool
	}
	if f.argument != "" {
		s += ", argument " + f.argument
	}
	if f.times > 1 {
		s += fmt.Sprintf(", %d times", f.times)
	}
	return s + "."
}

// proposal is the arguments of harness_rule_add but for the metric. The rule holds
// names only, never text of an error: that text is the world's, not ours.
func (f finding) proposal(vague bool) map[string]any {
	var rule string
	t, a := f.tool, f.argument
	if vague {
		a = ""
	}
	switch {
	case f.class == missingArgument && a != "":
		rule = fmt.Sprintf("Always pass the argument %s when calling %s; if its value is not known yet, obtain it before the call. When %s reports that %s is missing, add it and do not repeat the call unchanged.", a, t, t, a)
	case f.class == invalidArgument && a != "":
		rule = fmt.Sprintf("Before calling %s, check the argument %s: look its value up instead of guessing it, and use the form the tool describes. When %s rejects %s, correct it and do not repeat the call unchanged.", t, a, t, a)
	case f.class == missingArgument, f.class == invalidArgument:
		rule = fmt.Sprintf("Before calling %s, compare all its arguments with the description of the tool. When %s rejects the arguments, correct them and do not repeat the call unchanged.", t, t)
	case f.class == unknownTool:
		rule = fmt.Sprintf("Do not call %s: there is no such tool. Choose from the tools that are listed, by their exact names.", t)
	case f.class == repeatedFailure:
		rule = fmt.Sprintf("When %s fails, do not call it again with the same arguments: read the error, change what it complains about, or take another way.", t)
	case f.class == ignoredError:
		rule = fmt.Sprintf("When %s fails, deal with the error before answering: repair the call or say plainly that it failed. Never answer as if it had worked.", t)
	case f.class == loop:
		rule = fmt.Sprintf("Do not call %s again with the same arguments when nothing has changed since: use the result you already have.", t)
	case t != "":
		rule = fmt.Sprintf("When %s fails, do not give up after the first errors: read what the error asks for, correct the call, and try another way before saying that it cannot be done.", t)
	default:
		rule = "Do not give up before trying: use the tools that could answer the request, and say what was tried before saying that it cannot be done."
	}
	args := map[string]any{
		"rule":      rule,
		"rationale": f.rationale(vague),
		"tags":      f.tags(vague),
	}
	if t == "" {
		args["applicability"] = "global"
		return args
	}
	if scope := scopeOf(t); scope != "" {
		args["scope"] = scope
		args["scope_rationale"] = "The failure belongs to the tool " + t + "."
		args["applicability"] = "topical"
	}
	return args
}

func (f finding) rationale(vague bool) string {
	if vague {
		f.argument = ""
	}
	who := "Written by the " + identity + ". "
	if vague {
		who = "Written by the built-in test model for useless rules (fixed rules, no language model). "
	}
	return who + strings.Replace(f.why(), "I recognise", "Recognised", 1)
}

func (f finding) tags(vague bool) []string {
	out := []string{strings.ReplaceAll(string(f.class), " ", "-")}
	if f.tool != "" {
		out = append(out, f.tool)
	}
	if f.argument != "" && !vague {
		out = append(out, f.argument)
	}
	return out
}

var prefix = pattern.New(`^mcp__[^_]+(?:_[^_]+)*__`)

// scopeOf names the place of a rule about a tool: the tool, without the prefix
// of the server it came through.
func scopeOf(tool string) string {
	s := prefix.ReplaceAllString(strings.ToLower(tool), "")
	s = strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '_' || r == '-' {
			return r
		}
		return '-'
	}, s)
	return strings.Trim(cut(s, 48), "-_")
}
