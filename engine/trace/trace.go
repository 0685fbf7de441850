// Package trace holds what an agent did: sessions, turns and spans.
//
// A Session is one conversation of an agent with a user. Each external user
// input opens a Turn; a turn has exactly one trace, the list of Spans the agent
// produced until the next input. The package is pure: no clock, no store, no I/O.
package trace

import (
	"encoding/json"
	"slices"
	"strings"
	"time"
	"vise/engine/link"
)

// Origin says where a session came from. It decides what the session may
// influence: recorded sessions never enter rule trials, replay sessions feed
// nothing but the verdict of the validation they belong to.
type Origin string

// The three origins.
const (
	Recorded Origin = "recorded" // imported from a file
	Live     Origin = "live"     // an agent run of the developer
	Replay   Origin = "replay"   // an agent run of a validation
)

// Kind is the role of a span.
type Kind string

// The four span kinds.
const (
	LLM   Kind = "LLM"   // one model response
	TOOL  Kind = "TOOL"  // one tool call, answered or not
	AGENT Kind = "AGENT" // a sub-agent or an actor other than the agent under test
	CHAIN Kind = "CHAIN" // anything else, records of unknown type included
)

// Session is the head of a session; its turns are stored beside it.
type Session struct {
	ID     string `json:"id"`
	Origin Origin `json:"origin"`
	// Source is the format or driver the session came through: the name of a
	// format as import knows it, such as "claude-code", or "acp", "exec".
	Source string `json:"source"`
	// Agent names the agent and its version, if known.
	Agent string `json:"agent,omitempty"`
	// Title is a short human name (first words of the first input by default).
	Title string `json:"title,omitempty"`
	// Name is what a person calls the session, Pinned that it is kept at the top of lists.
	// Both are the store's own: a recording that is read again changes neither.
	Name   string `json:"name,omitempty"`
	Pinned bool   `json:"pinned,omitempty"`
	// System is the system prompt, if the recording holds one.
	System string `json:"system,omitempty"`
	// Tools lists the tools the agent had. Empty means unknown, not none.
	Tools []Tool `json:"tools,omitempty"`
	// TaskSummary and ScopeHints of the whole session (see Turn).
	TaskSummary string      `json:"task_summary,omitempty"`
	ScopeHints  []ScopeHint `json:"scope_hints,omitempty"`
	Started     time.Time   `json:"started,omitzero"`
	Ended       time.Time   `json:"ended,omitzero"`
	// Replays: the session this one was replayed from, the case and rule it
	// was replayed for. Empty for recordings.
	ReplayOf string `json:"replay_of,omitempty"`
	CaseID   string `json:"case_id,omitempty"`
	RuleID   string `json:"rule_id,omitempty"`
	// RulesRead are the rules whose text the agent was handed in this run, sorted;
	// RulesHidden those that were kept from it to test them.
	RulesRead   []string `json:"rules_read,omitempty"`
	RulesHidden []string `json:"rules_hidden,omitempty"`
	// Label is the outcome the recording itself claims: success, failure, partial or "".
	Label string `json:"label,omitempty"`
	// File and Digest identify the recording: path as given, sha256 of the
	// session's redacted canonical content (import is idempotent by it).
	File   string `json:"file,omitempty"`
	Digest string `json:"digest,omitempty"`
	// Counts over all turns, kept with the head so that lists need no turns.
	Counts Counts `json:"counts"`
	// Damaged counts records of the recording that could not be read in full.
	Damaged int `json:"damaged,omitempty"`
	// Attrs keeps what has no field here, bounded and redacted.
	Attrs map[string]any `json:"attrs,omitempty"`
}

// killed is the attribute of a session whose process was killed.
const killed = "killed"

// Kill returns the head as that of a session that the process which ran it did not live
// to end; Killed tells.
func (s Session) Kill() Session {
	attrs := map[string]any{killed: true}
	for k, v := range s.Attrs {
		if k != killed {
			attrs[k] = v
		}
	}
	s.Attrs = attrs
	return s
}

// Killed reports that the process that ran the session was killed while it did.
func (s Session) Killed() bool { return s.Attrs[killed] == true }

// Counts are the numbers every importer is checked by.
type Counts struct {
	Turns  int `json:"turns"`  // external user inputs (synthetic turns do not count)
	Steps  int `json:"steps"`  // LLM spans
	Calls  int `json:"calls"`  // TOOL spans: calls issued, answered or not
	Errors int `json:"errors"` // TOOL spans with Error set, and turns that failed
}

// Tool is a tool of the agent under test.
type Tool struct {
	Name string `json:"name"`
	// Schema is the JSON Schema of the arguments object, if known.
	Schema json.RawMessage `json:"schema,omitempty"`
}

// ScopeHint is host metadata that may inform where a rule is filed.
type ScopeHint struct {
	Key           string `json:"key"`
	Description   string `json:"description,omitempty"`
	Applicability string `json:"applicability,omitempty"` // global | topical | task
	Recommended   *bool  `json:"recommended,omitempty"`   // nil = true
}

