package replay

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"vise/engine/episode"
)

// errand is what is to be done about a session behind its turns, one at a time: settle it,
// or end it.
type errand struct {
	session string
	after   time.Time // not before
	tries   int       // times that it came to nothing
	end     func(context.Context) error
}

// errands are those that are to be done, in order. They have a lock of their own: who
// adds one may be waited for by whoever holds the listener's.
type errands struct {
	mu    sync.Mutex
	list  []errand
	ready chan struct{}
}

// add adds an errand; a session is not settled twice for what one time does.
func (q *errands) add(e errand) {
	q.mu.Lock()
	defer q.mu.Unlock()
	defer poke(q.ready)
	if e.end == nil {
		for i, o := range q.list {
			if o.session == e.session && o.end == nil {
				if e.after.Before(o.after) {
					q.list[i].after = e.after
				}
				return
			}
		}
	}
	q.list = append(q.list, e)
}

// take returns the next errand; nil with how long to wait for one.
func (q *errands) take(now time.Time) (*errand, time.Duration) {
	q.mu.Lock()
	defer q.mu.Unlock()
	wait := time.Hour
	for i, e := range q.list {
		if left := e.after.Sub(now); left > 0 {
			wait = min(wait, left)
			continue
		}
		q.list = slices.Delete(q.list, i, i+1)
		return &e, 0
	}
	return nil, wait
}

func poke(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// write queues a change of the store; they happen in order. The listener is locked.
func (l *Listener) write(what string, do func(context.Context) error) {
	l.jobs <- func() {
		// What an agent did is kept, whatever ends us.
		if err := do(context.Background()); err != nil {
			l.o.OnError(fmt.Errorf("%s: %w", what, err))
		}
	}
}

// final bounds the end: how long the scores of the last turns are waited for.
const final = 10 * time.Second

// Run ends turns and sessions in time, stores and settles them, until the context ends;
// then it closes those that are open. cut says that something was interrupted: a turn
// without an answer, or a repair or validation under way.
func (l *Listener) Run(ctx context.Context) (cut bool) {
	var writer, errands sync.WaitGroup
	writer.Go(func() {
		for do := range l.jobs {
			do()
		}
	})
	stopped := false // read after errands.Wait
	errands.Go(func() { stopped = l.runErrands(ctx) })
	for ctx.Err() == nil {
		next := l.expire()
		timer := time.NewTimer(next)
		select {
		case <-ctx.Done():
		case <-timer.C:
		case <-l.wake:
		case <-l.told:
			l.hear(ctx)
		}
		timer.Stop()
	}
	l.hear(context.WithoutCancel(ctx))
	l.mu.Lock()
	l.closed = true
	for _, h := range l.held {
		l.trace(h.Trace, false)
	}
	for len(l.open) > 0 {
		s := l.open[0]
		if t := s.turn; t != nil && (t.flying > 0 || !t.answered) {
			t.broken, cut = false, true // our end broke what was under way
		}
		l.endSession(s, "vise serve ended")
	}
	l.mu.Unlock()
	close(l.jobs)
	writer.Wait()
	errands.Wait()
	end, stop := context.WithTimeout(context.WithoutCancel(ctx), final)
	defer stop()
	for _, e := range l.todo.list {
		if _, err := l.host.Await(end, e.session); err != nil {
			l.o.OnError(err)
		}
		if e.end != nil {
			if err := e.end(end); err != nil {
				l.o.OnError(err)
			}
		}
	}
	if l.late > 0 {
		l.o.OnError(fmt.Errorf("spans of ended turns came too late and are not kept: %d", l.late))
	}
	return cut || stopped
}

// expire ends what is over and returns how long until the next end.
func (l *Listener) expire() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.o.Now()
	next := l.release(now)
	for _, s := range slices.Clone(l.open) {
		at, end := s.last.Add(l.o.SessionGap), func() { l.endSession(s, fmt.Sprintf("silent for %v", l.o.SessionGap)) }
		if t := s.turn; t != nil {
			if t.flying > 0 {
				continue
			}
			at, end = t.last.Add(l.o.Longest), func() { l.endTurn(s, "timeout") }
			switch {
			case t.answered, t.spent:
				at = t.last.Add(l.o.TurnGap)
			case t.hungUp:
				at, end = t.last.Add(10*l.o.TurnGap), func() { t.broken = false; l.endTurn(s, "cancelled") }
			}
		}
		if left := at.Sub(now); left > 0 {
			next = min(next, left)
			continue
		}
		end()
		next = 0 // a session whose turn has ended has an end of its own
	}
	return next
}

// runErrands settles and ends sessions, one after the other, and does what waits for
// quiet in between. It returns whether the context's end interrupted something.
func (l *Listener) runErrands(ctx context.Context) (stopped bool) {
	for ctx.Err() == nil {
		e, wait := l.todo.take(l.o.Now())
		switch {
		case e != nil && e.end != nil:
			if err := e.end(context.WithoutCancel(ctx)); err != nil {
				l.o.OnError(err)
			}
		case e != nil:
			stopped = l.settle(ctx, *e)
		case l.nothingGoesOn():
			stopped = l.quiet(ctx)
		default:
			timer := time.NewTimer(wait)
			select {
			case <-ctx.Done():
			case <-timer.C:
			case <-l.todo.ready:
			}
			timer.Stop()
		}
	}
	return stopped
}

// Settle has sessions settled that earlier processes left.
func (l *Listener) Settle(sessions ...string) {
	for _, id := range sessions {
		l.todo.add(errand{session: id})
	}
}

// nothingGoesOn: no turn is open, and Idle has something to do.
func (l *Listener) nothingGoesOn() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.due && l.o.Idle != nil && !l.atWork()
}

func (l *Listener) atWork() bool {
	return len(l.held) > 0 || slices.ContainsFunc(l.open, func(s *heard) bool { return s.turn != nil })
}

// settle scores a session's turns and repairs one episode of it.
func (l *Listener) settle(ctx context.Context, e errand) (stopped bool) {
	done, err := l.host.Settle(ctx, e.session)
	if ctx.Err() != nil {
		l.todo.add(errand{session: e.session}) // its turns are still to be scored
		return done.Repair != nil && done.Repair.Status == episode.Cancelled
	}
	if err != nil {
		l.o.OnError(err)
	}
	l.mu.Lock()
	l.due = true
	l.mu.Unlock()
	if done.Outage != "" || done.Repair != nil && !done.Cached && !done.Repair.Status.Success() {
		// As the episode itself waits longer after each failure.
		l.todo.add(errand{session: e.session, after: l.o.Now().Add(l.o.Again << min(e.tries, 10)), tries: e.tries + 1})
	}
	return false
}

// quiet does what no turn may run beside.
func (l *Listener) quiet(ctx context.Context) (stopped bool) {
	qctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	l.mu.Lock()
	if l.atWork() {
		l.mu.Unlock()
		return false
	}
	l.idling, l.due = cancel, false
	l.mu.Unlock()
	err := l.o.Idle(qctx)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.idling = nil
	switch {
	case ctx.Err() != nil:
		return err != nil
	case errors.Is(context.Cause(qctx), errTurn):
		l.due = true // it goes on when that turn has ended
	case err != nil:
		l.o.OnError(err)
	}
	return false
}
