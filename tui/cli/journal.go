package cli

import (
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"vise/engine/event"
	"vise/store"
)

func (a *app) journalCmd() *cobra.Command {
	var follow bool
	var types []string
	var last int
	var one uint64
	c := &cobra.Command{
		Use: "journal", Short: "The journal of everything that changed", Args: cobra.NoArgs,
		Example: "vise journal --type notice --type rule_promote\nvise journal --follow --json",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if last < 0 {
				return usagef("--last %d: give a number of events, 0 for all", last)
			}
			ctx := cmd.Context()
			a.out.clock, a.out.sessions = "2006-01-02 15:04:05.000", true
			cfg, _, err := a.load()
			if err != nil {
				return err
			}
			// Following must not keep the store from those who write.
			s, err := store.OpenView(ctx, a.storeOptions(cfg, nil))
			if err != nil {
				return err
			}
			defer s.Close()
			wanted := map[event.Type]bool{}
			for _, t := range types {
				if !slices.Contains(event.Journal, event.Type(t)) {
					return usagef("--type %q: no journal event is of that type; types are %v", t, event.Journal)
				}
				wanted[event.Type(t)] = true
			}
			var after uint64
			if last > 0 {
				// Start at the oldest of the last n that match.
				var recent []event.Event
				filter := make([]event.Type, 0, len(types))
				for _, t := range types {
					filter = append(filter, event.Type(t))
				}
				if err := s.View(func(tx *store.Tx) (err error) {
					recent, err = tx.LastEvents(last, filter...)
					return err
				}); err != nil {
					return err
				}
				for i := len(recent) - 1; i >= 0; i-- {
					if err := a.out.event(recent[i]); err != nil {
						return err
					}
					after = recent[i].Seq
				}
				if !follow {
					return nil
				}
			}
			print := func(e event.Event) error {
				if len(wanted) > 0 && !wanted[e.Type] {
					return nil
				}
				return a.out.event(e)
			}
			if one > 0 {
				var list []event.Event
				if err := s.View(func(tx *store.Tx) (err error) {
					list, err = tx.Events(one-1, 1, store.EventFilter{})
					return err
				}); err != nil {
					return err
				}
				if len(list) == 0 || list[0].Seq != one {
					return fmt.Errorf("journal: there is no event %d; vise journal --json tells their numbers (seq)", one)
				}
				return a.out.event(list[0])
			}
			if follow {
				return s.Follow(ctx, after, print)
			}
			return eachEvent(s, after, print)
		},
	}
	c.Flags().BoolVarP(&follow, "follow", "f", false, "go on printing as events come")
	c.Flags().StringArrayVar(&types, "type", nil, "only events of this type (repeatable)")
	c.Flags().Uint64Var(&one, "event", 0, "only the event of this number (seq)")
	c.Flags().IntVarP(&last, "last", "n", 0, "only the last N events")
	for _, other := range []string{"follow", "type", "last"} {
		c.MarkFlagsMutuallyExclusive("event", other)
	}
	return c
}

// eachEvent hands all stored events after a sequence number to fn, page by page.
func eachEvent(s *store.Store, after uint64, fn func(event.Event) error) error {
	const page = 500
	for {
		var events []event.Event
		if err := s.View(func(tx *store.Tx) (err error) {
			events, err = tx.Events(after, page, store.EventFilter{})
			return err
		}); err != nil {
			return err
		}
		for _, e := range events {
			if err := fn(e); err != nil {
				return err
			}
			after = e.Seq
		}
		if len(events) < page {
			return nil
		}
	}
}
