package cli

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"vise/engine/score"
	"vise/engine/trace"
	"vise/store"
)

func (a *app) sessionsCmd() *cobra.Command {
	c := &cobra.Command{Use: "sessions", Short: "Recorded and live sessions"}
	c.AddCommand(a.sessionsLs(), a.sessionsDiff(), a.sessionsShow(), a.sessionsExport(), a.sessionsRename(), a.sessionsPin(true), a.sessionsPin(false), a.sessionsRm(), a.sessionsRestore())
	return c
}

func (a *app) sessionsLs() *cobra.Command {
	var origin string
	var limit int
	var removed bool
	c := &cobra.Command{
		Use: "ls", Short: "List sessions, newest first; pinned ones before the others", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if removed {
				return a.listRemoved(cmd.Context())
			}
			switch trace.Origin(origin) {
			case "", trace.Recorded, trace.Live, trace.Replay:
			default:
				return usagef("--origin %q: use recorded, live or replay", origin)
			}
			s, err := a.openRead(cmd.Context())
			if err != nil {
				return err
			}
			defer s.Close()
			var heads []trace.Session
			if err := s.View(func(tx *store.Tx) (err error) {
				heads, err = tx.Sessions(store.Window{Origin: trace.Origin(origin), Own: origin == "", Pinned: origin == "", Limit: limit})
				return err
			}); err != nil {
				return err
			}
			if a.json {
				for _, h := range heads {
					if err := a.out.object("vise.session/1", h); err != nil {
						return err
					}
				}
				return nil
			}
			if len(heads) == 0 {
				a.out.printf("no sessions yet; vise import PATH... brings recordings in")
				return nil
			}
			rows := make([][]string, len(heads))
			for i, h := range heads {
				rows[i] = []string{show(h.ID, 128), string(h.Origin), show(h.Source, 16), strconv.Itoa(h.Counts.Turns), strconv.Itoa(h.Counts.Calls),
					strconv.Itoa(h.Counts.Errors), labelled(h), called(h)}
			}
			return a.out.table([]string{"SESSION", "ORIGIN", "SOURCE", "TURNS", "CALLS", "ERRORS", "LABEL", "TITLE"}, rows)
		},
	}
	c.Flags().StringVar(&origin, "origin", "", "only recorded, live or replay sessions (default: all but replays of validations)")
	c.Flags().IntVarP(&limit, "limit", "n", 0, "at most N sessions (0 = all)")
	c.Flags().BoolVar(&removed, "removed", false, "what was removed and can still be restored")
	return c
}

// labelled is the outcome that a recording claims, or that a run of ours was killed.
func labelled(h trace.Session) string {
	if h.Killed() {
		return "killed"
	}
	return show(h.Label, 40)
}

// findSession returns the head of a session, by its id, by a beginning of it that
// fits no other, or by the name that a person gave it, or an error that says what to do.
func findSession(tx *store.Tx, id string) (trace.Session, error) {
	h, ok, err := tx.Session(id)
	if err != nil {
		return h, err
	}
	if ok {
		return h, nil
	}
	var like []trace.Session
	if begin := strings.TrimRight(id, "…."); len(begin) >= 4 {
		if like, err = tx.SessionsNamed(begin, 2); err != nil {
			return h, err
		}
	}
	if len(like) == 0 {
		if like, err = tx.SessionsCalled(id, 2); err != nil {
			return h, err
		}
	}
	switch len(like) {
	case 1:
		return like[0], nil
	case 0:
		return h, fmt.Errorf("no session %q; vise sessions ls lists them", id)
	}
	return h, fmt.Errorf("several sessions begin with or are called %q, such as %s and %s; give more of the name", id, show(like[0].ID, 128), show(like[1].ID, 128))
}

// openSession opens the store for reading and finds a session in it.
func (a *app) openSession(ctx context.Context, id string) (*store.Store, trace.Session, error) {
	s, err := a.openRead(ctx)
	if err != nil {
		return nil, trace.Session{}, err
	}
	var head trace.Session
	if err := s.View(func(tx *store.Tx) (err error) {
		head, err = findSession(tx, id)
		return err
	}); err != nil {
		return nil, trace.Session{}, errors.Join(err, s.Close())
	}
	return s, head, nil
}

// eachTurn hands the turns of a session to fn in order. A view of the store is left every
// few turns, earlier when their texts are long: it must not last as long as the writing of
// what it yields. With atMost > 0 texts of many megabytes are cut to about so many bytes.
func eachTurn(s *store.Store, id string, atMost int, fn func(trace.Turn, *score.Report) error) error {
	const page, enough = 16, 4 << 20 // turns, bytes of text
	for from, more := 0, true; more; {
		var turns []trace.Turn
		reports := map[int]*score.Report{}
		if err := s.View(func(tx *store.Tx) error {
			turns, more = nil, false // a view may be tried again
			size := 0
			if err := tx.EachTurn(id, from, atMost, func(t trace.Turn) (bool, error) {
				turns = append(turns, t)
				size += textBytes(t)
				more = len(turns) == page || size > enough
				return !more, nil
			}); err != nil {
				return err
			}
			for _, t := range turns {
				r, ok, err := tx.Report(id, t.Index)
				if err != nil {
					return err
				}
				if ok {
					reports[t.Index] = &r
				}
			}
			return nil
		}); err != nil {
			return err
		}
		for i, t := range turns {
			turns[i] = trace.Turn{} // what is written may go
			if err := fn(t, reports[t.Index]); err != nil {
				return err
			}
			from = t.Index + 1
		}
	}
	return nil
}

