package cli

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"vise/engine/config"
	"vise/engine/model"
	"vise/engine/process"
	"vise/engine/score"
	"vise/engine/score/judge"
	"vise/engine/score/pandaprobe"
	"vise/engine/score/verifier"
	"vise/engine/trace"
	"vise/replay/driver"
)

// newVerifier makes the developer's verifier; nil when none is configured. It runs
// in the project's folder with the variables every agent gets, and no others, in a
// sandbox unless agent.sandbox is off: it may ask the network, and change nothing.
func (a *app) newVerifier(cfg *config.Config) (*verifier.Verifier, error) {
	if len(cfg.Evaluate.Verifier) == 0 {
		return nil, nil
	}
	o := verifier.Options{Command: config.Expand(cfg.Evaluate.Verifier, a.self), Dir: cfg.Root,
		Env: driver.Environ(nil, nil, a.env), Timeout: cfg.Evaluate.VerifierTimeout}
	o.Sandbox = a.evaluatorBox(cfg)
	return verifier.New(o)
}

// evaluatorBox holds a program that scores: it may ask the network, and change nothing.
// nil when agent.sandbox is off.
func (a *app) evaluatorBox(cfg *config.Config) *process.Sandbox {
	if cfg.Agent.Sandbox == "off" {
		return nil
	}
	return &process.Sandbox{Required: cfg.Agent.Sandbox == "required", Hide: a.secretFiles(cfg), Home: a.getenv("HOME"), Network: process.Network{Open: true}}
}

// platformPrefix begins the names of the platform's credentials.
const platformPrefix = "PANDAPROBE_"

func platformVariable(kv string) bool { return strings.HasPrefix(strings.ToUpper(kv), platformPrefix) }

// withoutPlatform is an environment without the platform's credentials.
func withoutPlatform(env []string) []string {
	return slices.DeleteFunc(slices.Clone(env), platformVariable)
}

// newPlatform makes the platform behind evaluate.cli_binary. Its program is the only
// one that gets PANDAPROBE_* without being told to by name.
func (a *app) newPlatform(cfg *config.Config) *pandaprobe.Platform {
	e := cfg.Evaluate
	env := driver.Environ([]string{"XDG_CONFIG_HOME"}, nil, a.env) // where its login may lie
	env = append(env, slices.DeleteFunc(slices.Clone(a.env), func(kv string) bool { return !platformVariable(kv) })...)
	box := a.evaluatorBox(cfg)
	if box != nil { // it may renew its login
		for _, dir := range []string{filepath.Join(a.getenv("HOME"), ".pandaprobe"), filepath.Join(cmp.Or(a.getenv("XDG_CONFIG_HOME"), filepath.Join(a.getenv("HOME"), ".config")), "pandaprobe")} {
			if info, err := os.Stat(dir); err == nil && info.IsDir() {
				box.Write = append(box.Write, dir)
			}
		}
	}
	return pandaprobe.New(pandaprobe.Options{Sandbox: box, Binary: e.CLIBinary, Dir: cfg.Root, Env: env, Timeout: e.CLITimeout, Poll: e.PollInterval,
		PollMax: e.PollMaxAttempts, Retries: e.RetryAttempts, Backoff: e.RetryBackoff, List: e.TraceListLimit, Health: e.HealthCheck})
}

// examineEvaluators checks who scores: the doctor's part.
func (a *app) examineEvaluators(ctx context.Context, cfg *config.Config, ask bool) []check {
	var checks []check
	if cfg.Evaluate.By == "judge" {
		checks = append(checks, a.examineJudge(ctx, cfg, ask))
	}
	if cfg.Evaluate.By == "pandaprobe" {
		checks = append(checks, a.examinePlatform(ctx, cfg))
	}
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
	got, err := v.Verify(ctx, sampleTurn)
	switch {
	case err != nil:
		why := "on a sample turn: " + err.Error()
		if cfg.Agent.Sandbox == "auto" {
			why += " (should it be for its sandbox, agent.sandbox = \"off\" tries without)"
		}
		return check{"verifier", "failed", why}
	case got.Value == nil:
		return check{"verifier", "ok", "has no opinion (null) on a sample turn; " + got.Held.String()}
	}
	return check{"verifier", "ok", fmt.Sprintf("says %.2f of a sample turn; %s", *got.Value, got.Held)}
}

// examineJudge looks whether the judge could be asked, and with ask grades the sample turn.
func (a *app) examineJudge(ctx context.Context, cfg *config.Config, ask bool) check {
	id := cfg.Evaluate.JudgeModel
	if err := a.checkModel(ctx, cfg, id); err != nil {
		return check{"judge", "failed", err.Error()}
	}
	if !ask {
		return check{"judge", "ok", id + " (not asked; --ask does)"}
	}
	client, err := a.newModel(ctx, cfg, id, newLedger(cfg))
	if err != nil {
		return check{"judge", "failed", err.Error()}
	}
	defer client.Close()
	g, err := judge.New(client).Grade(ctx, judge.Question{Session: sampleTurn.Session, Turn: sampleTurn.Turn, Metrics: []string{score.TaskCompletion}, Votes: 1})
	switch {
	case err != nil:
		return check{"judge", "failed", err.Error()}
	case len(g.Faults) > 0:
		return check{"judge", "failed", id + " does not answer as a judge must: " + g.Faults[0]}
	case g.Scores[0].Value == nil:
		return check{"judge", "ok", id + " answers; it saw nothing to grade in a sample turn"}
	}
	return check{"judge", "ok", fmt.Sprintf("%s gives a sample turn %.2f", id, *g.Scores[0].Value)}
}

// tellSpent says on standard error what the judge has cost.
func (a *app) tellSpent(l *model.Ledger) {
	for _, e := range l.Entries() {
		if e.Purpose != judge.Purpose || e.Calls == 0 {
			continue
		}
		cost := fmt.Sprintf("$%.4f", e.USD)
		if e.Unpriced > 0 {
			cost = "price unknown"
		}
		a.note("vise: the judge answered %s: %d tokens in, %d out, %s", counted(e.Calls, "question"), e.Input, e.Output, cost)
	}
}

func (a *app) examinePlatform(ctx context.Context, cfg *config.Config) check {
	if err := a.newPlatform(cfg).CheckHealth(ctx); err != nil {
		return check{"pandaprobe", "failed", err.Error() + "; turns are not evaluated"}
	}
	return check{"pandaprobe", "ok", cfg.Evaluate.CLIBinary + " runs and is logged in, or does not say that it is not"}
}
