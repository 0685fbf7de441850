package patch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"vise/engine/event"
	"vise/engine/guard"
	"vise/engine/patch/drive"
	"vise/engine/patch/policy"
	"vise/engine/patch/risk"
	"vise/engine/patch/run"
	"vise/engine/patch/tree"
	"vise/engine/process"
	"vise/engine/trace"
)

// Request starts a first run.
type Request struct {
	Task string
	Argv []string
	// PolicyFile is a policy other than the project's; it must exist.
	PolicyFile string
}

// Bounds of what is kept of an agent's output, in bytes.
const (
	maxStdout = 256 << 10 // the end of its standard output, for its answer
	maxLog    = 8 << 20   // of each stream, in the run's folder
	maxAnswer = 16 << 10
	agentStop = 500 * time.Millisecond // between the polite signal and the kill
)

// Start takes the base, runs the agent in a workspace made from it and captures
// the patch. An agent that fails, is denied or runs out of time is no error: see
// the run's status. The proof is another step (Prove).
func (b *Bench) Start(ctx context.Context, q Request) (run.Run, error) {
	fail := func(err error) (run.Run, error) { return run.Run{}, fmt.Errorf("patch run: %w", err) }
	file, named := b.o.PolicyFile, false
	if q.PolicyFile != "" {
		file, named = q.PolicyFile, true
	}
	p, digest, name, err := b.policy(file, named)
	if err != nil {
		return fail(err)
	}
	free, err := b.alone(ctx) // a patch that is half written is no base
	if err != nil {
		return fail(err)
	}
	base, err := tree.Take(ctx, b.o.Root, b.bases(), b.outside())
	if err != nil {
		free()
		return fail(err)
	}
	defer b.use(base.Digest)()
	free()
	left, err := tree.LeftOut(ctx, b.o.Root, b.outside())
	if err != nil {
		return fail(err)
	}
	r := run.Run{ID: b.newID(), Task: b.mask(q.Task, maxPacketTask), Command: b.shown(q.Argv), Created: b.now(), Status: run.Running,
		BaseDigest: base.Digest, BaseFiles: len(base.Files), LeftOut: left, NotTaken: notTaken(base.Skipped), PolicyDigest: digest, PolicyFile: name, Policy: p, Decision: p.Command(q.Argv)}
	ctx, end := b.stoppable(ctx, r.ID)
	defer end()
	limited, stop := context.WithTimeoutCause(ctx, b.o.MaxRuntime, errBudget)
	defer stop()
	purse, err := b.o.Reserve(trace.Usage{})
	if err != nil {
		return fail(err)
	}
	return b.execute(limited, r, work{base: base, command: drive.Command{Argv: q.Argv}, profile: risk.Default, purse: purse})
}

// shown masks an argument list for everything but the start of the program.
func (b *Bench) shown(argv []string) []string {
	out := drive.Redact(argv)
	for i := range out {
		out[i] = b.mask(out[i], 2000)
	}
	return out
}

func (b *Bench) mask(s string, n int) string {
	s, _ = b.o.Redactor.Text(s)
	return clip(guard.Sanitize(s, 0), n)
}

// packetCopy is where the agent of a run finds its failure packet.
func (b *Bench) packetCopy(id string) string {
	return filepath.Join(b.home(id), "work", "tmp", "failure-packet.json")
}

// work is what one agent is started for.
type work struct {
	base    *tree.Tree
	from    *run.Run // whose patch lies in the workspace; nil = the bare base
	command drive.Command
	profile risk.Profile
	packet  []byte // what a repair is about
	cap     run.Cap
	purse   Reserved
}

