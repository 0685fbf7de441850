package store

import (
	"encoding/json"
	"fmt"
)

// state is a small JSON document under a name such as "breaker" or "gate/<session>".
type state struct {
	Name  string          `json:"name"`
	Value json.RawMessage `json:"value"`
}

var states = &table[state]{
	kind: kindState, name: "state",
	key: func(s *state) []byte { return key(kindState, s.Name) },
}

// PutState stores v as JSON under a name.
func (tx *Tx) PutState(name string, v any) error {
	if err := tx.need("put state", name); err != nil {
		return err
	}
	raw, err := marshal(v)
	if err != nil {
		return tx.fail("put state "+name, err)
	}
	return put(tx, states, &state{Name: name, Value: raw})
}

// State decodes the document of a name into v; false when there is none. A document
// that does not fit v is an error: it is whole, the caller's expectation is not.
func (tx *Tx) State(name string, v any) (bool, error) {
	s, found, err := load(tx, states, key(kindState, name))
	if err == nil && found {
		err = json.Unmarshal(s.Value, v)
	}
	if err != nil {
		return false, fmt.Errorf("read state %s: %w", name, err)
	}
	return found, nil
}

// DeleteState removes the document of a name.
func (tx *Tx) DeleteState(name string) error {
	return remove(tx, states, key(kindState, name))
}
