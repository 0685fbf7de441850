package store

import (
	"sync"
	"sync/atomic"

	"vise/engine/rule"
)

// ruleIndex keeps the postings of the rules in memory, made when they are wanted for the
// second time (a command that asks once is answered sooner by reading) and brought up
// to date by every commit. A transaction may use them only when they are of
// the very state that it sees: the generation is taken before its snapshot is, is odd
// while a change of rules is being committed, and has moved on when one was.
type ruleIndex struct {
	generation atomic.Uint64
	mu         sync.RWMutex
	postings   *rule.Postings // nil until made; guarded by mu
	wanted     atomic.Bool
}

// begin announces that changed rules are about to be committed.
func (x *ruleIndex) begin() { x.generation.Add(1) }

// end takes the changed rules over, or nothing when the commit failed.
func (x *ruleIndex) end(changed []rule.Rule) {
	x.mu.Lock()
	if x.postings != nil {
		for _, r := range changed {
			x.postings.Put(r)
		}
		if x.postings.Worn() {
			x.postings = nil
		}
	}
	x.mu.Unlock()
	x.generation.Add(1)
}

// use calls fn with the postings when they are of the generation; they are made by
// fill when there are none yet.
func (x *ruleIndex) use(generation uint64, fill func(*rule.Postings) error, fn func(*rule.Postings)) (bool, error) {
	if generation%2 == 1 {
		return false, nil
	}
	x.mu.RLock()
	if x.postings != nil {
		defer x.mu.RUnlock()
		if x.generation.Load() != generation {
			return false, nil
		}
		fn(x.postings)
		return true, nil
	}
	x.mu.RUnlock()
	if !x.wanted.Swap(true) {
		return false, nil
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.generation.Load() != generation {
		return false, nil
	}
	if x.postings == nil {
		p := rule.NewPostings()
		if err := fill(p); err != nil {
			return false, err
		}
		x.postings = p
	}
	fn(x.postings)
	return true, nil
}

// rulesBy reads the rules that find names, in its order. ok is false when there is no
// index of the state that the transaction sees: in a remote view, after a write of
// rules in the transaction itself, and while another change of them is committed.
func (tx *Tx) rulesBy(find func(*rule.Postings) []string) (out []rule.Rule, ok bool, err error) {
	if tx.s.db == nil || len(tx.rules) > 0 {
		return nil, false, nil
	}
	var ids []string
	ok, err = tx.s.ruleIndex.use(tx.generation, func(p *rule.Postings) error {
		return tx.snap.scan(scan{prefix: []byte{kindRule}}, func(k, v []byte) (bool, error) {
			r, err := rules.decode(tx.snap, k, v)
			if tx.quarantine(k, v, err) {
				return true, nil
			}
			if err != nil {
				return false, err
			}
			p.Put(*r)
			return true, nil
		})
	}, func(p *rule.Postings) { ids = find(p) })
	if !ok || err != nil {
		return nil, false, err
	}
	out = make([]rule.Rule, 0, len(ids))
	for _, id := range ids {
		r, found, err := tx.Rule(id)
		if err != nil {
			return nil, false, err
		}
		if found { // else it is damaged
			out = append(out, r)
		}
	}
	return out, true, nil
}

// Best implements rule.Indexed.
func (tx *Tx) Best(q rule.Query) ([]rule.Rule, bool, error) {
	return tx.rulesBy(func(p *rule.Postings) []string { return p.Best(q) })
}

// Alike implements rule.Indexed.
func (tx *Tx) Alike(proposed rule.Rule) ([]rule.Rule, bool, error) {
	return tx.rulesBy(func(p *rule.Postings) []string { return p.Alike(proposed) })
}
