// Package acp drives an agent that speaks the Agent Client Protocol, version 1,
// on its standard input and output.
//
// The agent is the authority on order: what it tells in session updates becomes
// the spans of the turn it is working on, upserted by id. Text and thought
// become model spans (a new one after each tool call), a plan a chain span, a
// tool call a tool span whose name is taken from any "toolName" in the call's
// _meta, else its title. Updates of an unknown kind are kept raw. What comes
// after the end of a turn is counted, and never lands in the next one.
package acp

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	sdk "github.com/coder/acp-go-sdk"

	"vise/engine/process"
	"vise/engine/trace"
	"vise/replay/driver"
)

const (
	maxStrayLine  = 4 << 10 // bytes of a stray line that are logged
	maxStrayLines = 10_000  // stray lines that are logged
	maxCapability = 4 << 10 // bytes of the announced capabilities kept
	politeWait    = time.Second
)

// handle is what the session needs of the agent's process.
type handle interface {
	Stop() process.Exit
	Tail() string
	Exited() <-chan struct{}
}

type session struct {
	cfg    driver.Config
	proc   handle
	stdin  io.Closer
	c      *conn
	loops  sync.WaitGroup // reader and writer
	detach func() bool    // forgets the caller's context

	// For Prompt alone.
	prompted bool // the preamble has been sent
	lastUse  trace.Usage
	lastCost float64
	dead     *driver.Error        // why no further turn is possible
	left     []process.Descendant // descendants of processes before the last

	mu    sync.Mutex
	info  driver.Info
	heard time.Time

	recMu   sync.Mutex // held while spans are emitted
	id      sdk.SessionId
	rec     *recorder      // of the running turn; nil between turns
	turns   int            // begun so far
	loading bool           // the agent tells of the past of a loaded session
	owners  map[string]int // turn of each tool call id

	room *room

	announces bool          // the agent says itself when execution began
	once      sync.Once     // of began
	began     chan struct{} // closed when execution began
}

// Start starts the agent and opens a session, within cfg.StartTimeout. ctx
// bounds the whole session: some time after its end the agent is ended too,
// whether Close is called or not. Errors are of type *driver.Error.
func Start(ctx context.Context, cfg driver.Config) (driver.Session, error) {
	cfg = cfg.WithDefaults()
	if cfg.Dir == "" {
		cfg.Dir = "."
	}
	dir, err := filepath.Abs(cfg.Dir)
	if err == nil {
		_, err = os.Stat(dir)
	}
	if err != nil {
		return nil, &driver.Error{Kind: driver.StartFailed, Op: "start agent", Err: fmt.Errorf("working directory: %w", err)}
	}
	cfg.Dir = dir
	cfg.Log = &lockedWriter{w: cfg.Log}
	if ctx.Err() != nil {
		return nil, &driver.Error{Kind: driver.Cancelled, Op: "start agent", Err: context.Cause(ctx)}
	}
	s := makeSession(cfg)
	if err := s.launch(ctx); err != nil {
		s.room.close()
		return nil, err
	}
	if err := s.open(ctx, cfg.Load); err != nil {
		s.Close(context.WithoutCancel(ctx))
		return nil, err
	}
	return s, nil
}

// launch starts the agent's process and its connection.
func (s *session) launch(ctx context.Context) error {
	proc, err := process.Start(context.WithoutCancel(ctx), process.Spec{Command: s.cfg.Command, Dir: s.cfg.Dir, Env: s.cfg.Env,
		Stderr: s.cfg.Log, Grace: s.cfg.CancelGrace, Sandbox: s.cfg.Sandbox})
	if err != nil {
		return &driver.Error{Kind: driver.StartFailed, Op: "start agent", Err: err}
	}
	s.cfg.OnProcess(proc.Record())
	s.attach(proc, proc.Stdin(), proc.Stdout())
	s.mu.Lock()
	s.info.PID, s.info.Held = proc.Record().PID, proc.Held()
	s.mu.Unlock()
	s.detach = context.AfterFunc(ctx, func() {
		// A running Prompt gets the time to cancel politely first.
		select {
		case <-proc.Exited():
		case <-time.After(s.cfg.CancelGrace + politeWait):
		}
		proc.Stop()
	})
	return nil
}

