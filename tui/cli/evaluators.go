package cli

import (
	"context"
	"fmt"

	"vise/engine/config"
	"vise/engine/score/verifier"
	"vise/engine/trace"
	"vise/replay/driver"
)

// newVerifier makes the developer's verifier; nil when none is configured. It runs
// in the project's folder with the variables every agent gets, and no others.
func (a *app) newVerifier(cfg *config.Config) (*verifier.Verifier, error) {
	if len(cfg.Evaluate.Verifier) == 0 {
		return nil, nil
	}
	return verifier.New(verifier.Options{Command: config.Expand(cfg.Evaluate.Verifier, a.self), Dir: cfg.Root,
		Env: driver.Environ(nil, nil, a.env), Timeout: cfg.Evaluate.VerifierTimeout})
}

// examineEvaluators checks who scores: the doctor's part.
func (a *app) examineEvaluators(ctx context.Context, cfg *config.Config) []check {
	var checks []check
	if len(cfg.Evaluate.Verifier) > 0 {
		checks = append(checks, a.examineVerifier(ctx, cfg))
	}
	return checks
}

// sampleTurn is the turn that the doctor shows to a verifier.
var sampleTurn = verifier.Question{
	Session: trace.Session{ID: "doctor", Origin: trace.Recorded, Source: "doctor"},
	Inputs:  []string{"Say hello."},
	Turn: trace.Turn{SessionID: "doctor", TraceID: "doctor.0", Input: "Say hello.", StopReason: "end_turn",
		Spans: []trace.Span{{ID: "doctor.0.1", Kind: trace.LLM, Output: "Hello."}}},
}

func (a *app) examineVerifier(ctx context.Context, cfg *config.Config) check {
	v, err := a.newVerifier(cfg)
	if err != nil {
		return check{"verifier", "failed", err.Error()}
	}
	value, ok, err := v.Verify(ctx, sampleTurn)
	switch {
	case err != nil:
		return check{"verifier", "failed", "on a sample turn: " + err.Error()}
	case !ok:
		return check{"verifier", "ok", "has no opinion (null) on a sample turn"}
	}
	return check{"verifier", "ok", fmt.Sprintf("says %.2f of a sample turn", value)}
}
