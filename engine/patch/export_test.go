package patch

import (
	"context"
	"maps"
	"os"
	"slices"
	"syscall"

	"vise/engine/patch/risk"
	"vise/engine/patch/run"
)

// States are all states of the default machine: what the table itself knows.
func States() []run.State { return slices.Sorted(maps.Keys(tables[risk.Default])) }

// killer ends its own process with SIGKILL before the effect of a state, or after
// it and before what came of it is stored.
type killer struct {
	*shop
	state run.State
	after bool
	last  run.State
}

func (k *killer) die() {
	_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	select {} // until it arrives
}

func (k *killer) Save(ctx context.Context, l *run.Loop) error {
	if k.after && k.last == k.state {
		k.die()
	}
	k.last = l.State
	return k.shop.Save(ctx, l)
}

func (k *killer) Hold(ctx context.Context, l *run.Loop) error {
	if !k.after && l.State == k.state {
		k.die()
	}
	return k.shop.Hold(ctx, l)
}

// RepairKilled is Repair in a process that is killed at a state; state "" leaves the
// killing to the programs that it starts.
func (b *Bench) RepairKilled(ctx context.Context, q RepairRequest, state run.State, after bool) error {
	r, err := b.Run(q.RunID)
	if err != nil {
		return err
	}
	l, err := b.loop(q, r)
	if err != nil {
		return err
	}
	m := &machine{world: &killer{shop: &shop{Bench: b, q: q}, state: state, after: after}, exact: true}
	return m.drive(ctx, &l)
}
