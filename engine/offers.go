package engine

import (
	"context"
	"fmt"
	"slices"

	"vise/engine/event"
	"vise/engine/evidence"
	"vise/engine/trace"
	"vise/store"
)

// Offer is a session that ended well although it, or an earlier run of the same
// inputs, had alerted: what it does now is worth protecting. Nobody has decided yet.
type Offer struct {
	SessionID string `json:"session_id"`
	Turn      int    `json:"turn"` // its last
	At        string `json:"at"`   // RFC 3339
	Why       string `json:"why"`
	Title     string `json:"title,omitempty"`
	Digest    string `json:"digest"` // of its inputs
}

const (
	offersName = "offers"
	maxOffers  = 50
	// kinWindow is how many newest sessions are looked at for an earlier run of the
	// same inputs.
	kinWindow = 200
)

// Offers returns the wins that are on offer, newest first. The slice is empty while
// there are none.
func Offers(tx *store.Tx) ([]Offer, error) {
	list := []Offer{}
	if _, err := tx.State(offersName, &list); err != nil {
		return nil, fmt.Errorf("read offers: %w", err)
	}
	return list, nil
}

// DismissOffer takes a session off the offers without protecting it.
func (h *Harness) DismissOffer(ctx context.Context, session string) error {
	if err := h.store.Update(ctx, func(tx *store.Tx) error {
		gone, err := withdraw(tx, func(o Offer) bool { return o.SessionID == session })
		if err == nil && !gone {
			return fmt.Errorf("session %q is not on offer; vise cases offers lists them", session)
		}
		return err
	}); err != nil {
		return fmt.Errorf("dismiss offer: %w", err)
	}
	return nil
}

// withdraw removes offers and tells whether there was one.
func withdraw(tx *store.Tx, which func(Offer) bool) (bool, error) {
	list, err := Offers(tx)
	if err != nil {
		return false, err
	}
	n := len(list)
	if list = slices.DeleteFunc(list, which); len(list) == n {
		return false, nil
	}
	return true, tx.PutState(offersName, list)
}

// offer puts an ended session on offer when it ended well after it, or an earlier run
// of the same inputs, had alerted, and its inputs are not protected yet.
func (h *Harness) offer(tx *store.Tx, s trace.Session) error {
	var state sessionState
	known, err := tx.State(stateName(s.ID), &state)
	if err != nil || !known || !state.Quiet || state.Next == 0 {
		return err // nothing was scored, or the last report alerts
	}
	why := ""
	if state.Alerted {
		why = "it alerted, recovered and ended well"
	} else if earlier, err := h.kinAlerted(tx, s); err != nil {
		return err
	} else if earlier != "" {
		why = "it ended without a notice; an earlier run of the same inputs (" + earlier + ") had alerted"
	}
	if why == "" {
		return nil
	}
	heads, err := tx.TurnHeads(s.ID, 0, 0)
	if err != nil || len(heads) == 0 || slices.ContainsFunc(heads, func(t store.TurnHead) bool { return !t.Finished() }) {
		return err
	}
	turn := heads[len(heads)-1].Index
	input, err := replayInput(tx, s, turn)
	if err != nil || input == nil {
		return err
	}
	wins, err := tx.Cases(evidence.Win)
	if err != nil || slices.ContainsFunc(wins, func(c evidence.Case) bool { return c.Input != nil && c.Input.Digest == input.Digest }) {
		return err
	}
	list, err := Offers(tx)
	if err != nil {
		return err
	}
	// The newest run of the same inputs is the one to offer.
	list = slices.DeleteFunc(list, func(o Offer) bool { return o.Digest == input.Digest })
	list = slices.Insert(list, 0, Offer{SessionID: s.ID, Turn: turn, At: h.now(), Why: why, Title: s.Title, Digest: input.Digest})
	if err := tx.PutState(offersName, list[:min(len(list), maxOffers)]); err != nil {
		return err
	}
	return tx.Emit(event.Event{Type: event.WinOffered, SessionID: s.ID, TurnIndex: event.Turn(turn), Data: map[string]any{"why": why}})
}

// kinAlerted names a session of the same inputs that had alerted: the recording this
// one was replayed from, or an earlier run of it; "" when there is none.
func (h *Harness) kinAlerted(tx *store.Tx, s trace.Session) (string, error) {
	if s.ReplayOf == "" {
		return "", nil
	}
	kin := []string{s.ReplayOf}
	recent, err := tx.Sessions(store.Window{Limit: kinWindow, Origin: trace.Live})
	if err != nil {
		return "", err
	}
	for _, x := range recent {
		if x.ReplayOf == s.ReplayOf && x.ID != s.ID {
			kin = append(kin, x.ID)
		}
	}
	for _, id := range kin {
		var state sessionState
		if _, err := tx.State(stateName(id), &state); err != nil {
			return "", err
		}
		if state.Alerted {
			return id, nil
		}
	}
	return "", nil
}
