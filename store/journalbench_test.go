package store

import (
	"fmt"
	"testing"

	"vise/engine/episode"
	"vise/engine/event"
	"vise/engine/notice"
)

// BenchmarkEventsByType: the last 50 events of two rare types, and the next 50 after a
// place in the middle, in journals of very different length.
func BenchmarkEventsByType(b *testing.B) {
	for _, n := range []int{10_000, 100_000, 1_000_000} {
		if testing.Short() && n > 100_000 {
			continue
		}
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			s := disk(b, b.TempDir())
			fill(b, s, n, 2000, func(tx *Tx, i int) error {
				t := event.TurnReplayed
				switch {
				case i%1000 < 50:
					t = event.Notice
				case i%1000 < 100:
					t = event.Recovery
				}
				return tx.Emit(event.Event{Type: t, SessionID: fmt.Sprint("s", i%1000), TurnIndex: event.Turn(i)})
			})
			b.ReportAllocs()
			for b.Loop() {
				if err := s.View(func(tx *Tx) error {
					last, err := tx.LastEvents(50, event.Notice, event.Recovery)
					if err != nil {
						return err
					}
					next, err := tx.Events(uint64(n/2), 50, EventFilter{Types: []event.Type{event.Notice, event.Recovery}})
					if len(last) != 50 || len(next) != 50 {
						b.Fatalf("%d and %d events", len(last), len(next))
					}
					return err
				}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkPendingOfSession: the pending notices and the episodes of one session,
// beside those of many others.
func BenchmarkPendingOfSession(b *testing.B) {
	for _, n := range []int{100, 100_000} {
		if testing.Short() && n > 1000 {
			continue
		}
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			s := disk(b, b.TempDir())
			fill(b, s, n, 1000, func(tx *Tx, i int) error {
				at := fmt.Sprintf("2026-03-01T%09d", i)
				if err := tx.PutNotice(notice.Notice{ID: fmt.Sprintf("n-%07d", i), SessionID: fmt.Sprint("s", i/3), CreatedAt: at, Status: notice.Pending}); err != nil {
					return err
				}
				return tx.PutEpisode(episode.Episode{ID: fmt.Sprintf("e-%07d", i), SessionID: fmt.Sprint("s", i/3), CreatedAt: at, Status: episode.Open})
			})
			b.ReportAllocs()
			for b.Loop() {
				if err := s.View(func(tx *Tx) error {
					pending, err := tx.PendingNotices("s7")
					if err != nil {
						return err
					}
					list, err := tx.EpisodesOfSession("s7")
					if len(pending) != 3 || len(list) != 3 {
						b.Fatalf("%d notices, %d episodes", len(pending), len(list))
					}
					return err
				}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
