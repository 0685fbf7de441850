package store

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"vise/engine/trace"
)

// Model calls belong to their session: they are read in order, survive as they
// were, large ones too, and go with it.
func TestExchanges(t *testing.T) {
	s := memory(t, Options{})
	big := strings.Repeat("x", 300_000)
	update(t, s, func(tx *Tx) error { return tx.PutSession(trace.Session{ID: "s1", Origin: trace.Live}) })
	var calls []Exchange
	for _, seq := range []int{2, 1, 11} {
		calls = append(calls, Exchange{SessionID: "s1", Seq: seq, Line: fmt.Appendf(nil, `{"n":%d,"body":"%s"}`, seq, big)})
	}
	keep(t, s, append(calls, Exchange{SessionID: "s12", Seq: 1, Line: []byte(`{}`)}))
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
	if _, err := s.StageExchanges(t.Context(), []Exchange{{SessionID: "s1", Seq: 1, Line: []byte("{")}}); err == nil {
		t.Error("half a line was stored")
	}
}

func keep(t *testing.T, s *Store, calls []Exchange) {
	t.Helper()
	staged, err := s.StageExchanges(t.Context(), calls)
	if err != nil {
		t.Fatal(err)
	}
	update(t, s, func(tx *Tx) error { return tx.PutExchanges(staged) })
}

// TestAsManyCallsAsAnAgentMakes: the prompts of one turn come to many times what a
// transaction holds, by many calls or by one; what they repeat is stored once.
func TestAsManyCallsAsAnAgentMakes(t *testing.T) {
	text := func(seed, n int) string {
		r := rand.New(rand.NewPCG(uint64(seed), 9))
		var b strings.Builder
		for b.Len() < n {
			fmt.Fprintf(&b, "%x ", r.Uint64())
		}
		return b.String()[:n]
	}
	dir := t.TempDir()
	s := disk(t, dir)
	// The history grows by 2 KB with each call; then by 30 KB; one call says it all at once.
	var messages []string
	var calls []Exchange
	for i := range 120 {
		n := 2000
		if i > 110 {
			n = 30_000
		}
		messages = append(messages, `{"content":"`+text(i, n)+`"}`)
		calls = append(calls, Exchange{SessionID: "s", Seq: i + 1, Line: []byte(`{"messages":[` + strings.Join(messages, ",") + `]}`)})
	}
	resumed := Exchange{SessionID: "resumed", Seq: 1, Line: fmt.Appendf(nil, `{"messages":["%s"]}`, strings.Join(func() (list []string) {
		for i := range 50 {
			list = append(list, text(1000+i, 30_000))
		}
		return list
	}(), `","`))}
	keep(t, s, calls)
	keep(t, s, []Exchange{resumed})
	if r, err := s.GC(t.Context()); err != nil || r.Blobs != 0 || r.Stages != 0 {
		t.Errorf("collected %+v, %v", r, err)
	}
	if r, err := s.Verify(t.Context()); err != nil || len(r.Problems) > 0 {
		t.Errorf("%+v, %v", r, err)
	}
	for session, want := range map[string][]Exchange{"s": calls, "resumed": {resumed}} {
		if err := s.View(func(tx *Tx) error {
			got, err := tx.Exchanges(session)
			if err == nil && len(got) != len(want) {
				err = fmt.Errorf("%d calls", len(got))
			}
			for i := range got {
				if string(got[i].Line) != string(want[i].Line) {
					err = fmt.Errorf("call %d came back otherwise", i+1)
				}
			}
			return err
		}); err != nil {
			t.Errorf("%s: %v", session, err)
		}
	}
	// What was never put is gone at the next collection, and hides nothing.
	if _, err := s.StageExchanges(t.Context(), []Exchange{{SessionID: "never", Seq: 1, Line: resumed.Line}}); err != nil {
		t.Fatal(err)
	}
	if err := s.DeleteSession(t.Context(), "resumed", ""); err != nil {
		t.Fatal(err)
	}
	if r, err := s.GC(t.Context()); err != nil || r.Blobs > 1 {
		t.Errorf("blobs of an open stage were collected: %+v, %v", r, err)
	}
}
