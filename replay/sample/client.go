package sample

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	acp "github.com/coder/acp-go-sdk"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// What the script understands besides orders, for whoever tests a client: it asks the
// client for a file or a command, in one call each.
var (
	readsFile  = regexp.MustCompile(`^read file (\S+)$`)
	writesFile = regexp.MustCompile(`(?s)^write file (\S+): (.*)$`)
	calls      = regexp.MustCompile(`(?s)^call (\S+): (\{.*\})$`)
	runs       = regexp.MustCompile(`(?s)^run: (.*)$`)
)

// client plays an input that is about the client; false when it is not.
func (t *playing) client(ctx context.Context, input string) bool {
	ask := func(tool string, args map[string]any, do func(id acp.ToolCallId) (string, error)) bool {
		id := t.open(ctx, tool, tool, args)
		said, err := do(id)
		if err != nil {
			said = refusal(err)
		}
		if tool == "shell" && err == nil { // its terminal shows what it says
			t.update(ctx, acp.UpdateToolCall(id, acp.WithUpdateStatus(acp.ToolCallStatusCompleted)))
		} else {
			t.finish(ctx, id, said, err)
		}
		t.say(ctx, "It says: "+said)
		return true
	}
	if m := readsFile.FindStringSubmatch(input); m != nil {
		return ask("read_file", map[string]any{"path": m[1]}, func(acp.ToolCallId) (string, error) {
			got, err := t.a.conn.ReadTextFile(ctx, acp.ReadTextFileRequest{SessionId: t.c.id, Path: t.c.path(m[1])})
			return got.Content, err
		})
	}
	if m := writesFile.FindStringSubmatch(input); m != nil {
		return ask("write_file", map[string]any{"path": m[1]}, func(acp.ToolCallId) (string, error) {
			_, err := t.a.conn.WriteTextFile(ctx, acp.WriteTextFileRequest{SessionId: t.c.id, Path: t.c.path(m[1]), Content: m[2]})
			return "written", err
		})
	}
	if m := calls.FindStringSubmatch(input); m != nil {
		var args map[string]any
		if err := json.Unmarshal([]byte(m[2]), &args); err != nil {
			return false
		}
		return ask(m[1], args, func(acp.ToolCallId) (string, error) { return t.c.callTool(ctx, m[1], args) })
	}
	if m := runs.FindStringSubmatch(input); m != nil {
		return ask("shell", map[string]any{"command": m[1]}, func(id acp.ToolCallId) (string, error) { return t.run(ctx, id, m[1]) })
	}
	return false
}

// run has the client run a command, shows its terminal and waits for it.
func (t *playing) run(ctx context.Context, call acp.ToolCallId, line string) (string, error) {
	words := strings.Fields(line)
	if len(words) == 0 {
		return "", errors.New("no command")
	}
	term, err := t.a.conn.CreateTerminal(ctx, acp.CreateTerminalRequest{SessionId: t.c.id, Command: words[0], Args: words[1:], Cwd: &t.c.dir})
	if err != nil {
		return "", err
	}
	t.update(ctx, acp.UpdateToolCall(call, acp.WithUpdateStatus(acp.ToolCallStatusInProgress),
		acp.WithUpdateContent([]acp.ToolCallContent{acp.ToolTerminalRef(term.TerminalId)})))
	if _, err := t.a.conn.WaitForTerminalExit(ctx, acp.WaitForTerminalExitRequest{SessionId: t.c.id, TerminalId: term.TerminalId}); err != nil {
		return "", err
	}
	got, err := t.a.conn.TerminalOutput(ctx, acp.TerminalOutputRequest{SessionId: t.c.id, TerminalId: term.TerminalId})
	if err != nil {
		return "", err
	}
	_, err = t.a.conn.ReleaseTerminal(ctx, acp.ReleaseTerminalRequest{SessionId: t.c.id, TerminalId: term.TerminalId})
	if err == nil && got.ExitStatus != nil && got.ExitStatus.ExitCode != nil && *got.ExitStatus.ExitCode != 0 {
		err = fmt.Errorf("exit status %d: %s", *got.ExitStatus.ExitCode, got.Output)
	}
	return got.Output, err
}

