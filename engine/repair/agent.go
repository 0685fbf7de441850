// Package repair runs the repair agent: a separate model that is shown one
// episode, may look at its notices, its traces and the existing rules, and may
// write at most one candidate rule. It can neither promote nor retire a rule.
//
// Everything the agent sees is untrusted data in typed fields, sanitised,
// redacted and bounded; its only powers are the nine tools of this package. A run
// is bounded in turns, output tokens and time, writes each of its events in the
// transaction of the change they tell of, and ends with exactly one of them.
package repair

import (
	"context"
	"time"

	"vise/engine/episode"
	"vise/engine/event"
	"vise/engine/guard"
	"vise/engine/model"
	"vise/store"
)

// DefaultSanitizeMax is Config.SanitizeMax of the PandaProbe harness.
const DefaultSanitizeMax = 2000

// Config bounds a run. Values are used as they are, zero included.
type Config struct {
	// Timeout of the whole run; time a person holds a step does not count. Zero
	// or less ends the run before its first question.
	Timeout time.Duration
	// MaxTurns is the number of questions to the model, at least 1.
	MaxTurns int
	// MaxTokens bounds the output tokens of the run.
	MaxTokens       int
	Temperature     *float64
	ReasoningEffort string
	// DomainPolicy is what the developer says about authorised behaviour. It is
	// data for the agent and never widens its tools.
	DomainPolicy string
	// MaxActive is the number of live rules a project may have, 0 = no bound.
	MaxActive int
	// TrialMin is the number of sessions a forward trial needs; shown with a rule's status.
	TrialMin int
	// SanitizeMax caps rule, rationale and notes in code points, 0 = no cap.
	SanitizeMax int
	// ValidationOn makes new rules candidates. Off, they are active at once.
	ValidationOn bool
	// Protected is what no rule may quote: rubrics, thresholds, the verifier. Expected
	// answers that a session carries are protected by themselves.
	Protected []guard.Protected
}

// Agent runs repairs. Its fields are set before the first Run and not changed
// afterwards; runs of different episodes may overlap.
type Agent struct {
	Store  *store.Store
	Model  *model.Client
	Config Config
	// Stepper holds the run at its checkpoints; nil never waits.
	Stepper Stepper
	// Bus gets the streamed deltas as ephemeral events; may be nil.
	Bus *event.Bus
	// Remote fetches a trace that is not in the store from the evaluator's platform;
	// nil = there is none.
	Remote func(ctx context.Context, traceID string) RemoteTrace
	// Redactor masks credentials in whatever the model is shown and in what is kept of
	// it; nil masks by key and by value.
	Redactor *guard.Redactor
	// Now is the clock, nil = time.Now.
	Now func() time.Time

	// ask replaces the model in tests: it answers within the timeout, on the run's own clock.
	ask func(ctx context.Context, timeout time.Duration, q model.Request, onDelta func(model.Delta)) (model.Reply, error)
	// inspected is told before each of the three look-ups of an inspection; it lets
	// tests make them slow (the clock) or fail.
	inspected func() error
}

// Run repairs one episode and returns how it ended. It never fails with an
// error: whatever goes wrong is a result with an ErrorCategory. The episode in
// the store gets the attempt, the status, the candidate and the result; the
// caller decides about back-off and dead letters.
//
// Run ends early when ctx does: with status timed_out and category
// settlement_timeout when its deadline passed, else cancelled. Either way there is
// one terminal event, with the turns, tokens and candidate of the run.
func (a *Agent) Run(ctx context.Context, ep episode.Episode, as episode.Assignment) episode.Result {
	return a.newRun(ep, as).run(ctx)
}

func (a *Agent) newRun(ep episode.Episode, as episode.Assignment) *run {
	r := &run{agent: a, now: a.Now, stepper: a.Stepper, redactor: a.Redactor, ep: ep, as: as}
	if r.redactor == nil {
		r.redactor = guard.DefaultRedactor()
	}
	if r.now == nil {
		r.now = time.Now
	}
	if r.stepper == nil {
		r.stepper = Continue()
	}
	return r
}

// question asks the model within the timeout.
func (a *Agent) question(ctx context.Context, timeout time.Duration, q model.Request, onDelta func(model.Delta)) (model.Reply, error) {
	if a.ask != nil {
		return a.ask(ctx, timeout, q, onDelta)
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	return a.Model.Chat(ctx, q, onDelta)
}

// modelName is the model's id, for records.
func (a *Agent) modelName() string {
	if a.Model == nil {
		return ""
	}
	return a.Model.Name()
}
