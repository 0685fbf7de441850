package notice

import (
	"slices"
	"time"
)

// Config bounds the flow of notices.
type Config struct {
	// Cooldown repeats an unchanged alert after that many silent reports; 0 never.
	Cooldown int
	// MaxNotices within Window open the breaker; 0 switches it off.
	MaxNotices int
	Window     time.Duration
	// ObserveOnly journals what would be posted and stores nothing.
	ObserveOnly bool
}

// Breaker is the circuit breaker over all sessions. The zero value is closed.
type Breaker struct {
	Stamps []Stamp `json:"stamps"`
	Open   bool    `json:"open"`
}

// Stamp is one posted notice.
type Stamp struct {
	Session string    `json:"session"`
	At      time.Time `json:"at"`
}

// Result is what becomes of one report.
type Result string

// The results. Suppressed: the alert is new but the breaker is open; nothing is
// stored or journalled. Shadow: observed only, journalled.
const (
	None       Result = "none"
	Post       Result = "notice"
	Human      Result = "needs_human"
	Suppressed Result = "suppressed"
	Shadow     Result = "shadow"
)

// Decision is a result and whether the report ended an alerting spell (which is
// journalled as a recovery).
type Decision struct {
	Result    Result
	Recovered bool
}

// Step decides about one report of a session, given what is remembered of it and
// the breaker, and returns both as they are afterwards.
//
// A recovery takes back the stamps of its own session only: one healthy session
// says nothing about the others. A suppressed alert is not remembered as told, so
// it is posted once the breaker has closed, if it still holds then.
func (c Config) Step(d Dedup, b Breaker, session string, signatures []string, now time.Time) (Dedup, Breaker, Decision) {
	next, post, recovered := d.Step(signatures, c.Cooldown)
	if recovered {
		b.Stamps = slices.DeleteFunc(slices.Clone(b.Stamps), func(s Stamp) bool { return s.Session == session })
		b.Open = b.Open && len(b.Stamps) > 0
	}
	if !post {
		return next, b, Decision{None, recovered}
	}
	if c.ObserveOnly {
		return next, b, Decision{Shadow, false}
	}
	if c.MaxNotices <= 0 {
		return next, b, Decision{Post, false}
	}
	b.Stamps = slices.DeleteFunc(slices.Clone(b.Stamps), func(s Stamp) bool { return now.Sub(s.At) > c.Window })
	b.Open = b.Open && len(b.Stamps) > 0
	switch {
	case b.Open:
		if !slices.Equal(next.Signatures, d.Signatures) { // not a mere repetition
			next = Dedup{Signatures: d.Signatures, Alerting: true}
		}
		return next, b, Decision{Suppressed, false}
	case len(b.Stamps) >= c.MaxNotices:
		b.Open = true
		return next, b, Decision{Human, false}
	}
	b.Stamps = append(b.Stamps, Stamp{session, now})
	return next, b, Decision{Post, false}
}
