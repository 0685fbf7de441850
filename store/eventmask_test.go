package store

import (
	"strings"
	"testing"

	"vise/engine/event"
	"vise/engine/guard"
)

// Whoever emits an event, no credential in its data reaches the journal or the bus: built-in
// shapes, and what the project calls one. Counts keep their names.
func TestEventsAreMasked(t *testing.T) {
	red, err := guard.NewRedactor(guard.RedactOptions{Keys: true, Values: true, Extra: []string{`tok-[0-9]+`}})
	if err != nil {
		t.Fatal(err)
	}
	bus := event.NewBus()
	sub := bus.Subscribe(10)
	defer sub.Close()
	s := memory(t, Options{Redactor: red, Bus: bus})
	data := map[string]any{"reason": "password=hunter22 and AKIA0123456789ABCDEF", "error": "last wrote: tok-12345", "token": 17, "masked": map[string]int{"api-key": 3},
		"list": []map[string]any{{"command": "curl -u ann:hunter22 h"}}}
	if err := s.Update(t.Context(), func(tx *Tx) error { return tx.Emit(event.Event{Type: event.Skip, Data: data}) }); err != nil {
		t.Fatal(err)
	}
	if data["error"] != "last wrote: tok-12345" {
		t.Error("the caller's data was changed")
	}
	var stored []event.Event
	if err := s.View(func(tx *Tx) (err error) {
		stored, err = tx.Events(0, 0, EventFilter{})
		return err
	}); err != nil {
		t.Fatal(err)
	}
	batch, ok := sub.TryNext()
	if !ok {
		t.Fatal("nothing was published")
	}
	for from, e := range map[string]event.Event{"journal": stored[len(stored)-1], "bus": batch.Events[len(batch.Events)-1]} {
		raw, err := marshal(e)
		if err != nil {
			t.Fatal(err)
		}
		said := string(raw)
		for _, secret := range []string{"hunter22", "AKIA01", "tok-12345"} {
			if strings.Contains(said, secret) {
				t.Errorf("%s: %s is in %s", from, secret, said)
			}
		}
		if !strings.Contains(said, `"token":17`) || !strings.Contains(said, `"api-key":3`) {
			t.Errorf("%s: a count is gone: %s", from, said)
		}
	}
}
