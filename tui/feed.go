package tui

import (
	"context"
	"time"

	tea "charm.land/bubbletea/v2"

	"vise/engine/event"
)

// feedEvery is the least time between two messages of the feed: a burst of events
// becomes one message, the first event of a burst comes at once.
const feedEvery = 33 * time.Millisecond

// feedSize bounds what waits between two messages; beyond, panes read anew.
const feedSize = 4096

// feedMsg is what has happened since the last one.
type feedMsg struct {
	events []event.Event
	lost   bool
}

// feed reads a subscription until the context ends and hands coalesced batches to send.
// Span progress and deltas of the same thing are merged by the panes; the feed
// keeps their order. every is feedEvery, or less where a test presses a day together.
func feed(ctx context.Context, sub *event.Subscription, every time.Duration, send func(tea.Msg)) {
	defer sub.Close()
	for {
		b, err := sub.Next(ctx)
		if err != nil {
			return
		}
		send(feedMsg{b.Events, b.Lost > 0})
		t := time.NewTimer(every)
		select {
		case <-ctx.Done():
			t.Stop()
			return
		case <-t.C:
		}
	}
}
