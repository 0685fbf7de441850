package replay

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"vise/engine/guard"
	"vise/engine/model/cassette"
	"vise/engine/process"
	"vise/engine/rule"
	"vise/engine/rule/tools"
	"vise/engine/trace"
	"vise/replay/driver"
	"vise/replay/driver/acp"
	"vise/replay/driver/exec"
	"vise/replay/otlp"
	"vise/replay/ruleserver"
	"vise/replay/toolserver"
)

// Agent says how the developer's agent is started and what it may touch.
type Agent struct {
	Driver        string   // acp | exec
	Command       []string // argv, {vise} already expanded
	Input         string   // stdin | argument | json, for exec
	Workspace     string   // copy | scratch | inplace
	WorkspaceFrom string   // folder the workspace is made from
	Env           []string // names of variables passed on beside the default allow-list
	Preamble      string   // prompt | mcp | off
	Permissions   string   // workspace | deny | allow
	Effects       string   // recorded | confined | live
	Mode          string   // of its session; "" = its own choice
	Options       map[string]string
	Servers       []toolserver.Spec // its tool servers, which it gets through us
	Sandbox       string            // auto | off | required
	Egress        guard.Hosts
	Home          []string // entries of the real home folder that are the agent's own
	TurnTimeout   time.Duration
	IdleTimeout   time.Duration
	StartTimeout  time.Duration
}

// Runner starts agents and feeds them user inputs. One Runner serves a whole
// project; its runs are independent of each other.
type Runner struct {
	Agent Agent
	// Self is this program's own path, for the stdio bridge of agents without HTTP MCP.
	Self string
	// Rules is the rule server; every run gets a token and a view of its own.
	Rules *ruleserver.Server
	// Models shows the agent's model calls; nil when they are not seen.
	Models *Models
	// Telemetry receives what an instrumented agent tells of itself; nil does not.
	Telemetry *otlp.Receiver
	// View holds what is common to all runs' views; the restriction is set per run.
	View tools.Options
	// Scratch is the folder in which run folders are made.
	Scratch string
	// Hide are folders that a confined agent cannot read, such as the store.
	Hide []string
	// Logs is the folder that receives one log file per run: stderr and stray stdout of the agent.
	Logs string
	// Redactor masks what an agent's telemetry says; nil masks by key and by value.
	Redactor *guard.Redactor
	// Recording reads the turns of a session, or of the one that a case was captured
	// from, whose answers the agent's requests get; nil: there are none.
	Recording func(ctx context.Context, sessionID, caseID string) ([]trace.Turn, error)
	// BaseSeed enters every VISE_RUN_SEED.
	BaseSeed int64
	// Environ is the environment the allow-list picks from; nil = os.Environ().
	Environ []string
	Now     func() time.Time
	NewID   func(prefix string) string
	// OnProcess is told of every process started and, with gone = true, of its end,
	// so that the store can reap what a crash leaves behind.
	OnProcess func(runID string, rec process.Record, gone bool)
}

var errNoAgent = errors.New("no agent is configured; set agent.command in vise.toml, e.g. [\"my-agent\", \"acp\"]")

// plan is one agent session to be driven.
type plan struct {
	runID     string
	sessionID string
	inputs    []string
	seed      string
	view      tools.Options
	rules     rule.Source // nil: the project's
	caseID    string
	load      string // the agent's own id of a session that goes on; "" opens a new one
	recorded  string // session whose answers the agent's requests get, unless that of caseID
	ttl       time.Duration
	// onIdle is told that the agent is silent in a turn.
	onIdle func(turn int, silent time.Duration)
	// envWait is what the agent's environment may take to come up; onExecution is
	// told when it has. Both may be left out.
	envWait     time.Duration
	onExecution func()
	onSpan      func(turn int, s trace.Span)
	onStart     func(driver.Info) error
	onTurn      func(trace.Turn) error
	// onCalls gets the model calls of a turn, after onTurn; nil drops them.
	onCalls func(turn int, calls []cassette.Exchange) error
	// tape answers the agent's model calls; nil asks its provider.
	tape *cassette.Tape
}

// ran is what is known after a plan was driven.
type ran struct {
	info driver.Info
	exit driver.Exit
	read []string
	// offered: the agent came to the rule server.
	offered bool
}

