package engine_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"vise/engine"
	"vise/engine/config"
	"vise/engine/event"
	"vise/engine/notice"
	"vise/engine/trace"
	"vise/store"
)

// BenchmarkTurnBesideSessions ends and settles a turn (stored, scored, gate, dedup,
// nothing to repair) beside many other sessions with their own gates and notices. In
// memory, so that the disk's sync does not hide the rest; a session has 64 turns.
func BenchmarkTurnBesideSessions(b *testing.B) {
	for _, n := range []int{10, 1_000, 20_000} {
		if testing.Short() && n > 1_000 {
			continue
		}
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			cfg, _, err := config.Load(config.LoadOptions{})
			if err != nil {
				b.Fatal(err)
			}
			st, err := store.Open(b.Context(), store.Options{InMemory: true})
			if err != nil {
				b.Fatal(err)
			}
			defer st.Close()
			ctx := context.Background()
			for from := 0; from < n; from += 500 {
				if err := st.Bulk(ctx, func(tx *store.Tx) error {
					for i := from; i < min(from+500, n); i++ {
						id := fmt.Sprint("other", i)
						if err := tx.PutSession(trace.Session{ID: id, Origin: trace.Live, Started: time.Unix(int64(i), 0)}); err != nil {
							return err
						}
						if err := tx.PutState("session/"+id, map[string]any{"next": 3, "gate": map[string]any{"task_completion": map[string]any{"peak": 0.9, "turns": 1}}}); err != nil {
							return err
						}
						if err := tx.PutNotice(notice.Notice{ID: fmt.Sprintf("n-%07d", i), SessionID: id, CreatedAt: fmt.Sprint(i), Status: notice.Pending}); err != nil {
							return err
						}
					}
					return nil
				}); err != nil {
					b.Fatal(err)
				}
			}
			o := engine.Options{Config: cfg, Store: st}
			builtin(nil)(cfg, &o)
			h, err := engine.Open(ctx, o)
			if err != nil {
				b.Fatal(err)
			}
			defer h.Close()
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				id, turn := fmt.Sprint("s", i/64), i%64
				if turn == 0 {
					if err := h.BeginSession(ctx, trace.Session{ID: id, Origin: trace.Live, Source: "acp", Started: time.Unix(int64(i), 0)},
						event.Event{Type: event.AgentStarted, SessionID: id}); err != nil {
						b.Fatal(err)
					}
				}
				if err := h.EndTurn(ctx, good(id, turn)); err != nil {
					b.Fatal(err)
				}
				if s, err := h.Settle(ctx, id); err != nil || !s.Evaluated {
					b.Fatalf("%+v, %v", s, err)
				}
			}
		})
	}
}
