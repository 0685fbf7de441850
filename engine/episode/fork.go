package episode

import (
	"time"

	"vise/engine/notice"
	"vise/engine/rule"
)

// Fork says what a what-if goes on from, under which other conditions, and what it has
// decided. Nothing of it is in the live rules or notices unless a person accepts it.
type Fork struct {
	Of      string `json:"of"`      // the episode that it goes on from
	Attempt int    `json:"attempt"` // the run of that episode
	// Turn is how many model turns were kept, 0 = the first prompt only. The fork's own
	// turns go on counting from there.
	Turn int `json:"turn"`
	// Model that answers the fork, and its bounds: turns with the kept ones, the others
	// of the fork alone.
	Model     string        `json:"model"`
	MaxTurns  int           `json:"max_turns"`
	MaxTokens int           `json:"max_tokens"`
	Timeout   time.Duration `json:"timeout_ns"`
	// Denied are tools that the fork does not have.
	Denied []string `json:"denied,omitempty"`
	Edited *Edited  `json:"edited,omitempty"`
	// AsOf is the time whose rules the fork sees: that of the turn it goes on from.
	AsOf time.Time `json:"as_of"`
	// Cut are the numbers of kept messages that were longer than what is stored of one.
	Cut []int `json:"cut,omitempty"`
	// Candidate is the rule that the fork wrote. It is no rule until a person accepts it.
	Candidate *rule.Rule `json:"candidate,omitempty"`
	// Resolution is what the fork would have done to the notices.
	Resolution *notice.Resolution `json:"resolution,omitempty"`
	// AcceptedAt is when a person made the candidate one of the live rules.
	AcceptedAt string `json:"accepted_at,omitempty"`
}

// Edited is what a person changed in the kept conversation: the text of a message, or
// the arguments of one call of the last kept turn, which is then executed again.
type Edited struct {
	Message int    `json:"message,omitempty"` // 1-based, as `vise episodes show --messages` counts
	Role    string `json:"role,omitempty"`
	Call    int    `json:"call,omitempty"` // 1-based
	Tool    string `json:"tool,omitempty"`
}
