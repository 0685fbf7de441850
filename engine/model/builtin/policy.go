package builtin

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// identity is said once per conversation and in every rule's rationale.
const identity = "built-in heuristic repairer (fixed rules, no language model)"

// assignment is what the first user message hands over.
type assignment struct {
	Assignment struct {
		Notices []struct {
			ID            string   `json:"id"`
			Signatures    []string `json:"signatures"`
			FlaggedTraces []string `json:"flagged_traces"`
		} `json:"notices"`
		AllowedTraces    []string `json:"allowed_traces"`
		RecommendedScope string   `json:"recommended_scope"`
	} `json:"assignment"`
	// CandidateRuleID is set when an earlier run wrote the episode's rule already.
	CandidateRuleID string `json:"candidate_rule_id"`
}

// noticeResult is the answer of harness_notice_read.
type noticeResult struct {
	OK     bool `json:"ok"`
	Notice struct {
		Summary string `json:"summary"`
		Metrics []struct {
			Name       string   `json:"name"`
			Conditions []string `json:"conditions"`
			TraceID    string   `json:"trace_id"`
		} `json:"metrics"`
		FlaggedTraces []string `json:"flagged_traces"`
	} `json:"notice"`
}

// addResult is the answer of harness_rule_add.
type addResult struct {
	OK      bool   `json:"ok"`
	Error   string `json:"error"`
	Created bool   `json:"created"`
	Rule    struct {
		ID string `json:"id"`
	} `json:"rule"`
	Recommended string `json:"recommended_resolution"`
	Existing    struct {
		ID string `json:"id"`
	} `json:"existing"`
	Reason string `json:"suppression_reason"`
}

// done is one answered tool call of the conversation.
type done struct {
	tool      string
	arguments map[string]any
	result    string
}

// decide reads the conversation and says the next step. It keeps nothing between
// calls: what was done is in the messages.
func decide(messages []message, vague bool) answer {
	var task assignment
	for _, m := range messages {
		if m.Role == "user" && json.Unmarshal([]byte(m.Content), &task) == nil && len(task.Assignment.Notices) > 0 {
			break
		}
	}
	if len(task.Assignment.Notices) == 0 {
		return answer{text: "I am the " + identity + ". I can only repair a notice, and none was assigned."}
	}
	id := task.Assignment.Notices[0].ID
	calls := answered(messages)
	resolve := func(kind, rule, note, why string) answer {
		args := map[string]any{"notice_id": id, "resolution": kind, "note": note}
		if rule != "" {
			args["existing_rule_id"] = rule
		}
		return answer{reasoning: why, text: note, tool: "harness_notice_resolve", arguments: args}
	}

	read, ok := last(calls, "harness_notice_read")
	if !ok {
		return answer{
			reasoning: "The notice comes first: it says which metrics alert and which traces are flagged.",
			text:      "I am the " + identity + ". I read the notice, inspect a flagged trace, look for an existing rule, and write at most one.",
			tool:      "harness_notice_read", arguments: map[string]any{"notice_id": id},
		}
	}
	var notice noticeResult
	if json.Unmarshal([]byte(read.result), &notice) != nil || !notice.OK {
		return resolve("unactionable", "", "The notice could not be read, so nothing was diagnosed.", "Without the notice there is nothing to go by.")
	}

	if rule := task.CandidateRuleID; rule != "" {
		return acknowledge(calls, id, rule)
	}

	var found finding
	var seen []string
	for _, c := range calls {
		if c.tool != "harness_trace_inspect" {
			continue
		}
		trace, _ := c.arguments["trace_id"].(string)
		seen = append(seen, trace)
		if f := diagnose(c.result); f.class != "" && found.class == "" {
			found = f
		}
	}
	// Two inspections at most: with the other four steps that is the default of six turns.
	if found.class == "" && len(seen) < 2 {
		for _, trace := range order(task, notice) {
			if !slices.Contains(seen, trace) {
				return answer{
					reasoning: "The trace shows the calls, their arguments and their results.",
					text:      fmt.Sprintf("I inspect trace %s.", trace),
					tool:      "harness_trace_inspect", arguments: map[string]any{"trace_id": trace},
				}
			}
		}
	}
	if found.class == "" {
		note := "The built-in heuristic recognises no failure in the inspected traces."
		if len(seen) == 0 {
			note = "The notice flags no trace, so there is no evidence to diagnose."
		}
		return resolve("unactionable", "", note, "None of the failure classes I know is in the evidence; guessing a rule would be worse than none.")
	}

	if _, ok := last(calls, "harness_rules_search"); !ok {
		return answer{
			reasoning: found.why() + " Before writing a rule I look for one that says it already.",
			text:      "I search the rules.",
			tool:      "harness_rules_search", arguments: map[string]any{"query": found.query(), "limit": 10},
		}
	}

	add, ok := last(calls, "harness_rule_add")
	if !ok {
		args := found.proposal(vague)
		args["metric"] = found.metric(alerting(notice, task))
		if task.Assignment.RecommendedScope != "" {
			args["scope"] = task.Assignment.RecommendedScope
			args["scope_rationale"] = "The host recommends this scope."
		}
		return answer{reasoning: found.why(), text: "I write one candidate rule.", tool: "harness_rule_add", arguments: args}
	}
	var result addResult
	if err := json.Unmarshal([]byte(add.result), &result); err != nil || !result.OK {
		return resolve("unactionable", "", "The rule could not be added ("+word(result.Error)+").", "The store refused the rule; there is no other to write.")
	}
	if !result.Created {
		kind := result.Recommended
		if kind != "duplicate" && kind != "already_covered" || result.Existing.ID == "" {
			return resolve("no_proposal", "", "The only rule the heuristic would write is not new ("+word(result.Reason)+").", "There is nothing new to propose.")
		}
		return resolve(kind, result.Existing.ID, "Rule "+result.Existing.ID+" covers this failure.", "The rule exists already; another wording of it would help nobody.")
	}
	return acknowledge(calls, id, result.Rule.ID)
}

