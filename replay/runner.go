package replay

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"strconv"
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
	Sandbox       string   // auto | off | required
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

// plan is one agent session to be driven.
type plan struct {
	runID     string
	sessionID string
	inputs    []string
	seed      string
	view      tools.Options
	rules     rule.Source // nil: the project's
	caseID    string
	ttl       time.Duration
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
		return out, errors.New("no agent is configured; set agent.command in vise.toml, e.g. [\"my-agent\", \"acp\"]")
	}
	dir, cleanup, err := driver.PrepareWorkspace(driver.WorkspaceMode(r.Agent.Workspace), r.Agent.WorkspaceFrom, filepath.Join(r.Scratch, p.runID))
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

	var rec process.Record
	session, err := r.Agent.start(ctx, driver.Config{
		Command: r.Agent.Command,
		Input:   driver.InputMode(r.Agent.Input),
		Aside:   around.env["TMPDIR"],
		Dir:     dir,
		Env:     driver.Environ(r.Agent.Env, env, base),
		Sandbox: around.box,
		MCP: []driver.MCPServer{{
			Name: "vise", URL: r.Rules.URL(), Token: grant.Token,
			Command: []string{r.Self, "mcp", "--url", r.Rules.URL(), "--token-env", "VISE_MCP_TOKEN"},
			Env:     []string{"VISE_MCP_TOKEN=" + grant.Token},
		}},
		Preamble:    r.preamble(),
		Permissions: driver.Policy(r.Agent.Permissions),
		TurnTimeout: r.Agent.TurnTimeout, IdleTimeout: r.Agent.IdleTimeout, StartTimeout: r.Agent.StartTimeout,
		EnvWait: p.envWait, OnExecution: p.onExecution,
		Log:    log,
		OnSpan: p.onSpan,
		OnProcess: func(pr process.Record) {
			rec = pr
			if r.OnProcess != nil {
				r.OnProcess(p.runID, pr, false)
			}
		},
		Now:       r.Now,
		SessionID: p.sessionID,
	})
	if r.OnProcess != nil {
		defer func() {
			if rec.PID != 0 {
				r.OnProcess(p.runID, rec, true)
			}
		}()
	}
	if err != nil {
		return out, fmt.Errorf("start agent for run %s: %w", p.runID, around.hint(err))
	}
	defer func() {
		// The end of a run must not depend on the context that may have ended it.
		end, stop := context.WithTimeout(context.WithoutCancel(ctx), 15*time.Second)
		defer stop()
		out.exit = session.Close(end)
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
		turn, perr := session.Prompt(ctx, i, input)
		turn, calls, diverged := line.end(ctx, turn)
		turn = told.end(ctx, turn, log)
		if diverged != nil {
			perr = diverged
		}
		out.info = r.Agent.told(session.Info())
		if perr != nil {
			// Our reason, not the agent's: one that we told to stop says "cancelled".
			turn.StopReason = infrastructure(ctx, perr)
		}
		if perr == nil || len(turn.Spans) > 0 {
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

// openLog opens the run's log; what the agent writes there is bounded by the driver.
func (r *Runner) openLog(runID string) (io.WriteCloser, error) {
	if r.Logs == "" {
		return discard{io.Discard}, nil
	}
	if err := os.MkdirAll(r.Logs, 0o700); err != nil {
		return nil, fmt.Errorf("make log folder: %w", err)
	}
	f, err := os.OpenFile(filepath.Join(r.Logs, runID+".log"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open log of run %s: %w", runID, err)
	}
	return f, nil
}

type discard struct{ io.Writer }

func (discard) Close() error { return nil }

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
