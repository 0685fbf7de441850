package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"vise/engine/episode"
	"vise/engine/event"
	"vise/engine/notice"
	"vise/store"
)

// Settle waits until the session's turns are scored, then repairs one pending
// episode, if there is one and repair is on. It never waits for validation. The
// context ends it early: what it ran is then cancelled and nothing is
// acknowledged; a repair that somebody else runs is named and goes on. A repair that a
// person cancelled through the stepper is not begun again by a settlement: RunRepair
// does it on a person's word, and so does the next process. Semantics: PandaProbe Harness 0.9, settlement; failing episodes
// back off and end as dead letters instead of blocking their session for ever.
func (h *Harness) Settle(ctx context.Context, session string) (episode.Settlement, error) {
	evaluated, err := h.await(ctx, session)
	out := episode.Settlement{Evaluated: evaluated}
	if down := (*Outage)(nil); errors.As(err, &down) {
		// The turn waits for the evaluator; what was noticed before it need not.
		out.Outage, err = down.Error(), nil
	}
	if err != nil {
		return out, err
	}
	if h.agent == nil {
		return out, nil
	}
	ep, latest, err := h.nextEpisode(ctx, session)
	if err != nil {
		return out, err
	}
	if ep == nil {
		out.Repair, out.Cached = latest, latest != nil
		return out, nil
	}
	result, err := h.RunRepair(ctx, ep.ID)
	var joined *StillRunning
	if errors.As(err, &joined) {
		out.Running = joined.EpisodeID
		return out, nil
	}
	if err != nil {
		return out, err
	}
	out.Repair = &result
	return out, nil
}

// nextEpisode makes sure that every pending notice of the session belongs to an
// episode and returns the first that may run now; else the session's latest
// success. A notice that joins while its relative is being repaired starts an
// episode of its own: the notices of an episode never change once it exists, so
// two agents never repair the same notice.
func (h *Harness) nextEpisode(ctx context.Context, session string) (next *episode.Episode, latest *episode.Result, err error) {
	err = h.store.Update(ctx, func(tx *store.Tx) error {
		var p paused
		if stopped, err := tx.State(pausedName, &p); err != nil || stopped {
			return err // repair waits for a person: vise notices resume
		}
		pending, err := tx.PendingNotices(session)
		if err != nil {
			return err
		}
		known, err := tx.EpisodesOfSession(session)
		if err != nil {
			return err
		}
		taken := map[string]bool{}
		for _, e := range known {
			if whole(e, pending) {
				for _, id := range e.NoticeIDs {
					taken[id] = true
				}
			}
		}
		free := slices.DeleteFunc(slices.Clone(pending), func(n notice.Notice) bool { return taken[n.ID] })
		for _, g := range notice.Groups(session, free) {
			e := episode.Episode{ID: g.EpisodeID, SessionID: g.SessionID, TurnIndex: g.TurnIndex, NoticeIDs: g.NoticeIDs,
				AllowedTraces: g.AllowedTraces, RecommendedScope: g.RecommendedScope, CreatedAt: h.now(), Status: episode.Open}
			if err := tx.PutEpisode(e); err != nil {
				return err
			}
			known = append(known, e)
		}
		// In the order of their first notices, also among episodes of one instant.
		slices.SortStableFunc(known, func(a, b episode.Episode) int { return strings.Compare(primary(a), primary(b)) })
		now := h.store.Now()
		for _, e := range known {
			if e.Fork == nil && e.Result != nil && e.Status.Success() && (latest == nil || !e.Result.Ended.Before(latest.Ended)) {
				latest = e.Result
			}
			if next == nil && whole(e, pending) && e.Status != episode.Dead && !e.NotBefore.After(now) && !h.isDeclined(e.ID) {
				next = &e
			}
		}
		return nil
	})
	if err != nil {
		return nil, nil, fmt.Errorf("settle session %s: %w", session, err)
	}
	return next, latest, nil
}

// primary is the notice that an episode began with.
func primary(e episode.Episode) string {
	if len(e.NoticeIDs) == 0 {
		return ""
	}
	return e.NoticeIDs[0]
}

