package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"vise/engine"
	"vise/engine/config"
	"vise/engine/event"
	"vise/engine/guard"
	"vise/engine/model"
	"vise/engine/process"
	"vise/engine/repair"
	"vise/engine/score/judge"
	"vise/engine/trace"
	"vise/engine/validate"
	"vise/replay"
	"vise/replay/driver"
	"vise/replay/toolserver"
	"vise/store"
	"vise/themes"
	"vise/tui"
)

// path resolves an argument against the working directory.
func (a *app) path(p string) string {
	if filepath.IsAbs(p) {
		return p
	}
	return filepath.Join(a.dir, p)
}

// projectFile returns the project's configuration file.
func (a *app) projectFile() (string, error) {
	if a.config != "" {
		return a.path(a.config), nil
	}
	if a.project != "" {
		file := filepath.Join(a.path(a.project), "vise.toml")
		if _, err := os.Stat(file); err != nil {
			if errors.Is(err, fs.ErrNotExist) {
				return "", fmt.Errorf("no vise.toml in %s; vise init --project %s writes one", a.path(a.project), a.project)
			}
			return "", err
		}
		return file, nil
	}
	if file, ok := config.Find(a.dir); ok {
		return file, nil
	}
	return "", fmt.Errorf("no vise.toml in %s or above it; vise init writes one, vise demo --headless needs none", a.dir)
}

// load reads the project's configuration with all its layers.
func (a *app) load() (*config.Config, config.Origins, error) {
	file, err := a.projectFile()
	if err != nil {
		return nil, config.Origins{}, err
	}
	return a.loadFile(file)
}

func (a *app) loadFile(file string) (*config.Config, config.Origins, error) {
	cfg, origins, err := config.Load(config.LoadOptions{UserFile: config.UserFile(a.env), ProjectFile: file, Environ: a.env})
	if err != nil {
		return nil, origins, err
	}
	if len(cfg.Redact.Extra) > 0 {
		red, err := guard.NewRedactor(guard.RedactOptions{Keys: true, Values: true, Extra: cfg.Redact.Extra})
		if err != nil {
			return nil, origins, err
		}
		a.red = red
	}
	return cfg, origins, a.checkTheme(cfg, origins)
}

// checkTheme refuses a theme that does not exist: which ones do, the configuration
// itself cannot know.
func (a *app) checkTheme(cfg *config.Config, origins config.Origins) error {
	if cfg.UI.Theme == "auto" {
		return nil
	}
	list, err := themes.All(a.screen("", cfg).ThemeDir)
	if tui.KnownTheme(list, cfg.UI.Theme) {
		return nil // what is wrong with another one the workbench tells
	}
	where, _ := origins.Of("ui.theme")
	return errors.Join(fmt.Errorf("configuration: %s: ui.theme: there is no theme %q; use one of %s", where.Origin, cfg.UI.Theme, strings.Join(tui.ThemeChoices(list), ", ")), err)
}

// getenv returns a variable of this invocation's environment; the last setting wins.
func (a *app) getenv(name string) string {
	v := ""
	for _, kv := range a.env {
		if key, value, ok := strings.Cut(kv, "="); ok && key == name {
			v = value
		}
	}
	return v
}

// openRead opens the project's store for reading: directly when it is free,
// through its owner when another process has it.
func (a *app) openRead(ctx context.Context) (*store.Store, error) {
	cfg, _, err := a.load()
	if err != nil {
		return nil, err
	}
	st, err := store.OpenRead(ctx, a.storeOptions(cfg, nil))
	if err == nil {
		a.tellRecovery(st)
	}
	return st, err
}

func (a *app) storeOptions(cfg *config.Config, bus *event.Bus) store.Options {
	return store.Options{Dir: cfg.Path(cfg.Store.Path), MinFree: cfg.Store.MinFree, Bus: bus, Redactor: a.red}
}

// needs says what a command uses beside the store.
type needs struct {
	agent    bool // the agent subprocess; an error when none is configured
	mayAgent bool // the agent if one is configured
	repair   bool // the repair agent if one is configured
	narrate  bool // print committed events as they come
	serve    bool // the servers for agents that are started by hand, with or without an agent
	// stepper holds repairs; nil never waits.
	stepper repair.Stepper
}

// harness is an open project: store, engine and the world around them.
type harness struct {
	*engine.Harness
	cfg    *config.Config
	store  *store.Store
	runner *replay.Runner
	ledger *model.Ledger
	// services are what agents reach us through; set when the command has to do with agents.
	services services
	// narrator prints events as they come; nil when the command prints its own.
	narrator *narrator
}

