package store

import (
	"fmt"
	"strings"
	"testing"

	"vise/engine/trace"
)

// Model calls belong to their session: they are read in order, survive as they
// were, large ones too, and go with it.
func TestExchanges(t *testing.T) {
	s := memory(t, Options{})
	big := strings.Repeat("x", 300_000)
	update(t, s, func(tx *Tx) error {
		if err := tx.PutSession(trace.Session{ID: "s1", Origin: trace.Live}); err != nil {
			return err
		}
		for _, seq := range []int{2, 1, 11} {
			if err := tx.PutExchange(Exchange{SessionID: "s1", Seq: seq, Line: fmt.Appendf(nil, `{"n":%d,"body":"%s"}`, seq, big)}); err != nil {
				return err
			}
		}
		return tx.PutExchange(Exchange{SessionID: "s12", Seq: 1, Line: []byte(`{}`)})
	})
	read := func(session string) (seqs []int) {
		t.Helper()
		if err := s.View(func(tx *Tx) error {
			list, err := tx.Exchanges(session)
			for _, e := range list {
				seqs = append(seqs, e.Seq)
				if want := fmt.Sprintf(`{"n":%d,"body":"%s"}`, e.Seq, big); session == "s1" && string(e.Line) != want {
					t.Errorf("call %d came back as %.60s", e.Seq, e.Line)
				}
			}
			return err
		}); err != nil {
			t.Fatal(err)
		}
		return seqs
	}
	if got := fmt.Sprint(read("s1")); got != "[1 2 11]" {
		t.Errorf("calls %s", got)
	}
	if err := s.DeleteSession(t.Context(), "s1", ""); err != nil {
		t.Fatal(err)
	}
	if got := read("s1"); len(got) != 0 || len(read("s12")) != 1 {
		t.Errorf("after the removal: %v and %v", got, read("s12"))
	}
	if err := s.Update(t.Context(), func(tx *Tx) error { return tx.PutExchange(Exchange{SessionID: "s1", Seq: 1, Line: []byte("{")}) }); err == nil {
		t.Error("half a line was stored")
	}
}
