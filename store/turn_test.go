package store

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	badger "github.com/dgraph-io/badger/v4"

	"vise/engine/longtext"
	"vise/engine/trace"
)

func TestTurnRoundTrip(t *testing.T) {
	big := strings.Repeat("long \"quoted\" \\ line\n", 4000)
	many, wide := 5000, 100 // spans
	if race {
		many, wide = 1100, 20 // still more than one chunk
	}
	tests := []struct {
		name string
		edit func(*trace.Turn)
	}{
		{"no spans", func(t *trace.Turn) { t.Spans = nil }},
		{"few spans", func(*trace.Turn) {}},
		{"long strings", func(t *trace.Turn) {
			t.Input, t.Spans[0].Output, t.Spans[1].Input = big, big, big+"x"
			t.EndState = json.RawMessage(`{"note":"` + strings.Repeat("y", 30<<10) + `"}`)
			t.Spans[2].Attrs = map[string]any{"deep": map[string]any{"list": []any{big, "short"}}}
		}},
		{"strings that look like references", func(t *trace.Turn) {
			t.Input = "\x00b" + strings.Repeat("0", 64)
			t.Spans[0].Output = "\x00"
			t.Spans[1].Output = `\"` + "\x00b" + strings.Repeat("0", 64)
		}},
		{"texts that are lifted", func(t *trace.Turn) {
			huge := strings.Repeat("wide 日本語 \u2028 <b>\n\x00", liftOver/20)
			t.Input = huge + "\x00b" + strings.Repeat("0", 64)
			t.Spans[0].Input, t.Spans[0].Output, t.Spans[0].Thought = huge, huge, "z"+huge
			t.Spans[1].Output = "\x00t0"
			t.Spans[2].Output = strings.Repeat("x", liftOver+1)
			t.Spans[3].Error = huge
			t.Spans[3].Attrs = map[string]any{"deep": map[string]any{"list": []any{huge, "short"}}}
			t.TaskSummary = huge
		}},
		{"long texts where nobody looks for them", func(t *trace.Turn) {
			t.Spans[0].Output = strings.Repeat("x", liftOver+1)
			t.Spans[0].Attrs = map[string]any{strings.Repeat("key", liftOver/2): "value"}
		}},
		{"exact numbers", func(t *trace.Turn) {
			t.Spans[0].Attrs = map[string]any{"n": json.Number("9007199254740993")}
		}},
		{"many spans", func(t *trace.Turn) { *t = turnOf(t.SessionID, t.Index, many) }},
		{"a turn of many megabytes", func(t *trace.Turn) {
			*t = turnOf(t.SessionID, t.Index, wide)
			for i := range t.Spans {
				// Hardly compressible, and under the size of a blob: the chunks carry it.
				t.Spans[i].Output = noise(i, 15<<10)
			}
			t.Spans[0].Output = noise(-1, 3<<20)
		}},
	}
	places := []string{"memory", "disk"}
	if race {
		places = places[1:]
	}
	for _, tt := range tests {
		for _, where := range places {
			t.Run(tt.name+" in "+where, func(t *testing.T) {
				s := memory(t, Options{})
				if where == "disk" {
					s = disk(t, t.TempDir())
				}
				want := turnOf("s", 3, 6)
				tt.edit(&want)
				staged := stage(t, s, want)
				view(t, s, func(tx *Tx) error {
					if _, found, err := tx.Turn("s", 3); found || err != nil {
						t.Errorf("a staged turn is visible (%v)", err)
					}
					return nil
				})
				update(t, s, func(tx *Tx) error { return tx.PutTurn(staged) })
				view(t, s, func(tx *Tx) error {
					got, found, err := tx.Turn("s", 3)
					if !found || err != nil {
						t.Fatalf("found %v, error %v", found, err)
					}
					same(t, "turn", got, want)
					byTrace, found, err := tx.TurnByTrace("s.3")
					if !found || err != nil || byTrace.Index != 3 {
						t.Errorf("by trace: %v, %v, %v", byTrace.Index, found, err)
					}
					return nil
				})
				sound(t, s)
			})
		}
	}
}

// noise returns n bytes of text that zstd cannot shrink by much.
func noise(seed, n int) string {
	b := make([]byte, n)
	x := uint64(seed)*0x9e3779b97f4a7c15 + 88172645463325252
	for i := range b {
		x ^= x << 13
		x ^= x >> 7
		x ^= x << 17
		b[i] = ' ' + byte(x%90)
	}
	return string(b)
}

