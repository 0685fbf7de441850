package replay

import (
	"context"
	"fmt"
	"maps"
	"time"

	"vise/engine/model/cassette"
	"vise/engine/rule/tools"
	"vise/replay/llmproxy"
	"vise/replay/otlp"
	"vise/replay/ruleserver"
)

// Doors are the servers that agents reach us through. Models and Telemetry may be nil.
type Doors struct {
	Models    *Models
	Telemetry *otlp.Receiver
	Rules     *ruleserver.Server
	View      tools.Options // of the rules
}

// served is how long the token of the rule server is good for: until we end.
const served = 100 * 365 * 24 * time.Hour

// Attend lets agents in and returns the variables that make one come to us: those that a
// run of its own gets, but for what belongs to one run. close locks the doors again.
func (l *Listener) Attend(d Doors) (env map[string]string, close func(), err error) {
	env = map[string]string{}
	var locks []func()
	close = func() {
		for _, lock := range locks {
			lock()
		}
	}
	if m := d.Models; m != nil {
		token, err := m.Proxy.Grant(llmproxy.Run{Upstream: m.Upstream, Ledger: m.Ledger, Matcher: cassette.Matcher{Mask: m.Mask}, OnQuestion: l.Question})
		if err != nil {
			return nil, close, fmt.Errorf("listen to agents: %w", err)
		}
		locks = append(locks, func() { m.Proxy.Revoke(token) })
		maps.Copy(env, m.env(token))
	}
	if r := d.Telemetry; r != nil {
		token := r.GrantTold(func() { poke(l.told) })
		locks = append(locks, func() { r.Revoke(token) })
		l.take = func(ctx context.Context) ([]otlp.Trace, int, error) { return r.TakeTraces(ctx, token, l.o.Redactor) }
		maps.Copy(env, r.Env(token, ""))
	}
	grant := d.Rules.Grant(ruleserver.Run{Tools: d.View, TTL: served, OnRead: l.Read})
	locks = append(locks, func() { d.Rules.Revoke(grant.Token) })
	env["VISE_RULES_URL"], env["VISE_RULES_TOKEN"] = d.Rules.URL(), grant.Token
	return env, close, nil
}

// hear takes what has come over telemetry.
func (l *Listener) hear(ctx context.Context) {
	if l.take == nil {
		return
	}
	list, dropped, err := l.take(ctx)
	if err != nil {
		l.o.OnError(fmt.Errorf("read the traces of an agent: %w", err))
	}
	if dropped > 0 {
		l.o.OnError(fmt.Errorf("%d requests of telemetry at once were too much and are not kept", dropped))
	}
	l.Traces(list)
}
