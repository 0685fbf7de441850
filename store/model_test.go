package store

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"vise/engine/evidence"
	"vise/engine/notice"
	"vise/engine/rule"
	"vise/engine/trace"
)

// TestStoreAgainstModel runs random changes against the store and against plain maps:
// lists by every index agree, and Verify is content, after each of them.
func TestStoreAgainstModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, err := Open(context.Background(), Options{InMemory: true, Now: clock()})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		m := model{notices: map[string]notice.Notice{}, rules: map[string]rule.Rule{}, cases: map[string]evidence.Case{}, turns: map[string]trace.Turn{}}
		// Ids that are prefixes of each other, with characters that sort around the key parts' end marks.
		id := rapid.SampledFrom([]string{"a", "a\x00", "a\x01b", "ab", "b", "ü"})
		text := rapid.SampledFrom([]string{"2026-01-01", "2026-01-01T00", "2026", "x\x00y"})
		t.Repeat(map[string]func(*rapid.T){
			"notice": func(t *rapid.T) {
				n := notice.Notice{ID: id.Draw(t, "id"), SessionID: id.Draw(t, "session"), CreatedAt: text.Draw(t, "at"),
					Status: rapid.SampledFrom([]notice.Status{notice.Pending, notice.Acknowledged}).Draw(t, "status")}
				m.notices[n.ID] = n
				must(t, s.Update(context.Background(), func(tx *Tx) error { return tx.PutNotice(n) }))
			},
			"rule": func(t *rapid.T) {
				r := rule.Rule{ID: id.Draw(t, "id"), Scope: id.Draw(t, "scope"), CreatedAt: text.Draw(t, "at"),
					Text: rapid.SampledFrom([]string{"one two", "two three", "four"}).Draw(t, "text"), Status: rapid.SampledFrom(allStatuses).Draw(t, "status")}
				r.Version = m.rules[r.ID].Version + 1
				m.rules[r.ID] = r
				must(t, s.Update(context.Background(), func(tx *Tx) error { return tx.PutRule(r) }))
			},
			"case": func(t *rapid.T) {
				c := evidence.Case{ID: id.Draw(t, "id"), SessionID: id.Draw(t, "session"), CreatedAt: text.Draw(t, "at"),
					Kind:      rapid.SampledFrom([]evidence.Kind{evidence.Failure, evidence.Win}).Draw(t, "kind"),
					Signature: rapid.SliceOfN(rapid.SampledFrom([]string{"breach:x", "stall:x"}), 0, 3).Draw(t, "signature")}
				m.cases[c.ID] = c
				must(t, s.Update(context.Background(), func(tx *Tx) error { return tx.PutCase(c) }))
			},
			"uncase": func(t *rapid.T) {
				i := id.Draw(t, "id")
				delete(m.cases, i)
				must(t, s.Update(context.Background(), func(tx *Tx) error { return tx.DeleteCase(i) }))
			},
			"turn": func(t *rapid.T) {
				turn := turnOf(id.Draw(t, "session"), rapid.IntRange(0, 3).Draw(t, "turn"), rapid.IntRange(0, 5).Draw(t, "spans"))
				m.turns[fmt.Sprintf("%q %d", turn.SessionID, turn.Index)] = turn
				staged, err := s.StageTurn(context.Background(), turn)
				must(t, err)
				must(t, s.Update(context.Background(), func(tx *Tx) error { return tx.PutTurn(staged) }))
			},
			"session": func(t *rapid.T) {
				i := id.Draw(t, "session")
				must(t, s.Update(context.Background(), func(tx *Tx) error { return tx.PutSession(trace.Session{ID: i}) }))
			},
			"unsession": func(t *rapid.T) {
				i := id.Draw(t, "session")
				maps.DeleteFunc(m.turns, func(_ string, turn trace.Turn) bool { return turn.SessionID == i })
				must(t, s.DeleteSession(context.Background(), i, ""))
			},
			"": func(t *rapid.T) {
				must(t, s.View(func(tx *Tx) error { return m.check(t, tx) }))
				r, err := s.Verify(context.Background())
				must(t, err)
				if !r.OK() {
					t.Fatalf("verify: %+v", r.Problems)
				}
			},
		})
	})
}

func must(t *rapid.T, err error) {
	if err != nil {
		t.Fatal(err)
	}
}

type model struct {
	notices map[string]notice.Notice
	rules   map[string]rule.Rule
	cases   map[string]evidence.Case
	turns   map[string]trace.Turn
}

// listed returns the ids of the values that keep accepts, by creation, then id.
func listed[T any](m map[string]T, created func(T) string, keep func(T) bool) []string {
	var ids []string
	for id, v := range m {
		if keep(v) {
			ids = append(ids, id)
		}
	}
	slices.SortFunc(ids, func(a, b string) int { return cmp.Or(cmp.Compare(created(m[a]), created(m[b])), cmp.Compare(a, b)) })
	return ids
}

