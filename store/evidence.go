package store

import (
	"slices"

	"vise/engine/evidence"
)

var cases = &table[evidence.Case]{
	kind: kindCase, name: "case", numbers: true,
	key: func(c *evidence.Case) []byte { return key(kindCase, c.ID) },
	index: func(c *evidence.Case) [][]byte {
		keys := [][]byte{
			key(kindCaseTime, c.CreatedAt, c.ID),
			key(kindCaseKind, string(c.Kind), c.CreatedAt, c.ID),
			key(kindCaseKey, evidence.CaptureKey(c.SessionID, c.Signature, c.Kind), c.ID),
		}
		for i, s := range c.Signature {
			if !slices.Contains(c.Signature[:i], s) {
				keys = append(keys, key(kindCaseSig, s, c.CreatedAt, c.ID))
			}
		}
		return keys
	},
}

// PutCase stores a case.
func (tx *Tx) PutCase(c evidence.Case) error {
	if err := tx.need("put case", c.ID); err != nil {
		return err
	}
	return put(tx, cases, &c)
}

// Case returns a case.
func (tx *Tx) Case(id string) (evidence.Case, bool, error) {
	return one(tx, cases, key(kindCase, id))
}

// Cases returns the cases of a kind ("" = all), oldest first.
func (tx *Tx) Cases(kind evidence.Kind) ([]evidence.Case, error) {
	if kind == "" {
		return collect(tx, cases, scan{prefix: []byte{kindCaseTime}}, 0)
	}
	return collect(tx, cases, scan{prefix: key(kindCaseKind, string(kind))}, 0)
}

// CasesBySignature returns the cases that have the signature, oldest first.
func (tx *Tx) CasesBySignature(signature string) ([]evidence.Case, error) {
	return collect(tx, cases, scan{prefix: key(kindCaseSig, signature)}, 0)
}

// CaseByKey returns the case with the dedup key (see evidence.CaptureKey).
func (tx *Tx) CaseByKey(caseKey string) (evidence.Case, bool, error) {
	list, err := collect(tx, cases, scan{prefix: key(kindCaseKey, caseKey)}, 1)
	if err != nil || len(list) == 0 {
		return evidence.Case{}, false, err
	}
	return list[0], true, nil
}

// DeleteCase removes a case.
func (tx *Tx) DeleteCase(id string) error { return remove(tx, cases, key(kindCase, id)) }

var verdicts = &table[evidence.Verdict]{
	kind: kindVerdict, name: "verdict",
	key: func(v *evidence.Verdict) []byte { return key(kindVerdict, v.ID) },
	index: func(v *evidence.Verdict) [][]byte {
		return [][]byte{part(at(key(kindVerdictRule, v.RuleID), v.At), v.ID)}
	},
}

// PutVerdict stores a verdict about a rule.
func (tx *Tx) PutVerdict(v evidence.Verdict) error {
	if err := tx.need("put verdict", v.ID, v.RuleID); err != nil {
		return err
	}
	return put(tx, verdicts, &v)
}

// Verdict returns a verdict.
func (tx *Tx) Verdict(id string) (evidence.Verdict, bool, error) {
	return one(tx, verdicts, key(kindVerdict, id))
}

// Verdicts returns the verdicts about a rule, oldest first.
func (tx *Tx) Verdicts(ruleID string) ([]evidence.Verdict, error) {
	return collect(tx, verdicts, scan{prefix: key(kindVerdictRule, ruleID)}, 0)
}
