package evidence

import (
	"slices"
	"time"

	"vise/engine/rule"
	"vise/engine/trace"
)

// Exposed counts what runs of one origin did with a rule.
type Exposed struct {
	// Offered are runs in which the agent had the rule tools and the rule existed.
	Offered int `json:"offered"`
	// Read are runs in which the agent was handed the rule's text.
	Read int `json:"read"`
	// Recurred are runs that read the rule and alerted all the same on what it is about.
	Recurred int `json:"recurred"`
	// LastRead is the start of the newest run that read it.
	LastRead time.Time `json:"last_read,omitzero"`
}

// Uptake is what became of a rule in the developer's own runs and in replays.
// Whether a rule that was read was also followed is known only where a judge or
// verifier says so; Recurred is what can be counted without one.
type Uptake struct {
	Live   Exposed `json:"live"`
	Replay Exposed `json:"replay"`
}

// Runs returns how many runs of both kinds had the rule on offer, and read it.
func (e Uptake) Runs() (offered, read int) {
	return e.Live.Offered + e.Replay.Offered, e.Live.Read + e.Replay.Read
}

// Exposing is one agent run as exposure sees it.
type Exposing struct {
	Session trace.Session
	// Signatures that its notices carried.
	Signatures []string
}

// Expose counts the exposure of live rules over runs, by rule id. A live run offers
// every rule that existed when it started and was not hidden from it. A replay
// offers the rule it was made for, and what it read.
func Expose(rules []rule.Rule, runs []Exposing) map[string]Uptake {
	out := make(map[string]Uptake, len(rules))
	targets := make(map[string][]string, len(rules))
	created := make(map[string]time.Time, len(rules))
	for _, r := range rules {
		out[r.ID] = Uptake{}
		targets[r.ID] = TargetSignatures(r)
		created[r.ID], _ = time.Parse(time.RFC3339Nano, r.CreatedAt)
	}
	for _, run := range runs {
		s := run.Session
		live := s.Origin == trace.Live
		if !live && s.Origin != trace.Replay {
			continue
		}
		if live {
			for id, x := range out {
				if !s.Started.Before(created[id]) && !slices.Contains(s.RulesHidden, id) {
					x.Live.Offered++
					out[id] = x
				}
			}
		}
		for _, id := range s.RulesRead {
			x, known := out[id]
			if !known {
				continue
			}
			to := &x.Replay
			if live {
				to = &x.Live
				if s.Started.Before(created[id]) {
					to.Offered++ // it came into being while the run was on
				}
			} else if s.RuleID != id {
				to.Offered++
			}
			to.Read++
			if slices.ContainsFunc(run.Signatures, func(sig string) bool { return slices.Contains(targets[id], sig) }) {
				to.Recurred++
			}
			if s.Started.After(to.LastRead) {
				to.LastRead = s.Started
			}
			out[id] = x
		}
		if x, known := out[s.RuleID]; known && !live {
			x.Replay.Offered++
			out[s.RuleID] = x
		}
	}
	return out
}
