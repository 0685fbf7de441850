package replay

import (
	"context"
	"fmt"
	"maps"
	"slices"

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
	for _, s := range a.Servers {
		if s.URL != "" {
			live = append(live, "the list of tools of "+s.Name+", asked of its address")
		} else {
			live = append(live, "the process of tool server "+s.Name+", started for its list of tools")
		}
	}
	if a.Effects == string(driver.EffectsLive) {
		live = append(live, "files and commands that it asks vise for")
		for _, s := range a.Servers {
			live = append(live, "the tools of "+s.Name)
		}
	}
	return live
}

// withCalls adds the calls of tool servers to a turn. Where the agent tells of the same
// call itself the two are one span under the agent's name: found by the id that the agent
// gave it, else by the tool and the arguments, else by the arguments alone (a protocol may
// give a title only). What passed through us is what was asked and
// answered, whatever the agent makes of it.
func withCalls(turn trace.Turn, calls []trace.Span) trace.Turn {
	if len(calls) == 0 {
		return turn
	}
	spans := slices.Clone(turn.Spans)
	taken := map[int]bool{}
	var rest []trace.Span
	for _, c := range calls {
		at := own(spans, taken, c)
		if at < 0 {
			rest = append(rest, c)
			continue
		}
		taken[at] = true
		spans[at] = passed(spans[at], c)
	}
	turn.Spans = spans
	return insert(turn, rest)
}

// own finds the agent's own account of a call that passed through us, -1 for none.
func own(spans []trace.Span, taken map[int]bool, c trace.Span) int {
	server, tool := c.Attrs[driver.AttrServer].(string), c.Attrs[driver.AttrServerTool].(string)
	id, _ := c.Attrs["call_id"].(string)
	input := canonical(c.Input)
	at, best := -1, 0
	for i, s := range spans {
		if s.Kind != trace.TOOL || taken[i] {
			continue
		}
		if id != "" && s.ID == id {
			return i
		}
		if !s.End.IsZero() && s.End.Before(c.Start) {
			continue // when we heard of its start says nothing: that can be late
		}
		fit := 0
		same := canonical(s.Input) == input
		switch named := driver.NamesTool(s.Name, server, tool); {
		case named && same:
			fit = 3
		case named:
			fit = 2
		case same && input != "{}" && input != "":
			fit = 1
		}
		if fit > best { // the first of those that fit alike
			at, best = i, fit
		}
	}
	return at
}

// passed is the agent's span of a call with what passed through us.
func passed(s, c trace.Span) trace.Span {
	if server, tool := c.Attrs[driver.AttrServer].(string), c.Attrs[driver.AttrServerTool].(string); !driver.NamesTool(s.Name, server, tool) {
		s.Name = tool
	}
	attrs := maps.Clone(s.Attrs)
	if attrs == nil {
		attrs = map[string]any{}
	}
	for k, v := range c.Attrs {
		if _, told := attrs[k]; !told || k != "source" {
			attrs[k] = v
		}
	}
	s.Attrs = attrs
	if canonical(s.Input) != canonical(c.Input) {
		s.Input = c.Input
	}
	if !c.Pending {
		s.Output = c.Output
		if s.Error == "" {
			s.Error = c.Error
		} else if c.Error == "" {
			attrs[driver.AttrServerOK] = true // it is the agent that calls it a failure
		}
	}
	s.Pending = s.Pending && c.Pending
	return s
}
