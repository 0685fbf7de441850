package sample

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	acp "github.com/coder/acp-go-sdk"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// agent is the protocol's side of the script.
type agent struct {
	o     Options
	out   *lockedWriter
	log   *slog.Logger
	ready <-chan struct{} // conn is set
	conn  *acp.AgentSideConnection

	mu       sync.Mutex
	sessions map[acp.SessionId]*conversation
}

// conversation is one session. The protocol sends its inputs one at a time.
type conversation struct {
	id      acp.SessionId
	number  int // of the session within the process, from 1
	servers []*mcp.ClientSession
	desk    desk
	turns   int
	calls   int
	order   string // last one spoken of
	dir     string // working directory
	terse   bool
}

var _ acp.Agent = (*agent)(nil)

// Initialize says who we are.
func (a *agent) Initialize(context.Context, acp.InitializeRequest) (acp.InitializeResponse, error) {
	title := "vise sample agent: a script over a toy refund desk, no model"
	can := acp.AgentCapabilities{McpCapabilities: acp.McpCapabilities{Http: true}}
	if a.o.EnvDelay > 0 {
		can.Meta = map[string]any{"vise.dev": map[string]any{"execution_started": true}}
	}
	can.LoadSession = a.o.Keep != ""
	return acp.InitializeResponse{
		ProtocolVersion:   acp.ProtocolVersionNumber,
		AgentInfo:         &acp.Implementation{Name: Name, Version: Version, Title: &title},
		AgentCapabilities: can,
		AuthMethods:       []acp.AuthMethod{},
	}, nil
}

// NewSession opens a desk and connects to the tool servers. A server that does
// not answer is told of on standard error; the agent then works without it.
func (a *agent) NewSession(ctx context.Context, p acp.NewSessionRequest) (acp.NewSessionResponse, error) {
	a.mu.Lock()
	n := len(a.sessions) + 1
	c := &conversation{id: acp.SessionId(fmt.Sprintf("desk-%d", n)), number: n, dir: p.Cwd, desk: desk{refunded: map[string]bool{}}}
	a.sessions[c.id] = c
	a.mu.Unlock()
	a.reach(ctx, c, p.McpServers)
	return acp.NewSessionResponse{SessionId: c.id, Modes: a.modes()}, nil
}

// reach connects a session to its tool servers.
func (a *agent) reach(ctx context.Context, c *conversation, servers []acp.McpServer) {
	for _, s := range servers {
		client, err := a.connect(ctx, s)
		if err != nil {
			a.log.Warn("tool server not reachable", "error", err)
			continue
		}
		c.servers = append(c.servers, client)
	}
}

// comeUp stands for an environment that has to be built: it takes its time and
// says when it is up. Until then nothing of the turn has happened.
func (a *agent) comeUp(ctx context.Context, session acp.SessionId) error {
	select {
	case <-time.After(a.o.EnvDelay):
	case <-ctx.Done():
		return ctx.Err()
	}
	return a.conn.NotifyExtension(ctx, "_vise.dev/execution_started", map[string]any{"sessionId": session})
}

// Prompt plays one input.
func (a *agent) Prompt(ctx context.Context, p acp.PromptRequest) (acp.PromptResponse, error) {
	<-a.ready
	a.mu.Lock()
	c := a.sessions[p.SessionId]
	a.mu.Unlock()
	if c == nil {
		return acp.PromptResponse{}, acp.NewInvalidParams(map[string]any{"sessionId": p.SessionId})
	}
	input := "" // the last text: a preamble comes in a block of its own in front of it
	for _, b := range p.Prompt {
		if b.Text != nil {
			input = b.Text.Text
		}
	}
	t := &playing{a: a, c: c, index: c.turns}
	c.turns++
	if t.index == 0 && a.o.EnvDelay > 0 {
		if err := a.comeUp(ctx, p.SessionId); err != nil {
			return acp.PromptResponse{StopReason: acp.StopReasonCancelled}, nil
		}
	}
	if a.o.Fault != "" && t.index == a.o.FaultTurn {
		if err := t.misbehave(ctx); err != nil {
			return acp.PromptResponse{}, err
		}
	}
	err := ctx.Err()
	if err == nil {
		err = t.turn(ctx, input)
	}
	if err == nil {
		err = t.err
	}
	if err == nil {
		err = a.keep(c)
	}
	if a.o.Fault == Leave && t.index == a.o.FaultTurn && err == nil {
		a.leave()
	}
	switch {
	case ctx.Err() != nil:
		return acp.PromptResponse{StopReason: acp.StopReasonCancelled}, nil
	case err != nil:
		return acp.PromptResponse{}, err
	}
	return acp.PromptResponse{StopReason: acp.StopReasonEndTurn}, nil
}

// Cancel needs nothing: the connection cancels Prompt's context itself.
func (a *agent) Cancel(context.Context, acp.CancelNotification) error { return nil }

