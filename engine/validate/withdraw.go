package validate

import (
	"context"
	"errors"
)

// errWithdrawn ends the test of a rule that a person retired meanwhile.
var errWithdrawn = errors.New("the rule was retired while it was tested")

// Withdraw ends the test of a rule that is under way, if there is one: what it would say
// is not asked for any more, and agent runs cost time and money. The round goes on with its
// other rules.
func (v *Validator) Withdraw(id string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if cancel := v.tests[id]; cancel != nil {
		cancel(errWithdrawn)
	}
}

// test is the context of the test of a rule, which Withdraw ends, until end is called.
func (v *Validator) test(ctx context.Context, id string) (_ context.Context, end func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.tests == nil {
		v.tests = map[string]context.CancelCauseFunc{}
	}
	v.tests[id] = cancel
	return ctx, func() {
		v.mu.Lock()
		defer v.mu.Unlock()
		delete(v.tests, id)
		cancel(nil)
	}
}