func (m model) check(t *rapid.T, tx *Tx) error {
	equal := func(what string, got, want []string) {
		if !slices.Equal(got, want) {
			t.Fatalf("%s: %q, want %q", what, got, want)
		}
	}
	ns, err := tx.Notices(Window{Oldest: true})
	must(t, err)
	var got []string
	for _, n := range ns {
		got = append(got, n.ID)
	}
	equal("notices", got, listed(m.notices, func(n notice.Notice) string { return n.CreatedAt }, func(notice.Notice) bool { return true }))
	for _, session := range []string{"a", "ab", "a\x00"} {
		ns, err := tx.PendingNotices(session)
		must(t, err)
		got = nil
		for _, n := range ns {
			got = append(got, n.ID)
		}
		equal("pending", got, listed(m.notices, func(notice.Notice) string { return "" },
			func(n notice.Notice) bool { return n.Status == notice.Pending && n.SessionID == session }))
		rs, err := tx.RulesInScope(session, rule.Active, rule.Retired)
		must(t, err)
		equal("scope", idsOf(rs), listed(m.rules, func(r rule.Rule) string { return r.CreatedAt }, func(r rule.Rule) bool {
			return r.Scope == session && (r.Status == rule.Active || r.Status == rule.Retired)
		}))
	}
	rs, err := tx.RulesWithTokens([]string{"two", "four"}, rule.Candidate)
	must(t, err)
	equal("tokens", idsOf(rs), listed(m.rules, func(r rule.Rule) string { return r.CreatedAt },
		func(r rule.Rule) bool { return r.Status == rule.Candidate }))
	rs, err = tx.Rules()
	must(t, err)
	equal("rules", idsOf(rs), listed(m.rules, func(r rule.Rule) string { return r.CreatedAt }, func(rule.Rule) bool { return true }))
	for _, r := range rs {
		if r.Version != m.rules[r.ID].Version {
			t.Fatalf("rule %q has version %d, want %d", r.ID, r.Version, m.rules[r.ID].Version)
		}
	}
	hits, err := rule.Search(tx, "two x", 3)
	must(t, err)
	all, err := rule.Search(rule.NewSet(slices.Collect(maps.Values(m.rules)), nil), "two x", 3)
	must(t, err)
	equal("search", hitIDs(hits), hitIDs(all))
	cs, err := tx.CasesBySignature("stall:x")
	must(t, err)
	got = nil
	for _, c := range cs {
		got = append(got, c.ID)
	}
	equal("cases", got, listed(m.cases, func(c evidence.Case) string { return c.CreatedAt },
		func(c evidence.Case) bool { return slices.Contains(c.Signature, "stall:x") }))
	n := 0
	for _, session := range []string{"a", "a\x00", "a\x01b", "ab", "b", "ü"} {
		list, err := tx.Turns(session, 0, 0)
		must(t, err)
		for _, turn := range list {
			if want := m.turns[fmt.Sprintf("%q %d", turn.SessionID, turn.Index)]; len(turn.Spans) != len(want.Spans) {
				t.Fatalf("turn %q:%d has %d spans, want %d", turn.SessionID, turn.Index, len(turn.Spans), len(want.Spans))
			}
			n++
		}
	}
	if n != len(m.turns) {
		t.Fatalf("%d turns, want %d", n, len(m.turns))
	}
	return nil
}

func hitIDs(list []rule.Hit) (ids []string) {
	for _, h := range list {
		ids = append(ids, h.Rule.ID)
	}
	return ids
}

func idsOf(list []rule.Rule) (ids []string) {
	for _, r := range list {
		ids = append(ids, r.ID)
	}
	return ids
}

func FuzzKeyOrder(f *testing.F) {
	f.Add("a", "ab")
	f.Add("a\x00", "a")
	f.Add("a\x01", "a\x00\xff")
	f.Fuzz(func(t *testing.T, a, b string) {
		if len(a) > maxPart-64 || len(b) > maxPart-64 {
			return
		}
		// Keys hold valid UTF-8 only; its byte order is code point order.
		a, b = string([]rune(a)), string([]rune(b))
		if got, want := cmp.Compare(string(key('n', a, "tail")), string(key('n', b, "tail"))), cmp.Compare(a, b); got != want {
			t.Errorf("%q and %q compare %d, their keys %d", a, b, want, got)
		}
	})
}

func FuzzScanFrame(f *testing.F) {
	f.Add(encodeScan(scan{prefix: []byte("p"), after: []byte("q"), reverse: true}, 5))
	f.Fuzz(func(t *testing.T, b []byte) {
		s, limit, err := decodeScan(b)
		if err != nil {
			return
		}
		if limit > batchPairs {
			t.Errorf("limit %d", limit)
		}
		again, _, err := decodeScan(encodeScan(s, limit))
		if err != nil || again.reverse != s.reverse || string(again.prefix) != string(s.prefix) || string(again.seek()) != string(s.seek()) {
			t.Errorf("%+v became %+v, %v", s, again, err)
		}
	})
}

func FuzzSpill(f *testing.F) {
	f.Add("\x00b", 3)
	f.Add("\\\"", 9000)
	f.Fuzz(func(t *testing.T, text string, times int) {
		if times < 0 || times*len(text) > 1<<20 {
			return
		}
		s, err := Open(context.Background(), Options{InMemory: true})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		long := ""
		for range times {
			long += text
		}
		type doc struct{ A, B string }
		raw, err := marshal(doc{text, long})
		if err != nil {
			t.Fatal(err)
		}
		err = s.Update(context.Background(), func(tx *Tx) error {
			v, err := pack(raw, tx)
			if err != nil {
				return err
			}
			back, err := unpack(tx.snap, v)
			if string(back) != string(raw) {
				t.Errorf("%.80q became %.80q", raw, back)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	})
}

// pack turns JSON into a stored value of at most about maxValue bytes.
func pack(raw []byte, blobs blobSink) ([]byte, error) { return packLifted(raw, blobs, lifted{}) }
