package engine

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"

	"vise/engine/config"
	"vise/engine/evidence"
	"vise/engine/score/judge"
	"vise/engine/score/local"
	"vise/engine/score/pandaprobe"
	"vise/engine/validate"
	"vise/store"
)

// errValidationOff is returned when validation is switched off.
var errValidationOff = errors.New("validation is off (validate.enabled = false); candidates stay provisional")

// Validate runs one validation round over all candidates, or over those named.
// Rounds never overlap and never run beside a live agent turn.
func (h *Harness) Validate(ctx context.Context, rules ...string) (validate.Round, error) {
	return h.ValidateRound(ctx, validate.Options{Rules: rules})
}

// ValidateRound is Validate with all that one round may be told.
func (h *Harness) ValidateRound(ctx context.Context, o validate.Options) (validate.Round, error) {
	if !h.cfg.Validate.Enabled {
		return validate.Round{}, errValidationOff
	}
	done, err := h.alone(ctx)
	if err != nil {
		return validate.Round{}, err
	}
	defer done()
	return h.valid.Round(ctx, o)
}

// ValidateUntilIdle runs rounds until nothing more can be decided.
func (h *Harness) ValidateUntilIdle(ctx context.Context) ([]validate.Round, error) {
	return h.ValidateRounds(ctx, validate.Options{})
}

// ValidateRounds is ValidateUntilIdle with all that its rounds may be told. At its end
// the queued tests of rules in force are made; they are the last round then.
func (h *Harness) ValidateRounds(ctx context.Context, o validate.Options) ([]validate.Round, error) {
	if !h.cfg.Validate.Enabled {
		return nil, errValidationOff
	}
	done, err := h.alone(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	rounds, err := h.valid.UntilIdle(ctx, o)
	if err != nil || len(rounds) > 0 && rounds[len(rounds)-1].Stopped != "" {
		return rounds, err
	}
	again, err := h.retestQueued(ctx, o)
	if len(again.Verdicts) > 0 || again.Stopped != "" {
		rounds = append(rounds, again)
	}
	return rounds, err
}

// Evaluator is the identity of who scores turns: what evaluate.by names, and the verifier
// beside it ("" = none), by its own identity.
func Evaluator(cfg *config.Config, verifier string) string {
	by := local.Name(local.Options{Handoff: cfg.Evaluate.Handoff})
	switch cfg.Evaluate.By {
	case "judge":
		by = judge.IdentityOf(cfg.Evaluate.JudgeModel)
	case "pandaprobe":
		by = pandaprobe.Identity
	}
	if verifier != "" {
		by += "; " + verifier
	}
	return by
}

// IdentityOf is what a verdict reached with a configuration would hold for, but for the
// rules: agent is the first word of its command, verifier as for Evaluator.
func IdentityOf(cfg *config.Config, agent, verifier string) evidence.Identity {
	return evidence.Identity{Agent: surroundings(cfg, agent), Evaluator: Evaluator(cfg, verifier), Seed: cfg.Validate.Seed}
}

// surroundings names the agent with all that changes what it does: a verdict holds for
// these. What the command says may hold a credential, so it goes in as a digest.
func surroundings(cfg *config.Config, agent string) string {
	a := cfg.Agent
	parts := []any{a.Command, a.Driver, a.Workspace, a.WorkspaceFrom, a.Preamble, a.Permissions, a.Env}
	if a.Effects != config.Default().Agent.Effects || a.Mode != "" || len(a.Options) > 0 || len(a.Servers) > 0 {
		parts = append(parts, a.Effects, a.Mode, a.Options, a.Servers)
	}
	raw, err := json.Marshal(parts)
	if err != nil {
		panic(fmt.Sprintf("engine: agent settings: %v", err)) // texts and lists of texts
	}
	sum := sha256.Sum256(raw)
	return fmt.Sprintf("%s %x", agent, sum[:8])
}

// remember stores what runs now, so that readers can tell which verdicts have expired.
func (h *Harness) remember(ctx context.Context) error {
	if err := h.store.Update(ctx, func(tx *store.Tx) error {
		was, _, err := tx.Identity("")
		if err != nil {
			return err
		}
		now, err := h.valid.Identity(tx, "")
		if err != nil || was == now {
			return err
		}
		return tx.PutIdentity(now)
	}); err != nil {
		return fmt.Errorf("note what runs now: %w", err)
	}
	return nil
}
