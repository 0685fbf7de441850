// Package driver is what every way of running an agent has in common: how it
// is configured, how a turn is asked for, how a failure is told. The drivers
// themselves are subpackages; acp speaks the Agent Client Protocol.
package driver

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"vise/engine/guard"
	"vise/engine/process"
	"vise/engine/trace"
)

// Defaults of Config, as the manual of the configuration gives them.
const (
	DefaultTurnTimeout  = 5 * time.Minute
	DefaultIdleTimeout  = 60 * time.Second
	DefaultStartTimeout = 30 * time.Second
	DefaultCancelGrace  = 2 * time.Second
	DefaultMaxLine      = 32 << 20 // bytes of one message
	DefaultMaxTurn      = 64 << 20 // bytes of text kept of one turn
	DefaultMaxSaid      = 16 << 20 // bytes of text the agent itself says in one turn: some four million tokens, more than any model answers
	DefaultMaxSpans     = 50_000   // spans kept of one turn
)

// Config says how to run one agent for one session.
type Config struct {
	// Command is the agent's argument list; Dir its working directory (made
	// absolute); Env its whole environment.
	Command []string
	Dir     string
	Env     []string
	// Sandbox confines the agent; nil does not.
	Sandbox *process.Sandbox
	// Input is how a command that knows no protocol gets the user's input; the zero
	// value is InputStdin.
	Input InputMode
	// Aside is a folder of the run outside the workspace that the agent may write
	// to; empty means the system's temporary folder.
	Aside string
	// MCP are the servers the agent is told of.
	MCP []MCPServer
	// Preamble goes in front of the session's first prompt and nowhere else;
	// it is no part of the recorded input.
	Preamble string
	// Permissions answers what the agent asks leave for; the zero value is Workspace.
	Permissions Policy
	// Effects answers what the agent asks us to do for it; the zero value is
	// EffectsConfined. Tape holds the recorded answers; nil holds none.
	Effects Effects
	Tape    *Tape
	// Shared says that Dir is the project itself and no folder of the run's own: it is
	// changed for the agent under EffectsLive only.
	Shared bool
	// Hide are folders that are neither read nor written for the agent, such as the store.
	Hide []string
	// Mode is the mode of the agent's session, "" its own choice; Options are options
	// of the session by their ids, such as its model.
	Mode    string
	Options map[string]string
	// Load is the agent's own id of a session that goes on instead of a new one.
	Load string
	// TurnTimeout bounds a turn, IdleTimeout the silence within one,
	// StartTimeout everything up to the open session, CancelGrace what a
	// cancelled agent gets before its group is ended.
	TurnTimeout  time.Duration
	IdleTimeout  time.Duration
	StartTimeout time.Duration
	CancelGrace  time.Duration
	// EnvWait is what the agent's environment may take to come up: until the agent
	// says that execution began, the times for start, turn and silence are at least
	// that long, and the turn's counts from then. 0 gives no such time.
	EnvWait time.Duration
	// OnExecution is called once, when execution began: the agent said so (see the
	// drivers) or, if it never says such things, did something in a turn. It is
	// called from the goroutine that reads the agent and must not wait.
	OnExecution func()
	// Log receives the agent's standard error and stray lines of its standard output.
	Log io.Writer
	// OnSpan is called for every change of a span, in order, from one
	// goroutine, once per message of the agent: a slow OnSpan slows the agent
	// down, and nothing is lost. The same ID means the same span.
	OnSpan func(turn int, s trace.Span)
	// OnProcess is told of every started process, those of commands run for the agent
	// included, before anything is sent to it. It may be called from several goroutines.
	OnProcess func(process.Record)
	// OnIdle is told once per silence that the agent has said nothing for half of
	// IdleTimeout within a turn. It must not wait.
	OnIdle func(turn int, silent time.Duration)
	// Meta is handed to the agent with the new session, under "_meta".
	Meta map[string]any
	// Now is the clock of the spans; nil means time.Now.
	Now func() time.Time
	// MaxLine bounds one message of the agent, MaxTurn the text and MaxSpans
	// the spans kept of one turn.
	MaxLine  int
	MaxTurn  int
	MaxSaid  int // bytes of text that the agent itself says in a turn; more ends it as OutputLimit
	MaxSpans int
	// SessionID is our id of the session; the trace of turn i is SessionID.i.
	SessionID string
}

// InputMode is how a command that knows no protocol gets the user's input.
type InputMode string

// The three modes.
const (
	InputStdin    InputMode = "stdin"    // on standard input
	InputArgument InputMode = "argument" // as the last argument, or where {input} stands
	InputJSON     InputMode = "json"     // as an object on standard input, with the history
)