func makeSession(cfg driver.Config) *session {
	s := &session{cfg: cfg, owners: map[string]int{}, began: make(chan struct{}), detach: func() bool { return true }}
	s.room = newRoom(s)
	return s
}

// attach connects the session to a started agent.
func (s *session) attach(proc handle, in io.WriteCloser, out io.Reader) {
	c := newConn(s.cfg.MaxLine)
	c.onNote, c.onReq, c.onStray = s.onNote, s.onReq, s.onStray
	c.onBytes = func() { s.beat(func(*driver.Info) {}) }
	s.proc, s.stdin, s.c = proc, in, c
	s.loops.Go(func() { c.read(out) })
	s.loops.Go(func() { c.write(in) })
}

// mcpServers renders the list an agent is told: never null, HTTP where the agent has it.
func mcpServers(list []driver.MCPServer, http bool) ([]sdk.McpServer, error) {
	out := []sdk.McpServer{}
	for _, m := range list {
		switch {
		case http && m.URL != "":
			headers := []sdk.HttpHeader{}
			if m.Token != "" {
				headers = append(headers, sdk.HttpHeader{Name: "Authorization", Value: "Bearer " + m.Token})
			}
			out = append(out, sdk.McpServer{Http: &sdk.McpServerHttpInline{Type: "http", Name: m.Name, Url: m.URL, Headers: headers}})
		case len(m.Command) > 0:
			env := []sdk.EnvVariable{}
			for _, kv := range m.Env {
				name, value, _ := strings.Cut(kv, "=")
				env = append(env, sdk.EnvVariable{Name: name, Value: value})
			}
			args := append([]string{}, m.Command[1:]...)
			out = append(out, sdk.McpServer{Stdio: &sdk.McpServerStdio{Name: m.Name, Command: m.Command[0], Args: args, Env: env}})
		default:
			return nil, fmt.Errorf("tool server %s: the agent takes no MCP over HTTP and no bridge command is set", m.Name)
		}
	}
	return out, nil
}

// Info returns what is known about the agent so far.
func (s *session) Info() driver.Info {
	answered := s.room.counts()
	s.mu.Lock()
	defer s.mu.Unlock()
	info := s.info
	info.Answered = answered
	return info
}

// Close closes the agent's input, waits a moment, and ends its group.
func (s *session) Close(ctx context.Context) driver.Exit {
	s.detach()
	s.stdin.Close()
	t := time.NewTimer(politeWait)
	defer t.Stop()
	select {
	case <-s.proc.Exited():
	case <-t.C:
	case <-ctx.Done():
	}
	exit := s.proc.Stop()
	s.room.close()
	s.loops.Wait()
	exit.Leftover = append(s.left, exit.Leftover...)
	return exit
}

// onNote runs on the reader goroutine.
func (s *session) onNote(method string, params json.RawMessage) {
	if method != sdk.ClientMethodSessionUpdate {
		s.beat(func(i *driver.Info) {})
		if method == executionStarted {
			s.begin()
		}
		return // an extension of the agent's; nothing is expected of us
	}
	var n notification
	var u update
	if json.Unmarshal(params, &n) != nil || json.Unmarshal(n.Update, &u) != nil {
		// An update that does not fit its own schema is kept like one we do not know.
		u = update{Kind: "unreadable"}
		if n.Update == nil {
			n.Update = params
		}
	}
	known, late, busy, mode := true, false, false, ""
	s.recMu.Lock()
	if u.Kind == "current_mode_update" && u.Mode != "" {
		mode = oneLine(u.Mode, 128)
	}
	foreign := n.SessionID != "" && n.SessionID != string(s.id)
	switch {
	case s.rec == nil || foreign || s.isLate(u):
		// Before the first turn there is nothing to be late for, and what a loaded session
		// tells of its past is none.
		late = s.turns > 0 && !settings[u.Kind] && !s.loading
	default:
		if u.ToolCallID != "" {
			s.owners[u.ToolCallID] = s.rec.turn
		}
		known = s.rec.apply(u, n.Update)
		busy = !settings[u.Kind]
	}
	s.recMu.Unlock()
	if busy {
		s.didSomething()
	}
	s.beat(func(i *driver.Info) {
		i.Updates++
		if mode != "" {
			i.Mode = mode
		}
		if late {
			i.Late++
		}
		if !known {
			i.Unknown++
		}
	})
}

