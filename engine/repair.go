package engine

import (
	"context"
	"fmt"
	"time"

	"vise/engine/config"
	"vise/engine/episode"
	"vise/engine/event"
	"vise/engine/model"
	"vise/engine/repair"
	"vise/store"
)

// repair runs the repair agent once on an episode and decides what a failure means for it.
func (h *Harness) repair(ctx context.Context, id string) (episode.Result, error) {
	var in repair.Input
	if err := h.store.View(func(tx *store.Tx) error {
		ep, ok, err := tx.Episode(id)
		if err != nil {
			return err
		}
		if !ok {
			return fmt.Errorf("no such episode; vise episodes ls lists them")
		}
		if ep.Fork != nil {
			return fmt.Errorf("a fork is run once; fork it again: vise episodes fork %s", id)
		}
		if ep.Status.Success() {
			return fmt.Errorf("it has ended already: %s", ep.Status)
		}
		in, err = h.repairInput(tx, ep)
		return err
	}); err != nil {
		return episode.Result{}, fmt.Errorf("repair episode %s: %w", id, err)
	}
	result := h.agent.Run(ctx, in.Episode, repair.BuildAssignment(in))
	if result.ErrorCategory == string(model.KindBudget) {
		if err := h.store.Update(context.WithoutCancel(ctx), func(tx *store.Tx) error { return h.stopped(tx, result.Error) }); err != nil {
			return result, fmt.Errorf("repair episode %s: %w", id, err)
		}
	}
	if result.Status == episode.Cancelled && ctx.Err() == nil {
		h.decline(id) // the stepper said no, not the end of who waited
	}
	if result.Status.Success() || result.Status == episode.Cancelled {
		return result, nil // who cancelled may start it again at once
	}
	// A failing episode waits longer each time and ends as a dead letter, so that
	// it neither burns a model for ever nor blocks its session's other episodes.
	if err := h.store.Update(context.WithoutCancel(ctx), func(tx *store.Tx) error {
		ep, ok, err := tx.Episode(id)
		if err != nil || !ok {
			return err
		}
		ep.NotBefore = h.store.Now().Add(h.backoff(ep.Failures + 1))
		return h.failed(tx, ep)
	}); err != nil {
		return result, fmt.Errorf("repair episode %s: %w", id, err)
	}
	return result, nil
}

// failed counts a failure of an episode and puts it aside when it was the last one
// it may have: a dead letter runs again on a person's word only.
func (h *Harness) failed(tx *store.Tx, ep episode.Episode) error {
	ep.Failures++
	if ep.Failures < h.cfg.Repair.MaxAttempts {
		return tx.PutEpisode(ep)
	}
	ep.Status, ep.NotBefore = episode.Dead, time.Time{}
	if err := tx.PutEpisode(ep); err != nil {
		return err
	}
	return tx.Emit(event.Event{Type: event.Skip, SessionID: ep.SessionID, TurnIndex: event.Turn(ep.TurnIndex), EpisodeID: ep.ID,
		Data: map[string]any{"what": "repair", "reason": string(episode.Dead), "failures": ep.Failures, "attempts": ep.Attempts}})
}

// repairConfig is what the settings say about repair and about new rules.
func repairConfig(c *config.Config) repair.Config {
	return repair.Config{
		Timeout: c.Repair.Timeout, MaxTurns: c.Repair.MaxTurns, MaxTokens: c.Repair.MaxTokens,
		Temperature: c.Repair.Temperature, ReasoningEffort: c.Repair.ReasoningEffort,
		DomainPolicy: c.Repair.DomainPolicy, MaxActive: c.Rules.MaxActive,
		TrialMin: c.Validate.TrialMinSessions, SanitizeMax: c.Rules.SanitizeMaxLen,
		ValidationOn: c.Validate.Enabled, Protected: protected(c),
	}
}