// Readers that show beginnings get those of long texts, whatever is behind.
func TestEachTurnCuts(t *testing.T) {
	t.Parallel()
	s := memory(t, Options{})
	long := strings.Repeat("日本語 ", liftOver/5)
	for i := range 3 {
		turn := turnOf("s", i, 2)
		turn.Input, turn.Spans[0].Output, turn.Spans[1].Output = long, long, strings.Repeat("m", liftOver)
		staged := stage(t, s, turn)
		update(t, s, func(tx *Tx) error { return tx.PutTurn(staged) })
	}
	// A chunk behind the beginning is gone: only who reads it finds out.
	sum := sha256.Sum256([]byte(long))
	if err := s.db.Update(func(txn *badger.Txn) error { return txn.Delete(blobChunkKey(sum, 2)) }); err != nil {
		t.Fatal(err)
	}
	var seen []int
	view(t, s, func(tx *Tx) error {
		return tx.EachTurn("s", 1, 102, func(turn trace.Turn) (bool, error) {
			seen = append(seen, turn.Index)
			for _, text := range []string{turn.Input, turn.Spans[0].Output} {
				if text != long[:100] || !utf8.ValidString(text) {
					t.Errorf("turn %d: %d bytes, want 100: whole characters", turn.Index, len(text))
				}
			}
			if len(turn.Spans[1].Output) != liftOver {
				t.Errorf("a text of 1 MiB has %d bytes", len(turn.Spans[1].Output))
			}
			return true, nil
		})
	})
	if !slices.Equal(seen, []int{1, 2}) {
		t.Errorf("turns %v", seen)
	}
	view(t, s, func(tx *Tx) error {
		if _, found, err := tx.Turn("s", 1); found || err != nil {
			t.Errorf("a turn with a damaged text: found %v, %v", found, err)
		}
		return nil
	})
}

func TestTurnsAreWindows(t *testing.T) {
	s := memory(t, Options{})
	update(t, s, func(tx *Tx) error {
		for i := range 20 {
			if err := tx.PutTurn(stage(t, s, turnOf("s", i, i))); err != nil {
				return err
			}
		}
		return tx.PutTurn(stage(t, s, turnOf("s2", 0, 1)))
	})
	view(t, s, func(tx *Tx) error {
		got, err := tx.Turns("s", 5, 3)
		same(t, "window", got, []trace.Turn{turnOf("s", 5, 5), turnOf("s", 6, 6), turnOf("s", 7, 7)})
		if all, _ := tx.Turns("s", 0, 0); len(all) != 20 {
			t.Errorf("%d turns, want all 20", len(all))
		}
		heads, _ := tx.TurnHeads("s", 18, 0)
		if len(heads) != 2 || heads[1].SpanCount != 19 || heads[1].Spans != nil {
			t.Errorf("heads %+v", heads)
		}
		return err
	})
}

func TestCountsFollowTheTurns(t *testing.T) {
	s := memory(t, Options{})
	check := func(want trace.Counts) {
		t.Helper()
		view(t, s, func(tx *Tx) error {
			got, found, err := tx.Session("s")
			if !found {
				t.Fatal("no session")
			}
			same(t, "counts", got.Counts, want)
			return err
		})
		sound(t, s)
	}
	put := func(turn trace.Turn) {
		staged := stage(t, s, turn)
		update(t, s, func(tx *Tx) error { return tx.PutTurn(staged) })
	}
	put(turnOf("s", 0, 4)) // before the head
	update(t, s, func(tx *Tx) error {
		return tx.PutSession(trace.Session{ID: "s", Counts: trace.Counts{Turns: 99}})
	})
	check(trace.Counts{Turns: 1, Steps: 2, Calls: 2, Errors: 1})
	put(turnOf("s", 1, 2))
	check(trace.Counts{Turns: 2, Steps: 3, Calls: 3, Errors: 1})
	put(turnOf("s", 0, 1)) // replaces
	check(trace.Counts{Turns: 2, Steps: 2, Calls: 1, Errors: 0})
	put(turnOf("s", 0, 70*chunkSpans)) // replaces; more chunks than one transaction drops
	put(turnOf("s", 0, 1))
	check(trace.Counts{Turns: 2, Steps: 2, Calls: 1, Errors: 0})
}

func TestDeleteSession(t *testing.T) {
	s := memory(t, Options{})
	for i := range 2*removeBatch + 5 {
		staged := stage(t, s, turnOf("gone", i, 3))
		update(t, s, func(tx *Tx) error { return tx.PutTurn(staged) })
	}
	keep := stage(t, s, turnOf("kept", 0, 3))
	update(t, s, func(tx *Tx) error {
		if err := tx.PutSession(trace.Session{ID: "gone"}); err != nil {
			return err
		}
		if err := tx.PutSession(trace.Session{ID: "kept"}); err != nil {
			return err
		}
		return tx.PutTurn(keep)
	})
	for range 2 { // the second finds nothing and says nothing
		if err := s.DeleteSession(t.Context(), "gone", ""); err != nil {
			t.Fatal(err)
		}
	}
	view(t, s, func(tx *Tx) error {
		if list, _ := tx.Turns("gone", 0, 0); len(list) != 0 {
			t.Errorf("%d turns are left", len(list))
		}
		if _, found, _ := tx.TurnByTrace("gone.7"); found {
			t.Error("a trace is still found")
		}
		if list, _ := tx.Sessions(Window{}); len(list) != 1 || list[0].ID != "kept" || list[0].Counts.Turns != 1 {
			t.Errorf("sessions %+v", list)
		}
		if n, _ := tx.LastSeq(); n != 1 {
			t.Errorf("%d events, want one session_removed", n)
		}
		return nil
	})
	sound(t, s)
	// The id is free again.
	staged := stage(t, s, turnOf("gone", 0, 1))
	update(t, s, func(tx *Tx) error { return tx.PutTurn(staged) })
	sound(t, s)
}