// CloseSession ends the connections of a session.
func (a *agent) CloseSession(_ context.Context, p acp.CloseSessionRequest) (acp.CloseSessionResponse, error) {
	a.mu.Lock()
	c := a.sessions[p.SessionId]
	a.mu.Unlock()
	if c != nil {
		c.hangUp()
	}
	return acp.CloseSessionResponse{}, nil
}

func (a *agent) close() {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, c := range a.sessions {
		c.hangUp()
	}
}

func (c *conversation) hangUp() {
	for _, s := range c.servers {
		s.Close()
	}
	c.servers = nil
}

// The rest of the protocol is not for this agent.

func (a *agent) Authenticate(context.Context, acp.AuthenticateRequest) (acp.AuthenticateResponse, error) {
	return acp.AuthenticateResponse{}, nil
}

func (a *agent) Logout(context.Context, acp.LogoutRequest) (acp.LogoutResponse, error) {
	return acp.LogoutResponse{}, nil
}

func (a *agent) ListSessions(context.Context, acp.ListSessionsRequest) (acp.ListSessionsResponse, error) {
	return acp.ListSessionsResponse{}, acp.NewMethodNotFound(acp.AgentMethodSessionList)
}

func (a *agent) ResumeSession(context.Context, acp.ResumeSessionRequest) (acp.ResumeSessionResponse, error) {
	return acp.ResumeSessionResponse{}, acp.NewMethodNotFound(acp.AgentMethodSessionResume)
}

func (a *agent) SetSessionConfigOption(context.Context, acp.SetSessionConfigOptionRequest) (acp.SetSessionConfigOptionResponse, error) {
	return acp.SetSessionConfigOptionResponse{}, acp.NewMethodNotFound(acp.AgentMethodSessionSetConfigOption)
}

// playing is one turn in progress.
type playing struct {
	a     *agent
	c     *conversation
	index int
	err   error // first failure to reach the client
}

func (t *playing) update(ctx context.Context, u acp.SessionUpdate) {
	if t.err == nil && ctx.Err() == nil {
		t.err = t.a.conn.SessionUpdate(ctx, acp.SessionNotification{SessionId: t.c.id, Update: u})
	}
}

// say streams text in a few chunks, as a model would.
func (t *playing) say(ctx context.Context, text string) {
	for _, part := range chunks(text) {
		t.update(ctx, acp.UpdateAgentMessageText(part))
	}
}

func (t *playing) think(ctx context.Context, text string) {
	t.a.mu.Lock()
	terse := t.c.terse
	t.a.mu.Unlock()
	if terse {
		return
	}
	for _, part := range chunks(text) {
		t.update(ctx, acp.UpdateAgentThoughtText(part))
	}
}

func (t *playing) plan(ctx context.Context, steps ...string) {
	entries := make([]acp.PlanEntry, len(steps))
	for i, s := range steps {
		entries[i] = acp.PlanEntry{Content: s, Priority: acp.PlanEntryPriorityMedium, Status: acp.PlanEntryStatusPending}
	}
	t.update(ctx, acp.UpdatePlan(entries...))
}

func chunks(text string) []string {
	var out []string
	for _, w := range strings.SplitAfter(text, " ") {
		if n := len(out); n > 0 && len(out[n-1])+len(w) <= 24 {
			out[n-1] += w
		} else {
			out = append(out, w)
		}
	}
	return out
}

// tool calls the desk and shows the call to the client.
func (t *playing) tool(ctx context.Context, name, title string, args map[string]any) (map[string]any, bool) {
	if ctx.Err() != nil || t.err != nil {
		return nil, false
	}
	id := t.open(ctx, name, title, args)
	result, err := t.c.desk.call(name, args)
	if err != nil {
		t.finish(ctx, id, err.Error(), errors.New("refused"))
		return nil, false
	}
	t.finish(ctx, id, result, nil)
	return result, true
}

func (t *playing) open(ctx context.Context, name, title string, args map[string]any) acp.ToolCallId {
	t.c.calls++
	id := acp.ToolCallId(fmt.Sprintf("call-%d", t.c.calls))
	u := acp.StartToolCall(id, title, acp.WithStartStatus(acp.ToolCallStatusPending), acp.WithStartKind(acp.ToolKindOther), acp.WithStartRawInput(args))
	u.ToolCall.Meta = map[string]any{"viseSample": map[string]any{"toolName": name}}
	t.update(ctx, u)
	return id
}

func (t *playing) finish(ctx context.Context, id acp.ToolCallId, output any, err error) {
	status, text := acp.ToolCallStatusCompleted, ""
	if err != nil {
		status = acp.ToolCallStatusFailed
	}
	if s, ok := output.(string); ok {
		text = s
	} else if b, merr := json.Marshal(output); merr == nil {
		text = string(b)
	}
	t.update(ctx, acp.UpdateToolCall(id, acp.WithUpdateStatus(status), acp.WithUpdateRawOutput(output),
		acp.WithUpdateContent([]acp.ToolCallContent{acp.ToolContent(acp.TextBlock(text))})))
}