// WithDefaults fills in what is not set.
func (c Config) WithDefaults() Config {
	set := func(d *time.Duration, v time.Duration) {
		if *d <= 0 {
			*d = v
		}
	}
	set(&c.TurnTimeout, DefaultTurnTimeout)
	set(&c.IdleTimeout, DefaultIdleTimeout)
	set(&c.StartTimeout, DefaultStartTimeout)
	set(&c.CancelGrace, DefaultCancelGrace)
	if c.Permissions == "" {
		c.Permissions = Workspace
	}
	if c.Effects == "" {
		c.Effects = EffectsConfined
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Log == nil {
		c.Log = io.Discard
	}
	if c.OnExecution == nil {
		c.OnExecution = func() {}
	}
	if c.OnProcess == nil {
		c.OnProcess = func(process.Record) {}
	}
	if c.OnIdle == nil {
		c.OnIdle = func(int, time.Duration) {}
	}
	if c.OnSpan == nil {
		c.OnSpan = func(int, trace.Span) {}
	}
	for _, n := range []struct {
		p *int
		v int
	}{{&c.MaxLine, DefaultMaxLine}, {&c.MaxTurn, DefaultMaxTurn}, {&c.MaxSaid, DefaultMaxSaid}, {&c.MaxSpans, DefaultMaxSpans}} {
		if *n.p <= 0 {
			*n.p = n.v
		}
	}
	return c
}

// MCPServer is a tool server the agent is told of. Agents that speak MCP over
// HTTP get URL and Token; the others get Command, a bridge on standard input
// and output, with Env ("NAME=value") added to its environment.
type MCPServer struct {
	Name    string
	URL     string
	Token   string
	Command []string
	Env     []string
}

// Info describes the agent and counts what it said beyond its answers.
type Info struct {
	Agent    string `json:"agent,omitempty"`
	Version  string `json:"version,omitempty"`
	Protocol int    `json:"protocol"`
	// AgentSession is the agent's own id of the session.
	AgentSession string `json:"agent_session,omitempty"`
	// Capabilities as the agent announced them (JSON, bounded).
	Capabilities string `json:"capabilities,omitempty"`
	PID          int    `json:"pid"`
	// Held says what of Config.Sandbox holds.
	Held process.Held `json:"sandbox"`
	// Updates are all session updates; of these Late came after the end of
	// their turn and were kept out of the next one, Unknown are of a kind we do
	// not know. Stray are lines on standard output that are no messages.
	Updates     int `json:"updates"`
	Late        int `json:"late,omitempty"`
	Unknown     int `json:"unknown,omitempty"`
	Stray       int `json:"stray,omitempty"`
	Permissions int `json:"permissions,omitempty"`
	// Mode is the session's mode as the agent last told it.
	Mode string `json:"mode,omitempty"`
	// Loads says that the agent can go on with a session of an earlier process;
	// Revived counts how often it was started anew between turns and did.
	Loads   bool `json:"loads,omitempty"`
	Revived int  `json:"revived,omitempty"`
	// Answered counts what the agent asked of its client by who answered.
	Answered Answered `json:"answered,omitempty"`
}

// Name is the agent's name and version in one word, for trace.Session.Agent.
func (i Info) Name() string {
	return strings.TrimSpace(i.Agent + " " + i.Version)
}

// Exit says how the agent's process ended.
type Exit = process.Exit

// Session is one conversation with a running agent. Prompt and Close are for
// one goroutine; Info may be called from any.
type Session interface {
	Info() Info
	// Prompt sends one user input and returns the turn. With an error the turn
	// holds what had come until then; errors are of type *Error.
	Prompt(ctx context.Context, index int, input string) (trace.Turn, error)
	// Close ends the agent, politely first. It always ends, also when the agent does not answer.
	Close(ctx context.Context) Exit
}

// Kind is the class of an Error.
type Kind string

// What can go wrong with an agent.
const (
	StartFailed Kind = "start_failed"  // the program could not be started
	AgentExited Kind = "agent_exited"  // it ended, or closed its output, before it had answered
	Timeout     Kind = "timeout"       // no answer within the time for a turn or the start
	IdleTimeout Kind = "idle_timeout"  // nothing heard for too long within a turn
	LineTooLong Kind = "line_too_long" // a message larger than we read
	OutputLimit Kind = "output_limit"  // it said more in a turn than we take
	Protocol    Kind = "protocol"      // an answer that cannot be understood or used
	Refused     Kind = "refused"       // the agent answered with an error
	OverBudget  Kind = "budget"        // its model calls would cost more than budget.* allows
	Divergence  Kind = "divergence"    // it asked its model what the recording does not hold
	ServerLost  Kind = "tool_server"   // a tool server of its was gone when it called it: nothing of the agent's
	Cancelled   Kind = "cancelled"     // the caller's context ended
)

// Error is a failure of an agent, with what is known about its process.
type Error struct {
	Kind Kind
	Op   string // what we were doing, as "prompt turn 3"
	Err  error
	// Exit is how the process ended, if it did; Stderr the end of what it wrote there.
	Exit   string
	Stderr string
}

// Error is one line: the operation, the cause, the exit and what to look at.
func (e *Error) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s", e.Op, e.Kind)
	if e.Err != nil {
		fmt.Fprintf(&b, ": %v", e.Err)
	}
	if e.Exit != "" {
		fmt.Fprintf(&b, " (agent: %s)", e.Exit)
	}
	// It goes to logs, panes and standard error: what the agent wrote may be a credential.
	masked, _ := guard.DefaultRedactor().Text(e.Stderr)
	if line := lastLine(masked); line != "" {
		fmt.Fprintf(&b, "; it last wrote: %s", line)
	}
	return b.String()
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// KindOf returns the kind of a driver's error; "" for any other error.
func KindOf(err error) Kind {
	var e *Error
	if errors.As(err, &e) {
		return e.Kind
	}
	return ""
}

func lastLine(s string) string {
	s = strings.TrimSpace(s)
	if i := strings.LastIndexByte(s, '\n'); i >= 0 {
		s = s[i+1:]
	}
	if r := []rune(s); len(r) > 200 {
		s = string(r[:200]) + "..."
	}
	return s
}
