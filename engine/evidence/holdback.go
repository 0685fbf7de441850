package evidence

import (
	"encoding/binary"
	"hash/fnv"
	"slices"
)

// The holdback of a promoted rule: in a share of the developer's own live sessions it
// is hidden at random, and the sessions with it are compared with those without.
const (
	// HoldbackE is the e-value that ends it: harmful (the rule is retired) or helpful.
	HoldbackE = 20
	// HoldbackPairs is how many pairs it takes at most. A rule that has shown no harm
	// until then is hidden no more: hiding a good rule has a price too.
	HoldbackPairs = 100
	maxWaiting    = 50
)

// How a holdback ended.
const (
	HoldbackHarm    = "harmful" // sessions without the rule went better
	HoldbackHelp    = "helpful" // sessions with it went better
	HoldbackNoHarm  = "no_harm" // neither was shown within the pairs
	HoldbackRunning = ""        // it goes on
)

// Holdback is the state of one rule's holdback. It is bounded.
type Holdback struct {
	RuleID    string `json:"rule_id"`
	VerdictID string `json:"verdict_id"` // the promotion it follows
	Started   string `json:"started"`    // RFC 3339
	// Hidden and Shown wait for a partner.
	Hidden []Live `json:"hidden"`
	Shown  []Live `json:"shown"`
	// Graded are the differences shown − hidden by pair, as a share of the noise scale.
	Graded []float64 `json:"graded"`
	// Without and With count the sessions.
	Without int `json:"without"`
	With    int `json:"with"`
	// Gain and Loss are the e-values so far.
	Gain float64 `json:"gain"`
	Loss float64 `json:"loss"`
	// Ended says how it ended, "" while it runs.
	Ended string `json:"ended,omitempty"`
}

// Live is the outcome of one live session.
type Live struct {
	SessionID string `json:"session_id"`
	// Of is what the session replays; sessions of the same inputs are compared first.
	Of    string  `json:"of,omitempty"`
	Value float64 `json:"value"` // 0 to 1, higher is better
}

// Hides decides at random whether a rule is hidden from a session: by a hash of the
// base seed and the two ids, so that nobody can choose and everybody can check.
func Hides(seed int64, session, rule string, share float64) bool {
	h := fnv.New64a()
	var b [8]byte
	binary.LittleEndian.PutUint64(b[:], uint64(seed))
	h.Write(b[:])
	h.Write([]byte("holdback|" + session + "|" + rule))
	x := h.Sum64()
	x ^= x >> 33 // FNV mixes its last bytes poorly
	x *= 0xff51afd7ed558ccd
	x ^= x >> 33
	return float64(x>>11)/(1<<53) < share
}

// Observe takes the outcome of one finished session into the holdback and returns the
// state after it; the given one is not changed. Each hidden session is paired with one
// shown session, one of the same inputs before any other, the newest first. Which
// session saw the rule was drawn at random, so under "no effect" the differences are
// symmetric about zero, which is what the bets need.
func (h Holdback) Observe(hidden bool, x Live, scale float64) Holdback {
	if h.Ended != HoldbackRunning {
		return h
	}
	if hidden {
		h.Without++
		if i := partner(h.Shown, x.Of); i >= 0 {
			with := h.Shown[i]
			h.Shown = slices.Delete(slices.Clone(h.Shown), i, i+1)
			return h.pair(with.Value, x.Value, scale)
		}
		h.Hidden = newest(append(slices.Clone(h.Hidden), x))
		return h
	}
	h.With++
	if i := partner(h.Hidden, x.Of); i >= 0 {
		without := h.Hidden[i]
		h.Hidden = slices.Delete(slices.Clone(h.Hidden), i, i+1)
		return h.pair(x.Value, without.Value, scale)
	}
	h.Shown = newest(append(slices.Clone(h.Shown), x))
	return h
}

func (h Holdback) pair(with, without, scale float64) Holdback {
	g := min(max((with-without)/scale, -1), 1)
	h.Graded = append(slices.Clone(h.Graded), g)
	var gain, loss Bet
	for _, g := range h.Graded {
		gain.Add(g)
		loss.Add(-g)
	}
	h.Gain, h.Loss = gain.Value(), loss.Value()
	switch {
	case h.Loss >= HoldbackE:
		h.Ended = HoldbackHarm
	case h.Gain >= HoldbackE:
		h.Ended = HoldbackHelp
	case len(h.Graded) >= HoldbackPairs:
		h.Ended = HoldbackNoHarm
	}
	if h.Ended != HoldbackRunning {
		h.Hidden, h.Shown = nil, nil
	}
	return h
}

// partner is the newest waiting session of the same inputs, else the newest; -1 = none.
func partner(waiting []Live, of string) int {
	for i := len(waiting) - 1; i >= 0; i-- {
		if of != "" && waiting[i].Of == of {
			return i
		}
	}
	return len(waiting) - 1
}

func newest(list []Live) []Live { return list[max(0, len(list)-maxWaiting):] }
