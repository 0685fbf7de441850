package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"

	"vise/engine/config"
	"vise/engine/model"
	"vise/engine/model/cassette"
	"vise/engine/score"
	"vise/engine/trace"
	"vise/store"
)

// forecast is what a replay is going to ask of models, and what that costs, as far as
// it can be known before the start.
type forecast struct {
	Sessions []string `json:"sessions"`
	Runs     int      `json:"runs"`
	Offline  bool     `json:"offline"`
	// Agent are the agent's own model calls; nil when they are not seen (agent.provider).
	Agent *callsAhead `json:"agent,omitempty"`
	// Calls are those that the recording answers, with --offline.
	Calls []recordedCall `json:"calls,omitempty"`
	// Repair and Judge ask models of their own; nil when they are off or free.
	Repair *modelAhead `json:"repair,omitempty"`
	Judge  *modelAhead `json:"judge,omitempty"`
	// Live is what else is neither recorded nor refused.
	Live []string `json:"live,omitempty"`
	// Spends: money may be spent.
	Spends bool `json:"spends"`
}

// callsAhead are calls that go out, measured by what the sessions' last runs used.
type callsAhead struct {
	Provider string `json:"provider"`
	BaseURL  string `json:"base_url"`
	Calls    int    `json:"calls_per_run"`
	// Steps are model steps of which it is not known what they used.
	Steps  int   `json:"steps_of_unknown_use,omitempty"`
	Input  int64 `json:"input_tokens_per_run"`
	Output int64 `json:"output_tokens_per_run"`
	// USD is for all runs; nil when a price or the use is unknown.
	USD *float64 `json:"usd,omitempty"`
}

// modelAhead bounds what one call-maker beside the agent can cost.
type modelAhead struct {
	Model string `json:"model"`
	// MaxCalls and MaxOutput bound one episode of repair, or are 0; USD is the price of
	// that output, nil when it is unknown.
	MaxCalls  int      `json:"max_calls_per_episode,omitempty"`
	MaxOutput int      `json:"max_output_tokens_per_episode,omitempty"`
	USD       *float64 `json:"max_output_usd_per_episode,omitempty"`
}

// recordedCall is one call that the recording answers.
type recordedCall struct {
	Session string `json:"session_id"`
	Seq     int    `json:"seq"`
	Method  string `json:"method"`
	Path    string `json:"path"`
	Model   string `json:"model,omitempty"`
	Status  int    `json:"status"`
	Bytes   int    `json:"bytes"`
}

// foresee makes the forecast of a replay of sessions.
func (h *harness) foresee(heads []trace.Session, f replayFlags) (forecast, error) {
	out := forecast{Runs: len(heads) * f.repeat, Offline: f.offline}
	for _, head := range heads {
		out.Sessions = append(out.Sessions, head.ID)
	}
	if h.runner == nil || f.recorded {
		return out, nil
	}
	if f.offline && h.runner.Models == nil {
		return out, errors.New("replay --offline: agent.provider is not set, so no model call of the agent was recorded or can be answered")
	}
	out.Live = h.runner.Agent.Live()
	if h.runner.Models == nil && !f.offline {
		out.Live = append(out.Live, "the agent's model calls, which vise does not see (agent.provider)")
	}
	var err error
	switch {
	case f.offline:
		var from []trace.Session
		for _, head := range heads {
			tape, err := taped(h.store, head)
			if err != nil {
				return out, err
			}
			from = append(from, tape)
		}
		out.Calls, err = recordedCalls(h.store, from)
	case h.runner.Models != nil:
		out.Agent, err = h.callsAhead(heads, f.repeat)
		out.Spends = out.Agent != nil && (out.Agent.USD == nil && !loopbackURL(out.Agent.BaseURL) || out.Agent.USD != nil && *out.Agent.USD > 0)
	}
	if err != nil {
		return out, err
	}
	if !h.cfg.Evaluate.ObserveOnly {
		out.Repair = modelBound(h.cfg, h.cfg.Repair.Model, h.cfg.Repair.MaxTurns, h.cfg.Repair.MaxTokens)
	}
	if h.cfg.Evaluate.By == "judge" {
		out.Judge = modelBound(h.cfg, h.cfg.Evaluate.JudgeModel, 0, 0)
	}
	out.Spends = out.Spends || out.Repair != nil || out.Judge != nil
	return out, nil
}

