package tui

import (
	"encoding/json"
	"fmt"
	"strings"

	"vise/engine/episode"
	"vise/tui/style"
)

// verbs are what the repair tools do, in one word.
var verbs = map[string]string{
	"harness_notice_read": "read", "harness_trace_inspect": "inspect", "harness_rules_read": "read", "harness_rules_search": "search",
	"harness_rules_list": "list", "harness_rule_status": "status", "harness_rule_add": "add", "harness_notice_ack": "ack",
	"harness_notice_resolve": "resolve",
}

func verb(tool string) string {
	if v := verbs[tool]; v != "" {
		return v
	}
	return "call"
}

// callArgs are the arguments of a call in a few words; of what is no object, its beginning.
func callArgs(c episode.Call) string {
	var args map[string]any
	if json.Unmarshal([]byte(c.Arguments), &args) != nil {
		return firstLine(c.Arguments)
	}
	text := func(name string) string { s, _ := args[name].(string); return s }
	switch c.Name {
	case "harness_notice_read":
		return tag(text("notice_id"))
	case "harness_trace_inspect":
		return traceName(text("trace_id"))
	case "harness_rules_search":
		return fmt.Sprintf("%q", text("query"))
	case "harness_rules_read":
		return text("scope")
	case "harness_rule_status":
		return tag(text("rule_id"))
	case "harness_rule_add":
		return "" // shown as a card
	case "harness_notice_ack":
		return tag(text("notice_id")) + " with " + tag(text("rule_id"))
	case "harness_notice_resolve":
		return tag(text("notice_id")) + " " + text("resolution")
	}
	return firstLine(c.Arguments)
}

// traceName is SESSION/TURN of a trace id made of both, with the session shortened.
func traceName(id string) string {
	if i := strings.LastIndexByte(id, '.'); i > 0 {
		return tag(id[:i]) + "/" + id[i+1:]
	}
	return tag(id)
}

// toolResult is what the panes read of a result of any repair tool.
type toolResult struct {
	OK         bool              `json:"ok"`
	Error      string            `json:"error"`
	Message    string            `json:"message"`
	Hits       []json.RawMessage `json:"hits"`
	Resolution string            `json:"resolution"`
	Created    *bool             `json:"created"`
	ToolSpans  []struct {
		Name  string `json:"name"`
		Error string `json:"error"`
	} `json:"tool_spans"`
	Rule struct {
		ID string `json:"id"`
	} `json:"rule"`
}

// callResult says in a few words what a call brought.
func callResult(c episode.Call) (words string, role style.Role) {
	if !c.Ran && len(c.Result) == 0 {
		return "never executed", style.Faint
	}
	var r toolResult
	_ = json.Unmarshal(c.Result, &r) // what does not fit has no words
	switch {
	case !c.OK:
		return strings.ReplaceAll(either(r.Error, "failed"), "_", " "), style.Bad
	case r.Hits != nil:
		words = count(len(r.Hits), "rule")
	case r.Resolution != "":
		words = "resolved: " + r.Resolution
	case r.Created != nil && *r.Created:
		words = "candidate " + tag(r.Rule.ID)
	case r.ToolSpans != nil:
		words = count(len(r.ToolSpans), "call")
	}
	if words != "" {
		words += "  "
	}
	return words + "ok", style.Good
}

// failures are the failed calls in a trace that was inspected: name, error, how often.
type failure struct {
	tool, err string
	n         int
}

func callFailures(c episode.Call) []failure {
	var r toolResult
	if json.Unmarshal(c.Result, &r) != nil {
		return nil
	}
	var out []failure
	for _, s := range r.ToolSpans {
		if s.Error == "" {
			continue
		}
		if n := len(out); n > 0 && out[n-1].tool == s.Name && out[n-1].err == s.Error {
			out[n-1].n++
			continue
		}
		out = append(out, failure{s.Name, s.Error, 1})
	}
	return out
}

// proposal is a rule as the repair agent asks for it.
type proposal struct {
	Rule           string   `json:"rule"`
	Rationale      string   `json:"rationale"`
	Metric         string   `json:"metric"`
	Scope          string   `json:"scope"`
	ScopeRationale string   `json:"scope_rationale"`
	Applicability  string   `json:"applicability"`
	Tags           []string `json:"tags"`
}

func (s *sheet) card(arguments string, indent int) []string {
	var p proposal
	if json.Unmarshal([]byte(arguments), &p) != nil || p.Rule == "" {
		return s.wrapped(style.Dim, arguments, indent, 0, 6)
	}
	return s.ruleCard(p, indent)
}

// ruleCard draws a proposed rule in a box: what a person should read before it exists.
func (s *sheet) ruleCard(p proposal, indent int) []string {
	outer := min(s.w-indent-1, 104)
	if outer < 24 {
		return s.wrapped(style.Text, p.Rule, indent, 0, 0)
	}
	inner := s.part(outer - 4)
	scope := p.Scope
	if scope == "" {
		scope = "global"
	}
	var body []string
	field := func(name string, role style.Role, text string) {
		if text == "" {
			return
		}
		const label = 9
		in := s.part(inner.w - label)
		for i, r := range in.wrapped(role, text, 0, 0, 8) {
			name := name
			if i > 0 {
				name = ""
			}
			body = append(body, s.st().Row(label, style.Plain).Cell(style.Dim, name, label).String()+r)
		}
	}
	field("scope", style.Strong, scope)
	field("why", style.Dim, p.ScopeRationale)
	field("metric", style.Text, p.Metric)
	field("rule", style.Strong, p.Rule)
	field("because", style.Dim, p.Rationale)
	g := s.st().Glyphs.Box
	edge := func(l, r string) string {
		return s.line().Space(indent).Put(style.Border, l+strings.Repeat(g.H, outer-2)+r).String()
	}
	rows := []string{edge(g.TopLeft, g.TopRight)}
	v := s.st().Paint(style.Border, g.V)
	for _, b := range body {
		rows = append(rows, style.Spaces(indent)+v+" "+b+" "+v+style.Spaces(s.w-indent-outer))
	}
	return append(rows, edge(g.BottomLeft, g.BottomRight))
}
