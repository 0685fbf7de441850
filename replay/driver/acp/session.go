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
	"errors"
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
	dead     *driver.Error // why no further turn is possible

	mu    sync.Mutex
	info  driver.Info
	heard time.Time

	recMu  sync.Mutex // held while spans are emitted
	id     sdk.SessionId
	rec    *recorder      // of the running turn; nil between turns
	turns  int            // begun so far
	owners map[string]int // turn of each tool call id

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
	proc, err := process.Start(context.WithoutCancel(ctx), process.Spec{Command: cfg.Command, Dir: dir, Env: cfg.Env,
		Stderr: cfg.Log, Grace: cfg.CancelGrace, Sandbox: cfg.Sandbox})
	if err != nil {
		return nil, &driver.Error{Kind: driver.StartFailed, Op: "start agent", Err: err}
	}
	if cfg.OnProcess != nil {
		cfg.OnProcess(proc.Record())
	}
	s := newSession(cfg, proc, proc.Stdin(), proc.Stdout())
	s.mu.Lock()
	s.info.PID, s.info.Held = proc.Record().PID, proc.Held()
	s.mu.Unlock()
	s.detach = context.AfterFunc(ctx, func() {
		// A running Prompt gets the time to cancel politely first.
		select {
		case <-proc.Exited():
		case <-time.After(cfg.CancelGrace + politeWait):
		}
		proc.Stop()
	})
	if err := s.open(ctx); err != nil {
		s.Close(context.WithoutCancel(ctx))
		return nil, err
	}
	return s, nil
}

func newSession(cfg driver.Config, proc handle, in io.WriteCloser, out io.Reader) *session {
	s := &session{cfg: cfg, proc: proc, stdin: in, c: newConn(cfg.MaxLine), owners: map[string]int{}, began: make(chan struct{}), detach: func() bool { return true }}
	s.c.onNote, s.c.onReq, s.c.onStray = s.onNote, s.onReq, s.onStray
	s.c.onBytes = func() { s.beat(func(*driver.Info) {}) }
	s.loops.Go(func() { s.c.read(out) })
	s.loops.Go(func() { s.c.write(in) })
	return s
}

// open does the handshake.
func (s *session) open(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, max(s.cfg.StartTimeout, s.cfg.EnvWait), errStart)
	defer cancel()
	var hello struct {
		ProtocolVersion   int             `json:"protocolVersion"`
		AgentCapabilities json.RawMessage `json:"agentCapabilities"`
		AgentInfo         *struct {
			Name    string `json:"name"`
			Version string `json:"version"`
		} `json:"agentInfo"`
	}
	err := s.c.call(ctx, sdk.AgentMethodInitialize, sdk.InitializeRequest{ProtocolVersion: sdk.ProtocolVersionNumber,
		ClientInfo: &sdk.Implementation{Name: "vise", Version: "1"}}, &hello)
	if err != nil {
		return s.failure("initialize agent", err)
	}
	if hello.ProtocolVersion != sdk.ProtocolVersionNumber {
		return s.failure("initialize agent", fmt.Errorf("the agent speaks protocol version %d, we speak %d; use a release of the agent with ACP version 1",
			hello.ProtocolVersion, sdk.ProtocolVersionNumber))
	}
	var caps struct {
		MCP struct {
			HTTP bool `json:"http"`
		} `json:"mcpCapabilities"`
		Meta struct {
			Vise struct {
				ExecutionStarted bool `json:"execution_started"`
			} `json:"vise.dev"`
		} `json:"_meta"`
	}
	if len(hello.AgentCapabilities) > 0 {
		if err := json.Unmarshal(hello.AgentCapabilities, &caps); err != nil {
			return s.failure("initialize agent", fmt.Errorf("capabilities: %w", err))
		}
	}
	servers, err := mcpServers(s.cfg.MCP, caps.MCP.HTTP)
	if err != nil {
		return s.failure("open session", err)
	}
	s.mu.Lock()
	if hello.AgentInfo != nil {
		s.info.Agent, s.info.Version = oneLine(hello.AgentInfo.Name, 128), oneLine(hello.AgentInfo.Version, 64)
	}
	s.info.Protocol = hello.ProtocolVersion
	s.announces = caps.Meta.Vise.ExecutionStarted
	s.info.Capabilities = cutText(string(hello.AgentCapabilities), maxCapability)
	s.mu.Unlock()
	var opened sdk.NewSessionResponse
	if err := s.c.call(ctx, sdk.AgentMethodSessionNew, sdk.NewSessionRequest{Cwd: s.cfg.Dir, McpServers: servers, Meta: s.cfg.Meta}, &opened); err != nil {
		return s.failure("open session", err)
	}
	if opened.SessionId == "" {
		return s.failure("open session", errors.New("the agent gave no session id"))
	}
	s.recMu.Lock()
	s.id = opened.SessionId
	s.recMu.Unlock()
	s.mu.Lock()
	s.info.AgentSession = oneLine(string(opened.SessionId), 256)
	s.mu.Unlock()
	return nil
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
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.info
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
	s.loops.Wait()
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
	known, late, busy := true, false, false
	s.recMu.Lock()
	foreign := n.SessionID != "" && n.SessionID != string(s.id)
	switch {
	case s.rec == nil || foreign || s.isLate(u):
		late = s.turns > 0 && !settings[u.Kind] // before the first turn there is nothing to be late for
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

// onReq answers the agent's requests on the reader goroutine: none of them waits for anything.
func (s *session) onReq(method string, params json.RawMessage) (any, *sdk.RequestError) {
	s.beat(func(*driver.Info) {})
	if method != sdk.ClientMethodSessionRequestPermission {
		return nil, sdk.NewMethodNotFound(method)
	}
	answer, granted, reason, err := permit(s.cfg.Permissions, s.cfg.Dir, params)
	if err != nil {
		return nil, sdk.NewInvalidParams(map[string]any{"error": err.Error()})
	}
	s.mu.Lock()
	s.info.Permissions++
	s.mu.Unlock()
	s.recMu.Lock()
	if s.rec != nil {
		s.rec.permission(answer.callID, granted, reason)
	}
	s.recMu.Unlock()
	return answer.response, nil
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
