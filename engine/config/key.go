package config

import (
	"math"
	"slices"
	"strings"
	"time"

	"vise/engine/guard"
)

// setting is a row of the table.
type setting struct {
	name string
	seed string // variable of the reference harness
	kind kind
	help string
}

// section and key parts of the name.
func (s setting) section() string { return s.name[:strings.IndexByte(s.name, '.')] }
func (s setting) key() string     { return s.name[strings.IndexByte(s.name, '.')+1:] }

// variable is VISE_SECTION_KEY: sections have no underscore, so the first one ends them.
func (s setting) variable() string {
	return "VISE_" + strings.ToUpper(s.section()+"_"+s.key())
}

var inf = math.Inf(1)

const (
	ms        = time.Millisecond
	unlimited = math.MaxInt64
)

// settings is the one table of keys, in the order of documents.
var settings = []setting{
	{"agent.driver", "", choice(func(c *Config) *string { return &c.Agent.Driver }, "acp", "exec", "none"), "how the agent is driven"},
	{"agent.command", "", argv(func(c *Config) *[]string { return &c.Agent.Command }), "your agent; {vise} is this program"},
	{"agent.input", "", choice(func(c *Config) *string { return &c.Agent.Input }, "stdin", "argument", "json"), "how driver exec hands the input over; {input} in an argument is replaced by it"},
	{"agent.provider", "", text(func(c *Config) *string { return &c.Agent.Provider }, "the name of a provider", nil), "whose models the agent asks: its calls then go through the recording proxy"},
	{"agent.workspace", "", choice(func(c *Config) *string { return &c.Agent.Workspace }, "copy", "scratch", "inplace"), "folder of a run: a fresh copy, an empty one, or the project itself"},
	{"agent.workspace_from", "", text(func(c *Config) *string { return &c.Agent.WorkspaceFrom }, "a folder", nonEmpty), "folder that is copied, relative to this file"},
	{"agent.env", "", environment(func(c *Config) *[]string { return &c.Agent.Env }), "names of further variables that the agent may see"},
	{"agent.preamble", "", choice(func(c *Config) *string { return &c.Agent.Preamble }, "prompt", "mcp", "off"), "where the agent is told of its rule tools"},
	{"agent.hints", "", hints(func(c *Config) *Hints { return &c.Agent.Hints }), "what sessions are about when the recording does not say"},
	{"agent.turn_timeout", "", span(func(c *Config) *time.Duration { return &c.Agent.TurnTimeout }, ms), "longest turn"},
	{"agent.idle_timeout", "", span(func(c *Config) *time.Duration { return &c.Agent.IdleTimeout }, ms), "longest silence within a turn (driver acp; a command may be silent until it answers)"},
	{"agent.start_timeout", "", span(func(c *Config) *time.Duration { return &c.Agent.StartTimeout }, ms), "longest start"},
	{"agent.permissions", "", choice(func(c *Config) *string { return &c.Agent.Permissions }, "workspace", "deny", "allow"), "what requests for permission are granted"},
	{"agent.effects", "", choice(func(c *Config) *string { return &c.Agent.Effects }, "recorded", "confined", "live"), "files and commands that an ACP agent asks vise for: as recorded or not at all; in the run's workspace, without a network; or as asked"},
	{"agent.servers", "", servers(func(c *Config) *map[string][]string { return &c.Agent.Servers }), "tool servers (MCP) of the agent that it gets through vise: their results come from the recording, or from them when effects are live"},
	{"agent.mode", "", text(func(c *Config) *string { return &c.Agent.Mode }, "the id of a mode", nil), "mode of the agent's session (ACP); the agent lists what it has when it has no such mode"},
	{"agent.options", "", texts(func(c *Config) *map[string]string { return &c.Agent.Options }, "a table of options, such as { model = \"small\" }"), "options of the agent's session (ACP), such as its model"},
	{"agent.sandbox", "", choice(func(c *Config) *string { return &c.Agent.Sandbox }, "auto", "off", "required"), "confinement of the agent: what the system can hold; nothing; or files and network, else it is not started"},
	{"agent.egress", "", words(func(c *Config) *[]string { return &c.Agent.Egress }, "a list of host names, such as \"api.example.com\" or \"127.0.0.1:8080\"", host), "hosts the agent may reach, with its model's; without any, auto leaves the network open and required closes it"},
	{"agent.home", "", words(func(c *Config) *[]string { return &c.Agent.Home }, "a list of entries of your home folder, such as \".my-agent\"", homeEntry), "what of your home folder a confined agent keeps and may change, such as its login; the rest of its HOME is new in every run"},

	{"repair.model", "HARNESS_REPAIR_MODEL", text(func(c *Config) *string { return &c.Repair.Model }, "provider/model, such as \"builtin/heuristic\"", modelID), "model of the repair agent; without one repair is off"},
	{"repair.timeout", "HARNESS_REPAIR_TIMEOUT_S", span(func(c *Config) *time.Duration { return &c.Repair.Timeout }, ms), "bound of one episode"},
	{"repair.max_turns", "HARNESS_REPAIR_MAX_TURNS", whole(func(c *Config) *int { return &c.Repair.MaxTurns }, 1, 1000), "model turns of one episode"},
	{"repair.max_tokens", "HARNESS_REPAIR_MAX_TOKENS", whole(func(c *Config) *int { return &c.Repair.MaxTokens }, 1, 10_000_000), "output tokens of one episode"},
	{"repair.temperature", "HARNESS_REPAIR_TEMPERATURE", maybeNumber(func(c *Config) **float64 { return &c.Repair.Temperature }, 0, 2), "sampling temperature"},
	{"repair.reasoning_effort", "HARNESS_REPAIR_REASONING_EFFORT", choice(func(c *Config) *string { return &c.Repair.ReasoningEffort }, "none", "minimal", "low", "medium", "high", "xhigh"), "sent only where the provider supports it"},
	{"repair.trace", "HARNESS_TRACE_REPAIR_AGENT", truth(func(c *Config) *bool { return &c.Repair.Trace }), "export a trace of every repair too"},
	{"repair.domain_policy", "HARNESS_DOMAIN_POLICY", text(func(c *Config) *string { return &c.Repair.DomainPolicy }, "a text", long), "policy of your domain, told to the repair agent"},
	{"repair.hold", "", maybeTruth(func(c *Config) **bool { return &c.Repair.Hold }), "wait at the first step; unset: in the workbench only; false: at breakpoints only"},
	{"repair.max_attempts", "", whole(func(c *Config) *int { return &c.Repair.MaxAttempts }, 1, 1000), "failed attempts of an episode until it is put aside; those that you cancel do not count"},
	{"repair.backoff", "", span(func(c *Config) *time.Duration { return &c.Repair.Backoff }, 0), "wait after a failed attempt"},

	{"evaluate.by", "", choice(func(c *Config) *string { return &c.Evaluate.By }, "local", "judge", "pandaprobe"), "who scores"},
	{"evaluate.judge_model", "", text(func(c *Config) *string { return &c.Evaluate.JudgeModel }, "provider/model", modelID), "model of the judge"},
	{"evaluate.votes", "", maybeWhole(func(c *Config) **int { return &c.Evaluate.Votes }, 1, 99), "votes of the judge; unset: 1, and 3 in a validation"},
	{"evaluate.verifier", "", argv(func(c *Config) *[]string { return &c.Evaluate.Verifier }), "program that judges the outcome: JSON on its input, a number, true, false or null on its output"},
	{"evaluate.verifier_timeout", "", span(func(c *Config) *time.Duration { return &c.Evaluate.VerifierTimeout }, ms), "longest run of the verifier"},
	{"evaluate.tier1", "", metrics(func(c *Config) *[]string { return &c.Evaluate.Tier1 }), "metrics of every turn"},
	{"evaluate.tier2", "", metrics(func(c *Config) *[]string { return &c.Evaluate.Tier2 }), "metrics after the gate fired"},
	{"evaluate.tier3", "", metrics(func(c *Config) *[]string { return &c.Evaluate.Tier3 }), "further metrics, when enabled"},
	{"evaluate.enable_tier3", "HARNESS_ENABLE_TIER3", truth(func(c *Config) *bool { return &c.Evaluate.EnableTier3 }), ""},
	{"evaluate.thresholds", "", thresholds(func(c *Config) *map[string]float64 { return &c.Evaluate.Thresholds }), "by metric; 0.5 where there is none"},
	{"evaluate.outcome_threshold", "", number(func(c *Config) *float64 { return &c.Evaluate.OutcomeThreshold }, 0, 1), "threshold of the verifier"},
	{"evaluate.handoff", "", choice(func(c *Config) *string { return &c.Evaluate.Handoff }, "note", "hint", "sign", "fault"), "how a hand-off to a person weighs"},
	{"evaluate.observe_only", "HARNESS_OBSERVE_ONLY", truth(func(c *Config) *bool { return &c.Evaluate.ObserveOnly }), "score and journal what would be noticed; store no notice, repair nothing"},
	{"evaluate.sample_every", "HARNESS_EVAL_SAMPLE_EVERY", whole(func(c *Config) *int { return &c.Evaluate.SampleEvery }, 1, 1_000_000), "evaluate every n-th turn"},
	{"evaluate.session_min_interval", "HARNESS_SESSION_MIN_EVAL_INTERVAL_S", span(func(c *Config) *time.Duration { return &c.Evaluate.SessionMinInterval }, 0), "between two evaluations of a session"},
	{"evaluate.max_concurrent", "HARNESS_MAX_CONCURRENT_EVALS", whole(func(c *Config) *int { return &c.Evaluate.MaxConcurrent }, 1, 1024), "evaluations at once"},
	{"evaluate.max_per_run", "HARNESS_MAX_EVALS_PER_RUN", whole(func(c *Config) *int { return &c.Evaluate.MaxPerRun }, 0, unlimited), "evaluations of one run; 0 = no limit"},
	{"evaluate.poll_interval", "HARNESS_POLL_INTERVAL_S", span(func(c *Config) *time.Duration { return &c.Evaluate.PollInterval }, 0), "pandaprobe only"},
	{"evaluate.poll_max_attempts", "HARNESS_POLL_MAX_ATTEMPTS", whole(func(c *Config) *int { return &c.Evaluate.PollMaxAttempts }, 1, 100_000), "pandaprobe only"},
	{"evaluate.retry_attempts", "HARNESS_EVAL_RETRY_ATTEMPTS", whole(func(c *Config) *int { return &c.Evaluate.RetryAttempts }, 1, 1000), "pandaprobe only"},
	{"evaluate.retry_backoff", "HARNESS_EVAL_RETRY_BACKOFF_S", span(func(c *Config) *time.Duration { return &c.Evaluate.RetryBackoff }, 0), "pandaprobe only"},
	{"evaluate.trace_list_limit", "", whole(func(c *Config) *int { return &c.Evaluate.TraceListLimit }, 1, 10_000), "pandaprobe only"},
	{"evaluate.cli_binary", "HARNESS_CLI_BINARY", text(func(c *Config) *string { return &c.Evaluate.CLIBinary }, "a program", nonEmpty), "pandaprobe only"},
	{"evaluate.cli_timeout", "HARNESS_CLI_TIMEOUT_S", span(func(c *Config) *time.Duration { return &c.Evaluate.CLITimeout }, ms), "pandaprobe only"},
	{"evaluate.health_check", "HARNESS_HEALTH_CHECK", truth(func(c *Config) *bool { return &c.Evaluate.HealthCheck }), "pandaprobe only"},

	{"gate.window", "HARNESS_GATE_WINDOW", whole(func(c *Config) *int { return &c.Gate.Window }, 1, 10_000), "turns without gain that make a stall"},
	{"gate.target", "", number(func(c *Config) *float64 { return &c.Gate.Target }, 0, 1), "a peak at or above it never stalls"},
	{"gate.gain", "", number(func(c *Config) *float64 { return &c.Gate.Gain }, 0, 1), "rise that counts as progress"},
	{"gate.drop", "", number(func(c *Config) *float64 { return &c.Gate.Drop }, 0, 1), "fall below the peak that is a regression"},
	{"gate.mode", "", choice(func(c *Config) *string { return &c.Gate.Mode }, "auto", "seed", "noise"), "seed: peak and drop; noise: median and CUSUM over the measured scatter; auto: noise where vise noise measured 0.03 or more"},
	{"gate.start_peak", "", maybeNumber(func(c *Config) **float64 { return &c.Gate.StartPeak }, 0, 1), "first peak; 1 with offline scores, else unset"},

	{"notice.cooldown_turns", "HARNESS_ALERT_COOLDOWN_TURNS", whole(func(c *Config) *int { return &c.Notice.CooldownTurns }, 0, 1_000_000), "turns without a repeated notice"},
	{"notice.breaker_max", "HARNESS_CIRCUIT_BREAKER_MAX_NOTICES", whole(func(c *Config) *int { return &c.Notice.BreakerMax }, 1, 1_000_000), "notices within the window that call a person"},
	{"notice.breaker_window", "HARNESS_CIRCUIT_BREAKER_WINDOW_S", span(func(c *Config) *time.Duration { return &c.Notice.BreakerWindow }, ms), ""},
	{"notice.enrich_flagged_traces", "HARNESS_ENRICH_FLAGGED_TRACES", truth(func(c *Config) *bool { return &c.Notice.EnrichFlaggedTraces }), ""},

	{"settle.barrier_timeout", "HARNESS_BARRIER_TIMEOUT_S", span(func(c *Config) *time.Duration { return &c.Settle.BarrierTimeout }, ms), "longest wait for evaluation and repair of a turn"},
	{"settle.drain_timeout", "HARNESS_DRAIN_TIMEOUT_S", span(func(c *Config) *time.Duration { return &c.Settle.DrainTimeout }, ms), "longest wait at the end"},

	{"rules.max_active", "HARNESS_MAX_ACTIVE_RULES", whole(func(c *Config) *int { return &c.Rules.MaxActive }, 0, 1_000_000), "live rules; 0 = no limit"},
	{"rules.retrieval", "HARNESS_RULE_RETRIEVAL", truth(func(c *Config) *bool { return &c.Rules.Retrieval }), "show only rules that fit the task"},
	{"rules.context_topk", "HARNESS_RULES_CONTEXT_TOPK", whole(func(c *Config) *int { return &c.Rules.ContextTopK }, 0, 10_000), "how many of them"},
	{"rules.sanitize_max_len", "HARNESS_SANITIZE_MAX_LEN", whole(func(c *Config) *int { return &c.Rules.SanitizeMaxLen }, 12, 1_000_000), "longest rule text, in code points"},

	{"validate.enabled", "HARNESS_RULE_VALIDATION", truth(func(c *Config) *bool { return &c.Validate.Enabled }), "false only with evaluate.observe_only"},
	{"validate.evidence", "", choice(func(c *Config) *string { return &c.Validate.Evidence }, "seed", "paired", "auto"), "what decides about a candidate: auto runs each case twice without it and three times with it and decides by these when nothing differs in any turn, else by pairs of runs; seed is one replay against the stored score"},
	{"validate.profile", "", choice(func(c *Config) *string { return &c.Validate.Profile }, "full", "quick"), "full decides at validate.promote_e within validate.pairs_cap pairs, quick at 5 within 12"},
	{"validate.auto", "", maybeTruth(func(c *Config) **bool { return &c.Validate.Auto }), "validate behind every replay and repair in the workbench (unset: not, v does it by hand) and while no turn runs in vise serve (unset: yes); headless replay always does at its end"},
	{"validate.promote_margin", "HARNESS_RULE_PROMOTE_MARGIN", number(func(c *Config) *float64 { return &c.Validate.PromoteMargin }, 0, 1), ""},
	{"validate.regress_margin", "HARNESS_RULE_REGRESS_MARGIN", number(func(c *Config) *float64 { return &c.Validate.RegressMargin }, 0, 1), ""},
	{"validate.trial_min_sessions", "HARNESS_RULE_TRIAL_MIN_SESSIONS", whole(func(c *Config) *int { return &c.Validate.TrialMinSessions }, 1, 100_000), "live sessions of a forward trial"},
	{"validate.replay_timeout", "HARNESS_REPLAY_TIMEOUT_S", span(func(c *Config) *time.Duration { return &c.Validate.ReplayTimeout }, ms), "longest replay of a case"},
	{"validate.env_wait", "HARNESS_REPLAY_ENV_WAIT_TIMEOUT_S", span(func(c *Config) *time.Duration { return &c.Validate.EnvWait }, 0), "time until the agent says that its environment is up (notification _vise.dev/execution_started, or its first update); replay_timeout counts from then; 0 = none"},
	{"validate.round_budget", "HARNESS_VALIDATION_ROUND_BUDGET_S", span(func(c *Config) *time.Duration { return &c.Validate.RoundBudget }, 0), "bound of a round; 0 = none"},
	{"validate.parallel", "", whole(func(c *Config) *int { return &c.Validate.Parallel }, 1, 256), "replays at once"},
	{"validate.pairs_cap", "", whole(func(c *Config) *int { return &c.Validate.PairsCap }, 1, 10_000), "pairs on failing cases per candidate; protected wins get ten more"},
	{"validate.promote_e", "", number(func(c *Config) *float64 { return &c.Validate.PromoteE }, 2, inf), "evidence that decides a paired test: 1 in this many useless rules is promoted at most"},
	{"validate.holdback", "", number(func(c *Config) *float64 { return &c.Validate.Holdback }, 0, 1), "share of live sessions that do not see a rule which paired evidence promoted; 0 = none"},
	{"validate.seed", "", seed(func(c *Config) *int64 { return &c.Validate.Seed }), "base seed of replays"},

	{"cases.capture", "HARNESS_CAPTURE_EVAL_CASES", truth(func(c *Config) *bool { return &c.Cases.Capture }), "keep failures as replayable cases"},
	{"cases.max", "HARNESS_EVAL_CASE_MAX", whole(func(c *Config) *int { return &c.Cases.Max }, 1, 1_000_000), "cases kept"},
	{"regress.sample", "HARNESS_REGRESSION_SAMPLE", whole(func(c *Config) *int { return &c.Regress.Sample }, 0, 1_000_000), "cases per run; 0 = all"},
	{"budget.usd", "", maybeNumber(func(c *Config) **float64 { return &c.Budget.USD }, 0, inf), "dollars over agent, judge and repair of one command, or of one run of the workbench; 0 = nothing may be spent"},
	{"budget.tokens", "", maybeWhole(func(c *Config) **int64 { return &c.Budget.Tokens }, 1, unlimited), "tokens over agent, judge and repair of one command, or of one run of the workbench"},
	{"store.path", "HARNESS_ROOT", text(func(c *Config) *string { return &c.Store.Path }, "a folder", nonEmpty), "where the records lie, relative to this file"},
	{"store.retention", "", span(func(c *Config) *time.Duration { return &c.Store.Retention }, 0), "time after which sessions go, when no case, open notice or verdict needs them; 0 = never"},
	{"store.min_free", "", size(func(c *Config) *uint64 { return &c.Store.MinFree }, 1e15), "free disk below which nothing is written"},
	{"redact.keys", "", truth(func(c *Config) *bool { return &c.Redact.Keys }), "mask values of credential-like keys"},
	{"redact.values", "", truth(func(c *Config) *bool { return &c.Redact.Values }), "mask values that look like credentials"},
	{"redact.extra", "", words(func(c *Config) *[]string { return &c.Redact.Extra }, "a list of regular expressions (RE2)", regular), "mask these too"},
	{"export.otlp_endpoint", "", text(func(c *Config) *string { return &c.Export.OTLPEndpoint }, "an address, such as \"http://127.0.0.1:4318\"", optional(address)), "receiver of the traces of live turns with their scores (OTLP/HTTP, protobuf); unset: nothing leaves"},

	{"patch.policy", "", text(func(c *Config) *string { return &c.Patch.Policy }, "a file", nonEmpty), ""},
	{"patch.max_attempts", "", whole(func(c *Config) *int { return &c.Patch.MaxAttempts }, 1, 100), "proofs: 2 is the original one plus one repair"},
	{"patch.max_runtime", "", span(func(c *Config) *time.Duration { return &c.Patch.MaxRuntime }, ms), ""},
	{"patch.phase_timeout", "", span(func(c *Config) *time.Duration { return &c.Patch.PhaseTimeout }, ms), ""},

	{"ui.theme", "", text(func(c *Config) *string { return &c.UI.Theme }, "the name of a theme", nonEmpty), ""},
	{"ui.keys", "", bindings(func(c *Config) *map[string][]string { return &c.UI.Keys }), "own keys by action (vise keys), such as { \"run.step\" = \"s\", \"run.replay\" = [\"f5\", \"r\"] }; [] takes them away"},
	{"ui.fps", "", whole(func(c *Config) *int { return &c.UI.FPS }, 1, 240), ""},
	{"ui.motion", "", truth(func(c *Config) *bool { return &c.UI.Motion }), "false: nothing moves by itself, [busy] instead of a running clock; VISE_MOTION=0 does the same"},
	{"ui.mouse", "", truth(func(c *Config) *bool { return &c.UI.Mouse }), ""},
	{"ui.linear", "", truth(func(c *Config) *bool { return &c.UI.Linear }), "the workbench as plain lines, for screen readers: vise --linear"},
	{"ui.notify", "", truth(func(c *Config) *bool { return &c.UI.Notify }), "tell of notices, verdicts and stops while the terminal is not in front"},
	{"ui.status", "", truth(func(c *Config) *bool { return &c.UI.Status }), "progress and state in the terminal's tab (OSC 9;4 and OSC 7501)"},
}

func metrics(at func(*Config) *[]string) kind {
	return words(at, "a list of metrics", traceMetric)
}

// byName and sections index the table.
var (
	byName   = map[string]*setting{}
	sections []string
)

func init() {
	for i := range settings {
		s := &settings[i]
		byName[s.name] = s
		if !slices.Contains(sections, s.section()) {
			sections = append(sections, s.section())
		}
	}
	sections = append(sections, "providers")
}

// hideCredentials masks the values of credential-like options of an argv, for display.
func hideCredentials(argv []string) []string {
	out := slices.Clone(argv)
	for i, word := range out {
		name, value, glued := strings.Cut(strings.TrimLeft(word, "-"), "=")
		if name == word && !glued || !guard.SensitiveKey(name) {
			continue
		}
		if glued && value != "" {
			out[i] = word[:len(word)-len(value)] + "[hidden]"
		} else if !glued && i+1 < len(out) {
			out[i+1] = "[hidden]"
		}
	}
	return out
}
