package cli

import (
	"context"
	"fmt"
	"slices"

	"vise/engine/config"
	"vise/engine/guard"
	"vise/engine/model"
	"vise/engine/model/cassette"
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
	}, OutputField: func(name string) string { return model.OutputField(cfg.Agent.Provider, name) }}
	if p.Key != "" {
		ring := a.keyring(cfg)
		up.Key = func() (string, error) { return ring.Resolve(ctx, p.Key) }
	}
	return &replay.Models{Proxy: proxy, Upstream: up, Ledger: ledger, Mask: red.Payload}
}

// taped is the session whose recorded model calls answer a replay of a session: its own,
// or those of its newest run that has some and came to its end. The error says that there
// are none.
func taped(st *store.Store, head trace.Session) (from trace.Session, err error) {
	found := false
	err = st.View(func(tx *store.Tx) error {
		list := []trace.Session{head}
		earlier, err := tx.Sessions(store.Window{Origin: trace.Live, Limit: maxEarlier})
		if err != nil {
			return err
		}
		for _, e := range earlier {
			if e.ReplayOf == head.ID {
				list = append(list, e)
			}
		}
		for i, s := range list {
			if lines, err := tx.Exchanges(s.ID); err != nil {
				return err
			} else if len(lines) == 0 {
				continue
			}
			turns, err := tx.TurnHeads(s.ID, 0, 0)
			if err != nil {
				return err
			}
			broken := slices.ContainsFunc(turns, func(t store.TurnHead) bool { return t.CutShort() })
			if i == 0 || !broken {
				from, found = s, true
				return nil
			}
		}
		return nil
	})
	if err == nil && !found {
		err = fmt.Errorf("replay --offline: neither session %s nor a whole run of it holds recorded model calls: set agent.provider and replay it once live", head.ID)
	}
	return from, err
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
