package acp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	sdk "github.com/coder/acp-go-sdk"

	"vise/replay/driver"
)

// maxRevivals bounds how often an agent that ends between turns is started again.
const maxRevivals = 3

// greeting is the agent's answer to initialize.
type greeting struct {
	ProtocolVersion   int             `json:"protocolVersion"`
	AgentCapabilities json.RawMessage `json:"agentCapabilities"`
	AgentInfo         *struct {
		Name    string `json:"name"`
		Version string `json:"version"`
	} `json:"agentInfo"`
}

// capabilities are what we use of those that an agent announces.
type capabilities struct {
	Load bool `json:"loadSession"`
	MCP  struct {
		HTTP bool `json:"http"`
	} `json:"mcpCapabilities"`
	Meta struct {
		Vise struct {
			ExecutionStarted bool `json:"execution_started"`
		} `json:"vise.dev"`
	} `json:"_meta"`
}

// opened is the answer to session/new and session/load, as far as we use it. Models is
// of agents from before models became options.
type opened struct {
	SessionID string `json:"sessionId"`
	Modes     *struct {
		Current   string `json:"currentModeId"`
		Available []struct {
			ID string `json:"id"`
		} `json:"availableModes"`
	} `json:"modes"`
	Models *struct {
		Available []struct {
			ID string `json:"modelId"`
		} `json:"availableModels"`
	} `json:"models"`
	Options []struct {
		ID       string          `json:"id"`
		Category string          `json:"category"`
		Type     string          `json:"type"`
		Current  json.RawMessage `json:"currentValue"`
	} `json:"configOptions"`
}

// modeOption reports whether the mode is one of the session's options, as newer agents
// have it, and which it is.
func (o opened) modeOption() (current string, ok bool) {
	for _, opt := range o.Options {
		if opt.ID == modeName || opt.Category == modeName {
			return valueText(opt.Current), true
		}
	}
	return "", false
}

const modeName = "mode"

// open does the handshake, opens a session or loads one, and sets its mode and options.
func (s *session) open(ctx context.Context, load string) error {
	ctx, cancel := context.WithTimeoutCause(ctx, max(s.cfg.StartTimeout, s.cfg.EnvWait), errStart)
	defer cancel()
	var hello greeting
	err := s.c.call(ctx, sdk.AgentMethodInitialize, sdk.InitializeRequest{ProtocolVersion: sdk.ProtocolVersionNumber,
		ClientCapabilities: s.room.capabilities(), ClientInfo: &sdk.Implementation{Name: "vise", Version: "1"}}, &hello)
	if err != nil {
		return s.failure("initialize agent", err)
	}
	if hello.ProtocolVersion != sdk.ProtocolVersionNumber {
		return s.failure("initialize agent", fmt.Errorf("the agent speaks protocol version %d, we speak %d; use a release of the agent with ACP version 1",
			hello.ProtocolVersion, sdk.ProtocolVersionNumber))
	}
	var caps capabilities
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
	if s.info.Agent == "" { // it does not say who it is
		s.info.Agent = oneLine(filepath.Base(s.cfg.Command[0]), 128)
	}
	s.info.Protocol, s.info.Loads = hello.ProtocolVersion, caps.Load
	s.announces = caps.Meta.Vise.ExecutionStarted
	s.info.Capabilities = cutText(string(hello.AgentCapabilities), maxCapability)
	s.mu.Unlock()
	var got opened
	op := "open session"
	if load == "" {
		err = s.c.call(ctx, sdk.AgentMethodSessionNew, sdk.NewSessionRequest{Cwd: s.cfg.Dir, McpServers: servers, Meta: s.cfg.Meta}, &got)
	} else {
		op = "load session"
		err = s.load(ctx, load, caps.Load, servers, &got)
	}
	if err != nil {
		return s.failure(op, err)
	}
	if got.SessionID == "" {
		return s.failure(op, errors.New("the agent gave no session id"))
	}
	s.recMu.Lock()
	s.id = sdk.SessionId(got.SessionID)
	s.recMu.Unlock()
	s.mu.Lock()
	s.info.AgentSession = oneLine(got.SessionID, 256)
	if got.Modes != nil {
		s.info.Mode = oneLine(got.Modes.Current, 128)
	} else if current, ok := got.modeOption(); ok {
		s.info.Mode = oneLine(current, 128)
	}
	s.mu.Unlock()
	if err := s.adjust(ctx, got); err != nil {
		failed := s.failure("set up session", err)
		if failed.Kind == driver.Protocol {
			failed.Kind = driver.StartFailed // it is our settings that do not fit
		}
		return failed
	}
	return nil
}

// load goes on with a session that the agent has kept. What it tells of the past meanwhile
// is no part of any turn.
func (s *session) load(ctx context.Context, id string, can bool, servers []sdk.McpServer, got *opened) error {
	if !can {
		return errors.New("the agent does not announce loadSession: it cannot go on with an earlier session")
	}
	s.recMu.Lock()
	s.loading, s.id = true, sdk.SessionId(id)
	s.recMu.Unlock()
	err := s.c.call(ctx, sdk.AgentMethodSessionLoad, sdk.LoadSessionRequest{Cwd: s.cfg.Dir, McpServers: servers, SessionId: sdk.SessionId(id), Meta: s.cfg.Meta}, got)
	s.recMu.Lock()
	s.loading = false
	s.recMu.Unlock()
	got.SessionID = id
	s.prompted = true // it has had the preamble
	return err
}

