// Package engine is the harness: it takes finished turns, scores them, raises
// notices, lets the repair agent write candidates, and validates them. It knows
// no terminal, no flags and no globals; panes, commands and tests call it alike.
package engine

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"vise/engine/config"
	"vise/engine/event"
	"vise/engine/gate"
	"vise/engine/guard"
	"vise/engine/model"
	"vise/engine/model/cassette"
	"vise/engine/repair"
	"vise/engine/score/judge"
	"vise/engine/score/local"
	"vise/engine/score/pandaprobe"
	"vise/engine/score/verifier"
	"vise/engine/trace"
	"vise/engine/validate"
	"vise/store"
)

// Options are what a Harness is made of.
type Options struct {
	Config *config.Config
	Store  *store.Store
	Bus    *event.Bus
	// Model is the repair agent's model; nil switches repair off.
	Model *model.Client
	// Replayer runs cases through the agent; nil means that no agent is
	// configured and the forward trial decides.
	Replayer validate.Replayer
	// Judge scores the turns instead of the offline evaluator; nil = score/local does.
	Judge *judge.Judge
	// Platform scores the traces that the agent reports there; nil = it is not used.
	Platform *pandaprobe.Platform
	// Ledger is where the agent's usage is booked beside the judge's and the repair
	// model's; nil counts nothing.
	Ledger *model.Ledger
	// AgentBooked says that the agent's model calls go through our proxy, which books
	// them in the ledger itself.
	AgentBooked bool
	// Verifier judges the outcome of every evaluated turn; nil = nobody does.
	Verifier *verifier.Verifier
	// Agent identifies the agent in verdicts.
	Agent string
	// Artifacts is the folder that rules.md and rules/SCOPE.md are kept in; "" keeps none.
	Artifacts string
	// Stepper is asked at every checkpoint of a repair; nil never waits.
	Stepper repair.Stepper
	// ModelFor makes the client of another model, provider/model, for a fork; it books in
	// the same ledger and is closed by the harness. nil: forks have the repair model only.
	ModelFor func(ctx context.Context, id string) (*model.Client, error)
	Log      *slog.Logger
}

// Harness is one project's loop. All methods are safe for concurrent use.
type Harness struct {
	// AgedOut is what store.retention removed when the harness was opened.
	AgedOut Expired

	cfg   *config.Config
	store *store.Store
	bus   *event.Bus
	log   *slog.Logger
	red   *guard.Redactor // masks what live runs say before it is stored
	agent *repair.Agent
	// stepper and modelFor are what forks need besides the repair agent.
	stepper  repair.Stepper
	modelFor func(ctx context.Context, id string) (*model.Client, error)

	valid *validate.Validator
	// replayer runs cases; nil without an agent.
	replayer validate.Replayer

	judge    *judge.Judge
	platform *pandaprobe.Platform
	ledger   *model.Ledger
	booked   bool // the agent's usage is booked where it is seen
	verifier *verifier.Verifier
	by       string // identity of the evaluator, without the verifier's

	ctx  context.Context // ends with Close; owns the evaluation workers
	stop context.CancelCauseFunc
	work sync.WaitGroup
	slot chan struct{} // evaluate.max_concurrent

	mu       sync.Mutex
	lanes    map[string]*lane // per session with turns in evaluation
	sick     bool             // that the platform cannot be used has been journalled
	broke    bool             // that the budget is spent has been journalled
	admitted gate.RunState    // evaluations admitted in this run (evaluate.max_per_run)
	repairs  map[string]*running
	declined map[string]bool // episodes whose repair a person cancelled here: only a person starts them again
	render   *event.Subscription
	agentUse turnstile // live runs of the agent, or one round
}

// ErrClosed is the cause of everything that ends because the harness was closed.
var ErrClosed = errors.New("the harness is closed")

