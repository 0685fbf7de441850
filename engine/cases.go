package engine

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"vise/engine/event"
	"vise/engine/evidence"
	"vise/engine/score"
	"vise/engine/trace"
	"vise/store"
)

// now is the store's clock as the text that records carry: fixed width, UTC, so
// that it sorts as text.
func (h *Harness) now() string { return h.store.Now().UTC().Format(timeText) }

const timeText = "2006-01-02T15:04:05.000000000Z07:00"

// replayInput collects the user inputs of a session up to and including a turn.
// It is nil when the session holds none: such a case cannot be replayed.
func replayInput(tx *store.Tx, s trace.Session, turn int) (*evidence.Input, error) {
	heads, err := tx.TurnHeads(s.ID, 0, 0)
	if err != nil {
		return nil, err
	}
	in := &evidence.Input{TaskSummary: s.TaskSummary, ScopeHints: s.ScopeHints, Turns: inputs(heads, turn)}
	if len(in.Turns) == 0 {
		return nil, nil
	}
	if in.Digest, err = digest(in.Turns); err != nil {
		return nil, err
	}
	return in, nil
}

// digest identifies inputs: cases with equal digests are one case.
func digest(turns []string) (string, error) {
	raw, err := json.Marshal(turns)
	if err != nil {
		return "", fmt.Errorf("digest of inputs: %w", err)
	}
	sum := sha256.Sum256(raw)
	return hex.EncodeToString(sum[:]), nil
}

// inputs are the user's inputs up to and including a turn.
func inputs(heads []store.TurnHead, turn int) (out []string) {
	for _, t := range heads {
		if t.Index <= turn && !t.Synthetic && t.Input != "" {
			out = append(out, t.Input)
		}
	}
	return out
}

// Protected is a win as it was protected.
type Protected struct {
	evidence.Case
	// Renews is the session that the win of the same inputs was made from before; "" = it
	// is new or from the same session.
	Renews string `json:"renews,omitempty"`
	// Again: there was a win of the same inputs already.
	Again bool `json:"again,omitempty"`
}

// ProtectCase makes a win of a session up to a turn (negative: the last one). Its
// baseline are the stored scores on the replay metrics; a turn that was never
// scored is scored first. A turn that alerts is refused, unless it is forced: it would
// make the failure what rules must not change.
func (h *Harness) ProtectCase(ctx context.Context, session string, turn int, force bool) (Protected, error) {
	fail := func(err error) (Protected, error) {
		return Protected{}, fmt.Errorf("protect session %s: %w", session, err)
	}
	var head trace.Session
	var turns []store.TurnHead
	var ok bool
	if err := h.store.View(func(tx *store.Tx) (err error) {
		if head, ok, err = tx.Session(session); err == nil && ok {
			turns, err = tx.TurnHeads(session, 0, 0)
		}
		return err
	}); err != nil {
		return fail(err)
	}
	if !ok {
		return fail(fmt.Errorf("no such session; vise sessions ls lists them"))
	}
	if turn < 0 && len(turns) > 0 {
		turn = turns[len(turns)-1].Index
	}
	if !slices.ContainsFunc(turns, func(t store.TurnHead) bool { return t.Index == turn }) {
		return fail(fmt.Errorf("it has no turn %d; vise sessions show %s lists them", turn, session))
	}
	if i := slices.IndexFunc(turns, func(t store.TurnHead) bool { return t.Index <= turn && t.CutShort() }); i >= 0 {
		return fail(fmt.Errorf("turn %d was cut short (%s): there is nothing to protect", turns[i].Index, turns[i].StopReason))
	}
	report, err := h.reportOf(ctx, head, turn)
	if err != nil {
		return fail(err)
	}
	if alerts := alerting(report); len(alerts) > 0 && !force {
		return fail(h.noWin(session, turn, alerts))
	}
	baseline, by := h.baseline(report)
	if len(baseline) == 0 {
		return fail(fmt.Errorf("turn %d has no score to protect", turn))
	}
	var input *evidence.Input
	if err := h.store.View(func(tx *store.Tx) (err error) {
		input, err = replayInput(tx, head, turn)
		return err
	}); err != nil {
		return fail(err)
	}
	if input == nil {
		return fail(fmt.Errorf("it holds no user input up to turn %d, so it cannot be replayed", turn))
	}
	c := evidence.Case{ID: h.store.NewID("c"), CreatedAt: h.now(), SessionID: session, TurnIndex: turn, Kind: evidence.Win,
		Signature: []string{fmt.Sprintf("win:turn-%d", turn)}, Baseline: baseline, BaselineBy: by, Input: input}
	renews, again := "", false
	err = h.store.Update(ctx, func(tx *store.Tx) error {
		renews, again = "", false
		wins, err := tx.Cases(evidence.Win)
		if err != nil {
			return err
		}
		for _, old := range wins {
			if old.Input != nil && old.Input.Digest == input.Digest {
				again = true
				c.ID, c.CreatedAt = old.ID, old.CreatedAt // the same inputs are the same case: refresh it
				if old.SessionID != session {
					renews = old.SessionID
				}
			}
		}
		if err := tx.PutCase(c); err != nil {
			return err
		}
		if _, err := withdraw(tx, func(o Offer) bool { return o.SessionID == session || o.Digest == input.Digest }); err != nil {
			return err
		}
		data := map[string]any{"metrics": len(baseline)}
		if renews != "" {
			data["renews"] = renews
		}
		if force {
			data["forced"] = true
		}
		return tx.Emit(event.Event{Type: event.CaseProtected, SessionID: session, TurnIndex: event.Turn(turn), CaseID: c.ID, Data: data})
	})
	if err != nil {
		return fail(err)
	}
	return Protected{Case: c, Renews: renews, Again: again}, nil
}