// adjust sets the mode and the options that are asked for. What the agent does not offer
// is an error that lists what it does.
func (s *session) adjust(ctx context.Context, got opened) error {
	if _, is := got.modeOption(); is && got.Modes == nil && s.cfg.Mode != "" {
		if err := s.setOption(ctx, got, modeName, s.cfg.Mode); err != nil {
			return fmt.Errorf("agent.mode %q: %w", s.cfg.Mode, err)
		}
		s.mu.Lock()
		s.info.Mode = s.cfg.Mode
		s.mu.Unlock()
	} else if mode := s.cfg.Mode; mode != "" {
		var offered []string
		if got.Modes != nil {
			for _, m := range got.Modes.Available {
				offered = append(offered, m.ID)
			}
		}
		if !slices.Contains(offered, mode) {
			return fmt.Errorf("agent.mode: the agent has no mode %q; %s", mode, offer(offered))
		}
		if mode != got.Modes.Current {
			if err := s.c.call(ctx, sdk.AgentMethodSessionSetMode, sdk.SetSessionModeRequest{SessionId: s.id, ModeId: sdk.SessionModeId(mode)}, new(json.RawMessage)); err != nil {
				return fmt.Errorf("agent.mode %q: %w", mode, err)
			}
			s.mu.Lock()
			s.info.Mode = mode
			s.mu.Unlock()
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.cfg.Options)) {
		value := s.cfg.Options[name]
		if err := s.setOption(ctx, got, name, value); err != nil {
			return fmt.Errorf("agent.options.%s = %q: %w", name, value, err)
		}
	}
	return nil
}

// setOption sets an option by its id, else by its category, such as "model".
func (s *session) setOption(ctx context.Context, got opened, name, value string) error {
	var offered []string
	at := -1
	for i, o := range got.Options {
		offered = append(offered, o.ID)
		if o.ID == name || at < 0 && o.Category == name {
			at = i
		}
	}
	id := struct {
		SessionID sdk.SessionId `json:"sessionId"`
		ConfigID  string        `json:"configId,omitempty"`
		Type      string        `json:"type,omitempty"`
		Value     any           `json:"value,omitempty"`
		ModelID   string        `json:"modelId,omitempty"`
	}{SessionID: s.id}
	switch {
	case at >= 0 && got.Options[at].Type == "boolean":
		id.ConfigID, id.Type = got.Options[at].ID, "boolean"
		if value != "true" && value != "false" {
			return errors.New("use \"true\" or \"false\"")
		}
		id.Value = value == "true"
	case at >= 0:
		id.ConfigID, id.Value = got.Options[at].ID, value
	case name == "model" && got.Models != nil:
		var models []string
		for _, m := range got.Models.Available {
			models = append(models, m.ID)
		}
		if !slices.Contains(models, value) {
			return fmt.Errorf("the agent has no such model; %s", offer(models))
		}
		id.ModelID = value
		return s.c.call(ctx, "session/set_model", id, new(json.RawMessage))
	default:
		if got.Models != nil {
			offered = append(offered, "model")
		}
		return fmt.Errorf("the agent has no such option; %s", offer(offered))
	}
	return s.c.call(ctx, sdk.AgentMethodSessionSetConfigOption, id, new(json.RawMessage))
}

// offer lists what there is, for an error.
func offer(list []string) string {
	if len(list) == 0 {
		return "it offers none"
	}
	more := ""
	if len(list) > 20 {
		more = fmt.Sprintf(" and %d more", len(list)-20)
		list = list[:20]
	}
	return "it offers " + oneLine(strings.Join(list, ", "), 600) + more
}

// over reports that the agent has ended, or closed its output, since the last turn.
func (s *session) over() bool {
	select {
	case <-s.c.done:
		return errors.Is(s.c.err, errClosed)
	case <-s.proc.Exited():
		return true
	default:
		return false
	}
}

// revivable reports whether the agent can be started again and go on.
func (s *session) revivable(ctx context.Context) bool {
	info := s.Info()
	return info.Loads && info.Revived < maxRevivals && ctx.Err() == nil
}

// revive starts an agent that ended between turns again and has it load its session;
// false when it cannot do that, or has ended too often.
func (s *session) revive(ctx context.Context) (bool, error) {
	if !s.revivable(ctx) {
		return false, nil
	}
	s.detach()
	s.stdin.Close()
	left := s.proc.Stop().Leftover
	s.loops.Wait()
	s.left = append(s.left, left...)
	if err := s.launch(ctx); err != nil {
		return false, err
	}
	s.mu.Lock()
	s.info.Revived++
	s.mu.Unlock()
	fmt.Fprintf(s.cfg.Log, "[vise] the agent had ended between turns; it was started again and goes on with its session\n")
	return true, s.open(ctx, s.Info().AgentSession)
}