// Turn is one external user input and everything up to the next one.
type Turn struct {
	SessionID string `json:"session_id"`
	Index     int    `json:"index"`
	// TraceID names the turn's one trace.
	TraceID string `json:"trace_id"`
	Input   string `json:"input"`
	// Synthetic marks a turn made for spans that precede any user input.
	Synthetic bool `json:"synthetic,omitempty"`
	// EndState is what the host says about the state after the turn (JSON).
	EndState    json.RawMessage `json:"end_state,omitempty"`
	TaskSummary string          `json:"task_summary,omitempty"`
	ScopeHints  []ScopeHint     `json:"scope_hints,omitempty"`
	// StopReason as the protocol gave it (ACP: end_turn, max_tokens, refusal, cancelled ...).
	StopReason string    `json:"stop_reason,omitempty"`
	Start      time.Time `json:"start,omitzero"`
	End        time.Time `json:"end,omitzero"`
	Usage      Usage     `json:"usage,omitzero"`
	Spans      []Span    `json:"spans"`
}

// CutShort reports that the turn did not end by itself: it was cancelled, ran out
// of time, or its agent or a tool server of it was gone. What it holds says nothing about how the agent
// would have ended it.
func (t Turn) CutShort() bool {
	switch t.StopReason {
	case "cancelled", "timeout", "idle_timeout", "agent_exited", "line_too_long", "output_limit", "protocol", "refused", "divergence", "budget", "tool_server", "error":
		return true
	}
	return false
}

// Finished reports that the agent itself says that it came to the end of what it was
// asked. A turn that it refused, that reached a limit of its model, or whose reason
// nobody knows is neither finished nor cut short: it can be judged, but is no example
// of how the task is done.
func (t Turn) Finished() bool {
	switch t.StopReason {
	case "", "end_turn", "stop", "stop_sequence", "completed", "success", "submitted":
		return true
	}
	return false
}

// exitStatus starts the stop reason of a command that answered and said by its exit
// status that it failed.
const exitStatus = "exit status "

// Failed reports that the agent answered and says itself that it failed: its command
// ended with a status other than 0. The turn is judged, as one that failed.
func (t Turn) Failed() bool { return strings.HasPrefix(t.StopReason, exitStatus) }

// Answer is the last text that the agent itself gave in the turn, "" for none.
func (t Turn) Answer() string {
	for _, s := range slices.Backward(t.Spans) {
		if s.Kind == LLM && s.Output != "" {
			return s.Output
		}
	}
	return ""
}

// Span is one step of a trace, in the order it happened.
type Span struct {
	ID     string `json:"id"`
	Parent string `json:"parent,omitempty"`
	Kind   Kind   `json:"kind"`
	// Name: the model for LLM, the machine name of the tool for TOOL.
	Name string `json:"name,omitempty"`
	// Input of a TOOL span is its arguments as JSON text; text that is not JSON is kept verbatim.
	Input string `json:"input,omitempty"`
	// Output is the answer of the model or the result of the tool.
	Output string `json:"output,omitempty"`
	// Thought is reasoning text of an LLM span.
	Thought string `json:"thought,omitempty"`
	// Error is non-empty when the format or protocol flags a failure. It never
	// holds a guess from the text of the result.
	Error string `json:"error,omitempty"`
	// Pending marks a call that was never answered.
	Pending bool           `json:"pending,omitempty"`
	Start   time.Time      `json:"start,omitzero"`
	End     time.Time      `json:"end,omitzero"`
	Usage   Usage          `json:"usage,omitzero"`
	Attrs   map[string]any `json:"attrs,omitempty"`
}

// Usage counts tokens and money. Cost is nil when the price is unknown:
// unknown is never zero.
type Usage struct {
	Input     int64    `json:"input,omitempty"`
	Output    int64    `json:"output,omitempty"`
	Cached    int64    `json:"cached,omitempty"`
	Reasoning int64    `json:"reasoning,omitempty"`
	CostUSD   *float64 `json:"cost_usd,omitempty"`
}

// IsZero reports whether nothing was counted.
func (u Usage) IsZero() bool {
	return u.Input == 0 && u.Output == 0 && u.Cached == 0 && u.Reasoning == 0 && u.CostUSD == nil
}

// Add returns the sum; the cost is known as soon as one side knows its part.
func (u Usage) Add(v Usage) Usage {
	u.Input += v.Input
	u.Output += v.Output
	u.Cached += v.Cached
	u.Reasoning += v.Reasoning
	switch {
	case u.CostUSD == nil:
		u.CostUSD = v.CostUSD
	case v.CostUSD != nil:
		sum := *u.CostUSD + *v.CostUSD
		u.CostUSD = &sum
	}
	return u
}

// Count returns the counts of a list of turns.
func Count(turns []Turn) Counts {
	var c Counts
	for _, t := range turns {
		if !t.Synthetic {
			c.Turns++
		}
		if t.Failed() {
			c.Errors++
		}
		for _, s := range t.Spans {
			switch s.Kind {
			case LLM:
				c.Steps++
			case TOOL:
				c.Calls++
				if s.Error != "" {
					c.Errors++
				}
			}
		}
	}
	return c
}

// Link is the address of the session (package link).
func (s Session) Link() string { return link.Of("session", s.ID) }

// Link is the address of the turn (package link).
func (t Turn) Link() string { return link.Turn(t.SessionID, t.Index) }