// whole reports whether an episode still waits for an end, with all its notices
// pending. One that lost a notice to a person's acknowledgement can no longer
// resolve as a whole; what is left of it is grouped anew. A fork waits for nothing.
func whole(e episode.Episode, pending []notice.Notice) bool {
	return e.Fork == nil && !e.Status.Success() && !slices.ContainsFunc(e.NoticeIDs, func(id string) bool {
		return !slices.ContainsFunc(pending, func(n notice.Notice) bool { return n.ID == id })
	})
}

const pausedName = "repair/paused"

// paused is stored while repair waits for a person.
type paused struct {
	NoticeID string `json:"notice_id"`
	At       string `json:"at"`
}

// Paused tells since when repair waits for a person, and because of which notice.
func (h *Harness) Paused() (noticeID, since string, is bool, err error) {
	var p paused
	err = h.store.View(func(tx *store.Tx) (err error) {
		is, err = tx.State(pausedName, &p)
		return err
	})
	return p.NoticeID, p.At, is, err
}

// Resume closes the circuit breaker, lets repair go on and acknowledges the
// notices that asked for a person. It returns how many these were.
func (h *Harness) Resume(ctx context.Context) (int, error) {
	n := 0
	err := h.store.Update(ctx, func(tx *store.Tx) error {
		if err := tx.DeleteState(pausedName); err != nil {
			return err
		}
		if err := tx.PutState(breakerName, notice.Breaker{}); err != nil {
			return err
		}
		all, err := tx.Notices(store.Window{})
		if err != nil {
			return err
		}
		for _, x := range all {
			if x.Severity != notice.NeedsHuman || x.Status != notice.Pending {
				continue
			}
			x.Status = notice.Acknowledged
			x.Resolution = &notice.Resolution{Kind: "person", Note: "repair resumed", By: "person", At: h.now()}
			if err := tx.PutNotice(x); err != nil {
				return err
			}
			n++
		}
		return tx.Emit(event.Event{Type: event.NoticeResumed, Data: map[string]any{"acknowledged": n}})
	})
	if err != nil {
		return 0, fmt.Errorf("resume repair: %w", err)
	}
	return n, nil
}

// AckNotice acknowledges one pending notice on a person's word.
func (h *Harness) AckNotice(ctx context.Context, id, note string) error {
	err := h.store.Update(ctx, func(tx *store.Tx) error {
		n, ok, err := tx.Notice(id)
		if err != nil {
			return err
		}
		if !ok {
			return fmt.Errorf("no notice %q; vise notices ls lists them", id)
		}
		if n.Status != notice.Pending {
			return fmt.Errorf("notice %s is acknowledged already", id)
		}
		n.Status = notice.Acknowledged
		n.Resolution = &notice.Resolution{Kind: "person", Note: note, By: "person", At: h.now()}
		if err := tx.PutNotice(n); err != nil {
			return err
		}
		return tx.Emit(event.Event{Type: event.NoticeAcknowledged, NoticeID: id, SessionID: n.SessionID, Data: map[string]any{"by": "person"}})
	})
	if err != nil {
		return fmt.Errorf("acknowledge: %w", err)
	}
	return nil
}

// ReopenNotice takes back that a person acknowledged a notice: it waits again. One that
// a repair resolved is an error.
func (h *Harness) ReopenNotice(ctx context.Context, id string) error {
	if err := h.store.Update(ctx, func(tx *store.Tx) error {
		n, ok, err := tx.Notice(id)
		switch {
		case err != nil:
			return err
		case !ok:
			return fmt.Errorf("no notice %q; vise notices ls lists them", id)
		case n.Status == notice.Pending:
			return fmt.Errorf("notice %s is pending", id)
		case n.Resolution == nil || n.Resolution.Kind != "person":
			return fmt.Errorf("notice %s was not acknowledged by a person", id)
		}
		n.Status, n.Resolution = notice.Pending, nil
		if err := tx.PutNotice(n); err != nil {
			return err
		}
		return tx.Emit(event.Event{Type: event.NoticeReopened, NoticeID: id, SessionID: n.SessionID, Data: map[string]any{"by": "person"}})
	}); err != nil {
		return fmt.Errorf("reopen: %w", err)
	}
	return nil
}