// withHarness opens the project as the store's owner, runs fn and closes
// everything again, whatever happened.
func (a *app) withHarness(ctx context.Context, n needs, fn func(*harness) error) error {
	cfg, _, err := a.load()
	if err != nil {
		return err
	}
	return a.withProject(ctx, cfg, n, fn)
}

func (a *app) withProject(ctx context.Context, cfg *config.Config, n needs, fn func(*harness) error) (err error) {
	bus := event.NewBus()
	st, err := store.Open(ctx, a.storeOptions(cfg, bus))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, st.Close()) }()

	h := &harness{cfg: cfg, store: st}
	if n.narrate {
		if h.narrator, err = a.narrate(ctx, bus, st); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, h.narrator.stop()) }()
	}
	stopExport, err := a.startExport(cfg, st, bus)
	if err != nil {
		return err
	}
	defer stopExport()
	a.tellRecovery(st)
	a.reap(ctx, st)
	o := engine.Options{Config: cfg, Store: st, Bus: bus, Log: a.log, Artifacts: cfg.Path(cfg.Store.Path)}
	if o.Verifier, err = a.newVerifier(cfg); err != nil {
		return err
	}
	o.Ledger = newLedger(cfg)
	h.ledger = o.Ledger
	if cfg.Evaluate.By == "pandaprobe" {
		o.Platform = a.newPlatform(cfg)
	}
	if cfg.Evaluate.By == "judge" {
		client, err := a.newModel(ctx, cfg, cfg.Evaluate.JudgeModel, o.Ledger)
		if err != nil {
			return fmt.Errorf("evaluate.judge_model: %w", err)
		}
		defer client.Close()
		o.Judge = judge.New(client)
		defer func() { a.tellSpent(o.Ledger) }()
	}
	configured := cfg.Agent.Driver != "none" && len(cfg.Agent.Command) > 0
	if n.agent && !configured {
		return errors.New("no agent is configured: set agent.command in vise.toml, e.g. command = [\"my-agent\", \"acp\"]; vise replay --recorded works without one")
	}
	if n.serve || configured && (n.agent || n.mayAgent) {
		var end func() error
		h.services, end, err = a.startServices(ctx, cfg, st, o.Ledger)
		defer func() { err = errors.Join(err, end()) }()
		if err != nil {
			return err
		}
		o.AgentBooked = h.services.models != nil
	}
	if configured && (n.agent || n.mayAgent) {
		if h.runner, err = a.newRunner(ctx, cfg, st, h.services); err != nil {
			return err
		}
		if err := driver.SweepWorkspaces(h.runner.Scratch); err != nil {
			a.log.Warn("remove the workspaces of a killed run", "err", err)
		}
		o.Agent = h.runner.Agent.Command[0]
		var replayer validate.Replayer = replay.Cases{Runner: h.runner, Publish: func(e event.Event) { bus.Publish(e) }}
		o.Replayer = replayer
	}
	if n.repair {
		o.ModelFor = func(ctx context.Context, id string) (*model.Client, error) { return a.newModel(ctx, cfg, id, o.Ledger) }
		o.Stepper = n.stepper
	}
	if n.repair && cfg.Repair.Model != "" {
		client, err := a.newModel(ctx, cfg, cfg.Repair.Model, o.Ledger)
		if err != nil {
			return err
		}
		defer client.Close()
		o.Model = client
	}
	h.Harness, err = engine.Open(ctx, o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, h.Harness.Close()) }()
	if n := h.AgedOut.Sessions; n > 0 {
		a.note("vise: removed %s older than store.retention", counted(n, "session"))
	}
	return fn(h)
}

// newRunner makes the runner of a project.
func (a *app) newRunner(ctx context.Context, cfg *config.Config, st *store.Store, to services) (*replay.Runner, error) {
	agent, err := a.agentOf(cfg)
	if err != nil {
		return nil, err
	}
	return &replay.Runner{
		Redactor: to.red, Models: to.models, Telemetry: to.telemetry,
		Agent: agent,
		Hide:  a.secretFiles(cfg),
		Self:  a.self, Rules: to.rules,
		View:    rulesView(cfg),
		Scratch: filepath.Join(cfg.Path(cfg.Store.Path), "runs"), Logs: filepath.Join(cfg.Path(cfg.Store.Path), "logs"),
		Recording: func(_ context.Context, session, caseID string) ([]trace.Turn, error) {
			return recordedTurns(st, session, caseID)
		},
		BaseSeed: cfg.Validate.Seed, Environ: a.env, Now: st.Now, NewID: st.NewID,
		OnProcess: func(runID string, rec process.Record, gone bool) {
			// The record must outlive a cancelled context: it is what the next start reaps by.
			if err := recordProcess(context.WithoutCancel(ctx), st, runID, rec, gone); err != nil {
				a.log.Warn("process record", "run", runID, "err", err)
			}
		},
	}, nil
}

