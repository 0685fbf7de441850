package engine

import (
	"encoding/json"
	"errors"
	"maps"
	"slices"

	"vise/engine/event"
	"vise/engine/evidence"
	"vise/engine/gate"
	"vise/engine/notice"
	"vise/engine/rule"
	"vise/engine/score"
	"vise/engine/trace"
	"vise/store"
)

// skipCut is why a turn that was cut short is not scored: what a cancelled or killed
// agent had said until then is neither a success nor a failure of its own.
const skipCut = "cut_short"

// skipUnread is why turns are passed over whose records are missing or damaged.
const skipUnread = "not_readable"

const breakerName = "breaker"

// ladder is the tier ladder of the configuration. With the offline evaluator
// coherence is scored and shown, but its gate flags are dropped: alone it is a
// worse alarm than none (measured on recorded benchmark sessions). noise is the
// measured scatter of the metrics that the noise gate folds.
func (h *Harness) ladder(noise map[string]float64) gate.Ladder {
	e, g := h.cfg.Evaluate, h.cfg.Gate
	thresholds := map[string]float64{score.OutcomeCorrect: e.OutcomeThreshold}
	maps.Copy(thresholds, e.Thresholds)
	l := gate.Ladder{
		Tier1: e.Tier1, Tier2: e.Tier2, Tier3: e.Tier3, EnableTier3: e.EnableTier3, Thresholds: thresholds,
		Gate: gate.Config{Window: g.Window, Target: g.Target, Gain: g.Gain, Drop: g.Drop, StartPeak: g.StartPeak,
			Hold: g.Mode != "seed"},
		Noise: noise, Follow: g.Mode != "seed",
	}
	if e.By == "local" {
		l.Muted = []string{score.Coherence}
	}
	return l
}

func (h *Harness) notices() notice.Config {
	return notice.Config{Cooldown: h.cfg.Notice.CooldownTurns, MaxNotices: h.cfg.Notice.BreakerMax,
		Window: h.cfg.Notice.BreakerWindow, ObserveOnly: h.cfg.Evaluate.ObserveOnly}
}

// evaluate scores one turn and stores everything that follows from it in one
// transaction: scores, gate, dedup and breaker, notice, case, trials.
func (h *Harness) evaluate(head trace.Session, turn trace.Turn, state sessionState, l *lane) (err error) {
	before := state
	was, err := json.Marshal(state)
	if err != nil {
		return err
	}
	skip, journal := skipCut, true
	if !turn.CutShort() {
		skip, journal = h.admit(&state)
	}
	defer func() {
		if err != nil && skip == "" {
			h.dismiss()
		}
	}()
	state.Next, state.Down = turn.Index+1, false
	if skip != "" {
		// The fold must see the turn all the same: later turns refer to it.
		if _, err := h.fold(l, head, turn); err != nil {
			return err
		}
		return h.store.Update(h.ctx, func(tx *store.Tx) error {
			if err := unmoved(tx, head.ID, was); err != nil {
				return err
			}
			if err := tx.PutState(stateName(head.ID), state); err != nil || !journal {
				return err
			}
			return tx.Emit(event.Event{Type: event.Skip, SessionID: head.ID, TurnIndex: event.Turn(turn.Index),
				Data: map[string]any{"what": "evaluation", "reason": skip, "stop_reason": turn.StopReason}})
		})
	}
	read, err := h.read(head, turn, state, l)
	if down := (*Outage)(nil); errors.As(err, &down) && !before.Down {
		before.Down = true
		err = errors.Join(err, h.store.Update(h.ctx, func(tx *store.Tx) error {
			if err := unmoved(tx, head.ID, was); err != nil {
				return err
			}
			if err := tx.PutState(stateName(head.ID), before); err != nil {
				return err
			}
			return tx.Emit(h.unscored(head.ID, turn.Index, fault{"evaluation", down.Error()}))
		}))
	}
	if err != nil {
		return err
	}
	state.Gate, state.GateBy = read.gate, h.by
	report := score.Report{SessionID: head.ID, TurnIndex: turn.Index, Scores: read.scores}
	if err := h.store.Update(h.ctx, func(tx *store.Tx) error {
		if err := unmoved(tx, head.ID, was); err != nil {
			return err
		}
		if err := tx.PutReport(withAll(report, read.shown)); err != nil {
			return err
		}
		if err := h.reported(tx, head.ID, read); err != nil {
			return err
		}
		if read.budget != "" {
			if err := h.stopped(tx, read.budget); err != nil {
				return err
			}
		}
		for _, f := range read.faults {
			if err := tx.Emit(h.unscored(head.ID, turn.Index, f)); err != nil {
				return err
			}
		}
		if !report.Empty() {
			// A report without any score is no information: it neither recovers a
			// session nor closes the breaker nor counts in a trial.
			if err := h.handle(tx, head, turn, report, &state); err != nil {
				return err
			}
		}
		return tx.PutState(stateName(head.ID), state)
	}); err != nil {
		return err
	}
	h.bus.Publish(event.Event{Type: event.TurnScored, At: h.store.Now(), SessionID: head.ID, TurnIndex: event.Turn(turn.Index)})
	return nil
}