// drive starts the agent, feeds it the plan's inputs and ends it. A turn that
// failed half-way is still handed to onTurn before the error is returned.
func (r *Runner) drive(ctx context.Context, p plan) (out ran, err error) {
	if len(r.Agent.Command) == 0 {
		return out, errNoAgent
	}
	if tell := p.onSpan; tell != nil {
		mask := newLiveMask(r.Redactor)
		p.onSpan = func(turn int, s trace.Span) { tell(turn, mask.span(turn, s)) }
	}
	dir, cleanup, err := driver.PrepareWorkspace(ctx, driver.WorkspaceMode(r.Agent.Workspace), r.Agent.WorkspaceFrom, filepath.Join(r.Scratch, p.runID))
	if err != nil {
		return out, fmt.Errorf("prepare workspace of run %s: %w", p.runID, err)
	}
	defer func() {
		if cerr := cleanup(); cerr != nil && err == nil {
			err = fmt.Errorf("remove workspace of run %s: %w", p.runID, cerr)
		}
		_ = os.Remove(filepath.Join(r.Scratch, p.runID)) // only when empty
	}()
	base := r.Environ
	if base == nil {
		base = os.Environ()
	}
	places := map[string]string{"workspace": dir, "run": filepath.Join(r.Scratch, p.runID), "home": variable(base, "HOME")}
	line, err := r.Models.open(p.tape, places, p.onSpan)
	if err != nil {
		return out, fmt.Errorf("prepare run %s: %w", p.runID, err)
	}
	defer line.close()
	told := r.listen(p.sessionID)
	defer told.close()
	services := append(line.service(), service(r.Rules.URL()))
	if told != nil {
		services = append(services, r.Telemetry.Host())
	}
	around, err := r.Agent.surround(base, filepath.Join(r.Scratch, p.runID), dir, r.Hide, services)
	defer around.remove()
	if err != nil {
		return out, fmt.Errorf("prepare run %s: %w", p.runID, err)
	}
	env := map[string]string{"VISE_RUN_SEED": p.seed, "VISE_SESSION_ID": p.sessionID}
	maps.Copy(env, around.env)
	maps.Copy(env, line.env())
	maps.Copy(env, told.env())
	log, err := r.openLog(p.runID)
	if err != nil {
		return out, err
	}
	defer log.Close()

	grant := r.Rules.Grant(ruleserver.Run{RunID: p.runID, CaseID: p.caseID, Tools: p.view, Source: p.rules, TTL: p.ttl})
	defer r.Rules.Revoke(grant.Token)

	answers, err := r.answers(ctx, p)
	if err != nil {
		return out, err
	}
	begun := processes{told: func(rec process.Record, gone bool) {
		if r.OnProcess != nil {
			r.OnProcess(p.runID, rec, gone)
		}
	}}
	defer begun.over()
	environ := driver.Environ(r.Agent.Env, env, base)
	gate, err := r.openGate(ctx, p, answers, around, dir, driver.Environ(r.Agent.Env, around.env, base), begun.add)
	if err != nil {
		return out, fmt.Errorf("start agent for run %s: %w", p.runID, err)
	}
	defer gate.Close(context.WithoutCancel(ctx))
	session, err := r.Agent.start(ctx, driver.Config{
		Command: r.Agent.Command,
		Input:   driver.InputMode(r.Agent.Input),
		Aside:   around.env["TMPDIR"],
		Dir:     dir,
		Env:     environ,
		Sandbox: around.box,
		MCP: append([]driver.MCPServer{{
			Name: "vise", URL: r.Rules.URL(), Token: grant.Token,
			Command: []string{r.Self, "mcp", "--url", r.Rules.URL(), "--token-env", "VISE_MCP_TOKEN"},
			Env:     []string{"VISE_MCP_TOKEN=" + grant.Token},
		}}, gate.Offered(r.Self)...),
		Preamble:    r.preamble(),
		Permissions: driver.Policy(r.Agent.Permissions),
		Effects:     driver.Effects(r.Agent.Effects), Tape: answers, Shared: r.Agent.Workspace == "inplace", Hide: r.Hide,
		Mode: r.Agent.Mode, Options: r.Agent.Options, OnIdle: p.onIdle, Load: p.load,
		TurnTimeout: r.Agent.TurnTimeout, IdleTimeout: r.Agent.IdleTimeout, StartTimeout: r.Agent.StartTimeout,
		EnvWait: p.envWait, OnExecution: p.onExecution,
		Log:       log,
		OnSpan:    p.onSpan,
		OnProcess: begun.add,
		Now:       r.Now,
		SessionID: p.sessionID,
	})
	if err != nil {
		// Whoever looks for the reason in the run's log finds it there.
		fmt.Fprintf(log, "vise: %v\n", err)
		return out, fmt.Errorf("start agent for run %s: %w", p.runID, around.hint(err))
	}
	defer func() {
		// The end of a run must not depend on the context that may have ended it.
		end, stop := context.WithTimeout(context.WithoutCancel(ctx), 15*time.Second)
		defer stop()
		out.exit = session.Close(end)
		out.info = known(r.Agent.told(session.Info()), gate)
		out.read, out.offered = grant.Toolset.Read(), grant.Offered()
	}()
	out.info = r.Agent.told(session.Info())
	if p.onStart != nil {
		if err := p.onStart(out.info); err != nil {
			return out, err
		}
	}
	for i, input := range p.inputs {
		line.begin(i, p.sessionID+"."+strconv.Itoa(i))
		gate.Begin(i, p.sessionID+"."+strconv.Itoa(i))
		turn, perr := session.Prompt(ctx, i, input)
		turn, calls, diverged := line.end(ctx, turn)
		turn = withCalls(told.end(ctx, turn, log), gate.Spans())
		if diverged != nil {
			perr = diverged
		}
		if lost := gate.Lost(); perr == nil && lost != nil {
			perr = &driver.Error{Kind: driver.ServerLost, Op: "turn " + strconv.Itoa(i), Err: lost}
		}
		out.info = known(r.Agent.told(session.Info()), gate)
		if perr != nil {
			// Our reason, not the agent's: one that we told to stop says "cancelled".
			turn.StopReason = infrastructure(ctx, perr)
		}
		// A turn that began and broke before a word is a turn too: it says why. One that was
		// never begun is none.
		begun := perr == nil || len(turn.Spans) > 0
		switch driver.KindOf(perr) {
		case driver.AgentExited, driver.Timeout, driver.IdleTimeout, driver.LineTooLong, driver.OutputLimit, driver.Protocol, driver.Refused:
			begun = true
		}
		if begun {
			if err := p.onTurn(turn); err != nil {
				return out, err
			}
		}
		if p.onCalls != nil && len(calls) > 0 {
			if err := p.onCalls(i, calls); err != nil {
				return out, err
			}
		}
		if perr != nil {
			return out, fmt.Errorf("run %s: %w", p.runID, perr)
		}
	}
	return out, nil
}

