package replay

import (
	"context"
	"fmt"
	"strings"

	"vise/engine/process"
	"vise/engine/trace"
	"vise/replay/driver"
	"vise/replay/toolserver"
)

// openGate offers the agent its tool servers through us; nil when there are none. The
// servers run where the agent does, and the agent may reach the gate.
func (r *Runner) openGate(ctx context.Context, p plan, answers *driver.Tape, around surroundings, dir string, env []string, onProcess func(process.Record)) (*toolserver.Gate, error) {
	gate, err := toolserver.Open(ctx, toolserver.Options{
		Servers: r.Agent.Servers, Live: r.Agent.Effects == string(driver.EffectsLive), Tape: answers,
		Dir: dir, Env: env, Sandbox: around.box, OnProcess: onProcess, OnSpan: p.onSpan, Now: r.Now,
	})
	if err != nil {
		return nil, fmt.Errorf("agent.servers: %w", err)
	}
	if gate != nil && around.box != nil {
		around.box.Network.Services = append(around.box.Network.Services, gate.Host())
	}
	return gate, nil
}

// known is what is known of an agent, with the calls of its tool servers.
func known(info driver.Info, gate *toolserver.Gate) driver.Info {
	for by, n := range gate.Answered() {
		if info.Answered == nil {
			info.Answered = driver.Answered{}
		}
		info.Answered[by] += n
	}
	return info
}

// describe adds to a run's attributes or to its event what its agent was set to, and
// what of it stayed live.
func (a Agent) describe(info driver.Info, data map[string]any) {
	if info.Mode != "" {
		data["mode"] = info.Mode
	}
	if a.Driver == "exec" {
		return
	}
	data["effects"] = a.Effects
	data["live"] = a.Live()
}

// Live says, in a few words each, what of a run is neither recorded nor held by the
// setting agent.effects.
func (a Agent) Live() []string {
	live := []string{"what the agent does by itself"}
	if a.Driver == "exec" {
		return live
	}
	if a.Effects == string(driver.EffectsLive) {
		live = append(live, "files and commands that it asks vise for")
		for _, s := range a.Servers {
			live = append(live, "the tools of "+s.Name)
		}
	}
	return live
}

// withCalls adds the calls of tool servers to a turn, each below the agent's own account
// of it where there is just one that fits.
func withCalls(turn trace.Turn, calls []trace.Span) trace.Turn {
	taken := map[string]bool{}
	for i, c := range calls {
		server, tool, _ := strings.Cut(strings.TrimPrefix(c.Name, driver.SpanTool+" "), "/")
		for _, s := range turn.Spans {
			if s.Kind == trace.TOOL && !taken[s.ID] && driver.NamesTool(s.Name, server, tool) && !s.Start.After(c.Start) && (s.End.IsZero() || !s.End.Before(c.Start)) {
				calls[i].Parent, taken[s.ID] = s.ID, true
				break
			}
		}
	}
	return join(turn, calls)
}
