package acp

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	sdk "github.com/coder/acp-go-sdk"

	"vise/engine/guard"
	"vise/engine/process"
	"vise/replay/driver"
)

// command is what an agent wants to be run.
type command struct {
	program string
	args    []string
	cwd     string
	env     []sdk.EnvVariable
	bytes   *int
}

// commandInput is a command in the trace.
type commandInput struct {
	Command string   `json:"command"`
	Args    []string `json:"args,omitempty"`
	Cwd     string   `json:"cwd,omitempty"` // in the workspace; "" = its top
}

// shellSigns are what a program without arguments is given to a shell for, as the
// editors that speak the protocol do.
const shellSigns = " \t\n;&|<>$`\"'*?(){}[]~#!\\"

// argv is the command as a list; words is the same without a shell, nil where only a
// shell could read it.
func (c command) argv() (argv, words []string) {
	if len(c.args) > 0 || !strings.ContainsAny(c.program, shellSigns) {
		argv = append([]string{c.program}, c.args...)
		return argv, argv
	}
	if !strings.ContainsAny(strings.ReplaceAll(c.program, " ", ""), shellSigns) {
		words = strings.Fields(c.program)
	}
	return []string{"sh", "-c", c.program}, words
}

// create answers terminal/create.
func (r *room) create(c command, reply answer) {
	in := commandInput{Command: c.program, Args: c.args}
	dir, err := r.s.cfg.Dir, error(nil)
	if c.cwd != "" {
		rel, rerr := r.files.rel(c.cwd)
		if err = rerr; err == nil && rel != "." {
			in.Cwd, dir = rel, filepath.Join(r.files.real, rel)
		}
	}
	span := r.s.requested(driver.SpanCommand, encode(in))
	t, terr := r.newTerminal(span, c.bytes)
	switch {
	case err != nil:
	case span.rec == nil:
		err = errTurnOver
	case c.program == "":
		err = errors.New("no command is given")
	case r.s.cfg.Permissions == driver.Deny:
		err = errors.New("commands are refused (agent.permissions = \"deny\")")
	default:
		err = terr
	}
	if err != nil {
		r.refuse(t, span, err, reply)
		return
	}
	if r.s.cfg.Effects != driver.EffectsLive {
		if got, ok := r.s.cfg.Tape.Take(driver.SpanCommand, encode(in)); ok {
			r.play(t, got, reply)
			return
		}
	}
	if r.s.cfg.Effects == driver.EffectsRecorded {
		r.refuse(t, span, errors.New("this command is not recorded here, and nothing else is run (agent.effects = \"recorded\")"), reply)
		return
	}
	r.work.Go(func() { r.run(t, c, dir, reply) })
}

// newTerminal takes a place for a command; the terminal is never nil.
func (r *room) newTerminal(span requested, bytes *int) (*terminal, error) {
	limit := defaultTermLimit
	if bytes != nil {
		limit = min(max(*bytes, 0), maxTermLimit)
	}
	t := &terminal{span: span.b, rec: span.rec, limit: limit, done: make(chan struct{})}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.made++
	t.id = fmt.Sprintf("term-%d", r.made)
	t.ctx, t.stop = context.WithCancelCause(r.ctx)
	if len(r.terms) >= maxTerminals { // who releases none may lose those that have ended
		maps.DeleteFunc(r.terms, func(_ string, old *terminal) bool { return old.state() != nil })
	}
	if len(r.terms) >= maxTerminals {
		return t, fmt.Errorf("%d terminals are open already; release some", maxTerminals)
	}
	if r.inTurn++; r.inTurn > maxCommands {
		return t, fmt.Errorf("more than %d commands in one turn", maxCommands)
	}
	r.terms[t.id] = t
	return t, nil
}

func (r *room) refuse(t *terminal, span requested, err error, reply answer) {
	r.mu.Lock()
	delete(r.terms, t.id)
	r.mu.Unlock()
	t.stop(nil)
	r.count(driver.ByNobody)
	r.s.replied(span, driver.ByNobody, "", err)
	reply(nil, refused(err))
}

// play gives the recorded end of a command as its own.
func (r *room) play(t *terminal, got driver.Reply, reply answer) {
	t.write([]byte(got.Output))
	t.mu.Lock()
	t.ended = true
	if t.status.ExitCode = got.Code; got.Signal != "" {
		t.status.Signal = &got.Signal
	}
	t.mu.Unlock()
	close(t.done)
	t.stop(nil)
	r.count(driver.ByRecording)
	r.s.terminalSpan(t, driver.ByRecording)
	reply(sdk.CreateTerminalResponse{TerminalId: t.id}, nil)
}

