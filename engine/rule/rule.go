// Package rule holds rules, their lifecycle, the names of their scopes, novelty,
// search and the documents they are rendered into. Pure: a Reader gives it the rules.
package rule

import "vise/engine/link"

// Status of a rule. Only validation moves a rule out of Candidate.
type Status string

// The lifecycle. Live means candidate or active. Quarantined is a record whose
// status cannot be read: it is never treated as validated.
const (
	Candidate   Status = "candidate"
	Active      Status = "active"
	Retired     Status = "retired"
	Quarantined Status = "quarantined"
)

// Applicability of a rule.
const (
	Global  = "global"
	Topical = "topical"
	Task    = "task"
)

// Person is the author of rules that a person wrote.
const Person = "person"

// Rule is one operating rule for the task agent.
type Rule struct {
	ID string `json:"id"`
	// CreatedAt is RFC 3339 text and compared as text.
	CreatedAt      string `json:"created_at"`
	Text           string `json:"rule"`
	Rationale      string `json:"rationale"`
	SourceNoticeID string `json:"source_notice_id,omitempty"`
	EpisodeID      string `json:"episode_id,omitempty"`
	// Metric the rule is about; "" = none. Validation matches it against signatures.
	Metric            string   `json:"metric,omitempty"`
	Status            Status   `json:"status"`
	Tags              []string `json:"tags,omitempty"`
	Trial             *Trial   `json:"trial,omitempty"`
	Scope             string   `json:"scope"`
	Applicability     string   `json:"applicability"`
	FailureSignatures []string `json:"failure_signatures,omitempty"`
	// Author is the model id that wrote it, or Person.
	Author string `json:"author,omitempty"`
	// EditedFrom is the rule whose text a person has edited into this one.
	EditedFrom string `json:"edited_from,omitempty"`
	// ForkOf is the episode whose fork wrote the rule; a person has accepted it.
	ForkOf string `json:"fork_of,omitempty"`
	// RetiredReason and VerdictID explain the last transition.
	Reason    string `json:"reason,omitempty"`
	VerdictID string `json:"verdict_id,omitempty"`
	Version   int    `json:"version"`
	// Flag is set while evidence speaks against a rule that is still in force. It
	// asks for a new test; it never moves the rule.
	Flag *Flag `json:"flag,omitempty"`
}

// Flag is the evidence against a rule in force.
type Flag struct {
	At  string `json:"at"`  // RFC 3339
	Why string `json:"why"` // one sentence
	// Cases that got worse with the rule in force, and the runs that show it.
	Cases []string `json:"cases,omitempty"`
	Runs  []string `json:"runs,omitempty"`
}

// Live reports whether the rule is a candidate or active.
func (r Rule) Live() bool { return r.Status == Candidate || r.Status == Active }

// Flagged reports whether evidence speaks against the rule while it is in force.
func (r Rule) Flagged() bool { return r.Status == Active && r.Flag != nil }

// Trial is the forward trial of a candidate: what live sessions showed since it was added.
type Trial struct {
	BaselineBreachedSessions int      `json:"baseline_breached_sessions"`
	BaselineSessions         int      `json:"baseline_sessions"`
	BaselineWindow           int      `json:"baseline_window"`
	StartedAt                string   `json:"trial_started_at"`
	ObservedSessions         []string `json:"observed_sessions"`
	BreachedSessions         []string `json:"breached_sessions"`
	ReplayAttempts           int      `json:"replay_attempts"`
	// TracksReads: ReadSessions, the observed sessions whose agent was handed the rule,
	// is kept. Without it nothing is known of what was read.
	TracksReads  bool     `json:"tracks_reads,omitempty"`
	ReadSessions []string `json:"read_sessions,omitempty"`
	Verdict      string   `json:"verdict,omitempty"`
}

// Reader is a consistent view of the stored rules. The store's transactions implement it.
type Reader interface {
	// Rule returns one rule; ok is false when there is none of that id.
	Rule(id string) (r Rule, ok bool, err error)
	// Rules returns all rules with one of the statuses (none given = all), in
	// listing order: created_at, then id.
	Rules(statuses ...Status) ([]Rule, error)
	// RulesInScope is Rules restricted to one normalised scope.
	RulesInScope(scope string, statuses ...Status) ([]Rule, error)
	// RulesWithTokens returns the rules with one of the statuses whose tags, text, rationale or
	// metric share at least one token (see Tokens) with the list, in listing order.
	RulesWithTokens(tokens []string, statuses ...Status) ([]Rule, error)
	// ScopeDescriptions returns the persisted one-sentence descriptions by scope.
	ScopeDescriptions() (map[string]string, error)
}

// Source opens a Reader for the length of one call.
type Source interface {
	ReadRules(func(Reader) error) error
}

// Link is the address of the rule (package link).
func (r Rule) Link() string { return link.Of("rule", r.ID) }