// admit applies budget, sampling and rate limit.
func (h *Harness) admit(state *sessionState) (skip string, journal bool) {
	e := h.cfg.Evaluate
	a := gate.Admission{MaxEvals: e.MaxPerRun, SampleEvery: e.SampleEvery, MinInterval: e.SessionMinInterval}
	h.mu.Lock()
	defer h.mu.Unlock()
	return a.Admit(&h.admitted, &state.Admission, h.store.Now())
}

// dismiss takes back an admission that came to nothing: the turn will be admitted
// again when it is retried.
func (h *Harness) dismiss() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.admitted.Launched--
}

// shown is the tier of scores that are stored for display only: tier 3 never alerts by value.
const shown = 3

// withAll is the report with the scores the ladder did not ask for behind it, for display.
func withAll(r score.Report, all []score.Score) score.Report {
	r.Scores = slices.Clone(r.Scores)
	for _, s := range all {
		if !slices.ContainsFunc(r.Scores, func(have score.Score) bool { return have.Metric == s.Metric }) {
			s.Tier = shown
			r.Scores = append(r.Scores, s)
		}
	}
	return r
}

// handle takes an informative report through dedup and breaker, and into the trials.
func (h *Harness) handle(tx *store.Tx, head trace.Session, turn trace.Turn, report score.Report, state *sessionState) error {
	signatures := report.Signatures()
	if head.Origin == trace.Live {
		if err := h.observe(tx, head.ID, signatures); err != nil {
			return err
		}
	}
	config := h.notices()
	var breaker notice.Breaker
	if head.Origin == trace.Live {
		if _, err := tx.State(breakerName, &breaker); err != nil {
			return err
		}
	} else {
		config.MaxNotices = 0 // recordings never touch the breaker
	}
	var decision notice.Decision
	state.Dedup, breaker, decision = config.Step(state.Dedup, breaker, head.ID, signatures, h.store.Now())
	state.Quiet = len(signatures) == 0
	state.Alerted = state.Alerted || !state.Quiet
	if head.Origin == trace.Live {
		if err := tx.PutState(breakerName, breaker); err != nil {
			return err
		}
	}
	if decision.Recovered {
		if err := tx.Emit(event.Event{Type: event.Recovery, SessionID: head.ID, TurnIndex: event.Turn(turn.Index)}); err != nil {
			return err
		}
	}
	switch decision.Result {
	case notice.None, notice.Suppressed:
		return nil
	}
	if turn.TaskSummary == "" {
		turn.TaskSummary = head.TaskSummary
	}
	if len(turn.ScopeHints) == 0 {
		turn.ScopeHints = head.ScopeHints
	}
	n := notice.FromReport(report, turn, h.store.NewID("n"), h.now())
	if decision.Result == notice.Human {
		n = notice.AskHuman(n, config)
		if err := tx.PutState(pausedName, paused{NoticeID: n.ID, At: n.CreatedAt}); err != nil {
			return err
		}
	}
	data := map[string]any{"severity": n.Severity, "signatures": n.Signatures, "flagged_traces": n.FlaggedTraces, "summary": n.Summary}
	if decision.Result == notice.Shadow {
		data["shadow"] = true
		return tx.Emit(event.Event{Type: event.Notice, SessionID: head.ID, TurnIndex: event.Turn(turn.Index), NoticeID: n.ID, Data: data})
	}
	known := false
	if state.Again {
		var err error
		if known, err = raised(tx, n); err != nil {
			return err
		}
	}
	if !known {
		if err := tx.PutNotice(n); err != nil {
			return err
		}
		if err := tx.Emit(event.Event{Type: event.Notice, SessionID: head.ID, TurnIndex: event.Turn(turn.Index), NoticeID: n.ID, Data: data}); err != nil {
			return err
		}
	}
	if n.Severity != notice.Breach || !h.cfg.Cases.Capture {
		return nil
	}
	input, err := replayInput(tx, head, turn.Index)
	if err != nil {
		return err
	}
	return h.capture(tx, n, report, input)
}