// execute runs the agent of r in a workspace and stores what came of it.
func (b *Bench) execute(ctx context.Context, r run.Run, w work) (run.Run, error) {
	defer func() { w.purse.Settle(r.Usage) }()
	base, c := w.base, w.command
	fail := func(err error) (run.Run, error) { return r, fmt.Errorf("patch run %s: %w", r.ID, err) }
	free, err := b.claim(r.ID)
	if err != nil {
		return r, err
	}
	defer free()
	stored := context.WithoutCancel(ctx)             // what happened is stored whatever ended it
	if err := removeTree(b.home(r.ID)); err != nil { // of a run that was cut off
		return fail(err)
	}
	if err := writeJSON(filepath.Join(b.home(r.ID), "command.json"), c.Argv); err != nil {
		return fail(err)
	}
	data := map[string]any{"program": filepath.Base(first(r.Command)), "base_files": r.BaseFiles, "decision": string(r.Decision.Action)}
	if r.RepairOf != "" {
		data["repair_of"], data["attempt"], data["adapter"] = r.RepairOf, r.Attempt, c.Adapter
	}
	if err := b.put(ctx, r, event.Event{Type: event.PatchStarted, Data: data}); err != nil {
		return fail(err)
	}
	dir := filepath.Join(b.home(r.ID), "work")
	defer removeTree(dir)
	captured, err := b.inWorkspace(ctx, &r, w, dir)
	if err != nil { // also of an agent that did well: what it made is not known
		if r.Status == run.Running && stopped(ctx) {
			r.Status = run.Cancelled
		}
		if r.Error = b.mask(err.Error(), 500); r.Status != run.Cancelled {
			r.Status = run.Error
		}
	}
	if captured == nil {
		captured = &tree.Captured{}
	}
	if err := b.weigh(&r, base, captured, w.profile); err != nil {
		return fail(err)
	}
	if r.Status == run.Blocked {
		r.Causes = append(r.Causes[:0:0], risk.Cause{Code: "command_action", Action: string(r.Decision.Action), Detail: r.Decision.Subject})
	}
	r.Ended = b.now()
	data = map[string]any{"status": string(r.Status), "exit": r.Exit, "files": len(r.Patch.Entries), "outcome": string(r.Outcome), "blast": r.Blast.Score, "future": r.Future.Level, "sandbox": r.Sandbox}
	if u := r.Usage; u != nil {
		data["input_tokens"], data["output_tokens"] = u.Input, u.Output
		if u.CostUSD != nil {
			data["usd"] = *u.CostUSD
		}
	}
	if err := b.put(stored, r, event.Event{Type: event.PatchDriven, Data: data}); err != nil {
		return fail(err)
	}
	if r.Status == run.Cancelled {
		return r, context.Cause(ctx)
	}
	return r, nil
}

func (b *Bench) inWorkspace(ctx context.Context, r *run.Run, w work, dir string) (*tree.Captured, error) {
	base, from := w.base, w.from
	if r.Decision.Action == policy.Deny {
		r.Status = run.Blocked
		return nil, nil
	}
	ws, tmp := filepath.Join(dir, "project"), filepath.Join(dir, "tmp")
	if err := base.Materialise(ctx, ws); err != nil {
		return nil, err
	}
	if base.Git {
		if err := tree.Repository(ctx, b.o.Root, ws); err != nil {
			b.o.Log.Warn("the workspace has no git repository", "run", r.ID, "err", err)
		}
	}
	if from != nil && from.Patch != nil {
		if err := tree.Apply(ws, from.Patch.Entries, tree.Objects(b.objects(from.ID))); err != nil {
			return nil, err
		}
	}
	if err := os.MkdirAll(tmp, 0o700); err != nil {
		return nil, err
	}
	var extra []string
	if w.packet != nil { // a copy: our own folder is hidden from the agent
		if err := tree.WriteFile(b.packetCopy(r.ID), w.packet); err != nil {
			return nil, err
		}
		extra = []string{"VISE_PACKET=" + b.packetCopy(r.ID), "VISE_RUN_ID=" + r.ID}
	}
	b.runAgent(ctx, r, w, ws, tmp, extra)
	// Whatever it left is captured, also when it was ended.
	looked, stop := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
	defer stop()
	return tree.Capture(looked, base, ws, b.objects(r.ID))
}

