package tui

import (
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"

	"vise/engine/episode"
	"vise/engine/event"
	"vise/engine/notice"
	"vise/store"
)

// A repair whose process was killed does not read as running: it waits for a person.
func TestInterruptedRepair(t *testing.T) {
	for _, c := range []struct {
		name    string
		episode episode.Episode
		pane    string
	}{
		{"before the store is opened again", episode.Episode{Status: episode.Running}, "interrupted, s starts it again"},
		{"after", episode.Episode{Status: episode.Cancelled, Result: &episode.Result{ErrorCategory: "interrupted"}}, "s starts it again"},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := newDesk(t, false)
			d.size(PaneRepair, 100, 20)
			d.size(PaneAttention, 100, 20)
			e := c.episode
			e.ID, e.SessionID, e.NoticeIDs, e.CreatedAt, e.Attempts = "e-1", "s-1", []string{"n-1"}, "x", 1
			d.ctx.Scope.Episode = "e-1"
			d.put(func(tx *store.Tx) error {
				if err := tx.PutNotice(notice.Notice{ID: "n-1", SessionID: "s-1", Severity: notice.Breach, Status: notice.Pending}); err != nil {
					return err
				}
				if err := tx.PutEpisode(e); err != nil {
					return err
				}
				return tx.Emit(event.Event{Type: event.RepairStarted, EpisodeID: "e-1", SessionID: "s-1"})
			})
			d.sees(PaneRepair, c.pane)
			d.sees(PaneAttention, "interrupted: the process", "s starts it again")
			if a := d.panes[PaneAttention].(*attentionPane); a.episode() != "e-1" {
				t.Errorf("s would start %q", a.episode())
			}
			if c.episode.Status != episode.Running {
				return
			}
			d.activity(Activity{Kind: Repairing, Episode: "e-1"})
			d.sees(PaneRepair, "running")
			if rows := ansi.Strip(strings.Join(d.panes[PaneAttention].Rows(), "\n")); strings.Contains(rows, "interrupted") {
				t.Errorf("it runs, and yet:\n%s", rows)
			}
		})
	}
}
