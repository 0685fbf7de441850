package store

import (
	"encoding/json"
	"fmt"
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

// PutExchange stores a model call of a session.
func (tx *Tx) PutExchange(e Exchange) error {
	const op = "put exchange"
	if err := tx.need(op, e.SessionID); err != nil {
		return err
	}
	if !json.Valid(e.Line) {
		return tx.fail(op, fmt.Errorf("exchange %d of session %s is not JSON", e.Seq, e.SessionID))
	}
	if err := tx.notRemoving(op, e.SessionID); err != nil {
		return err
	}
	return put(tx, exchanges, &e)
}

// Exchanges returns the model calls of a session, in order.
func (tx *Tx) Exchanges(session string) ([]Exchange, error) {
	return records(tx, exchanges, scan{prefix: key(kindExchange, session)}, 0)
}