// run runs a command to its end; the request is answered once it has started.
func (r *room) run(t *terminal, c command, dir string, reply answer) {
	defer close(t.done)
	defer t.stop(nil)
	ctx := t.ctx
	argv, words := c.argv()
	spec := process.Spec{Name: argv[0], Command: argv, Dir: dir, Env: r.environ(c.env), Grace: r.s.cfg.CancelGrace}
	started := false
	spec.OnStart = func(rec process.Record) {
		started = true
		r.s.cfg.OnProcess(rec)
		r.count(driver.ByCommand)
		r.s.terminalSpan(t, driver.ByCommand)
		reply(sdk.CreateTerminalResponse{TerminalId: t.id}, nil)
	}
	policy := guard.ReadingPolicy(dir)
	reading := words != nil && policy.Check(words) == nil
	if reading {
		spec.Command = words
	}
	if r.s.cfg.Effects == driver.EffectsLive {
		spec.Sandbox = r.s.cfg.Sandbox
	} else {
		spec.Sandbox = r.box(true)
	}
	if !reading {
		r.s.cfg.Tape.Strayed() // it may change what the recording says about later ones
	}
	bounds := process.Bounds{Time: r.s.cfg.TurnTimeout, Output: 4096}
	live := func(b []byte) {
		t.write(b)
		r.s.beat(func(*driver.Info) {})
	}
	ran, err := process.Run(ctx, spec, bounds, live)
	if !started && errors.Is(err, process.ErrNotHeld) && r.s.cfg.Effects != driver.EffectsLive {
		if !reading {
			err = fmt.Errorf("this command is not recorded here, it does more than read, and no sandbox can hold it (%w); agent.effects = \"live\" runs it", err)
		} else {
			spec.Sandbox = r.box(false)
			ran, err = process.Run(ctx, spec, bounds, live)
		}
	}
	if !started {
		if err == nil {
			err = errors.New("it could not be started")
		}
		t.end(ran, err)
		r.refuse(t, requested{t.span, t.rec}, err, reply)
		return
	}
	t.end(ran, err)
	if cause := context.Cause(ctx); err != nil && cause != nil {
		t.mu.Lock()
		t.note = cause.Error()
		t.mu.Unlock()
	}
	r.s.terminalSpan(t, driver.ByCommand)
}

// box confines a command of the agent: where the agent may write, but for a project
// that is not the run's own, and without a network. required refuses what cannot be
// held, else what can be is.
func (r *room) box(required bool) *process.Sandbox {
	box := process.Sandbox{Write: []string{r.s.cfg.Dir}, Hide: r.s.cfg.Hide, Home: variable(r.s.cfg.Env, "HOME")}
	if r.s.cfg.Sandbox != nil {
		box = *r.s.cfg.Sandbox
	}
	box.Required, box.Network = required, process.Network{Open: !required}
	if r.s.cfg.Shared {
		box.Write = slices.DeleteFunc(slices.Clone(box.Write), func(p string) bool { return p == r.s.cfg.Dir })
	}
	return &box
}

// environ is the environment of a command: the agent's, with what it adds, without
// credentials and what would load foreign code.
func (r *room) environ(more []sdk.EnvVariable) []string {
	env := map[string]string{}
	for _, kv := range r.s.cfg.Env {
		if name, value, ok := strings.Cut(kv, "="); ok {
			env[name] = value
		}
	}
	for _, v := range more {
		if v.Name != "" && !strings.ContainsAny(v.Name, "=\x00") && !strings.Contains(v.Value, "\x00") {
			env[v.Name] = v.Value
		}
	}
	env = guard.ScrubEnv(env, "", nil)
	out := make([]string, 0, len(env))
	for name, value := range env {
		out = append(out, name+"="+value)
	}
	slices.Sort(out)
	return out
}

// variable is the value of a name in an environment; the last one wins.
func variable(environ []string, name string) (value string) {
	for _, kv := range environ {
		if n, v, ok := strings.Cut(kv, "="); ok && n == name {
			value = v
		}
	}
	return value
}

// terminal answers what is asked of one that was made.
func (r *room) terminal(method, id string, reply answer) {
	r.mu.Lock()
	t := r.terms[id]
	if method == sdk.ClientMethodTerminalRelease {
		delete(r.terms, id)
	}
	r.mu.Unlock()
	if t == nil {
		reply(nil, &sdk.RequestError{Code: codeNotFound, Message: "there is no terminal " + oneLine(id, 100)})
		return
	}
	switch method {
	case sdk.ClientMethodTerminalOutput:
		text, cut := t.output()
		reply(sdk.TerminalOutputResponse{Output: text, Truncated: cut, ExitStatus: t.state()}, nil)
	case sdk.ClientMethodTerminalKill:
		t.stop(errKilled)
		reply(sdk.KillTerminalResponse{}, nil)
	case sdk.ClientMethodTerminalRelease:
		t.stop(errReleased)
		reply(sdk.ReleaseTerminalResponse{}, nil)
	case sdk.ClientMethodTerminalWaitForExit:
		r.work.Go(func() {
			select {
			case <-t.done:
			case <-r.ctx.Done():
				select {
				case <-t.done:
				case <-time.After(r.s.cfg.CancelGrace + politeWait):
				}
			}
			status := sdk.WaitForTerminalExitResponse{}
			if st := t.state(); st != nil {
				status.ExitCode, status.Signal = st.ExitCode, st.Signal
			}
			reply(status, nil)
		})
	}
}