// textBytes is the length of the texts of a turn.
func textBytes(t trace.Turn) int {
	n := len(t.Input)
	for _, s := range t.Spans {
		n += len(s.Input) + len(s.Output) + len(s.Thought) + len(s.Error)
	}
	return n
}

// shownBytes is how much of a text of many megabytes is read to show its first line.
const shownBytes = 16 << 10

func (a *app) sessionsShow() *cobra.Command {
	var full bool
	c := &cobra.Command{
		Use: "show SESSION", Short: "Show a session turn by turn with its scores", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			s, head, err := a.openSession(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			defer s.Close()
			if a.json {
				if err := a.out.object("vise.session/1", head); err != nil {
					return err
				}
			} else {
				a.out.printf("%s  %s  %s  %s", show(head.ID, 128), head.Origin, show(head.Source, 16), called(head))
				a.out.printf("agent %s · %d turns · %d model steps · %d calls · %d errors", show(head.Agent, 60), head.Counts.Turns, head.Counts.Steps, head.Counts.Calls, head.Counts.Errors)
				if head.Killed() {
					a.out.printf("killed: the vise that ran it ended before the run did")
				}
				if head.Damaged > 0 {
					a.out.printf("%s in the recording: vise import says in which lines", counted(head.Damaged, "damaged record"))
				}
				if box, ok := head.Attrs["sandbox"].(string); ok {
					for _, key := range []string{"effects", "mode"} {
						if v, ok := head.Attrs[key].(string); ok {
							box += " · " + key + " " + v
						}
					}
					a.out.printf("%s", show(box, 120))
				}
			}
			atMost := shownBytes
			if full || a.json {
				atMost = 0
			}
			return eachTurn(s, head.ID, atMost, func(t trace.Turn, r *score.Report) error {
				if a.json {
					if err := a.out.turn(t); err != nil {
						return err
					}
					if r != nil {
						return a.out.object("vise.report/1", r)
					}
					return nil
				}
				a.printTurn(t, r, full)
				return a.out.err
			})
		},
	}
	c.Flags().BoolVar(&full, "full", false, "whole texts instead of their first line")
	return c
}

// printTurn writes one turn as text: input, spans, scores with their reasons.
func (a *app) printTurn(t trace.Turn, r *score.Report, full bool) {
	line := func(format, text string, before ...any) {
		if !full {
			a.out.printf(format, append(before, show(text, 110))...)
			return
		}
		a.out.block(format, text, "           ", before...)
	}
	a.out.printf("")
	a.out.printf("turn %d", t.Index)
	if !t.Synthetic {
		line("  user     %s", t.Input)
	}
	for _, s := range t.Spans {
		switch s.Kind {
		case trace.LLM:
			if s.Thought != "" {
				line("  thought  %s", s.Thought)
			}
			if s.Output != "" {
				line("  agent    %s", s.Output)
			}
		case trace.TOOL:
			mark := "call"
			if s.Error != "" {
				mark = "call ✗"
			} else if s.Pending {
				mark = "call …"
			}
			line("  %-8s %s %s", s.Input, mark, show(s.Name, 60))
			if s.Output != "" {
				line("           → %s", s.Output)
			} else if s.Error != "" {
				line("           → %s", s.Error)
			}
		default:
			line("  %-8s %s %s", s.Output, strings.ToLower(string(s.Kind)), show(s.Name, 60))
		}
	}
	if t.CutShort() {
		a.out.printf("  cut off  %s: not scored", show(t.StopReason, 60))
		return
	}
	if r == nil {
		a.out.printf("  scores   not scored yet")
		return
	}
	var cells, reasons []string
	for _, sc := range r.Scores {
		v := "–"
		if sc.Value != nil {
			v = fmt.Sprintf("%.2f", *sc.Value)
		}
		cells = append(cells, sc.Metric+" "+v)
		if len(sc.Votes) > 0 {
			reasons = append(reasons, fmt.Sprintf("%s: median of %.2f", sc.Metric, sc.Votes))
		}
		for _, why := range sc.Reasons {
			reasons = append(reasons, sc.Metric+": "+why)
		}
	}
	a.out.printf("  scores   %s", strings.Join(cells, " · "))
	for _, why := range reasons {
		a.out.printf("           %s", show(why, 140))
	}
}