func TestSessionsWindow(t *testing.T) {
	s := memory(t, Options{})
	update(t, s, func(tx *Tx) error {
		for i := range 10 {
			o := trace.Recorded
			if i%3 == 0 {
				o = trace.Live
			}
			if err := tx.PutSession(trace.Session{ID: fmt.Sprintf("s%d", i), Origin: o}); err != nil {
				return err
			}
		}
		return nil
	})
	// Storing a head again keeps its place.
	update(t, s, func(tx *Tx) error {
		return tx.PutSession(trace.Session{ID: "s4", Origin: trace.Recorded, Title: "again"})
	})
	update(t, s, func(tx *Tx) error {
		return errors.Join(tx.PutSession(trace.Session{ID: "x0", Origin: trace.Replay}), tx.PutSession(trace.Session{ID: "x1", Origin: trace.Replay}))
	})
	tests := []struct {
		w    Window
		want string
	}{
		{Window{}, "x1 x0 s9 s8 s7 s6 s5 s4 s3 s2 s1 s0"},
		{Window{Oldest: true}, "s0 s1 s2 s3 s4 s5 s6 s7 s8 s9 x0 x1"},
		{Window{Limit: 3, After: "s8"}, "s7 s6 s5"},
		{Window{Limit: 3, After: "s7"}, "s6 s5 s4"},
		{Window{Limit: 3, After: "s1"}, "s0"},
		{Window{Oldest: true, After: "s7"}, "s8 s9 x0 x1"},
		{Window{Origin: trace.Live}, "s9 s6 s3 s0"},
		{Window{Origin: trace.Live, After: "s6", Limit: 1}, "s3"},
		{Window{Origin: trace.Replay}, "x1 x0"},
		{Window{Limit: 2}, "x1 x0"},
		{Window{Own: true}, "s9 s8 s7 s6 s5 s4 s3 s2 s1 s0"},
		{Window{Own: true, Limit: 2, After: "s7"}, "s6 s5"},
		{Window{Own: true, After: "x0", Limit: 1}, "s9"},
		{Window{Own: true, Oldest: true, After: "s7"}, "s8 s9"},
	}
	view(t, s, func(tx *Tx) error {
		for _, tt := range tests {
			list, err := tx.Sessions(tt.w)
			if err != nil {
				t.Fatal(err)
			}
			var ids []string
			for _, s := range list {
				ids = append(ids, s.ID)
			}
			if got := strings.Join(ids, " "); got != tt.want {
				t.Errorf("%+v: %q, want %q", tt.w, got, tt.want)
			}
		}
		if _, err := tx.Sessions(Window{After: "nobody"}); err == nil {
			t.Error("a cursor that is not there gives no error")
		}
		return nil
	})
	sound(t, s)
}

// TestLiftedTextIsTheSameBlob: a text that was lifted lies in the store as it would
// have lain without, so that equal texts stay one blob.
func TestLiftedTextIsTheSameBlob(t *testing.T) {
	for _, text := range []string{strings.Repeat("日本語\n\"", liftOver/5), strings.Repeat("\xff\xe2\x82 \x00", liftOver/4), noise(3, liftOver+1)} {
		raw, err := marshal(text)
		if err != nil {
			t.Fatal(err)
		}
		var spelled []byte
		if err := longtext.Spell(text, func(part []byte) error { spelled = append(spelled, part...); return nil }); err != nil {
			t.Fatal(err)
		}
		if string(spelled) != string(raw[1:len(raw)-1]) {
			t.Errorf("%.12q: spelled in pieces it is other JSON", text)
		}
		var whole, pieces []string
		set := func(into *[]string) func(k, v []byte) error {
			return func(k, v []byte) error { *into = append(*into, string(k)+"="+string(v)); return nil }
		}
		if err := writeBlob([32]byte{1}, spelled, set(&whole)); err != nil {
			t.Fatal(err)
		}
		w := blobWriter{sum: [32]byte{1}, set: set(&pieces)}
		if err := longtext.Spell(text, w.add); err != nil {
			t.Fatal(err)
		}
		if err := w.end(); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(whole, pieces) {
			t.Errorf("%.12q: %d entries written at once, %d in pieces, not the same", text, len(whole), len(pieces))
		}
	}
}
