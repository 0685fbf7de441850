// Package config holds every setting of vise: its defaults, the layers it is
// read from, where each effective value came from, and errors that say which
// file, line and column (or which variable) to correct.
//
// Layers, later wins: defaults, the user's file, the project's vise.toml, the
// environment, flags. One table (see Keys) drives all of them, the template that
// `vise init` writes and what `vise doctor` prints, so that they cannot disagree.
//
// The package reads the files it is given and nothing else: the environment is an
// argument and secrets are references that somebody else resolves.
package config

import (
	"path/filepath"
	"slices"
	"strings"
	"time"

	"vise/engine/trace"
)

// Config is the effective configuration. Durations that are zero mean "none"
// where the key's help says so.
type Config struct {
	Agent    Agent
	Repair   Repair
	Evaluate Evaluate
	Gate     Gate
	Notice   Notice
	Settle   Settle
	Rules    Rules
	Validate Validate
	Cases    Cases
	Regress  Regress
	Budget   Budget
	Store    Store
	Redact   Redact
	Export   Export
	Patch    Patch
	UI       UI
	// Providers are the model providers by name, built-in ones included.
	Providers map[string]Provider

	// Root is the folder of the project file ("" without one); see Path.
	Root string
}

// Agent is the developer's agent and the surroundings it runs in.
type Agent struct {
	Driver        string   // acp, exec, none
	Command       []string // argv; {vise} is the running program, see Expand
	Input         string   // stdin, argument, json; for driver exec
	Provider      string   // whose models the agent asks through our proxy; "" = we do not see its model calls
	Workspace     string   // copy, scratch, inplace
	WorkspaceFrom string   // folder that is copied, relative to the project
	Env           []string // names of variables that are passed on
	Preamble      string   // prompt, mcp, off
	Hints         Hints
	TurnTimeout   time.Duration
	IdleTimeout   time.Duration
	StartTimeout  time.Duration
	Permissions   string              // workspace, deny, allow
	Effects       string              // recorded, confined, live: what becomes of files, commands and tool servers it asks us for
	Servers       map[string][]string // its tool servers, offered through us: a command, or one http address
	Mode          string              // of its session; "" = its own choice
	Options       map[string]string   // of its session, by their ids
	Sandbox       string              // auto, off, required
	Egress        []string            // as guard.ParseHost reads them
	Home          []string            // entries of the user's home folder that a confined agent keeps
}

// Hints are what the project knows about its sessions when a recording does not say.
type Hints struct {
	TaskSummary string
	Scopes      []trace.ScopeHint
}

// Repair bounds the repair agent.
type Repair struct {
	Model           string // provider/model; "" = repair is off
	Timeout         time.Duration
	MaxTurns        int
	MaxTokens       int // output tokens of one episode
	Temperature     *float64
	ReasoningEffort string
	Trace           bool
	DomainPolicy    string
	Hold            *bool // nil: true in the workbench, false headless
	MaxAttempts     int   // per episode, then dead letter
	Backoff         time.Duration
}

// HoldIn is whether an episode waits at its first checkpoint.
func (r Repair) HoldIn(workbench bool) bool {
	if r.Hold != nil {
		return *r.Hold
	}
	return workbench
}

// Evaluate says who scores a turn and how often.
type Evaluate struct {
	By                 string // local, judge, pandaprobe
	JudgeModel         string
	Votes              *int // nil: 1, and 3 in a validation; see VotesIn
	Verifier           []string
	VerifierTimeout    time.Duration
	Tier1              []string
	Tier2              []string
	Tier3              []string
	EnableTier3        bool
	Thresholds         map[string]float64 // by metric; 0.5 where there is none
	OutcomeThreshold   float64
	Handoff            string // note, hint, sign, fault
	ObserveOnly        bool
	SampleEvery        int
	SessionMinInterval time.Duration
	MaxConcurrent      int
	MaxPerRun          int // 0 = no limit
	PollInterval       time.Duration
	PollMaxAttempts    int
	RetryAttempts      int
	RetryBackoff       time.Duration
	TraceListLimit     int
	CLIBinary          string
	CLITimeout         time.Duration
	HealthCheck        bool
}

