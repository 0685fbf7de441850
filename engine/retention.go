package engine

import (
	"context"
	"fmt"

	"vise/store"
)

// expireAtOpen is how many sessions are removed when a harness opens, so that opening
// stays quick however much has grown old; the rest goes at the next times, or with
// vise store gc.
const expireAtOpen = 100

// stepBatch is how many repair steps one transaction removes.
const stepBatch = 200

// Expired is what Expire removed.
type Expired struct {
	Sessions int `json:"sessions"`
	// Steps counts the model turns of the repairs of these sessions.
	Steps int `json:"repair_steps"`
}

// Expire removes sessions that were last stored longer ago than store.retention, at
// most limit of them (0 = all), with the transcripts of their repairs. Their blobs go
// with the store's next GC. Forks of these repairs go as well, but for those whose
// candidate was accepted. Sessions that a case was made from stay, and with it those
// that a verdict rests on; so do sessions with an open notice. Rules, notices, episodes
// and verdicts are never removed. Sessions that a person removed that long ago go for
// good, whatever the limit. Without a retention nothing happens.
func (h *Harness) Expire(ctx context.Context, limit int) (Expired, error) {
	var out Expired
	if h.cfg.Store.Retention <= 0 {
		return out, nil
	}
	before := h.store.Now().Add(-h.cfg.Store.Retention)
	for limit <= 0 || out.Sessions < limit {
		n := expireAtOpen
		if limit > 0 {
			n = min(n, limit-out.Sessions)
		}
		var old []string
		if err := h.store.View(func(tx *store.Tx) (err error) {
			if old, err = tx.SessionsStoredBefore(before, 1, func(string) bool { return false }); err != nil || len(old) == 0 {
				return err // nothing is old: no need to know what is needed
			}
			needed, err := h.needed(tx)
			if err != nil {
				return err
			}
			old, err = tx.SessionsStoredBefore(before, n, func(id string) bool { return needed[id] })
			return err
		}); err != nil {
			return out, fmt.Errorf("expire sessions: %w", err)
		}
		for _, id := range old {
			steps, err := h.forgetRepairs(ctx, id)
			out.Steps += steps
			if err == nil {
				err = h.removeSession(ctx, id, byAge)
			}
			if err != nil {
				return out, fmt.Errorf("expire sessions: %w", err)
			}
			out.Sessions++
		}
		if len(old) < n {
			break
		}
	}
	gone, err := h.purge(ctx, byAge, func(r store.Removed) bool { return r.Removed.Before(before) })
	out.Sessions += gone
	return out, err
}

// needed are the sessions that must stay whatever their age.
func (h *Harness) needed(tx *store.Tx) (map[string]bool, error) {
	needed := map[string]bool{}
	cases, err := tx.Cases("")
	if err != nil {
		return nil, err
	}
	for _, c := range cases {
		needed[c.SessionID] = true
	}
	pending, err := tx.PendingSessions()
	if err != nil {
		return nil, err
	}
	for _, id := range pending {
		needed[id] = true
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for id := range h.lanes {
		needed[id] = true // it is at work
	}
	return needed, nil
}

// forgetRepairs removes the transcripts of the repairs of a session.
func (h *Harness) forgetRepairs(ctx context.Context, session string) (removed int, err error) {
	var ids, forks []string
	if err := h.store.View(func(tx *store.Tx) error {
		list, err := tx.EpisodesOfSession(session)
		for _, e := range list {
			if ids = append(ids, e.ID); e.Fork != nil && e.Fork.AcceptedAt == "" {
				forks = append(forks, e.ID)
			}
		}
		return err
	}); err != nil {
		return 0, err
	}
	for _, id := range ids {
		for n := stepBatch; n == stepBatch; removed += n {
			if err := h.store.Update(ctx, func(tx *store.Tx) (err error) {
				n, err = tx.DeleteSteps(id, stepBatch)
				return err
			}); err != nil {
				return removed, err
			}
		}
	}
	for _, id := range forks {
		if err := h.store.Update(ctx, func(tx *store.Tx) error {
			ep, ok, err := tx.Episode(id)
			if err != nil || !ok {
				return err
			}
			return removeFork(tx, ep, "retention")
		}); err != nil {
			return removed, err
		}
	}
	return removed, nil
}
