package model

import (
	"errors"
	"math"
	"strings"
	"sync"
	"testing"

	"vise/engine/model/faults"
	"vise/engine/trace"
)

func TestLedgerReservesBeforeDispatch(t *testing.T) {
	l := NewLedger(Budget{Tokens: 100})
	a, err := l.Reserve("repair", 40, 40, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := l.Reserve("judge", 10, 11, nil); !errors.Is(err, ErrBudget) {
		t.Fatalf("a question in flight does not count: %v", err)
	}
	a.Settle(trace.Usage{Input: 30, Output: 5}, true, 2)
	a.Settle(trace.Usage{Input: 30, Output: 5}, true, 2) // once only
	b, err := l.Reserve("judge", 10, 55, nil)
	if err != nil {
		t.Fatalf("what was not used is free again: %v", err)
	}
	b.Release(1)
	want := []Entry{{Purpose: "repair", Calls: 1, Retries: 2, Input: 30, Output: 5, Unpriced: 1}, {Purpose: "judge", Retries: 1, Failed: 1}}
	for i, e := range l.Entries() {
		if e != want[i] {
			t.Errorf("entry %+v, want %+v", e, want[i])
		}
	}
	if l.Exhausted() {
		t.Error("not exhausted yet")
	}
	l.Add("agent", trace.Usage{Input: 65})
	if !l.Exhausted() {
		t.Error("exhausted")
	}
}

func TestLedgerMoney(t *testing.T) {
	cached := 0.1
	p := &Price{Input: 1, Output: 2, Cached: &cached}
	if got := p.Cost(trace.Usage{Input: 1_000_000, Cached: 500_000, Output: 500_000}); math.Abs(got-1.55) > 1e-12 {
		t.Errorf("cost %v", got)
	}
	l := NewLedger(Budget{USD: 1})
	if _, err := l.Reserve("repair", 1, 1, nil); !errors.Is(err, ErrBudget) || !strings.Contains(err.Error(), "unknown") {
		t.Errorf("an unknown price cannot be bounded: %v", err)
	}
	r, err := l.Reserve("repair", 500_000, 0, p)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := l.Reserve("repair", 600_000, 0, p); !errors.Is(err, ErrBudget) {
		t.Errorf("err %v", err)
	}
	usd := 0.5
	r.Settle(trace.Usage{Input: 500_000, CostUSD: &usd}, true, 0)
	if got := l.Total(); got.USD != 0.5 || got.Unpriced != 0 {
		t.Errorf("%+v", got)
	}
}

func TestLedgerNilAndConcurrent(t *testing.T) {
	var none *Ledger
	r, err := none.Reserve("x", 1, 1, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Settle(trace.Usage{}, true, 0)
	none.Add("x", trace.Usage{})
	if none.Exhausted() || none.Entries() != nil || none.Total() != (Entry{}) {
		t.Error("a nil ledger counts nothing")
	}
	l := NewLedger(Budget{})
	var wg sync.WaitGroup
	for range 50 {
		wg.Go(func() {
			r, err := l.Reserve("repair", 1, 1, &Price{Input: 1e6})
			if err != nil {
				t.Error(err)
				return
			}
			r.Settle(trace.Usage{Input: 1, Output: 1}, false, 0)
		})
	}
	wg.Wait()
	if got := l.Total(); got.Calls != 50 || got.Estimated != 50 || l.reserved != (Entry{}) {
		t.Errorf("%+v reserved %+v", got, l.reserved)
	}
}

func TestChatStopsAtTheBudget(t *testing.T) {
	l := NewLedger(Budget{Tokens: 50})
	c, script := scripted(t, Options{Ledger: l}, faults.Step{Lines: []string{faults.Text("x"), faults.Finish("stop"), "[DONE]"}})
	_, err := c.Chat(t.Context(), Request{MaxTokens: 100}, nil)
	if KindOf(err) != KindBudget || !errors.Is(err, ErrBudget) || len(script.Requests()) != 0 {
		t.Fatalf("err %v, %d requests", err, len(script.Requests()))
	}
}

// An agent is started when what it is likely to use fits; what it tells while it
// runs takes the place of that, and ends it when nothing is left.
func TestLedgerHoldsAnAgent(t *testing.T) {
	usd := func(f float64) *float64 { return &f }
	l := NewLedger(Budget{USD: 1, Tokens: 1000})
	a, err := l.Hold("patch", trace.Usage{Input: 100, CostUSD: usd(0.6)})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := l.Hold("patch", trace.Usage{Input: 100, CostUSD: usd(0.6)}); !errors.Is(err, ErrBudget) {
		t.Errorf("a second one fits: %v", err)
	}
	if a.Over(trace.Usage{Input: 900, CostUSD: usd(0.9)}) || !a.Over(trace.Usage{Input: 1001}) || !a.Over(trace.Usage{CostUSD: usd(1.1)}) {
		t.Error("over is told at another place")
	}
	a.Settle(trace.Usage{Input: 100}, true, 0) // no cost: unknown, not nothing
	if e := l.Total(); e.Unpriced != 1 || e.USD != 0 {
		t.Errorf("%+v", e)
	}
	b, err := l.Hold("patch", trace.Usage{})
	if err != nil {
		t.Fatal(err)
	}
	b.Settle(trace.Usage{CostUSD: usd(1)}, true, 0)
	if _, err := l.Hold("patch", trace.Usage{}); !errors.Is(err, ErrBudget) {
		t.Errorf("nothing is left, and yet: %v", err)
	}
	var none *Ledger
	if r, err := none.Hold("patch", trace.Usage{Input: 1}); err != nil || r.Over(trace.Usage{Input: 1 << 40}) {
		t.Errorf("without a budget: %v", err)
	}
}

// A provider that tells of negative or impossible usage makes no room in the budget.
func TestNobodyGivesTokensBack(t *testing.T) {
	l := NewLedger(Budget{Tokens: 1000, USD: 1})
	minus, none := -5.0, math.NaN()
	l.Add("agent", trace.Usage{Input: 900, Output: -100_000, Cached: -1, CostUSD: &minus})
	l.Add("agent", trace.Usage{CostUSD: &none})
	if got := l.Total(); got.Input != 900 || got.Output != 0 || got.Cached != 0 || got.USD != 0 || got.Unpriced != 2 {
		t.Errorf("booked %+v", got)
	}
	if _, err := l.Reserve("judge", 200, 0, &Price{}); !errors.Is(err, ErrBudget) {
		t.Errorf("a question beyond the budget: %v", err)
	}
	r, err := l.Hold("agent", trace.Usage{Input: -1 << 40})
	if err != nil {
		t.Fatal(err)
	}
	if !r.Over(trace.Usage{Input: 101, Output: -500}) {
		t.Error("101 tokens over 100 that are left are not over")
	}
	done := make(chan struct{})
	go func() { defer close(done); r.Over(trace.Usage{}) }() // may come beside the settling
	r.Settle(trace.Usage{}, true, 0)
	<-done
}

// Exhausted reports whether nothing more can be asked.
func (l *Ledger) Exhausted() bool {
	if l == nil {
		return false
	}
	t := l.Total()
	return l.budget.Tokens > 0 && t.Input+t.Output >= l.budget.Tokens || l.budget.USD > 0 && t.USD >= l.budget.USD
}