// alerting names the scores of a report that alert, with their values.
func alerting(r score.Report) (out []string) {
	for _, s := range r.Alerting() {
		said := s.Metric
		if s.Value != nil {
			said += fmt.Sprintf(" %.2f", *s.Value)
		}
		switch {
		case s.Breached():
			said += fmt.Sprintf(", under %.2f", s.Threshold)
		case s.Stalled:
			said += ", stalled"
		default:
			said += ", regressed"
		}
		out = append(out, said)
	}
	return out
}

// noWin says why an alerting turn is not protected and which turn before it could be.
func (h *Harness) noWin(session string, turn int, alerts []string) error {
	var reports []score.Report
	if err := h.store.View(func(tx *store.Tx) (err error) {
		reports, err = tx.Reports(session, 0, 0)
		return err
	}); err != nil {
		return err
	}
	instead := "no turn before it was scored without an alert"
	for _, r := range slices.Backward(reports) {
		if r.TurnIndex < turn && !r.Empty() && len(alerting(r)) == 0 {
			instead = fmt.Sprintf("the last one before it without an alert is turn %d: vise cases protect %s:%d", r.TurnIndex, session, r.TurnIndex)
			break
		}
	}
	return fmt.Errorf("turn %d alerts (%s), so it is no win; %s (--force protects it all the same)", turn, strings.Join(alerts, "; "), instead)
}

// reportOf is the stored report of a turn, or a fresh one of a turn that was never scored.
func (h *Harness) reportOf(ctx context.Context, head trace.Session, turn int) (report score.Report, err error) {
	var stored bool
	var turns []trace.Turn
	if err := h.store.View(func(tx *store.Tx) (err error) {
		if report, stored, err = tx.Report(head.ID, turn); err == nil && !stored {
			turns, err = tx.TurnsBefore(head.ID, 0, turn+1)
		}
		return err
	}); err != nil {
		return report, err
	}
	if !stored {
		report.Scores, err = h.scoreReplay(ctx, head, turns)
	}
	return report, err
}

// baseline are the scores of a report on the replay metrics and who gave them.
func (h *Harness) baseline(report score.Report) (values map[string]float64, by map[string]string) {
	wanted := h.replayMetrics()
	report.Scores = slices.DeleteFunc(slices.Clone(report.Scores), func(s score.Score) bool { return !slices.Contains(wanted, s.Metric) })
	return report.Baseline(), report.BaselineBy()
}

// replayMetrics are tier 1 and tier 2 and the outcome: what a replay is scored on.
func (h *Harness) replayMetrics() []string {
	return append(slices.Concat(h.cfg.Evaluate.Tier1, h.cfg.Evaluate.Tier2), score.OutcomeCorrect)
}

// RemoveCase removes a case.
func (h *Harness) RemoveCase(ctx context.Context, id string) error {
	if err := h.store.Update(ctx, func(tx *store.Tx) error {
		c, ok, err := tx.Case(id)
		if err != nil {
			return err
		}
		if !ok {
			return fmt.Errorf("no case %q; vise cases ls lists them", id)
		}
		if err := tx.DeleteCase(id); err != nil {
			return err
		}
		return tx.Emit(event.Event{Type: event.CaseRemoved, CaseID: id, SessionID: c.SessionID})
	}); err != nil {
		return fmt.Errorf("remove case: %w", err)
	}
	return nil
}