// raised reports whether the session has a notice of the same turn and conditions.
func raised(tx *store.Tx, n notice.Notice) (bool, error) {
	all, err := tx.Notices(store.Window{})
	return slices.ContainsFunc(all, func(x notice.Notice) bool {
		return x.SessionID == n.SessionID && x.TurnIndex == n.TurnIndex && slices.Equal(x.Signatures, n.Signatures)
	}), err
}

// capture keeps a breach as a case that validation can run again.
func (h *Harness) capture(tx *store.Tx, n notice.Notice, report score.Report, input *evidence.Input) error {
	c := evidence.Case{ID: h.store.NewID("c"), CreatedAt: h.now(), SessionID: n.SessionID, TurnIndex: n.TurnIndex,
		Kind: evidence.Failure, Signature: n.Signatures, Baseline: report.Baseline(), BaselineBy: report.BaselineBy(), Input: input}
	stored, err := tx.Cases("")
	if err != nil {
		return err
	}
	kept := evidence.Admit(stored, c, h.cfg.Cases.Max)
	switch {
	case kept.Refused:
		return tx.Emit(event.Event{Type: event.Skip, SessionID: n.SessionID, NoticeID: n.ID,
			Data: map[string]any{"what": "case", "reason": "cases.max is reached and nothing may be evicted"}})
	case !kept.New && !kept.Updated:
		return nil // the same scenario is kept already
	}
	e := event.Event{Type: event.EvalsetCapture, SessionID: n.SessionID, TurnIndex: event.Turn(n.TurnIndex), NoticeID: n.ID, CaseID: kept.Case.ID,
		Data: map[string]any{"signature": c.Signature, "replayable": input != nil, "new": kept.New}}
	if len(kept.Evict) > 0 {
		e.Data["evicted"] = kept.Evict
	}
	for _, id := range kept.Evict {
		if err := tx.DeleteCase(id); err != nil {
			return err
		}
	}
	if err := tx.PutCase(kept.Case); err != nil {
		return err
	}
	return tx.Emit(e)
}

// observe enrols a live report in the forward trial of every candidate. The
// session that a rule was made from is no evidence for it: its failure came
// before the rule.
func (h *Harness) observe(tx *store.Tx, session string, signatures []string) error {
	candidates, err := tx.Rules(rule.Candidate)
	if err != nil {
		return err
	}
	for _, r := range candidates {
		if r.Trial == nil {
			continue
		}
		if source, ok, err := tx.Notice(r.SourceNoticeID); err != nil {
			return err
		} else if ok && source.SessionID == session {
			continue
		}
		if evidence.Observe(r.Trial, r.Metric, session, signatures, h.cfg.Validate.TrialMinSessions) {
			if err := tx.PutRule(r); err != nil {
				return err
			}
		}
	}
	return nil
}
