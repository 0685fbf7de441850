package model

import (
	"errors"
	"fmt"
	"math"
	"sync"

	"vise/engine/trace"
)

// ErrBudget says that a question was not asked because it could exceed the budget.
var ErrBudget = errors.New("the budget does not allow it")

// Budget bounds what is spent over agent, judge and repair together. Zero values bound nothing.
type Budget struct {
	USD    float64
	Tokens int64
}

// Ledger counts tokens and money. It reserves before a question is sent and
// settles after it, so that questions in flight count too. An unknown price is
// unknown: it is never added as zero. Safe for concurrent use.
type Ledger struct {
	budget Budget

	mu       sync.Mutex
	entries  map[string]*Entry // by purpose
	order    []string
	reserved Entry
}

// Entry is what one purpose has spent.
type Entry struct {
	Purpose string `json:"purpose"`
	Calls   int    `json:"calls"`
	// Retries are requests sent again after a failure.
	Retries int   `json:"retries"`
	Failed  int   `json:"failed"`
	Input   int64 `json:"input"`
	Output  int64 `json:"output"`
	Cached  int64 `json:"cached"`
	// USD is the known part of the cost.
	USD float64 `json:"usd"`
	// Unpriced counts calls whose price is unknown.
	Unpriced int `json:"unpriced"`
	// Estimated counts calls whose tokens are a guess because the provider reported none.
	Estimated int `json:"estimated"`
}

// NewLedger returns an empty ledger.
func NewLedger(b Budget) *Ledger { return &Ledger{budget: b, entries: map[string]*Entry{}} }

// Reservation is the part of the budget one question may use. Settle or Release it exactly once.
type Reservation struct {
	ledger *Ledger
	held   Entry
	done   bool
}

