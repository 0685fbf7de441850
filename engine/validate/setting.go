package validate

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"vise/engine/evidence"
	"vise/engine/rule"
	"vise/store"
)

// Options of one round.
type Options struct {
	// Rules restricts the round to these candidates.
	Rules []string
	// Budget bounds the round; 0 = Config.RoundBudget.
	Budget time.Duration
	// OwnCase accepts evidence on the case that a rule was written from.
	OwnCase bool
	// Profile of paired tests, "" = Config.Profile.
	Profile string
}

// errBudget is the cause of what ends because the time of a round is used up.
var errBudget = errors.New("the budget of the round is used up")

// setting is all that a test of one rule needs to know of the project, read at once.
type setting struct {
	rule     rule.Rule
	identity evidence.Identity
	rules    snapshot
	failures []evidence.Case // the writing case included
	wins     []evidence.Case
	own      map[string]bool     // by case: the rule was written from it
	checks   map[string][]string // by case: the checks that had fired
	measured evidence.Measured
	inform   []string // metrics that may not decide
	opts     Options
}

// cases are all that take part, failures first.
func (s setting) cases() []evidence.Case { return slices.Concat(s.failures, s.wins) }

// heldOut reports whether a failure takes part that the rule was not written from.
func (s setting) heldOut() bool {
	return slices.ContainsFunc(s.failures, func(c evidence.Case) bool { return !s.own[c.ID] })
}

// preference are the metrics a failure is judged by, without those that may not decide.
func (s setting) preference() []string {
	return slices.DeleteFunc(evidence.Preference(s.rule, s.failures), func(m string) bool { return slices.Contains(s.inform, m) })
}

// setting reads what a test of a rule needs.
func (v *Validator) setting(r rule.Rule, o Options) (s setting, err error) {
	s = setting{rule: r, own: map[string]bool{}, checks: map[string][]string{}, opts: o}
	err = v.Store.View(func(tx *store.Tx) error {
		var err error
		if s.rules, err = v.snapshot(tx); err != nil {
			return err
		}
		if s.identity, err = v.Identity(tx, r.ID); err != nil {
			return err
		}
		all, err := tx.Cases("")
		if err != nil {
			return err
		}
		session, input, err := written(tx, r, all)
		if err != nil {
			return err
		}
		own := func(c evidence.Case) bool { return evidence.Own(c, session, input) }
		s.failures, s.wins = evidence.SelectPaired(r, distinct(all), own)
		for _, c := range s.failures {
			s.own[c.ID] = own(c)
			if s.checks[c.ID], err = fired(tx, c); err != nil {
				return err
			}
		}
		m, ok, err := tx.Noise()
		if err != nil {
			return err
		}
		if ok {
			s.measured, s.inform = m, informOnly(m, v.EvaluatedBy)
		}
		return nil
	})
	if err != nil {
		return s, fmt.Errorf("validate rule %s: %w", r.ID, err)
	}
	return s, nil
}

// Identity is what a verdict on the rule holds for now.
func (v *Validator) Identity(tx *store.Tx, ruleID string) (evidence.Identity, error) {
	active, err := tx.Rules(rule.Active)
	if err != nil {
		return evidence.Identity{}, err
	}
	agent := v.Surroundings
	if agent == "" {
		agent = v.Agent
	}
	return evidence.Identity{Agent: agent, Evaluator: v.EvaluatedBy, Rules: evidence.RulesDigest(active, ruleID), Seed: v.Config.Seed}, nil
}

// written finds the session and the inputs that a rule was written from: those of its
// notice. A session that itself was a replay of a recording counts as that recording.
func written(tx *store.Tx, r rule.Rule, cases []evidence.Case) (session string, input *evidence.Input, err error) {
	n, ok, err := tx.Notice(r.SourceNoticeID)
	if err != nil || !ok {
		return "", nil, err
	}
	for _, c := range cases {
		if c.SessionID == n.SessionID && c.TurnIndex == n.TurnIndex && c.Kind == evidence.Failure && c.Input != nil {
			return n.SessionID, c.Input, nil
		}
	}
	heads, err := tx.TurnHeads(n.SessionID, 0, n.TurnIndex+1)
	if err != nil {
		return "", nil, err
	}
	input = &evidence.Input{}
	for _, t := range heads {
		if !t.Synthetic && t.Input != "" {
			input.Turns = append(input.Turns, t.Input)
		}
	}
	return n.SessionID, input, nil
}

// fired are the checks of weight that had fired in the turn that a case is about.
func fired(tx *store.Tx, c evidence.Case) ([]string, error) {
	report, ok, err := tx.Report(c.SessionID, c.TurnIndex)
	if err != nil || !ok {
		return nil, err
	}
	var out []string
	for _, s := range report.Scores {
		for _, f := range s.Findings {
			if f.Heavy() {
				out = append(out, f.Check)
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out), nil
}

// control returns the number-th control run of a case from the bank of this identity,
// or makes it. shared tells that it was there already.
func (v *Validator) control(ctx context.Context, s setting, c evidence.Case, number int) (x evidence.Control, shared bool, err error) {
	bank := s.identity.Digest()
	if err := v.Store.View(func(tx *store.Tx) (err error) {
		x, shared, err = tx.Control(bank, c.ID, number)
		return err
	}); err != nil || shared {
		return x, shared, err
	}
	job := v.job(c, "control", evidence.ControlSeed(s.identity, c.ID, number))
	job.Subject, job.Rules, job.Scopes = s.rule.ID, s.rules.without(s.rule.ID), s.rules.scopes
	run, err := v.run(ctx, job, s.checks[c.ID])
	if err != nil {
		return x, false, err
	}
	x = evidence.Control{Bank: bank, CaseID: c.ID, Number: number, At: v.Store.Now(), Arm: run.arm, Last: run.last, By: run.by}
	return x, false, nil
}

// treatment runs a case with the rule.
func (v *Validator) treatment(ctx context.Context, s setting, c evidence.Case, seed string) (evidence.Arm, error) {
	job := v.job(c, "treatment", seed)
	job.RuleID, job.Subject, job.Rules, job.Scopes = s.rule.ID, s.rule.ID, s.rules.with(s.rule), s.rules.scopes
	run, err := v.run(ctx, job, s.checks[c.ID])
	return run.arm, err
}
