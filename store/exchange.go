package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
)

// Exchange is one model call of a session's agent, as the recording proxy kept it: a
// line of a cassette, opaque here.
type Exchange struct {
	SessionID string `json:"session_id"`
	// Seq numbers the calls of the session from 1.
	Seq  int             `json:"seq"`
	Line json.RawMessage `json:"line"`
}

var exchanges = &table[Exchange]{
	kind: kindExchange, name: "exchange", numbers: true,
	key: func(e *Exchange) []byte { return exchangeKey(e.SessionID, e.Seq) },
}

func exchangeKey(session string, seq int) []byte { return index(key(kindExchange, session), seq) }

// exchangeInline is the length of a model call's JSON, in bytes, above which it becomes a
// blob: a turn of a coding agent makes hundreds of calls, and all are put in one transaction.
const exchangeInline = 1 << 10

// StagedExchanges are model calls whose content is on disk but which nothing refers to yet.
type StagedExchanges struct {
	stage   uint64
	records []Exchange // without their lines
	values  []entry
	inline  []entry
	marked  bool
}

// StageExchanges writes model calls ahead, in as many transactions as it takes: the
// prompts of a turn grow with every call and come to many times what one transaction may
// hold. What calls have in common is stored once. Nothing is visible until PutExchanges.
// Call it before the Update, not inside.
func (s *Store) StageExchanges(ctx context.Context, list []Exchange) (out StagedExchanges, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("stage exchanges: %w", err)
		}
	}()
	for _, e := range list {
		switch {
		case e.SessionID == "":
			return out, errors.New("a model call has no session id")
		case !json.Valid(e.Line):
			return out, fmt.Errorf("exchange %d of session %s is not JSON", e.Seq, e.SessionID)
		}
	}
	w, end, err := s.beginStage(ctx)
	if err != nil {
		return out, err
	}
	defer func() { end(err) }()
	out.stage = w.stage
	for _, e := range list {
		raw, err := marshal(&e)
		if err != nil {
			return out, err
		}
		if raw, err = spill(raw, w, lifted{}); err != nil {
			return out, err
		}
		value := append([]byte{codecJSON}, raw...)
		if len(raw) > exchangeInline {
			sum, err := w.putBlob(raw)
			if err != nil {
				return out, err
			}
			value = append([]byte{codecBlob}, sum[:]...)
		}
		out.values = append(out.values, entry{exchanges.key(&e), value})
		e.Line = nil
		out.records = append(out.records, e)
	}
	out.inline, out.marked, err = w.rest()
	return out, err
}

// PutExchanges makes staged model calls visible.
func (tx *Tx) PutExchanges(staged StagedExchanges) error {
	const op = "put exchanges"
	if err := tx.writable(); err != nil {
		return fmt.Errorf("%s: %w", op, err)
	}
	for i, e := range staged.records {
		if i > 0 && e.SessionID == staged.records[i-1].SessionID {
			continue
		}
		if err := tx.notRemoving(op, e.SessionID); err != nil {
			return err
		}
	}
	if err := tx.putStage(staged.stage, staged.marked, slices.Concat(staged.inline, staged.values)); err != nil {
		return tx.fail(op, err)
	}
	return nil
}

// Exchanges returns the model calls of a session, in order.
func (tx *Tx) Exchanges(session string) ([]Exchange, error) {
	return records(tx, exchanges, scan{prefix: key(kindExchange, session)}, 0)
}
