package store

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	badger "github.com/dgraph-io/badger/v4"

	"vise/engine/event"
	"vise/engine/notice"
	"vise/engine/rule"
	"vise/engine/trace"
)

// corrupt changes a value behind the store's back.
func corrupt(t *testing.T, s *Store, key []byte, change func([]byte) []byte) {
	t.Helper()
	err := s.db.Update(func(txn *badger.Txn) error {
		v, found, err := localSnapshot{txn}.get(key)
		if err != nil || !found {
			t.Fatalf("%s: found %v, %v", keyText(key), found, err)
		}
		return txn.Set(key, change(v))
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestDamagedRecords(t *testing.T) {
	garbage := func([]byte) []byte { return []byte("\x01not JSON") }
	long := strings.Repeat("evidence ", 5000)
	tests := []struct {
		name   string
		key    []byte
		change func([]byte) []byte
		what   string // in the event
	}{
		{"turn is garbage", turnKey("s", 1), garbage, "turn s/"},
		{"turn is empty", turnKey("s", 1), func([]byte) []byte { return nil }, "turn s/"},
		{"turn has an unknown codec", turnKey("s", 1), func(v []byte) []byte { v[0] = 9; return v }, "unknown codec"},
		{"turn is another's", turnKey("s", 1), func([]byte) []byte {
			v, _ := pack([]byte(`{"session_id":"s","index":7}`), nil)
			return v
		}, "another turn"},
		{"spans are garbage", spansKey(2, 0), garbage, "turn s/"},
		{"spans are cut", spansKey(2, 0), func(v []byte) []byte { return v[:len(v)/2] }, "turn s/"},
		{"rule is garbage", key(kindRule, "r-0001"), garbage, "rule r-0001"},
		{"event is garbage", eventKey(2), garbage, "event"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := memory(t, Options{})
			for i := range 3 {
				turn := turnOf("s", i, 20)
				turn.Spans[0].Output = long
				staged := stage(t, s, turn)
				update(t, s, func(tx *Tx) error {
					if err := tx.PutRule(ruleOf(i)); err != nil {
						return err
					}
					if err := tx.Emit(event.Event{Type: event.TurnReplayed, SessionID: "s"}); err != nil {
						return err
					}
					return tx.PutTurn(staged)
				})
			}
			corrupt(t, s, tt.key, tt.change)
			for range 3 { // reading it again does not report it again
				view(t, s, func(tx *Tx) error {
					list, err := tx.Turns("s", 0, 0)
					if err != nil {
						t.Fatal(err)
					}
					rules, err := tx.Rules()
					if err != nil {
						t.Fatal(err)
					}
					events, err := tx.Events(0, 0, EventFilter{})
					if err != nil {
						t.Fatal(err)
					}
					journal := 0
					for _, e := range events {
						if e.Type == event.TurnReplayed {
							journal++
						}
					}
					if got := len(list) + len(rules) + journal; got != 8 {
						t.Errorf("%d turns, %d rules, %d events: one record of nine may be missing", len(list), len(rules), journal)
					}
					return nil
				})
			}
			e := awaitQuarantine(t, s)
			if text := e.Data["record"].(string) + ": " + e.Data["reason"].(string); !strings.Contains(text, tt.what) {
				t.Errorf("event says %q, want %q in it", text, tt.what)
			}
			view(t, s, func(tx *Tx) error {
				q, err := tx.Quarantine()
				if len(q) != 1 {
					t.Errorf("%d quarantined records", len(q))
				}
				if list, _ := tx.LastEvents(5, event.StoreQuarantined); len(list) != 1 {
					t.Errorf("%d store_quarantined events", len(list))
				}
				return err
			})
			r, err := s.Verify(t.Context())
			if err != nil || r.OK() {
				t.Errorf("verify finds nothing (%v)", err)
			}
		})
	}
}

func awaitQuarantine(t *testing.T, s *Store) event.Event {
	t.Helper()
	for range 6000 {
		var list []event.Event
		view(t, s, func(tx *Tx) (err error) {
			list, err = tx.LastEvents(1, event.StoreQuarantined)
			return err
		})
		if len(list) == 1 {
			return list[0]
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatal("no store_quarantined event")
	return event.Event{}
}

// TestADamagedNoticeHidesNoOther: neither its session's nor any other's, and the
// mailbox can still be written.
func TestADamagedNoticeHidesNoOther(t *testing.T) {
	s := memory(t, Options{})
	make := func(id, session string) notice.Notice {
		return notice.Notice{ID: id, SessionID: session, CreatedAt: "2026-01-01", Status: notice.Pending, Severity: notice.Breach}
	}
	update(t, s, func(tx *Tx) error {
		return errors.Join(tx.PutNotice(make("n-1", "a")), tx.PutNotice(make("n-2", "a")), tx.PutNotice(make("n-3", "b")))
	})
	corrupt(t, s, key(kindNotice, "n-1"), func([]byte) []byte {
		v, _ := pack([]byte(`{"id":"n-1","session_id":"a","turn_index":"three"}`), nil)
		return v
	})
	view(t, s, func(tx *Tx) error {
		pending, err := tx.PendingNotices("a")
		if err != nil || len(pending) != 1 || pending[0].ID != "n-2" {
			t.Errorf("pending: %+v, %v", pending, err)
		}
		all, err := tx.Notices(Window{})
		if err != nil || len(all) != 2 {
			t.Errorf("notices: %+v, %v", all, err)
		}
		sessions, err := tx.PendingSessions()
		same(t, "pending sessions", sessions, []string{"a", "b"})
		return err
	})
	awaitQuarantine(t, s)
	update(t, s, func(tx *Tx) error {
		n := make("n-2", "a")
		n.Status = notice.Acknowledged
		return tx.PutNotice(n)
	})
	view(t, s, func(tx *Tx) error {
		pending, err := tx.PendingNotices("a")
		if len(pending) != 0 {
			t.Errorf("still pending: %+v", pending)
		}
		return err
	})
}

func TestUnknownRuleStatusIsNeverActive(t *testing.T) {
	s := memory(t, Options{})
	update(t, s, func(tx *Tx) error {
		r := ruleOf(1)
		r.Status = rule.Active
		return tx.PutRule(r)
	})
	corrupt(t, s, key(kindRule, "r-0001"), func(v []byte) []byte {
		return []byte(strings.Replace(string(v), `"active"`, `"blessed"`, 1))
	})
	view(t, s, func(tx *Tx) error {
		r, found, err := tx.Rule("r-0001")
		if !found || r.Status != rule.Quarantined || err != nil {
			t.Errorf("status %q, %v, %v", r.Status, found, err)
		}
		for _, list := range [][]rule.Status{{rule.Active}, {rule.Candidate, rule.Active}} {
			got, _ := tx.Rules(list...)
			byToken, _ := tx.RulesWithTokens([]string{"issue_refund"}, list...)
			inScope, _ := tx.RulesInScope("refunds", list...)
			if len(got)+len(byToken)+len(inScope) != 0 {
				t.Errorf("%v finds it", list)
			}
		}
		return nil
	})
}

func TestVerifyFindsDrift(t *testing.T) {
	prepare := func(t *testing.T) *Store {
		s := memory(t, Options{})
		turn := turnOf("s", 0, 4)
		turn.Input = strings.Repeat("x", 40_000)
		staged := stage(t, s, turn)
		update(t, s, func(tx *Tx) error {
			for range 3 {
				if err := tx.Emit(event.Event{Type: event.Health}); err != nil {
					return err
				}
			}
			if err := tx.PutSession(trace.Session{ID: "s"}); err != nil {
				return err
			}
			return tx.PutTurn(staged)
		})
		sound(t, s)
		return s
	}
	// anyKey returns the first key of a kind.
	anyKey := func(txn *badger.Txn, kind byte) (found []byte) {
		_ = localSnapshot{txn}.scan(scan{prefix: []byte{kind}}, func(k, _ []byte) (bool, error) {
			found = slices.Clone(k)
			return false, nil
		})
		return found
	}
	tests := map[string]struct {
		break_ func(*badger.Txn) error
		want   string
	}{
		"index entry lost":     {func(txn *badger.Txn) error { return txn.Delete(anyKey(txn, kindSessionTime)) }, "is missing"},
		"index entry dangling": {func(txn *badger.Txn) error { return txn.Set(key(kindNoticeTime, "x", "y"), key(kindNotice, "y")) }, "does not exist"},
		"index entry astray":   {func(txn *badger.Txn) error { return txn.Set(key(kindTrace, "x"), turnKey("s", 0)) }, "does not belong there"},
		"gap in the journal":   {func(txn *badger.Txn) error { return txn.Delete(eventKey(2)) }, "gap"},
		"blob lost":            {func(txn *badger.Txn) error { return txn.Delete(anyKey(txn, kindBlob)) }, "is missing"},
		"blob altered":         {func(txn *badger.Txn) error { return txn.Set(anyKey(txn, kindBlobChunk), []byte("\x01xxx")) }, "digest"},
		"spans lost":           {func(txn *badger.Txn) error { return txn.Delete(anyKey(txn, kindSpans)) }, "span chunks are missing"},
		"spans astray":         {func(txn *badger.Txn) error { return txn.Set(spansKey(99, 0), []byte("\x01{\"stage\":99}")) }, "no turn refers"},
		"counts wrong":         {func(txn *badger.Txn) error { return txn.Set(key(kindCounts, "s"), []byte(`{"turns":5}`)) }, "the turns have"},
		"counts lost":          {func(txn *badger.Txn) error { return txn.Delete(key(kindCounts, "s")) }, "no counts"},
		"unknown key":          {func(txn *badger.Txn) error { return txn.Set([]byte("?what"), nil) }, "unknown key"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			s := prepare(t)
			if err := s.db.Update(tt.break_); err != nil {
				t.Fatal(err)
			}
			r, err := s.Verify(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if !slices.ContainsFunc(r.Problems, func(p Problem) bool { return strings.Contains(p.What, tt.want) }) {
				t.Errorf("problems %+v, want one with %q", r.Problems, tt.want)
			}
		})
	}
}

func TestGCKeepsWhatIsUsed(t *testing.T) {
	s := memory(t, Options{})
	make := func(session string, fill string) trace.Turn {
		turn := turnOf(session, 0, 5)
		turn.Input, turn.Spans[0].Output = strings.Repeat(fill, 30_000), strings.Repeat("shared", 10_000)
		return turn
	}
	kept, gone, pending := make("kept", "k"), make("gone", "g"), make("pending", "p")
	for _, turn := range []trace.Turn{kept, gone} {
		staged := stage(t, s, turn)
		update(t, s, func(tx *Tx) error { return tx.PutTurn(staged) })
	}
	staged := stage(t, s, pending) // its blobs must outlive a GC before the put
	if err := s.DeleteSession(t.Context(), "gone", ""); err != nil {
		t.Fatal(err)
	}
	r, err := s.GC(t.Context())
	if err != nil || r.Blobs != 1 {
		t.Errorf("GC %+v, %v: want the one blob of the deleted session gone", r, err)
	}
	update(t, s, func(tx *Tx) error { return tx.PutTurn(staged) })
	view(t, s, func(tx *Tx) error {
		for _, want := range []trace.Turn{kept, pending} {
			got, _, err := tx.Turn(want.SessionID, 0)
			if err != nil {
				t.Error(err)
			}
			same(t, want.SessionID, got, want)
		}
		return nil
	})
	sound(t, s)
	if r, err := s.GC(t.Context()); err != nil || r.Blobs != 0 {
		t.Errorf("second GC %+v, %v", r, err)
	}
}