// isLate recognises an update of a call that an earlier turn made. A fresh
// tool_call under an old id is a new call of an agent that counts per turn.
func (s *session) isLate(u update) bool {
	if u.Kind != "tool_call_update" {
		return false
	}
	turn, ok := s.owners[u.ToolCallID]
	return ok && turn != s.rec.turn
}

// beat counts and notes that the agent is alive.
func (s *session) beat(count func(*driver.Info)) {
	s.mu.Lock()
	count(&s.info)
	s.heard = time.Now()
	s.mu.Unlock()
}

func (s *session) onStray(line []byte) {
	text := strings.ToValidUTF8(cutText(string(line[:min(len(line), maxStrayLine)]), maxStrayLine), "\uFFFD")
	s.mu.Lock()
	s.info.Stray++
	n := s.info.Stray
	s.mu.Unlock()
	if n <= maxStrayLines {
		fmt.Fprintf(s.cfg.Log, "[stdout] %s\n", text)
	}
	s.recMu.Lock()
	defer s.recMu.Unlock()
	if s.rec != nil {
		s.rec.note(text)
	}
}

// onReq answers the agent's requests on the reader goroutine, or has the room answer
// later what takes its time.
func (s *session) onReq(method string, params json.RawMessage, reply answer) {
	s.beat(func(*driver.Info) {})
	if serves(method) {
		s.recMu.Lock()
		id := s.id
		s.recMu.Unlock()
		s.room.serve(id, method, params, reply)
		return
	}
	if method != sdk.ClientMethodSessionRequestPermission {
		reply(nil, sdk.NewMethodNotFound(method))
		return
	}
	answer, granted, reason, err := permit(s.cfg.Permissions, s.cfg.Dir, params)
	if err != nil {
		reply(nil, sdk.NewInvalidParams(map[string]any{"error": err.Error()}))
		return
	}
	s.mu.Lock()
	s.info.Permissions++
	s.mu.Unlock()
	s.recMu.Lock()
	if s.rec != nil {
		s.rec.permission(answer.callID, granted, reason)
	}
	s.recMu.Unlock()
	reply(answer.response, nil)
}

// requested is what the trace holds of a request: nothing when no turn runs, no span
// when the turn is full.
type requested struct {
	b   *building
	rec *recorder
}

// requested notes a request of the agent's in the running turn.
func (s *session) requested(name, input string) requested {
	s.recMu.Lock()
	defer s.recMu.Unlock()
	if s.rec == nil {
		return requested{}
	}
	return requested{s.rec.request(name, input), s.rec}
}

// replied notes how a request was answered.
func (s *session) replied(q requested, by, output string, err error) {
	s.recMu.Lock()
	defer s.recMu.Unlock()
	if q.b != nil && q.rec == s.rec {
		s.rec.reply(q.b, by, output, err)
	}
}

// terminalSpan notes how a command stands; what happens after its turn is not noted.
func (s *session) terminalSpan(t *terminal, by string) {
	s.recMu.Lock()
	defer s.recMu.Unlock()
	if t.span != nil && t.rec == s.rec {
		s.rec.command(t, by, "")
	}
}

// lockedWriter lets the agent's two outputs share one log.
type lockedWriter struct {
	mu sync.Mutex
	w  io.Writer
}

func (l *lockedWriter) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.w.Write(b)
}