// VotesIn is the number of judge votes per score.
func (e Evaluate) VotesIn(validation bool) int {
	switch {
	case e.Votes != nil:
		return *e.Votes
	case validation:
		return 3
	}
	return 1
}

// Gate is the trajectory gate.
type Gate struct {
	Window    int
	Target    float64
	Gain      float64
	Drop      float64
	Mode      string   // auto, seed, noise
	StartPeak *float64 // nil: the first score is the first peak
}

// Notice limits how many notices are raised.
type Notice struct {
	CooldownTurns       int
	BreakerMax          int
	BreakerWindow       time.Duration
	EnrichFlaggedTraces bool
}

// Settle bounds the wait after a turn.
type Settle struct {
	BarrierTimeout time.Duration
	DrainTimeout   time.Duration
}

// Rules limits the rule store and what of it is shown.
type Rules struct {
	MaxActive      int // live rules; 0 = no limit
	Retrieval      bool
	ContextTopK    int
	SanitizeMaxLen int // code points
}

// Validate says what evidence a candidate needs.
type Validate struct {
	Enabled          bool
	Evidence         string // seed, paired, auto
	Profile          string // full, quick
	Auto             *bool  // nil: off in the workbench, on in serve
	PromoteMargin    float64
	RegressMargin    float64
	TrialMinSessions int
	ReplayTimeout    time.Duration
	EnvWait          time.Duration // 0 = no wait
	RoundBudget      time.Duration // 0 = no limit
	Parallel         int
	PairsCap         int
	PromoteE         float64
	Holdback         float64
	Seed             int64
}

// AutoIn is whether validation starts by itself.
func (v Validate) AutoIn(serve bool) bool {
	if v.Auto != nil {
		return *v.Auto
	}
	return serve
}

// Cases says whether failures become replayable cases.
type Cases struct {
	Capture bool
	Max     int
}

// Regress bounds a regression run.
type Regress struct {
	Sample int // 0 = all cases
}

// Budget bounds agent, judge and repair together; nil = no limit.
type Budget struct {
	USD    *float64
	Tokens *int64
}

// Store is where the project's records live.
type Store struct {
	Path      string        // relative to the project
	Retention time.Duration // 0 = keep
	MinFree   uint64        // bytes that must stay free on the disk
}

// Redact says what is masked before anything is stored.
type Redact struct {
	Keys   bool
	Values bool
	Extra  []string // regular expressions (RE2)
}

// Export is what leaves the machine: nothing by default.
type Export struct {
	OTLPEndpoint string
}

// Patch is the second loop.
type Patch struct {
	Policy       string
	MaxAttempts  int // proofs: 2 is the original one plus one repair
	MaxRuntime   time.Duration
	PhaseTimeout time.Duration
}

// UI is the workbench.
type UI struct {
	Theme string
	Keys  map[string][]string // action → keys
	// KeyLines are the lines of Keys in the file that sets them.
	KeyLines map[string]int
	FPS      int
	Motion   bool
	Mouse    bool
	Linear   bool
	Notify   bool
	Status   bool
}

// Path resolves a configured path against the project's folder; absolute paths stay.
func (c *Config) Path(p string) string {
	if p == "" || filepath.IsAbs(p) || c.Root == "" {
		return p
	}
	return filepath.Join(c.Root, p)
}

// Expand replaces {vise} in every word of an argv by self, the path of the
// running program. The argv it is given stays as it is.
func Expand(argv []string, self string) []string {
	out := slices.Clone(argv)
	for i, word := range out {
		out[i] = strings.ReplaceAll(word, "{vise}", self)
	}
	return out
}
