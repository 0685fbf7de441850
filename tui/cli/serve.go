package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"vise/engine/config"
	"vise/engine/event"
	"vise/replay"
	"vise/replay/llmproxy"
	"vise/store"
)

// serveFlags are the settings of one serve.
type serveFlags struct {
	observeOnly bool
	noValidate  bool
	turnGap     time.Duration
	sessionGap  time.Duration
}

func (a *app) serveCmd() *cobra.Command {
	f := serveFlags{turnGap: 3 * time.Second, sessionGap: 10 * time.Minute}
	c := &cobra.Command{
		Use: "serve", Short: "Watch, score and repair agents that you start yourself, until ctrl+c", Args: cobra.NoArgs,
		Long: "Serve owns the project and listens on the loopback for agents that run elsewhere: a proxy for their model\n" +
			"calls (when agent.provider says whose these are), a receiver for OpenTelemetry traces, and the rule server.\n" +
			"It prints the variables that make an agent come to it and keeps them in serve.env beside the store:\n\n" +
			"  set -a; . .vise/serve.env; set +a; python3 my_agent.py\n\n" +
			"What an agent does becomes a live session. A model call goes on with the session whose words it repeats, or\n" +
			"that its header " + llmproxy.Header + " names; a trace belongs to its conversation (gen_ai.conversation.id). A turn\n" +
			"begins with what the user says; it has ended when the agent has answered and is silent for --turn-gap, and\n" +
			"a session when it is silent for --session-gap. A turn without an answer is cut off after agent.turn_timeout\n" +
			"and not scored. Every other turn is scored and settled as in a replay: notices are repaired by the repair\n" +
			"agent, and while no turn runs, candidates are validated by the project's own agent (validate.auto = false or\n" +
			"--no-validate: not). budget.* holds over all of it.\n\n" +
			"Reading commands work beside it; others are told who owns the store (exit 5). Ctrl+c and SIGTERM end it in\n" +
			"order: exit 0, or 130 when a turn, a repair or a validation was interrupted.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			for name, gap := range map[string]time.Duration{"--turn-gap": f.turnGap, "--session-gap": f.sessionGap} {
				if gap <= 0 {
					return usagef("%s %s: give a time that is longer than 0, such as 5s", name, gap)
				}
			}
			cfg, _, err := a.load()
			if err != nil {
				return err
			}
			if f.observeOnly {
				cfg.Evaluate.ObserveOnly = true
			}
			a.out.sessions = true
			n := needs{serve: true, mayAgent: true, repair: true, narrate: true}
			return a.withProject(cmd.Context(), cfg, n, func(h *harness) error { return a.serve(cmd.Context(), h, f) })
		},
	}
	c.Flags().BoolVar(&f.observeOnly, "observe-only", false, "score and journal, store no notice, repair nothing")
	c.Flags().BoolVar(&f.noValidate, "no-validate", false, "do not validate candidates")
	c.Flags().DurationVar(&f.turnGap, "turn-gap", f.turnGap, "silence after an answer that ends a turn")
	c.Flags().DurationVar(&f.sessionGap, "session-gap", f.sessionGap, "silence that ends a session")
	return c
}

// served is what a serve tells of itself when it listens.
type served struct {
	// Models, Traces and Rules are the addresses of the proxy, "" when there is none, of the
	// receiver and of the rule server; Upstream is where model calls are passed on to.
	Models   string `json:"models,omitempty"`
	Upstream string `json:"upstream,omitempty"`
	Traces   string `json:"traces"`
	Rules    string `json:"rules"`
	// Env is what an agent's environment must hold; EnvFile has it, too.
	Env     map[string]string `json:"env"`
	EnvFile string            `json:"env_file"`
	// Repair is the model of the repair agent, "" when nothing is repaired. Validates says
	// whether candidates are validated.
	Repair    string `json:"repair,omitempty"`
	Validates bool   `json:"validates"`
	PID       int    `json:"pid"`
}