// running is one repair in flight; others that want the same episode join it.
type running struct {
	done   chan struct{}
	result episode.Result
	err    error
}

// StillRunning tells that a caller stopped waiting for a repair that another one had
// begun. The repair goes on; only who began it, or Close, can end it early.
type StillRunning struct {
	EpisodeID string
	Err       error // why the waiting ended
}

func (e *StillRunning) Error() string {
	return fmt.Sprintf("the repair of episode %s is still running (vise episodes show %s); no longer waiting for it: %v", e.EpisodeID, e.EpisodeID, e.Err)
}

func (e *StillRunning) Unwrap() error { return e.Err }

// RunRepair runs the repair agent on one episode now, or joins the run that is
// under way; then *StillRunning says that ctx ended before that run did. An episode
// that has ended is not run again.
func (h *Harness) RunRepair(ctx context.Context, id string) (episode.Result, error) {
	if h.agent == nil {
		return episode.Result{}, fmt.Errorf("repair episode %s: repair is off; set repair.model, e.g. \"builtin/heuristic\"", id)
	}
	h.mu.Lock()
	if r := h.repairs[id]; r != nil {
		h.mu.Unlock()
		select {
		case <-r.done:
			return r.result, r.err
		case <-ctx.Done():
			return episode.Result{}, &StillRunning{EpisodeID: id, Err: context.Cause(ctx)}
		}
	}
	if h.ctx.Err() != nil {
		h.mu.Unlock()
		return episode.Result{}, fmt.Errorf("repair episode %s: %w", id, ErrClosed)
	}
	r, end := h.claimLocked(id)
	delete(h.declined, id)
	h.mu.Unlock()
	defer end()
	rctx, stop := h.runContext(ctx)
	defer stop()
	r.result, r.err = h.repair(rctx, id)
	return r.result, r.err
}

// decline keeps settlements from beginning a repair again that a person cancelled.
func (h *Harness) decline(id string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.declined[id] = true
}

func (h *Harness) isDeclined(id string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.declined[id]
}

// claim says that an episode is being run here, until end is called.
func (h *Harness) claim(id string) (r *running, end func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.claimLocked(id)
}

func (h *Harness) claimLocked(id string) (r *running, end func()) {
	r = &running{done: make(chan struct{})}
	h.repairs[id] = r
	h.work.Add(1)
	return r, func() {
		h.mu.Lock()
		delete(h.repairs, id)
		h.mu.Unlock()
		close(r.done)
		h.work.Done()
	}
}

// runContext is the context of a run: it ends with the caller's or with the harness.
func (h *Harness) runContext(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	detach := context.AfterFunc(h.ctx, func() { cancel(ErrClosed) })
	return ctx, func() { detach(); cancel(nil) }
}

// PendingEpisodes makes sure that every pending notice of every session belongs to
// an episode and returns those that may be repaired, oldest first within a session,
// whether or not they wait for their next attempt; dead letters are left out. It is
// empty while repair waits for a person.
func (h *Harness) PendingEpisodes(ctx context.Context) ([]string, error) {
	var sessions []string
	if err := h.store.View(func(tx *store.Tx) (err error) {
		sessions, err = tx.PendingSessions()
		return err
	}); err != nil {
		return nil, fmt.Errorf("list pending episodes: %w", err)
	}
	var ids []string
	for _, s := range sessions {
		if _, _, err := h.nextEpisode(ctx, s); err != nil {
			return nil, err
		}
		if err := h.store.View(func(tx *store.Tx) error {
			var p paused
			if stopped, err := tx.State(pausedName, &p); err != nil || stopped {
				return err
			}
			pending, err := tx.PendingNotices(s)
			if err != nil {
				return err
			}
			list, err := tx.EpisodesOfSession(s)
			for _, e := range list {
				if e.Status != episode.Dead && whole(e, pending) {
					ids = append(ids, e.ID)
				}
			}
			return err
		}); err != nil {
			return nil, fmt.Errorf("list pending episodes: %w", err)
		}
	}
	return ids, nil
}

// backoff is the wait after the n-th failure of an episode: it doubles.
func (h *Harness) backoff(failures int) time.Duration {
	return h.cfg.Repair.Backoff << max(0, min(failures-1, 10))
}
