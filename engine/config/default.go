package config

import (
	"maps"
	"slices"
	"time"

	"vise/engine/score"
)

// BaseEnv are the variables an agent process needs to start at all; agent.env
// adds names to it, or takes one away with "-NAME". No name here carries a credential.
var BaseEnv = []string{"PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LC_ALL", "LC_CTYPE",
	"TERM", "TZ", "TMPDIR", "SSL_CERT_FILE", "SSL_CERT_DIR"}

// OfflineStartPeak is the first peak of the gate when scores are computed offline:
// there 1.0 means "nothing wrong seen", so a first bad turn already is a regression.
const OfflineStartPeak = 1.0

// Default returns the built-in configuration. Numbers are those of the reference
// harness; cases are captured here because the store is local.
func Default() *Config {
	peak := OfflineStartPeak
	return &Config{
		Agent: Agent{
			Driver: "acp", Input: "stdin", Workspace: "copy", WorkspaceFrom: ".", Env: slices.Clone(BaseEnv), Preamble: "prompt",
			TurnTimeout: 5 * time.Minute, IdleTimeout: time.Minute, StartTimeout: 30 * time.Second,
			Permissions: "workspace", Effects: "confined", Options: map[string]string{}, Servers: map[string][]string{}, Sandbox: "auto",
		},
		Repair: Repair{
			Timeout: time.Minute, MaxTurns: 6, MaxTokens: 4096, ReasoningEffort: "none",
			MaxAttempts: 3, Backoff: time.Minute,
		},
		Evaluate: Evaluate{
			By: "local", VerifierTimeout: time.Minute,
			Tier1:      []string{score.TaskCompletion, score.Coherence},
			Tier2:      []string{score.ToolCorrectness, score.ArgumentCorrectness},
			Tier3:      []string{score.PlanAdherence, score.PlanQuality, score.StepEfficiency},
			Thresholds: map[string]float64{}, OutcomeThreshold: 0.9, Handoff: "note",
			SampleEvery: 1, MaxConcurrent: 4,
			PollInterval: time.Second, PollMaxAttempts: 20, RetryAttempts: 3, RetryBackoff: time.Second, TraceListLimit: 50,
			CLIBinary: "pandaprobe", CLITimeout: 30 * time.Second, HealthCheck: true,
		},
		Gate:   Gate{Window: 5, Target: 0.5, Gain: 0.02, Drop: 0.15, Mode: "auto", StartPeak: &peak},
		Notice: Notice{BreakerMax: 5, BreakerWindow: 10 * time.Minute, EnrichFlaggedTraces: true},
		Settle: Settle{BarrierTimeout: 3 * time.Minute, DrainTimeout: 15 * time.Second},
		Rules:  Rules{Retrieval: true, ContextTopK: 8, SanitizeMaxLen: 2000},
		Validate: Validate{
			Enabled: true, Evidence: "auto", Profile: "full", PromoteMargin: 0.05, RegressMargin: 0.05, TrialMinSessions: 5,
			ReplayTimeout: 5 * time.Minute, Parallel: 1, PairsCap: 30, PromoteE: 20, Holdback: 0.2, Seed: 1,
		},
		Cases:     Cases{Capture: true, Max: 200},
		Store:     Store{Path: ".vise", MinFree: 512_000_000},
		Redact:    Redact{Keys: true, Values: true},
		Patch:     Patch{Policy: "vise-policy.toml", MaxAttempts: 2, MaxRuntime: 30 * time.Minute, PhaseTimeout: 15 * time.Minute},
		UI:        UI{Theme: "auto", Keys: map[string][]string{}, FPS: 60, Motion: true, Mouse: true, Notify: true, Status: true},
		Providers: maps.Clone(builtinProviders),
	}
}