// callTool calls a tool of whichever server has it.
func (c *conversation) callTool(ctx context.Context, name string, args map[string]any) (string, error) {
	for _, s := range c.servers {
		list, err := s.ListTools(ctx, nil)
		if err != nil || !slices.ContainsFunc(list.Tools, func(t *mcp.Tool) bool { return t.Name == name }) {
			continue
		}
		got, err := s.CallTool(ctx, &mcp.CallToolParams{Name: name, Arguments: args})
		if err != nil {
			return "", err
		}
		text := ""
		for _, c := range got.Content {
			if tc, ok := c.(*mcp.TextContent); ok {
				text += tc.Text
			}
		}
		if got.IsError {
			return "", errors.New(text)
		}
		return text, nil
	}
	return "", fmt.Errorf("no tool server has a tool %s", name)
}

func (c *conversation) path(name string) string {
	if filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(c.dir, name)
}

// refusal is what the client said, without the wrapping of the protocol.
func refusal(err error) string {
	var r *acp.RequestError
	if errors.As(err, &r) {
		return r.Message
	}
	return err.Error()
}

// kept is what is stored of a session, so that another process can go on with it.
type kept struct {
	Turns    int             `json:"turns"`
	Calls    int             `json:"calls"`
	Number   int             `json:"number"`
	Order    string          `json:"order"`
	Refunded map[string]bool `json:"refunded"`
}

// keep stores a session after a turn, when the agent was told where.
func (a *agent) keep(c *conversation) error {
	if a.o.Keep == "" {
		return nil
	}
	b, err := json.Marshal(kept{c.turns, c.calls, c.number, c.order, c.desk.refunded})
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(a.o.Keep, string(c.id)+".json"), b, 0o600)
}

var sessionName = regexp.MustCompile(`^desk-\d+$`)

// LoadSession goes on with a kept session and tells its past, as the protocol wants it.
func (a *agent) LoadSession(ctx context.Context, p acp.LoadSessionRequest) (acp.LoadSessionResponse, error) {
	<-a.ready
	if a.o.Keep == "" || !sessionName.MatchString(string(p.SessionId)) {
		return acp.LoadSessionResponse{}, acp.NewInvalidParams(map[string]any{"sessionId": p.SessionId})
	}
	b, err := os.ReadFile(filepath.Join(a.o.Keep, string(p.SessionId)+".json"))
	var was kept
	if err == nil {
		err = json.Unmarshal(b, &was)
	}
	if err != nil {
		return acp.LoadSessionResponse{}, acp.NewInvalidParams(map[string]any{"error": "there is no such session"})
	}
	c := &conversation{id: p.SessionId, number: was.Number, dir: p.Cwd, turns: was.Turns, calls: was.Calls, order: was.Order, desk: desk{refunded: was.Refunded}}
	if c.desk.refunded == nil {
		c.desk.refunded = map[string]bool{}
	}
	a.mu.Lock()
	a.sessions[c.id] = c
	a.mu.Unlock()
	a.reach(ctx, c, p.McpServers)
	past := &playing{a: a, c: c}
	for i := range was.Turns {
		past.say(ctx, fmt.Sprintf("This was turn %d.", i))
	}
	return acp.LoadSessionResponse{Modes: a.modes()}, past.err
}

// Modes of the agent, with Options.Modes: a terse one leaves its thoughts out.
const (
	modeDesk  = "desk"
	modeTerse = "terse"
)

func (a *agent) modes() *acp.SessionModeState {
	if !a.o.Modes {
		return nil
	}
	return &acp.SessionModeState{CurrentModeId: modeDesk, AvailableModes: []acp.SessionMode{{Id: modeDesk, Name: "Desk"}, {Id: modeTerse, Name: "Terse"}}}
}

// SetSessionMode changes the mode and tells of it.
func (a *agent) SetSessionMode(ctx context.Context, p acp.SetSessionModeRequest) (acp.SetSessionModeResponse, error) {
	a.mu.Lock()
	c := a.sessions[p.SessionId]
	a.mu.Unlock()
	if !a.o.Modes || c == nil || p.ModeId != modeDesk && p.ModeId != modeTerse {
		return acp.SetSessionModeResponse{}, acp.NewInvalidParams(map[string]any{"modeId": p.ModeId})
	}
	a.mu.Lock()
	c.terse = p.ModeId == modeTerse
	a.mu.Unlock()
	return acp.SetSessionModeResponse{}, a.conn.SessionUpdate(ctx, acp.SessionNotification{SessionId: c.id,
		Update: acp.SessionUpdate{CurrentModeUpdate: &acp.SessionCurrentModeUpdate{CurrentModeId: p.ModeId}}})
}