// serve listens until the context ends.
func (a *app) serve(ctx context.Context, h *harness, f serveFlags) (err error) {
	cfg := h.cfg
	validates := cfg.Validate.AutoIn(true) && cfg.Validate.Enabled && !cfg.Evaluate.ObserveOnly && !f.noValidate
	var l *replay.Listener
	behind := false // what earlier processes left was scored
	var rounds roundsWhenDue
	l = replay.NewListener(h.Harness, replay.ListenerOptions{
		TurnGap: f.turnGap, Longest: cfg.Agent.TurnTimeout, SessionGap: f.sessionGap, Again: cfg.Repair.Backoff,
		Redactor: h.services.red, Now: h.store.Now, NewID: h.store.NewID,
		OnError: func(err error) { a.note("vise: serve: %s", block(err.Error())) },
		Idle: func(ctx context.Context) error {
			if !behind {
				left, err := h.ScoreBacklog(ctx)
				if ctx.Err() != nil {
					return nil // it is there for the next start
				}
				if l.Settle(left...); err != nil {
					return err
				}
				behind = true
			}
			if !validates {
				return nil
			}
			return rounds.run(ctx, h)
		},
	})
	env, lock, err := l.Attend(replay.Doors{Models: h.services.models, Telemetry: h.services.telemetry, Rules: h.services.rules, View: rulesView(cfg)})
	defer lock()
	if err != nil {
		return err
	}
	what := served{Traces: env["OTEL_EXPORTER_OTLP_ENDPOINT"], Rules: env["VISE_RULES_URL"], Models: env["OPENAI_BASE_URL"], Env: env,
		EnvFile: envFile(cfg), Validates: validates, PID: os.Getpid()}
	if m := h.services.models; m != nil {
		what.Upstream = m.Upstream.BaseURL
		if m.Upstream.Key != nil {
			if _, err := m.Upstream.Key(); err != nil {
				a.note("vise: serve: model calls will be refused: %s", block(err.Error()))
			}
		}
	}
	if h.RepairOn() {
		what.Repair = cfg.Repair.Model
	}
	if err := writeEnv(what.EnvFile, env); err != nil {
		return err
	}
	defer func() {
		if rerr := os.Remove(what.EnvFile); rerr != nil && !errors.Is(rerr, fs.ErrNotExist) {
			err = errors.Join(err, fmt.Errorf("serve: remove the variables of what has ended: %w", rerr))
		}
	}()
	if err := a.tellServed(cfg.Agent.Provider, what); err != nil {
		return err
	}
	cut := l.Run(ctx)
	if _, _, err := a.tellPaused(h); err != nil {
		return err
	}
	if cut {
		return context.Cause(ctx) // something was interrupted
	}
	return nil
}

// decides are the events after which a round of validation may decide what the one before
// could not.
var decides = []event.Type{event.RuleAdd, event.RuleRestore, event.RuleRetire, event.RetestQueued, event.EvalsetCapture, event.CaseProtected, event.CaseRemoved, event.NoiseMeasured}

// roundsWhenDue validates until idle, unless nothing has changed since the last time: a
// candidate that waits for a case would be run again behind every turn.
type roundsWhenDue struct {
	ran  bool
	last uint64 // the newest of those events that a whole validation knew of
}

func (r *roundsWhenDue) run(ctx context.Context, h *harness) error {
	var newest uint64
	if err := h.store.View(func(tx *store.Tx) error {
		found, err := tx.LastEvents(1, decides...)
		if len(found) > 0 {
			newest = found[0].Seq
		}
		return err
	}); err != nil {
		return err
	}
	// Without an agent every session of a forward trial may decide, and costs nothing.
	if r.ran && newest == r.last && h.runner != nil {
		return nil
	}
	if _, err := h.ValidateUntilIdle(ctx); err != nil {
		return err
	}
	r.ran, r.last = true, newest
	return nil
}

// tellServed says what is listened on, and how an agent comes to it. The tokens are told
// as they are: they are for this machine and this process only.
func (a *app) tellServed(provider string, what served) error {
	if a.json {
		return a.out.object("vise.serve/1", what)
	}
	models := "not seen: set agent.provider to whose models your agent asks"
	if what.Models != "" {
		models = fmt.Sprintf("%s, passed on to %s (%s)", what.Models, show(provider, 60), show(what.Upstream, 200))
	}
	repairs := "off: set repair.model"
	if what.Repair != "" {
		repairs = show(what.Repair, 100)
	}
	validates := "no"
	if what.Validates {
		validates = "while no turn runs"
	}
	lines := []string{"vise: listening for agents that you start yourself; ctrl+c ends",
		"  model calls  " + models, "  traces       " + what.Traces + " (OTLP/HTTP)", "  rules        " + what.Rules + " (MCP)",
		"  repairs      " + repairs, "  validates    " + validates,
		"  your agent   set -a; . " + quoted(what.EnvFile) + "; set +a; then start it. The file holds:"}
	for _, name := range slices.Sorted(maps.Keys(what.Env)) {
		lines = append(lines, "    "+name+"="+quoted(what.Env[name]))
	}
	_, err := fmt.Fprintln(a.errw, strings.Join(lines, "\n"))
	return err
}

// envFile is where a serve keeps the variables of agents while it runs.
func envFile(cfg *config.Config) string { return filepath.Join(cfg.Path(cfg.Store.Path), "serve.env") }

// writeEnv writes variables as a shell reads them, for nobody but their owner.
func writeEnv(file string, env map[string]string) error {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(env)) {
		fmt.Fprintf(&b, "%s=%s\n", name, quoted(env[name]))
	}
	// A new file: an old one may be readable by others.
	if err := os.Remove(file); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("serve: write the variables of agents: %w", err)
	}
	if err := os.WriteFile(file, []byte(b.String()), 0o600); err != nil {
		return fmt.Errorf("serve: write the variables of agents: %w", err)
	}
	return nil
}

// quoted is a text as one word of a shell.
func quoted(text string) string {
	if strings.Trim(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./:=@%+,") == "" {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}
