package store

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"vise/engine/event"
)

// followBatch is how many events Follow reads at a time.
const followBatch = 512

// Follow calls fn with every journal event above after, in order, without gaps or
// repeats, and waits for further ones until the context ends (its cause is returned)
// or fn returns an error (returned as it is). In a remote view it waits in the
// owner's process and survives a change of owner.
func (s *Store) Follow(ctx context.Context, after uint64, fn func(event.Event) error) error {
	var seen time.Time
	for {
		if err := ctx.Err(); err != nil {
			return context.Cause(ctx)
		}
		var list []event.Event
		end := after
		// Where nobody owns the store, it is opened for a moment, but only after
		// somebody has: a follower must not stand in the way of writers.
		changed := s.db == nil && !s.ownedAt().Equal(seen)
		err := s.view(func(tx *Tx) (err error) {
			if list, err = tx.Events(after, followBatch, EventFilter{}); err == nil {
				end, err = tx.LastSeq()
			}
			return err
		}, changed)
		if s.db == nil && err == nil {
			seen = s.ownedAt()
		}
		if err != nil && (s.db != nil || !errors.Is(err, errGone)) {
			return err
		}
		for _, e := range list {
			if err := ctx.Err(); err != nil {
				return context.Cause(ctx)
			}
			if err := fn(e); err != nil {
				return err
			}
			after = e.Seq
		}
		if len(list) < followBatch {
			// Damaged events are passed over: the wait must not wake for them again.
			after = max(after, end)
			if err := s.wait(ctx, after); err != nil {
				return err
			}
		}
	}
}

// ownedAt is when an owner last came or went; zero when none ever did.
func (s *Store) ownedAt() time.Time {
	info, err := os.Stat(ownerPath(s.o.Dir))
	if err != nil {
		return time.Time{}
	}
	return info.ModTime()
}

// wait returns when there may be events above after, or with the context's cause.
func (s *Store) wait(ctx context.Context, after uint64) error {
	if s.db != nil {
		return s.tail.wait(ctx, after)
	}
	r, err := dial(ctx, s.o.Dir)
	if err == nil {
		stop := context.AfterFunc(ctx, func() { _ = r.c.Close() })
		err = r.wait(after)
		stop()
		_ = r.c.Close()
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err != nil && !errors.Is(err, errGone) {
		return fmt.Errorf("follow journal: %w", err)
	}
	if err != nil {
		// Nobody owns the store, so nothing happens in it: look for a new owner now and then.
		return sleep(ctx, 250*time.Millisecond)
	}
	return nil
}

func (r *remoteSnapshot) wait(after uint64) error {
	body := u32(u64(nil, after), uint32(maxWait/time.Millisecond))
	ans, reply, err := r.ask(maxWait+questionLimit, opWait, body)
	if err == nil && (ans != ansSeq || len(reply) != 8) {
		err = errShort
	}
	return err
}