// modelBound is what is known of a model before it is asked; nil for one that is free:
// built in, on this machine, or priced at nothing.
func modelBound(cfg *config.Config, id string, calls, tokens int) *modelAhead {
	provider, name, ok := config.SplitModel(id)
	if !ok || provider == config.Builtin {
		return nil
	}
	p := cfg.Providers[provider]
	price, known := p.Price(name)
	if known && price.Input == 0 && price.Output == 0 || !known && loopbackURL(p.BaseURL) {
		return nil
	}
	m := &modelAhead{Model: id, MaxCalls: calls, MaxOutput: tokens}
	if known && tokens > 0 {
		usd := (&model.Price{Input: price.Input, Output: price.Output, Cached: price.Cached}).Cost(trace.Usage{Output: int64(tokens)})
		m.USD = &usd
	}
	return m
}

// loopbackURL reports an address on this machine, where nobody sends a bill.
func loopbackURL(address string) bool {
	u, err := url.Parse(address)
	if err != nil {
		return false
	}
	host := u.Hostname()
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// maxEarlier bounds the runs that are looked at for the last one of a session.
const maxEarlier = 200

// maxMeasured bounds the runs of one session that are measured for one that is whole.
const maxMeasured = 10

// callsAhead measures what the sessions used when they were run last, or recorded.
func (h *harness) callsAhead(heads []trace.Session, repeat int) (*callsAhead, error) {
	up := h.runner.Models.Upstream
	out := &callsAhead{Provider: h.cfg.Agent.Provider, BaseURL: up.BaseURL}
	var earlier []trace.Session
	if err := h.store.View(func(tx *store.Tx) (err error) {
		earlier, err = tx.Sessions(store.Window{Origin: trace.Live, Limit: maxEarlier})
		return err
	}); err != nil {
		return nil, err
	}
	var cost float64
	known := true
	for _, head := range heads {
		// The last run that came to its end went through the proxy and knows best; one that
		// broke off says too little.
		m, err := h.measured(head.ID)
		if err != nil {
			return nil, err
		}
		looked := 0
		for _, e := range earlier {
			if e.ReplayOf != head.ID {
				continue
			}
			if looked++; looked > maxMeasured {
				break
			}
			run, err := h.measured(e.ID)
			if err != nil {
				return nil, err
			}
			if run.calls > 0 && !run.broken {
				m = run
				break
			}
		}
		out.Calls += m.calls
		out.Steps += m.steps - m.calls
		out.Input += m.used.Input
		out.Output += m.used.Output
		cost += m.cost
		known = known && m.unpriced == 0 && m.calls > 0 && m.steps == m.calls
	}
	if known {
		cost *= float64(repeat)
		out.USD = &cost
	}
	return out, nil
}

// measured is what the model calls of a session used.
type measured struct {
	steps, calls, unpriced int
	broken                 bool // a turn was cut short
	used                   trace.Usage
	cost                   float64
}

func (h *harness) measured(id string) (m measured, err error) {
	price := h.runner.Models.Upstream.Price
	printed := 0
	err = eachTurn(h.store, id, shownBytes, func(t trace.Turn, _ *score.Report) error {
		m.broken = m.broken || t.CutShort()
		for _, s := range t.Spans {
			if s.Kind != trace.LLM {
				continue
			}
			if s.Usage.IsZero() && s.Attrs["source"] == "stdout" {
				printed++ // what a command printed is no model call where those are seen
				continue
			}
			if s.Usage.IsZero() && s.Error != "" {
				continue // a call that failed costs nothing
			}
			if m.steps++; s.Usage.IsZero() {
				continue
			}
			m.calls++
			m.used = m.used.Add(s.Usage)
			switch p := price(s.Name); {
			case s.Usage.CostUSD != nil:
				m.cost += *s.Usage.CostUSD
			case p != nil:
				m.cost += p.Cost(s.Usage)
			default:
				m.unpriced++
			}
		}
		return nil
	})
	if m.calls == 0 {
		m.steps += printed
	}
	return m, err
}

// recordedCalls lists what the recordings answer.
func recordedCalls(st *store.Store, heads []trace.Session) (list []recordedCall, err error) {
	for _, head := range heads {
		if err := st.View(func(tx *store.Tx) error {
			lines, err := tx.Exchanges(head.ID)
			if err != nil {
				return err
			}
			for _, l := range lines {
				var e cassette.Exchange
				if err := e.UnmarshalJSON(l.Line); err != nil {
					return err
				}
				var asked struct {
					Model string `json:"model"`
				}
				_ = json.Unmarshal(e.Request, &asked) // what is not JSON names no model
				list = append(list, recordedCall{head.ID, e.Seq, e.Method, e.Path, asked.Model, e.Status, len(e.Body)})
			}
			return nil
		}); err != nil {
			return nil, fmt.Errorf("read the model calls of session %s: %w", head.ID, err)
		}
	}
	return list, nil
}

// lines say a forecast to a person.
func (f forecast) lines() []string {
	var out []string
	if f.Offline {
		out = append(out, fmt.Sprintf("the agent's model calls are answered from the recording (%s); none goes out", counted(len(f.Calls), "call")))
	}
	if c := f.Agent; c != nil {
		s := fmt.Sprintf("the agent's model calls go out to %s (%s)", show(c.Provider, 60), show(c.BaseURL, 120))
		if c.Calls > 0 {
			price := "the price is not known"
			if c.USD != nil {
				price = fmt.Sprintf("about %s for %s", dollars(*c.USD), counted(f.Runs, "run"))
			}
			s += fmt.Sprintf("; the recordings hold %s with %d tokens in and %d out a run: %s",
				counted(c.Calls, "such call"), c.Input, c.Output, price)
		} else if c.Steps > 0 {
			s += fmt.Sprintf("; the recordings hold %s and not what they cost: the price is known after the first run", counted(c.Steps, "model step"))
		}
		out = append(out, s)
	}
	if m := f.Repair; m != nil {
		s := fmt.Sprintf("each repair asks %s at most %s and for %d tokens of output", show(m.Model, 80), counted(m.MaxCalls, "time"), m.MaxOutput)
		if m.USD != nil {
			s += fmt.Sprintf(": at most $%.4f, and what it reads", *m.USD)
		}
		out = append(out, s)
	}
	if m := f.Judge; m != nil {
		out = append(out, fmt.Sprintf("every turn is judged by %s", show(m.Model, 80)))
	}
	return out
}

// dollars writes an amount so that a small one is not nothing.
func dollars(usd float64) string {
	if usd > 0 && usd < 0.0001 {
		return "less than $0.0001"
	}
	return fmt.Sprintf("$%.4f", usd)
}

// tellForecast says before the first run what goes out and what it costs. Without its
// key nothing is started: better now than as an error of the agent's own.
func (a *app) tellForecast(h *harness, heads []trace.Session, f replayFlags) error {
	if h.runner == nil || f.recorded {
		return nil
	}
	ahead, err := h.foresee(heads, f)
	if err != nil {
		return err
	}
	if h.runner.Models != nil && !f.offline {
		if key := h.runner.Models.Upstream.Key; key != nil {
			if _, err := key(); err != nil {
				return fmt.Errorf("agent.provider %s: %w", h.cfg.Agent.Provider, err)
			}
		}
	}
	if a.json && (f.dryRun || len(ahead.lines()) > 0) {
		if err := a.out.object("vise.forecast/1", ahead); err != nil {
			return err
		}
	}
	if f.dryRun && !a.json {
		a.out.printf("%s would be run %s", strings.Join(ahead.Sessions, ", "), counted(ahead.Runs, "time"))
		for _, c := range ahead.Calls {
			a.out.printf("recorded  %s #%d  %s %s  %s  %d bytes", show(c.Session, 60), c.Seq, c.Method, show(c.Path, 60), show(c.Model, 60), c.Bytes)
		}
		for _, s := range ahead.lines() {
			a.out.printf("%s", s)
		}
		a.out.printf("live: %s", strings.Join(ahead.Live, ", "))
		return a.out.err
	}
	for _, s := range ahead.lines() {
		a.note("vise: %s", s)
	}
	return nil
}
