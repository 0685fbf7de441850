package cli

import (
	"vise/engine"
	"vise/engine/config"
	"vise/engine/rule"
	"vise/store"
)

// expired tells by id why verdicts of rules do not hold for the settings at hand, as they
// are now and not as of the last run. Without an agent what ran last counts.
func (a *app) expired(tx *store.Tx, rules []rule.Rule) (map[string]string, error) {
	cfg, _, err := a.load()
	if err != nil {
		return nil, err
	}
	if cfg.Agent.Driver == "none" || len(cfg.Agent.Command) == 0 {
		return tx.ExpiredOf(rules)
	}
	verifier := ""
	switch v, err := a.newVerifier(cfg); {
	case err != nil:
		verifier = "cannot be used: " + err.Error() // its verdicts do not hold, which is no failure of reading
	case v != nil:
		verifier = v.Identity()
	}
	return tx.ExpiredFor(engine.IdentityOf(cfg, config.Expand(cfg.Agent.Command, a.self)[0], verifier), rules)
}
