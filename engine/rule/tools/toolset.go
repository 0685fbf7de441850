// Package tools are the four read-only tools over the rules that a task agent
// may call: read a scope, search, list the scopes, ask for a rule's status. The
// rule server offers them over MCP and the repair agent has them too. Nothing here
// can change a rule, and a view can be restricted to the candidates on trial.
//
// A Toolset keeps a ledger of the rules it handed out. That ledger is the proof
// that a rule was read, so one Toolset belongs to one run of one case.
package tools

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"vise/engine/guard"
	"vise/engine/rule"
)

// Names of the tools as they are called.
const (
	RulesRead   = "harness_rules_read"
	RulesSearch = "harness_rules_search"
	RulesList   = "harness_rules_list"
	RuleStatus  = "harness_rule_status"
)

// ErrInternal is the class of a failure that is not the caller's: the store
// could not be read. The other classes are those of package rule.
const ErrInternal = "internal"

// Options say what a Toolset shows.
type Options struct {
	// Restricted hides every candidate that Candidates does not name. Active rules stay.
	Restricted bool
	Candidates []string
	// Hidden are rules that do not exist in this view, whatever their status.
	Hidden []string
	// TrialMin is how many sessions a forward trial needs; 0 = 5.
	TrialMin int
	// Retrieval narrows what is read of a scope to the active rules that fit
	// Query, at most TopK outside the global scope. Without a Query all are shown.
	Retrieval bool
	TopK      int
	Query     string
}

// defaultTrialMin is the reference's size of a forward trial.
const defaultTrialMin = 5

// Toolset answers calls over one view of the rules. It is safe for concurrent use.
type Toolset struct {
	src  rule.Source
	opts Options

	mu        sync.Mutex
	surfaced  map[string]bool // named in any answer
	read      map[string]bool // whose text was handed out
	onSurface func(ids []string)
	onRead    func(ids []string)
}

// New returns a Toolset with an empty ledger.
func New(src rule.Source, o Options) *Toolset {
	if o.TrialMin <= 0 {
		o.TrialMin = defaultTrialMin
	}
	o.Candidates, o.Hidden = slices.Clone(o.Candidates), slices.Clone(o.Hidden)
	return &Toolset{src: src, opts: o, surfaced: map[string]bool{}, read: map[string]bool{}}
}

// OnSurface has fn called after each call that surfaced rules for the first time,
// with their ids, sorted. It must be set before the first call.
func (t *Toolset) OnSurface(fn func(ids []string)) { t.onSurface = fn }

// OnRead has fn called after each call that handed out the texts of rules, with their
// ids: a view that several runs share cannot tell by its ledger which of them read. It
// must be set before the first call.
func (t *Toolset) OnRead(fn func(ids []string)) { t.onRead = fn }

// Surfaced returns the ids of all rules handed back so far, sorted, the ones whose
// status was asked for included. It only grows.
func (t *Toolset) Surfaced() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Sorted(maps.Keys(t.surfaced))
}

// Read returns the ids of the rules whose text was handed out, sorted. Asking for a
// rule's status shows no text, so it proves no reading; evidence that a rule was
// exercised rests on this ledger.
func (t *Toolset) Read() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Sorted(maps.Keys(t.read))
}

// Call runs one tool. It never fails otherwise than in its Result, and whatever it
// answers is bounded and sanitised.
func (t *Toolset) Call(name string, args map[string]any) (result Result) {
	defer func() {
		// A view of the rules may come from another process over a socket; what
		// goes wrong there must not take the agent's run with it.
		if p := recover(); p != nil {
			result = failed(fmt.Errorf("rule tool %s: %v", guard.Line(name, 60), p))
		}
	}()
	call := map[string]func(rule.Reader, map[string]any) (Result, error){
		RulesRead: t.readScope, RulesSearch: t.search, RulesList: t.list, RuleStatus: t.status,
	}[name]
	if call == nil {
		return failed(&rule.Error{Class: rule.ErrUnsupported, Message: fmt.Sprintf(
			"there is no tool %q; there are %s, %s, %s and %s", guard.Line(name, 60), RulesRead, RulesSearch, RulesList, RuleStatus)})
	}
	if err := t.src.ReadRules(func(r rule.Reader) error {
		if t.opts.Restricted {
			r = rule.Restrict(r, t.opts.Candidates)
		}
		if len(t.opts.Hidden) > 0 {
			r = rule.Hide(r, t.opts.Hidden)
		}
		var err error
		result, err = call(r, args)
		return err
	}); err != nil {
		return failed(err)
	}
	t.record(name, result.Hits)
	return result
}

// record enters the rules of an answer into the ledger.
func (t *Toolset) record(name string, ids []string) {
	var fresh []string
	t.mu.Lock()
	for _, id := range ids {
		if !t.surfaced[id] {
			t.surfaced[id] = true
			fresh = append(fresh, id)
		}
		if name != RuleStatus {
			t.read[id] = true
		}
	}
	t.mu.Unlock()
	if len(fresh) > 0 && t.onSurface != nil {
		slices.Sort(fresh)
		t.onSurface(fresh)
	}
	if name != RuleStatus && len(ids) > 0 && t.onRead != nil {
		t.onRead(slices.Clone(ids))
	}
}

// failed turns an error into an answer: refusals keep their class.
func failed(err error) Result {
	var refusal *rule.Error
	if errors.As(err, &refusal) {
		return Result{Error: refusal.Class, Message: guard.Line(refusal.Message, maxMessage)}
	}
	return Result{Error: ErrInternal, Message: guard.Line(err.Error(), maxMessage)}
}
