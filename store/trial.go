package store

import (
	"fmt"
	"slices"

	"vise/engine/evidence"
	"vise/engine/rule"
)

var tests = &table[evidence.Test]{
	kind: kindTest, name: "paired test",
	key: func(t *evidence.Test) []byte { return key(kindTest, t.ID) },
	index: func(t *evidence.Test) [][]byte {
		return [][]byte{part(at(key(kindTestRule, t.RuleID), t.Started), t.ID)}
	},
}

var pairs = &table[evidence.Pair]{
	kind: kindPair, name: "pair",
	key: func(p *evidence.Pair) []byte { return index(key(kindPair, p.TestID), p.Number) },
}

var controls = &table[evidence.Control]{
	kind: kindControl, name: "control run",
	key: func(c *evidence.Control) []byte { return index(key(kindControl, c.Bank, c.CaseID), c.Number) },
}

// PutTest stores a paired test.
func (tx *Tx) PutTest(t evidence.Test) error {
	if err := tx.need("put paired test", t.ID, t.RuleID); err != nil {
		return err
	}
	return put(tx, tests, &t)
}

// Tests returns the paired tests of a rule, oldest first.
func (tx *Tx) Tests(ruleID string) ([]evidence.Test, error) {
	return collect(tx, tests, scan{prefix: key(kindTestRule, ruleID)}, 0)
}

// CountTests returns how many paired tests there have been, of all rules.
func (tx *Tx) CountTests() (n int, err error) {
	err = tx.snap.scan(scan{prefix: []byte{kindTest}}, func(_, _ []byte) (bool, error) {
		n++
		return true, nil
	})
	if err != nil {
		return 0, fmt.Errorf("count paired tests: %w", err)
	}
	return n, nil
}

// PutPair stores a pair of a test.
func (tx *Tx) PutPair(p evidence.Pair) error {
	if err := tx.need("put pair", p.TestID, p.CaseID); err != nil {
		return err
	}
	return put(tx, pairs, &p)
}

// Pairs returns the pairs of a test in the order of their numbers.
func (tx *Tx) Pairs(testID string) ([]evidence.Pair, error) {
	var out []evidence.Pair
	err := tx.snap.scan(scan{prefix: key(kindPair, testID)}, func(k, value []byte) (bool, error) {
		p, err := pairs.decode(tx.snap, k, value)
		if tx.quarantine(k, value, err) {
			return true, nil
		}
		if err != nil {
			return false, err
		}
		out = append(out, *p)
		return true, nil
	})
	if err != nil {
		return nil, fmt.Errorf("list pairs: %w", err)
	}
	return out, nil
}

// maxBanks is how many banks of control runs are kept: one for the rules as they are,
// and those of rules that are tested against a set without themselves.
const maxBanks = 8

// banksState is the list of banks, the one begun last at the end.
const banksState = "evidence/banks"

// PutControl stores a control run. The oldest bank is removed when there are too many.
func (tx *Tx) PutControl(c evidence.Control) error {
	if err := tx.need("put control run", c.Bank, c.CaseID); err != nil {
		return err
	}
	var banks []string
	if _, err := tx.State(banksState, &banks); err != nil {
		return err
	}
	if !slices.Contains(banks, c.Bank) {
		banks = append(banks, c.Bank)
		for len(banks) > maxBanks {
			var old [][]byte
			if err := tx.snap.scan(scan{prefix: key(kindControl, banks[0])}, func(k, _ []byte) (bool, error) {
				old = append(old, slices.Clone(k))
				return true, nil
			}); err != nil {
				return fmt.Errorf("remove a bank of control runs: %w", err)
			}
			for _, k := range old {
				if err := remove(tx, controls, k); err != nil {
					return err
				}
			}
			banks = banks[1:]
		}
		if err := tx.PutState(banksState, banks); err != nil {
			return err
		}
	}
	return put(tx, controls, &c)
}

// Control returns the number-th control run of a case in a bank.
func (tx *Tx) Control(bank, caseID string, number int) (evidence.Control, bool, error) {
	return one(tx, controls, index(key(kindControl, bank, caseID), number))
}

// identityState is the identity of what runs now, as of the last start.
const identityState = "identity"

// PutIdentity stores what runs now: agent, evaluator and seed. The rules in it are not
// looked at: they are read when they are needed.
func (tx *Tx) PutIdentity(i evidence.Identity) error { return tx.PutState(identityState, i) }

// Identity is what runs now, with the rules that are active beside the given one.
// false: nothing has run yet.
func (tx *Tx) Identity(ruleID string) (evidence.Identity, bool, error) {
	var now evidence.Identity
	ok, err := tx.State(identityState, &now)
	if err != nil || !ok {
		return now, false, err
	}
	active, err := tx.Rules(rule.Active)
	now.Rules = evidence.RulesDigest(active, ruleID)
	return now, true, err
}

// Expired says why the newest verdict that decided about a live rule, or that left it
// open, does not hold any more; "" when it does, or when there is none.
func (tx *Tx) Expired(r rule.Rule) (string, error) {
	why, err := tx.ExpiredOf([]rule.Rule{r})
	return why[r.ID], err
}

// ExpiredOf is Expired of many rules at once, by id; those that hold are not in it.
func (tx *Tx) ExpiredOf(rules []rule.Rule) (map[string]string, error) {
	var now evidence.Identity
	ok, err := tx.State(identityState, &now)
	if err != nil || !ok {
		return nil, err
	}
	return tx.ExpiredFor(now, rules)
}

// ExpiredFor is ExpiredOf for what would run now, whatever ran last. The rules in now
// are not looked at.
func (tx *Tx) ExpiredFor(now evidence.Identity, rules []rule.Rule) (map[string]string, error) {
	active, err := tx.Rules(rule.Active)
	if err != nil {
		return nil, err
	}
	sum := evidence.SumRules(active)
	out := map[string]string{}
	for _, r := range rules {
		var v evidence.Verdict
		ok := false
		switch r.Status {
		case rule.Active:
			v, ok, err = tx.Verdict(r.VerdictID)
		case rule.Candidate:
			var list []evidence.Verdict
			if list, err = tx.Verdicts(r.ID); len(list) > 0 {
				v, ok = list[len(list)-1], true
			}
		}
		if err != nil {
			return nil, err
		}
		if !ok {
			continue
		}
		now.Rules = sum.Without(r.ID)
		if why := v.Expired(now); why != "" {
			out[r.ID] = why
		}
	}
	return out, nil
}