// acknowledge closes the notice with the candidate, once.
func acknowledge(calls []done, notice, rule string) answer {
	if ack, ok := last(calls, "harness_notice_ack"); ok {
		return answer{text: "The acknowledgement was refused: " + cut(ack.result, 200)}
	}
	return answer{
		reasoning: "The candidate exists; validation decides about it, not I.",
		text:      "I acknowledge the notice with the candidate.",
		tool:      "harness_notice_ack",
		arguments: map[string]any{"notice_id": notice, "rule_id": rule, "note": "candidate written by the " + identity},
	}
}

// answered lists the tool calls of the conversation that have a result.
func answered(messages []message) []done {
	results := map[string]string{}
	for _, m := range messages {
		if m.Role == "tool" {
			results[m.CallID] = m.Content
		}
	}
	var out []done
	for _, m := range messages {
		for _, c := range m.Calls {
			result, ok := results[c.ID]
			if !ok {
				continue
			}
			d := done{tool: c.Function.Name, result: result}
			if json.Unmarshal([]byte(c.Function.Arguments), &d.arguments) != nil {
				d.arguments = nil
			}
			out = append(out, d)
		}
	}
	return out
}

func last(calls []done, tool string) (done, bool) {
	for _, c := range slices.Backward(calls) {
		if c.tool == tool {
			return c, true
		}
	}
	return done{}, false
}

// order lists the traces worth inspecting: those of alerting metrics, then the
// flagged ones, newest last-named first, as far as the assignment allows them.
func order(task assignment, n noticeResult) []string {
	var out []string
	add := func(id string) {
		if id != "" && slices.Contains(task.Assignment.AllowedTraces, id) && !slices.Contains(out, id) {
			out = append(out, id)
		}
	}
	for _, m := range n.Notice.Metrics {
		add(m.TraceID)
	}
	for _, id := range slices.Backward(n.Notice.FlaggedTraces) {
		add(id)
	}
	for _, id := range slices.Backward(task.Assignment.AllowedTraces) {
		add(id)
	}
	return out
}

// alerting lists the metrics the notice is about, its own list first.
func alerting(n noticeResult, task assignment) []string {
	var out []string
	for _, m := range n.Notice.Metrics {
		if len(m.Conditions) > 0 && !slices.Contains(out, m.Name) {
			out = append(out, m.Name)
		}
	}
	for _, notice := range task.Assignment.Notices {
		for _, s := range notice.Signatures {
			if _, metric, ok := strings.Cut(s, ":"); ok && !slices.Contains(out, metric) {
				out = append(out, metric)
			}
		}
	}
	return out
}

// word keeps error classes readable and nothing else.
func word(s string) string {
	if s == "" {
		return "no reason given"
	}
	return cut(strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r == '_' {
			return r
		}
		return -1
	}, strings.ToLower(s)), 40)
}