// runAgent starts the program and waits for its end, at most until ctx or the
// policy's limit, or until it has used more than it may. It sets status, exit,
// answer, session and use of the run.
func (b *Bench) runAgent(ctx context.Context, r *run.Run, w work, ws, tmp string, extra []string) {
	c := w.command
	if d := r.Policy.Limits.DurationSeconds; d != nil {
		var stop context.CancelFunc
		ctx, stop = context.WithTimeout(ctx, time.Duration(*d)*time.Second)
		defer stop()
	}
	argv := inside(c.Argv, b.o.Root, b.o.Dir, ws)
	cache := filepath.Join(b.o.Dir, "patch", "cache", "agent")
	spec := process.Spec{Command: argv, Dir: ws, Stdin: strings.NewReader(string(c.Stdin)), Grace: agentStop,
		Env: append(environ(b.o.AgentEnv, tmp, cache), append(extra, "PWD="+ws)...)}
	var err error
	if spec.Sandbox, err = b.sandbox(ws, tmp, cache, b.agentState(), r.Policy.Network.Mode != "off", true); err != nil {
		r.Status, r.Error = run.Error, err.Error()
		return
	}
	if spec.Sandbox != nil && spec.Sandbox.Network.Open && len(b.o.Hosts) > 0 {
		spec.Sandbox.Network = process.Network{Hosts: b.o.Hosts}
	}
	ctx, costly := context.WithCancelCause(ctx)
	defer costly(nil)
	b.pruneLogs()
	log, err := newCapture(filepath.Join(b.home(r.ID), "agent.log"), b.o.Redactor, func(p []byte) { b.progress(r.ID, "agent", p) })
	if err != nil {
		r.Status, r.Error = run.Error, err.Error()
		return
	}
	defer log.close()
	log.used = func(u trace.Usage) {
		if w.cap.Over(u) != "" || w.purse.Over(u) {
			costly(errCost)
		}
	}
	spec.Stdout, spec.Stderr, spec.MaxLog = log.stream(maxStdout), log.stream(0), maxLog
	begun := b.now()
	p, err := process.Start(ctx, spec)
	if err != nil {
		r.Status, r.Error = run.Error, b.mask(err.Error(), 500)
		if errors.Is(err, fs.ErrNotExist) && strings.Contains(argv[0], "/") && !filepath.IsAbs(argv[0]) {
			r.Error += "; it is looked for in the workspace, a copy of the project's top folder: name it from there, as in ./scripts/agent.sh, or in whole"
		}
		switch {
		case stopped(ctx):
			r.Status = run.Cancelled
		case ctx.Err() != nil:
			r.Status = run.TimedOut
		}
		return
	}
	rec := p.Record() // what is stored of it tells no secrets
	rec.Command = strings.Join(b.shown(argv), " ")
	b.o.OnProcess(r.ID, rec, false)
	<-p.Done()
	exit := p.Stop()
	b.o.OnProcess(r.ID, rec, true)
	log.flush()
	r.Sandbox, r.Exit, r.Status = held(p.Held(), spec.Sandbox), exit.String(), run.Passed
	switch {
	case errors.Is(context.Cause(ctx), errCost) && !exit.OK():
		r.Status, r.Error = run.Costly, errCost.Error()
	case stopped(ctx):
		r.Status = run.Cancelled
	case ctx.Err() != nil && !exit.OK():
		r.Status, r.Error = run.TimedOut, fmt.Sprintf("it was ended after %s: %s", b.now().Sub(begun).Round(100*time.Millisecond), whyEnded(ctx))
	case !exit.OK():
		r.Status = run.Failed
	}
	answer := drive.Read(log.kept())
	r.Usage = log.meter.End(log.kept())
	r.Answer, r.SessionID = b.mask(answer.Text, maxAnswer), guard.Line(answer.SessionID, 200)
	if answer.NeedsScope != "" {
		r.NeedsScope = b.mask(guard.Line(answer.NeedsScope, 500), 500)
	}
}

// stopped reports that a person, or the end of the program, ended a context, and no
// bound: whatever cause they gave.
func stopped(ctx context.Context) bool {
	return errors.Is(ctx.Err(), context.Canceled) && !errors.Is(context.Cause(ctx), errCost) && !late(ctx)
}

// whyEnded is which bound on its time ended an agent.
func whyEnded(ctx context.Context) string {
	if late(ctx) {
		return errBudget.Error()
	}
	return "the policy lets it run no longer (limits.duration_seconds)"
}

// argv reads the argument list of a run as it really was.
func (b *Bench) argv(id string) ([]string, error) {
	raw, err := os.ReadFile(filepath.Join(b.home(id), "command.json"))
	if err != nil {
		return nil, fmt.Errorf("read the command of run %s: %w; give it with --agent", id, err)
	}
	var argv []string
	if err := json.Unmarshal(raw, &argv); err != nil {
		return nil, fmt.Errorf("read the command of run %s: %w", id, err)
	}
	return argv, nil
}