// redactor masks what a run says.
func (r *Runner) redactor() *guard.Redactor {
	if r.Redactor == nil {
		return guard.DefaultRedactor()
	}
	return r.Redactor
}

// answers is the tape of what an agent may ask its client for.
func (r *Runner) answers(ctx context.Context, p plan) (*driver.Tape, error) {
	if r.Recording == nil || r.Agent.Driver == "exec" || r.Agent.Effects == string(driver.EffectsLive) {
		return nil, nil
	}
	turns, err := r.Recording(ctx, p.recorded, p.caseID)
	if err != nil {
		return nil, fmt.Errorf("read the recorded answers for run %s: %w", p.runID, err)
	}
	var mask func(string) (string, int)
	if r.Redactor != nil {
		mask = r.Redactor.Payload
	}
	return driver.NewTape(turns, mask), nil
}

// processes are those that a run has started.
type processes struct {
	told func(rec process.Record, gone bool)
	mu   sync.Mutex
	list []process.Record
}

func (p *processes) add(rec process.Record) {
	p.mu.Lock()
	p.list = append(p.list, rec)
	p.mu.Unlock()
	p.told(rec, false)
}

// over says that all of them are gone, as they are when the session is closed.
func (p *processes) over() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, rec := range p.list {
		p.told(rec, true)
	}
}

// start starts an agent by its driver.
func (a Agent) start(ctx context.Context, cfg driver.Config) (driver.Session, error) {
	if a.Driver == "exec" {
		return exec.Start(ctx, cfg)
	}
	return acp.Start(ctx, cfg)
}

// source is what sessions of the agent say that they came through.
func (a Agent) source() string {
	if a.Driver == "exec" {
		return "exec"
	}
	return "acp"
}

func (r *Runner) preamble() string {
	if r.Agent.Preamble == "prompt" {
		return tools.Preamble
	}
	return ""
}

// infrastructure names why a failed run says nothing about the agent, "" when
// the failure is the agent's own.
func infrastructure(ctx context.Context, err error) string {
	if err == nil {
		return ""
	}
	if errors.Is(err, context.Canceled) {
		return "cancelled"
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return "timeout"
	}
	var de *driver.Error
	if errors.As(err, &de) {
		return string(de.Kind)
	}
	if ctx.Err() != nil {
		return "cancelled"
	}
	return "error"
}
