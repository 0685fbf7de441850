package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"vise/engine/config"
	"vise/engine/guard"
	"vise/engine/model"
	"vise/engine/model/cassette"
	"vise/engine/score"
	"vise/engine/trace"
	"vise/replay"
	"vise/replay/llmproxy"
	"vise/store"
)

// agentModels says how the agent's model calls are seen: agent.provider names whose they are.
func (a *app) agentModels(ctx context.Context, cfg *config.Config, proxy *llmproxy.Server, ledger *model.Ledger, red *guard.Redactor) *replay.Models {
	p := cfg.Providers[cfg.Agent.Provider]
	up := llmproxy.Upstream{BaseURL: p.BaseURL, Price: func(name string) *model.Price {
		price, known := p.Price(name)
		if !known {
			return nil
		}
		return &model.Price{Input: price.Input, Output: price.Output, Cached: price.Cached}
	}}
	if p.Key != "" {
		ring := a.keyring(cfg)
		up.Key = func() (string, error) { return ring.Resolve(ctx, p.Key) }
	}
	return &replay.Models{Proxy: proxy, Upstream: up, Ledger: ledger, Mask: red.Payload}
}

// recording returns the model calls that were kept of a session, as a tape.
func recording(st *store.Store, session string) (*cassette.Tape, int, error) {
	var kept []cassette.Exchange
	err := st.View(func(tx *store.Tx) error {
		lines, err := tx.Exchanges(session)
		if err != nil {
			return err
		}
		for _, l := range lines {
			var e cassette.Exchange
			if err := e.UnmarshalJSON(l.Line); err != nil {
				return err
			}
			if e.Status >= 200 && e.Status < 300 && e.Error != "" {
				return fmt.Errorf("model call %d cannot be played back: %s; replay the session live again", e.Seq, e.Error)
			}
			kept = append(kept, e)
		}
		return nil
	})
	if err != nil {
		return nil, 0, fmt.Errorf("read the model calls of session %s: %w", session, err)
	}
	if len(kept) == 0 {
		return nil, 0, fmt.Errorf("session %s holds no recorded model calls: set agent.provider and replay it once live, then name the session which that run made", session)
	}
	return cassette.NewTape(kept), len(kept), nil
}

// tellLive says before the first run which of the agent's model calls go out, and
// what they cost when these sessions were run last.
func (a *app) tellLive(h *harness, heads []trace.Session, f replayFlags) error {
	if h.runner == nil || f.recorded {
		return nil
	}
	if h.runner.Models == nil {
		if f.offline {
			return errors.New("replay --offline: agent.provider is not set, so no model call of the agent was recorded or can be answered")
		}
		return nil
	}
	if f.offline {
		a.note("vise: the agent's model calls are answered from the recording; none goes out")
		return nil
	}
	// Better before the first run than as an error of the agent's own.
	if key := h.runner.Models.Upstream.Key; key != nil {
		if _, err := key(); err != nil {
			return fmt.Errorf("agent.provider %s: %w", h.cfg.Agent.Provider, err)
		}
	}
	var calls, steps, unpriced int
	var used trace.Usage
	var cost float64
	for _, head := range heads {
		if err := eachTurn(h.store, head.ID, func(t trace.Turn, _ *score.Report) error {
			for _, s := range t.Spans {
				if s.Kind == trace.LLM {
					steps++
				}
				if s.Kind != trace.LLM || s.Usage.IsZero() {
					continue
				}
				calls++
				used = used.Add(s.Usage)
				price := h.runner.Models.Upstream.Price(s.Name)
				switch {
				case s.Usage.CostUSD != nil:
					cost += *s.Usage.CostUSD
				case price != nil:
					cost += price.Cost(s.Usage)
				default:
					unpriced++
				}
			}
			return nil
		}); err != nil {
			return err
		}
	}
	parts := []string{fmt.Sprintf("the agent's model calls go out to %s (%s)", h.cfg.Agent.Provider, h.runner.Models.Upstream.BaseURL)}
	if calls > 0 {
		price := fmt.Sprintf("$%.4f", cost*float64(f.repeat))
		if unpriced > 0 {
			price = "price unknown"
		}
		parts = append(parts, fmt.Sprintf("the recordings hold %s with %d tokens in and %d out a run: about %s for %s",
			counted(calls, "such call"), used.Input, used.Output, price, counted(len(heads)*f.repeat, "run")))
	}
	if calls == 0 && steps > 0 {
		parts = append(parts, fmt.Sprintf("the recordings hold %s and not what they cost: the price is known after the first run", counted(steps, "model step")))
	}
	a.note("vise: %s", strings.Join(parts, "; "))
	return nil
}