// Reserve sets aside tokens of input and output for a question. The price is
// nil when unknown; with a budget in dollars such a question is refused, since
// nothing could bound it.
func (l *Ledger) Reserve(purpose string, input, output int64, price *Price) (*Reservation, error) {
	if l == nil {
		return &Reservation{}, nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.reserve(purpose, input, output, price)
}

// reserve is Reserve; the ledger is locked.
func (l *Ledger) reserve(purpose string, input, output int64, price *Price) (*Reservation, error) {
	held := Entry{Purpose: purpose, Input: input, Output: output}
	if price != nil {
		held.USD = price.Cost(trace.Usage{Input: input, Output: output})
	}
	spent := l.total()
	if limit := l.budget.Tokens; limit > 0 {
		used := spent.Input + spent.Output + l.reserved.Input + l.reserved.Output
		if used+input+output > limit {
			return nil, fmt.Errorf("%w: %d of %d tokens are used, this question may need %d more: raise budget.tokens", ErrBudget, used, limit, input+output)
		}
	}
	if limit := l.budget.USD; limit > 0 {
		if price == nil {
			return nil, fmt.Errorf("%w: budget.usd is set and the price of this model is unknown: set providers.NAME.price or remove budget.usd", ErrBudget)
		}
		if used := spent.USD + l.reserved.USD; used+held.USD > limit {
			return nil, fmt.Errorf("%w: $%.4f of $%.4f is used, this question may cost $%.4f more: raise budget.usd", ErrBudget, used, limit, held.USD)
		}
	}
	l.reserved.Input += held.Input
	l.reserved.Output += held.Output
	l.reserved.USD += held.USD
	return &Reservation{ledger: l, held: held}, nil
}

// Output set aside for an answer whose question names no limit, in tokens: half of what
// the budget still pays, so that questions asked at once have something, but no less than
// openLeast while that is there and never more than openMost, which few answers need. An
// answer of less than openMin is not worth its question.
const (
	openMin   = 256
	openLeast = 4096
	openMost  = 32768
)

// ReserveOpen is Reserve for a question that names no limit of its own and asks for some
// answers at once. It returns the limit that each answer must be held to so that the
// budget is kept, in tokens; 0 = nothing is capped, so none.
func (l *Ledger) ReserveOpen(purpose string, input, answers int64, price *Price) (r *Reservation, each int64, err error) {
	if l == nil {
		return &Reservation{}, 0, nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	rest := int64(math.MaxInt64)
	spent := l.total()
	if limit := l.budget.Tokens; limit > 0 {
		rest = limit - spent.Input - spent.Output - l.reserved.Input - l.reserved.Output - input
	}
	if limit := l.budget.USD; limit > 0 && price != nil && price.Output > 0 {
		left := limit - spent.USD - l.reserved.USD - price.Cost(trace.Usage{Input: input})
		rest = min(rest, int64(max(-1, left/price.Output*1e6))-1) // one less: sums of money are rounded
	}
	if rest == math.MaxInt64 {
		r, err = l.reserve(purpose, input, openLeast*answers, price)
		return r, 0, err
	}
	each = max(openMin, min(openMost, max(openLeast, rest/2/answers), rest/answers))
	r, err = l.reserve(purpose, input, each*answers, price)
	return r, each, err
}

// Hold sets aside what an agent may use that is started: what an earlier run of it
// used, zero when nothing is known of it. It is refused when that does not fit, or
// nothing is left. An agent bounds its own use, or does not: see Over.
func (l *Ledger) Hold(purpose string, likely trace.Usage) (*Reservation, error) {
	if l == nil {
		return &Reservation{}, nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	likely = told(likely)
	held := Entry{Purpose: purpose, Input: likely.Input, Output: likely.Output}
	if likely.CostUSD != nil {
		held.USD = *likely.CostUSD
	}
	spent := l.total()
	used := spent.Input + spent.Output + l.reserved.Input + l.reserved.Output
	if limit := l.budget.Tokens; limit > 0 && (used >= limit || used+held.Input+held.Output > limit) {
		return nil, fmt.Errorf("%w: %d of %d tokens are used, this agent may need %d more: raise budget.tokens", ErrBudget, used, limit, held.Input+held.Output)
	}
	if limit, used := l.budget.USD, spent.USD+l.reserved.USD; limit > 0 && (used >= limit || used+held.USD > limit) {
		return nil, fmt.Errorf("%w: $%.4f of $%.4f is used, this agent may cost $%.4f more: raise budget.usd", ErrBudget, used, limit, held.USD)
	}
	l.reserved.Input += held.Input
	l.reserved.Output += held.Output
	l.reserved.USD += held.USD
	return &Reservation{ledger: l, held: held}, nil
}

// Over reports whether the budget is used up when u is booked in place of what was
// set aside: then whoever uses it is ended.
func (r *Reservation) Over(u trace.Usage) bool {
	if r.ledger == nil {
		return false
	}
	l := r.ledger
	l.mu.Lock()
	defer l.mu.Unlock()
	if r.done {
		return false
	}
	u = told(u)
	t := l.total()
	tokens := t.Input + t.Output + l.reserved.Input + l.reserved.Output - r.held.Input - r.held.Output + u.Input + u.Output
	usd := t.USD + l.reserved.USD - r.held.USD
	if u.CostUSD != nil {
		usd += *u.CostUSD
	}
	return l.budget.Tokens > 0 && tokens > l.budget.Tokens || l.budget.USD > 0 && usd > l.budget.USD
}

// Settle books what the question really used and frees the rest. known is false
// when the usage is an estimate; retries counts requests sent again.
func (r *Reservation) Settle(u trace.Usage, known bool, retries int) {
	e := r.finish()
	if e == nil {
		return
	}
	defer r.ledger.mu.Unlock()
	e.Retries += retries
	e.book(u)
	if !known {
		e.Estimated++
	}
}

// Release frees the reservation of a question that got no answer.
func (r *Reservation) Release(retries int) {
	e := r.finish()
	if e == nil {
		return
	}
	defer r.ledger.mu.Unlock()
	e.Retries += retries
	e.Failed++
}

// finish returns the entry to book on, with the ledger locked; nil when there is nothing to do.
func (r *Reservation) finish() *Entry {
	if r.ledger == nil {
		return nil
	}
	l := r.ledger
	l.mu.Lock()
	if r.done {
		l.mu.Unlock()
		return nil
	}
	r.done = true
	l.reserved.Input -= r.held.Input
	l.reserved.Output -= r.held.Output
	l.reserved.USD -= r.held.USD
	return l.entry(r.held.Purpose)
}

// Add books usage that went through no reservation: the agent's own.
func (l *Ledger) Add(purpose string, u trace.Usage) {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.entry(purpose).book(u)
}

// told is what a provider or an agent says that it used, without what cannot be: nobody
// gives tokens or money back, and a negative number would make room in the budget.
func told(u trace.Usage) trace.Usage {
	u.Input, u.Output, u.Cached = max(u.Input, 0), max(u.Output, 0), max(u.Cached, 0)
	if c := u.CostUSD; c != nil && !(*c >= 0 && *c <= math.MaxFloat64) {
		u.CostUSD = nil // as unknown as one that is not told
	}
	return u
}

func (e *Entry) book(u trace.Usage) {
	u = told(u)
	e.Calls++
	e.Input += u.Input
	e.Output += u.Output
	e.Cached += u.Cached
	if u.CostUSD == nil {
		e.Unpriced++
		return
	}
	e.USD += *u.CostUSD
}

// entry returns the entry of a purpose; the ledger is locked.
func (l *Ledger) entry(purpose string) *Entry {
	e := l.entries[purpose]
	if e == nil {
		e = &Entry{Purpose: purpose}
		l.entries[purpose] = e
		l.order = append(l.order, purpose)
	}
	return e
}

// Entries returns what each purpose has spent, in the order of first use.
func (l *Ledger) Entries() []Entry {
	if l == nil {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	out := make([]Entry, 0, len(l.order))
	for _, name := range l.order {
		out = append(out, *l.entries[name])
	}
	return out
}

// Total returns the sum over all purposes.
func (l *Ledger) Total() Entry {
	if l == nil {
		return Entry{}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.total()
}

func (l *Ledger) total() Entry {
	var t Entry
	for _, e := range l.entries {
		t.Calls += e.Calls
		t.Retries += e.Retries
		t.Failed += e.Failed
		t.Input += e.Input
		t.Output += e.Output
		t.Cached += e.Cached
		t.USD += e.USD
		t.Unpriced += e.Unpriced
		t.Estimated += e.Estimated
	}
	return t
}

// cost is the price of a usage in US dollars. Cached input is part of the input.
// Cost is the price of a usage in US dollars.
func (p *Price) Cost(u trace.Usage) float64 {
	cached := p.Input
	if p.Cached != nil {
		cached = *p.Cached
	}
	fresh := max(0, u.Input-u.Cached)
	return (float64(fresh)*p.Input + float64(u.Cached)*cached + float64(u.Output)*p.Output) / 1e6
}