// Open makes a harness over an open store, which stays the caller's to close.
func Open(ctx context.Context, o Options) (*Harness, error) {
	if o.Config == nil || o.Store == nil {
		return nil, errors.New("open: a configuration and a store are required")
	}
	if o.Bus == nil {
		o.Bus = event.NewBus()
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	red, err := guard.NewRedactor(guard.RedactOptions{Keys: o.Config.Redact.Keys, Values: o.Config.Redact.Values, Extra: o.Config.Redact.Extra})
	if err != nil {
		return nil, fmt.Errorf("open: %w", err)
	}
	if o.Replayer != nil && o.Ledger != nil && !o.AgentBooked {
		o.Replayer = metered{o.Replayer, o.Ledger}
	}
	h := &Harness{
		judge: o.Judge, platform: o.Platform, ledger: o.Ledger, booked: o.AgentBooked, verifier: o.Verifier, by: local.Name(local.Options{Handoff: o.Config.Evaluate.Handoff}),
		red: red, replayer: o.Replayer, cfg: o.Config, store: o.Store, bus: o.Bus, log: o.Log,
		slot:    make(chan struct{}, max(1, o.Config.Evaluate.MaxConcurrent)),
		lanes:   map[string]*lane{},
		repairs: map[string]*running{}, declined: map[string]bool{},
	}
	if o.Judge != nil {
		h.by = o.Judge.Identity()
	}
	if o.Platform != nil {
		h.by = pandaprobe.Identity
	}
	h.ctx, h.stop = context.WithCancelCause(context.WithoutCancel(ctx))
	if o.Stepper == nil {
		o.Stepper = repair.Continue()
	}
	h.stepper, h.modelFor = o.Stepper, o.ModelFor
	if o.Model != nil && !o.Config.Evaluate.ObserveOnly {
		h.agent = &repair.Agent{
			Store: o.Store, Model: o.Model, Stepper: o.Stepper, Bus: o.Bus, Now: o.Store.Now, Redactor: red,
			Config: repairConfig(o.Config),
		}
	}
	if h.agent != nil && o.Platform != nil {
		h.agent.Remote = h.remoteTrace
	}
	h.valid = &validate.Validator{
		Store: o.Store, Score: h.scoreReplay, Replayer: o.Replayer, Agent: o.Agent,
		Redactor: red, EvaluatedBy: h.identity(),
		Config: validate.Config{
			TrialMin: o.Config.Validate.TrialMinSessions, PromoteMargin: o.Config.Validate.PromoteMargin,
			RegressMargin: o.Config.Validate.RegressMargin, ReplayTimeout: o.Config.Validate.ReplayTimeout,
			EnvWait: o.Config.Validate.EnvWait, RoundBudget: o.Config.Validate.RoundBudget, Seed: o.Config.Validate.Seed,
			Evidence: o.Config.Validate.Evidence, Profile: o.Config.Validate.Profile, PairsCap: o.Config.Validate.PairsCap,
			PromoteE: o.Config.Validate.PromoteE, Parallel: o.Config.Validate.Parallel,
		},
	}
	h.valid.Surroundings = surroundings(o.Config, o.Agent)
	if o.Config.Evaluate.By == "local" {
		h.valid.Process = h.process
	}
	if o.Replayer != nil {
		if err := h.remember(ctx); err != nil {
			h.stop(ErrClosed)
			return nil, err
		}
	}
	if err := h.closeInterrupted(ctx); err != nil {
		h.stop(ErrClosed)
		return nil, err
	}
	if h.AgedOut, err = h.Expire(ctx, expireAtOpen); err != nil {
		h.stop(ErrClosed)
		return nil, err
	}
	if o.Artifacts != "" {
		h.work.Add(1)
		h.render = o.Bus.Subscribe(256)
		go h.keepArtifacts(o.Artifacts)
	}
	return h, nil
}

// keepArtifacts renders the rules after each change of them, and at the start
// when a change was not rendered any more before the process that made it was
// killed. They are artifacts: a failure to write them is logged and harms nothing.
func (h *Harness) keepArtifacts(dir string) {
	defer h.work.Done()
	defer h.render.Close()
	if err := h.renderChanged(dir); err != nil {
		h.log.Warn("render rules", "err", err)
	}
	for {
		batch, err := h.render.Next(h.ctx)
		if err != nil {
			// What came last is rendered all the same.
			batch, _ = h.render.TryNext()
		}
		if batch.Lost > 0 || slices.ContainsFunc(batch.Events, changesRules) {
			if err := h.renderChanged(dir); err != nil {
				h.log.Warn("render rules", "err", err)
			}
		}
		if err != nil {
			return
		}
	}
}

func changesRules(e event.Event) bool { return slices.Contains(ruleChanges, e.Type) }

// Events is the bus that committed and ephemeral events are published on.
func (h *Harness) Events() *event.Bus { return h.bus }

// RepairOn reports whether a repair agent is configured.
func (h *Harness) RepairOn() bool { return h.agent != nil }

// Close ends every evaluation and repair in flight and waits for them, at most
// settle.drain_timeout. Turns that were stored but not scored are scored by the
// next Settle of their session.
func (h *Harness) Close() error {
	h.mu.Lock() // who adds to work holds it, and looks first whether it is over
	h.stop(ErrClosed)
	h.mu.Unlock()
	done := make(chan struct{})
	go func() { h.work.Wait(); close(done) }()
	timer := time.NewTimer(h.cfg.Settle.DrainTimeout)
	defer timer.Stop()
	select {
	case <-done:
		return nil
	case <-timer.C:
		return fmt.Errorf("close: work was still going on after settle.drain_timeout (%s)", h.cfg.Settle.DrainTimeout)
	}
}

// BeginSession stores the head of a session with its event.
func (h *Harness) BeginSession(ctx context.Context, s trace.Session, e event.Event) error {
	return h.putSession(ctx, "begin", s, e)
}

// EndSession stores the final head of a session with its event.
func (h *Harness) EndSession(ctx context.Context, s trace.Session, e event.Event) error {
	return h.putSession(ctx, "end", s, e)
}

func (h *Harness) putSession(ctx context.Context, op string, s trace.Session, e event.Event) error {
	s = h.withHints(s)
	h.red.Session(&s)
	if err := h.store.Update(ctx, func(tx *store.Tx) error {
		if err := tx.PutSession(s); err != nil {
			return err
		}
		if err := tx.Emit(e); err != nil || op != "end" {
			return err
		}
		if err := h.observeReads(tx, s); err != nil || e.Data["error"] != nil {
			return err
		}
		if err := h.observeHoldback(tx, s); err != nil {
			return err
		}
		return h.offer(tx, s)
	}); err != nil {
		return fmt.Errorf("%s session %s: %w", op, s.ID, err)
	}
	if op == "end" {
		h.forget(s.ID)
	}
	return nil
}

// KeepCalls stores model calls of a live session's agent with their event.
func (h *Harness) KeepCalls(ctx context.Context, sessionID string, turn int, calls []cassette.Exchange) error {
	if len(calls) == 0 {
		return nil
	}
	var bytes, masked int
	records := make([]store.Exchange, len(calls))
	for i, c := range calls {
		line, err := c.MarshalJSON()
		if err != nil {
			return fmt.Errorf("keep model call %d of session %s: %w", c.Seq, sessionID, err)
		}
		bytes, masked = bytes+len(c.Body), masked+c.Masked
		records[i] = store.Exchange{SessionID: sessionID, Seq: c.Seq, Line: line}
	}
	staged, err := h.store.StageExchanges(ctx, records)
	if err != nil {
		return fmt.Errorf("keep the model calls of turn %d of session %s: %w", turn, sessionID, err)
	}
	if err := h.store.Update(ctx, func(tx *store.Tx) error {
		if err := tx.PutExchanges(staged); err != nil {
			return err
		}
		return tx.Emit(event.Event{Type: event.ModelCallsKept, SessionID: sessionID, TurnIndex: event.Turn(turn),
			Data: map[string]any{"calls": len(calls), "bytes": bytes, "masked": masked}})
	}); err != nil {
		return fmt.Errorf("keep the model calls of turn %d of session %s: %w", turn, sessionID, err)
	}
	return nil
}

// withHints fills in what the project knows when the recording does not say.
func (h *Harness) withHints(s trace.Session) trace.Session {
	if s.TaskSummary == "" {
		s.TaskSummary = h.cfg.Agent.Hints.TaskSummary
	}
	if len(s.ScopeHints) == 0 {
		s.ScopeHints = h.cfg.Agent.Hints.Scopes
	}
	return s
}

// Publish puts an ephemeral event on the bus.
func (h *Harness) Publish(e event.Event) { h.bus.Publish(e) }

// LiveTurn marks that the agent is at work for the developer until the returned
// function is called. Validation rounds wait for it, and it waits for them, no longer
// than the context lasts.
func (h *Harness) LiveTurn(ctx context.Context) (done func(), err error) {
	if done, err = h.agentUse.enter(ctx, false); err != nil {
		return nil, fmt.Errorf("wait for the validation round: %w", err)
	}
	return done, nil
}
