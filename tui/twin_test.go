package tui

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"
	"github.com/google/go-cmp/cmp"

	"vise/engine/event"
	"vise/engine/evidence"
	"vise/engine/rule"
	"vise/engine/score"
	"vise/engine/trace"
	"vise/store"
)

// What a pane shows as rows is what it says as JSON, and that is what the store gives the
// headless command: the same records in the same order, each on a row of its own.
func TestRowsAreTheirJSON(t *testing.T) {
	b := newBench(t, worked(t), 200, 60)
	b.app.ctx.Scope.Session, b.app.ctx.Scope.Turn = "s-0001", 2
	b.send(nil)
	id := b.app.panes[PaneRules].(*rulesPane).list.Key()
	b.gateOpen()
	if _, err := b.harness.Validate(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	// A candidate waits for evidence: Attention has a row.
	if _, err := b.harness.EditRule(t.Context(), id, "Pass a reason code with every refund that is issued.", ""); err != nil {
		t.Fatal(err)
	}
	b.app.ctx.Scope.Rule = id
	b.pumpApp()
	b.send(nil)

	// want are texts by the order of rows; store what the headless command reads.
	twins := map[PaneID]func(t *testing.T, p Pane) (want []string){
		PaneSessions: func(t *testing.T, p Pane) (want []string) {
			var heads []trace.Session
			b.view(func(tx *store.Tx) (err error) {
				heads, err = tx.Sessions(store.Window{Own: true, Pinned: true})
				return err
			})
			list := p.JSON().([]sessionRow)
			if len(list) != len(heads) {
				t.Fatalf("%d rows, the store has %d", len(list), len(heads))
			}
			for i, r := range list {
				if r.ID != heads[i].ID {
					t.Errorf("row %d is %s, the store's is %s", i, r.ID, heads[i].ID)
				}
				want = append(want, scoreText(r.Worst))
			}
			return want
		},
		PaneTurns: func(t *testing.T, p Pane) (want []string) {
			var heads []store.TurnHead
			b.view(func(tx *store.Tx) (err error) {
				heads, err = tx.TurnHeads("s-0001", 0, 0)
				return err
			})
			list := p.JSON().([]turnRow)
			if len(list) != len(heads) {
				t.Fatalf("%d rows, the store has %d", len(list), len(heads))
			}
			for i, r := range list {
				if r.Index != heads[i].Index || r.Calls != heads[i].Counts.Calls {
					t.Errorf("row %d is turn %d with %d calls, the store's %d with %d", i, r.Index, r.Calls, heads[i].Index, heads[i].Counts.Calls)
				}
				want = append(want, r.Input[:20])
			}
			return want
		},
		PaneTrace: func(t *testing.T, p Pane) (want []string) {
			var turn trace.Turn
			b.view(func(tx *store.Tx) (err error) {
				turn, _, err = tx.Turn("s-0001", 2)
				return err
			})
			list := p.JSON().([]trace.Span)
			if len(list) != len(turn.Spans) {
				t.Fatalf("%d rows, the store has %d spans", len(list), len(turn.Spans))
			}
			for i := range list {
				if list[i].Kind == trace.TOOL {
					want = append(want, list[i].Name)
				}
			}
			return want
		},
		PaneScores: func(t *testing.T, p Pane) (want []string) {
			reports := p.JSON().([]score.Report)
			last := reports[len(reports)-1]
			for _, s := range last.Scores {
				want = append(want, s.Metric[:min(13, len(s.Metric))])
			}
			return want
		},
		PaneRules: func(t *testing.T, p Pane) (want []string) {
			for _, r := range p.JSON().([]rule.Rule) {
				want = append(want, string(r.Status), r.Text[:30])
			}
			return want
		},
		PaneValidation: func(t *testing.T, p Pane) (want []string) {
			v := p.JSON().(evidence.Verdict)
			var stored []evidence.Verdict
			b.view(func(tx *store.Tx) (err error) {
				stored, err = tx.Verdicts(id)
				return err
			})
			if len(stored) == 0 || stored[len(stored)-1].ID != v.ID && stored[0].ID != v.ID {
				t.Errorf("the verdict %s is not the store's", v.ID)
			}
			return []string{string(v.Outcome)[:7]}
		},
		PaneAttention: func(t *testing.T, p Pane) (want []string) {
			list := p.JSON().([]AttentionItem)
			b.view(func(tx *store.Tx) error { // what vise attention prints
				stored, err := Waiting(tx, Offered, b.app.ctx.Repairs)
				for i := range stored {
					stored[i].Do = b.app.ctx.Text(stored[i].Do)
				}
				if d := cmp.Diff(stored, list); d != "" {
					t.Errorf("the items are not the store's (-store +pane):\n%s", d)
				}
				return err
			})
			for _, x := range list {
				want = append(want, strings.Fields(x.Text)[0])
			}
			return want
		},
		PaneJournal: func(t *testing.T, p Pane) (want []string) {
			list := p.JSON().([]event.Event)
			for _, e := range list[max(0, len(list)-5):] {
				want = append(want, strings.ReplaceAll(string(e.Type), "_", " "))
			}
			return want
		},
		PaneRepair: func(t *testing.T, p Pane) (want []string) {
			j := p.JSON().(RepairJSON)
			for _, s := range j.Steps {
				for _, c := range s.Calls {
					want = append(want, c.Name)
				}
			}
			return want
		},
	}
	for _, id := range paneOrder {
		if twins[id] == nil && id != PaneAttempts { // it needs runs of the patch loop: TestAttempts
			t.Errorf("pane %s is not tested", id)
		}
	}
	b.app.ctx.Scope.Episode = b.anEpisode()
	b.send(nil)
	for pane, twin := range twins {
		t.Run(string(pane), func(t *testing.T) {
			b.t = t
			p := b.app.panes[pane]
			p.SetSize(180, 60)
			if raw, err := json.Marshal(p.JSON()); err != nil || string(raw) == "null" {
				t.Fatalf("JSON: %s, %v", raw, err)
			}
			if p.Headless() == "" {
				t.Error("no headless command")
			}
			text := ansi.Strip(strings.Join(p.Rows(), "\n"))
			for _, w := range twin(t, p) {
				i := strings.Index(text, w)
				if i < 0 {
					t.Fatalf("%q is in the JSON and not (in that order) in the rows:\n%s", w, text)
				}
				text = text[i:]
				if pane != PaneRules && pane != PaneRepair { // there several stand in one row
					_, text, _ = strings.Cut(text, "\n")
				}
			}
		})
	}
}

func (b *bench) view(read func(*store.Tx) error) {
	b.t.Helper()
	if err := b.store.View(read); err != nil {
		b.t.Fatal(err)
	}
}

func (b *bench) anEpisode() (id string) {
	b.view(func(tx *store.Tx) error {
		list, err := tx.EpisodesOfSession("s-0001")
		if len(list) > 0 {
			id = list[0].ID
		}
		return err
	})
	return id
}

// gateOpen lets every replay of a case go on.
func (b *bench) gateOpen() { close(b.gate) }