// agentOf is the configured agent, as a runner starts it.
func (a *app) agentOf(cfg *config.Config) (replay.Agent, error) {
	hosts, err := guard.ParseHosts(cfg.Agent.Egress)
	if err != nil {
		return replay.Agent{}, fmt.Errorf("agent.egress: %w", err)
	}
	var servers []toolserver.Spec
	for _, name := range slices.Sorted(maps.Keys(cfg.Agent.Servers)) {
		servers = append(servers, toolserver.SpecOf(name, config.Expand(cfg.Agent.Servers[name], a.self)))
	}
	return replay.Agent{
		Servers: servers,
		Driver:  cfg.Agent.Driver, Command: config.Expand(cfg.Agent.Command, a.self), Input: cfg.Agent.Input, Workspace: cfg.Agent.Workspace, WorkspaceFrom: cfg.Path(cfg.Agent.WorkspaceFrom),
		Env: cfg.Agent.Env, Preamble: cfg.Agent.Preamble, Permissions: cfg.Agent.Permissions,
		Effects: cfg.Agent.Effects, Mode: cfg.Agent.Mode, Options: cfg.Agent.Options,
		Sandbox: cfg.Agent.Sandbox, Egress: hosts, Home: cfg.Agent.Home,
		TurnTimeout: cfg.Agent.TurnTimeout, IdleTimeout: cfg.Agent.IdleTimeout, StartTimeout: cfg.Agent.StartTimeout,
	}, nil
}

// secretFiles are what of the project an agent must not read: the store, since
// rules reach an agent through its tools only, and keys.
func (a *app) secretFiles(cfg *config.Config) []string {
	files := []string{cfg.Path(cfg.Store.Path)}
	ring := a.keyring(cfg)
	for _, p := range cfg.Providers {
		if file := ring.File(p.Key); file != "" {
			files = append(files, file)
		}
	}
	return files
}

// newLedger counts and bounds what agent, judge and repair spend together.
func newLedger(cfg *config.Config) *model.Ledger {
	var budget model.Budget
	if cfg.Budget.USD != nil {
		// 0 is a budget too, of nothing: in the ledger 0 bounds nothing.
		budget.USD = max(*cfg.Budget.USD, math.SmallestNonzeroFloat64)
	}
	if cfg.Budget.Tokens != nil {
		budget.Tokens = *cfg.Budget.Tokens
	}
	return model.NewLedger(budget)
}

// newModel makes the client of a model, provider/model.
func (a *app) newModel(ctx context.Context, cfg *config.Config, id string, ledger *model.Ledger) (*model.Client, error) {
	ring := a.keyring(cfg)
	providers := map[string]model.Provider{}
	_, modelName, _ := config.SplitModel(id)
	for name, p := range cfg.Providers {
		m := model.Provider{BaseURL: p.BaseURL, Reasoning: p.Reasoning}
		if p.Key != "" {
			m.Key = func() (string, error) { return ring.Resolve(ctx, p.Key) }
		}
		if price, known := p.Price(modelName); known {
			m.Price = &model.Price{Input: price.Input, Output: price.Output, Cached: price.Cached}
		}
		providers[name] = m
	}
	return model.New(model.Options{Model: id, Providers: providers, Ledger: ledger})
}

// keyTime bounds a program that a cmd: reference names. It may have to ask a person to
// unlock something. (A variable for its test.)
var keyTime = 30 * time.Second

// keyring resolves secret references; cmd: references run the named program.
func (a *app) keyring(cfg *config.Config) config.Keyring {
	return config.Keyring{Environ: a.env, Root: cfg.Root, Run: func(ctx context.Context, argv []string) ([]byte, error) {
		ctx, stop := context.WithTimeoutCause(ctx, keyTime, fmt.Errorf("it gave no key within %s", keyTime))
		defer stop()
		cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
		cmd.Dir, cmd.Env = cfg.Root, withoutPlatform(a.env)
		cmd.WaitDelay = time.Second // for a child of it that holds its output
		out, err := cmd.Output()
		if err != nil && ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return out, err
	}}
}
