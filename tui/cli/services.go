package cli

import (
	"context"
	"errors"
	"time"

	"vise/engine/config"
	"vise/engine/guard"
	"vise/engine/model"
	"vise/engine/rule/tools"
	"vise/replay"
	"vise/replay/llmproxy"
	"vise/replay/otlp"
	"vise/replay/ruleserver"
	"vise/store"
)

// services are the servers on the loopback that agents reach us through.
type services struct {
	rules     *ruleserver.Server
	telemetry *otlp.Receiver
	models    *replay.Models // nil: agent.provider does not say whose the models are
	red       *guard.Redactor
}

// startServices starts them; end stops those that were started, also after an error.
func (a *app) startServices(ctx context.Context, cfg *config.Config, st *store.Store, ledger *model.Ledger) (s services, end func() error, err error) {
	var stop []func(context.Context) error
	end = func() (err error) {
		for _, f := range stop {
			end, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
			err = errors.Join(f(end), err)
			cancel()
		}
		return err
	}
	if s.red, err = guard.NewRedactor(guard.RedactOptions{Keys: cfg.Redact.Keys, Values: cfg.Redact.Values, Extra: cfg.Redact.Extra}); err != nil {
		return s, end, err
	}
	if s.rules, err = ruleserver.Start(ctx, ruleserver.Options{Source: st}); err != nil {
		return s, end, err
	}
	stop = append(stop, s.rules.Close)
	if s.telemetry, err = otlp.Start(ctx, nil); err != nil {
		return s, end, err
	}
	stop = append(stop, s.telemetry.Close)
	if cfg.Agent.Provider == "" {
		return s, end, nil
	}
	proxy, err := llmproxy.Start(ctx, llmproxy.Options{})
	if err != nil {
		return s, end, err
	}
	stop = append(stop, proxy.Close)
	s.models = a.agentModels(ctx, cfg, proxy, ledger, s.red)
	return s, end, nil
}

// rulesView is what is common to all views of the rules.
func rulesView(cfg *config.Config) tools.Options {
	return tools.Options{TrialMin: cfg.Validate.TrialMinSessions, Retrieval: cfg.Rules.Retrieval, TopK: cfg.Rules.ContextTopK}
}
