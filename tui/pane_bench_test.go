package tui

import (
	"fmt"
	"testing"

	"vise/engine/episode"
	"vise/engine/event"
	"vise/engine/rule"
	"vise/store"
)

// A token that streams: Apply and Rows must stay far below the millisecond that
// one update may take.
func BenchmarkRepairDelta(b *testing.B) {
	d := newDesk(b, false)
	d.size(PaneRepair, 150, 40)
	d.ctx.Scope.Episode = "e-1"
	if err := d.store.Update(b.Context(), func(tx *store.Tx) error {
		for turn := range 5 {
			if err := tx.PutStep(episode.Step{EpisodeID: "e-1", Attempt: 1, Turn: turn + 1, Text: "I look.", Calls: []episode.Call{{ID: "c", Name: "harness_trace_inspect",
				Arguments: `{"trace_id":"s-1.2"}`, OK: true, Ran: true, Result: []byte(`{"ok":true,"tool_spans":[{"name":"a","error":"b"}]}`)}}}); err != nil {
				return err
			}
		}
		return tx.PutEpisode(episode.Episode{ID: "e-1", SessionID: "s-1", CreatedAt: "x", Status: episode.Running, Attempts: 1})
	}); err != nil {
		b.Fatal(err)
	}
	d.apply(Change{Reload: true})
	p := d.panes[PaneRepair]
	b.ReportAllocs()
	for b.Loop() {
		p.Apply(d.ctx, Change{Events: []event.Event{{Type: event.RepairDelta, EpisodeID: "e-1", Data: map[string]any{"attempt": 1, "turn": 6, "text": "word "}}}})
		p.Rows()
	}
}

// What 33 ms of 1,000 events a second cost the journal.
func BenchmarkJournalBurst(b *testing.B) {
	d := newDesk(b, false)
	d.size(PaneJournal, 100, 30)
	p := d.panes[PaneJournal]
	seq := uint64(0)
	b.ReportAllocs()
	for b.Loop() {
		events := make([]event.Event, 33)
		for i := range events {
			seq++
			events[i] = event.Event{Seq: seq, At: noon, Type: event.RepairToolCall, EpisodeID: "e-1", Data: map[string]any{"tool": "harness_notice_read", "ok": true, "turn": 1}}
		}
		p.Apply(d.ctx, Change{Events: events})
		p.Rows()
	}
}

// A key in a list that is longer than its window.
func BenchmarkRulesMove(b *testing.B) {
	d := newDesk(b, false)
	for from := 0; from < 5_000; from += 500 {
		if err := d.store.Bulk(b.Context(), func(tx *store.Tx) error {
			for i := from; i < from+500; i++ {
				if err := tx.PutRule(rule.Rule{ID: fmt.Sprintf("r-%06d", i), CreatedAt: fmt.Sprintf("%06d", i), Text: "pass the argument", Scope: "refunds", Status: rule.Active}); err != nil {
					return err
				}
			}
			return nil
		}); err != nil {
			b.Fatal(err)
		}
	}
	d.size(PaneRules, 100, 40)
	d.apply(Change{Reload: true})
	p := d.panes[PaneRules].(*rulesPane)
	b.ReportAllocs()
	for b.Loop() {
		if !p.list.Move(1) {
			p.list.Home()
		}
		p.chosen(d.ctx)
		p.Rows()
	}
}
