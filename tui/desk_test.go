package tui

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"vise/engine"
	"vise/engine/config"
	"vise/engine/event"
	"vise/engine/evidence"
	"vise/engine/model"
	"vise/engine/trace"
	"vise/store"
	"vise/themes"
	"vise/tui/action"
	"vise/tui/style"
)

// desk is the workbench without a terminal: the real engine over a store in
// memory, the panes, and a feed that is pumped by hand.
type desk struct {
	t       testing.TB
	store   *store.Store
	harness *engine.Harness
	hold    *Hold
	sub     *event.Subscription
	bus     *event.Bus
	ctx     *Context
	panes   map[PaneID]Pane
	last    Scope
	said    []string
	turns   []trace.Turn
	head    trace.Session
	gate    chan struct{} // a replay of a case waits here before its last turn
	started chan struct{}
}

// noon is the one time at the desk.
var noon = time.Date(2026, 3, 16, 12, 0, 0, 0, time.UTC)

func newDesk(t testing.TB, holds bool) *desk {
	t.Helper()
	d := &desk{t: t, bus: event.NewBus(), panes: map[PaneID]Pane{}, gate: make(chan struct{}), started: make(chan struct{}, 8)}
	d.sub = d.bus.Subscribe(4096)
	t.Cleanup(d.sub.Close)
	var n atomic.Int64
	var err error
	d.store, err = store.Open(t.Context(), store.Options{InMemory: true, Bus: d.bus, Now: func() time.Time { return noon },
		NewID: func(prefix string) string { return fmt.Sprintf("%s-%04d", prefix, n.Add(1)) }})
	if err != nil {
		t.Fatal(err)
	}
	cfg := config.Default()
	cfg.Repair.Model = "builtin/heuristic"
	client, err := model.New(model.Options{Model: cfg.Repair.Model, Ledger: model.NewLedger(model.Budget{})})
	if err != nil {
		t.Fatal(err)
	}
	o := engine.Options{Config: cfg, Store: d.store, Bus: d.bus, Model: client, Replayer: d, Agent: "scripted"}
	if holds {
		d.hold = NewHold(true)
		d.hold.Bind(d.bus, func() time.Time { return noon })
		o.Stepper = d.hold
	}
	if d.harness, err = engine.Open(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.harness.Close(); err != nil {
			t.Error(err)
		}
		if err := d.store.Close(); err != nil {
			t.Error(err)
		}
	})
	list, err := themes.Builtin()
	if err != nil {
		t.Fatal(err)
	}
	d.ctx = &Context{Ctx: t.Context(), Keys: action.Default(), Store: d.store, Harness: d.harness, Scope: &Scope{Turn: NoTurn},
		Style: style.New(list[0], style.Options{}), Now: func() time.Time { return noon }}
	d.last = *d.ctx.Scope
	for _, p := range newPanes() {
		d.panes[p.ID()] = p
	}
	d.recording()
	d.apply(Change{Reload: true, Scope: true, Style: true})
	return d
}

// recording reads the demo's failing session.
func (d *desk) recording() {
	f, err := os.Open("../testdata/demo/torn-blanket.jsonl")
	if err != nil {
		d.t.Fatal(err)
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		var kind struct {
			Type string `json:"type"`
		}
		if err := json.Unmarshal(lines.Bytes(), &kind); err != nil {
			d.t.Fatal(err)
		}
		switch kind.Type {
		case "session":
			err = json.Unmarshal(lines.Bytes(), &d.head)
		case "turn":
			var x trace.Turn
			err = json.Unmarshal(lines.Bytes(), &x)
			d.turns = append(d.turns, x)
		case "span":
			var x trace.Span
			err = json.Unmarshal(lines.Bytes(), &x)
			last := &d.turns[len(d.turns)-1]
			last.Spans = append(last.Spans, x)
		}
		if err != nil {
			d.t.Fatal(err)
		}
	}
}

// live runs the recording as a session of the developer, settling every turn. It
// returns when the session has ended; run it in a goroutine when repairs are held.
func (d *desk) live(ctx context.Context, id string) error {
	s := d.head
	s.ID, s.Origin, s.ReplayOf = id, trace.Live, d.head.ID
	s.Attrs = map[string]any{"sandbox": "sandbox fs"}
	if err := d.harness.BeginSession(ctx, s, event.Event{Type: event.AgentStarted, SessionID: id, Data: map[string]any{"agent": s.Agent, "replay_of": s.ReplayOf, "turns": len(d.turns), "sandbox": "sandbox fs"}}); err != nil {
		return err
	}
	for _, t := range d.turns {
		t.SessionID, t.TraceID = id, fmt.Sprintf("%s.%d", id, t.Index)
		if err := d.harness.EndTurn(ctx, t); err != nil {
			return err
		}
		if _, err := d.harness.Settle(ctx, id); err != nil {
			return err
		}
	}
	return d.harness.EndSession(ctx, s, event.Event{Type: event.AgentExited, SessionID: id, Data: map[string]any{"turns": len(d.turns), "exit": "exit status 0"}})
}

// Replay implements validate.Replayer: an agent that has read the rule passes the argument,
// one that has not does what it did before, at once.
func (d *desk) Replay(ctx context.Context, job evidence.Job) (evidence.Run, error) {
	run := evidence.Run{RunID: job.RunID, Started: true, Read: []string{job.RuleID}, Elapsed: time.Second,
		Session: trace.Session{RulesRead: []string{job.RuleID}, ID: "x-" + job.RunID, Origin: trace.Replay, CaseID: job.CaseID, RuleID: job.RuleID}}
	control := job.Arm == "control"
	if control {
		run.Read, run.Session.RulesRead = nil, nil
	}
	for i, t := range d.turns {
		d.bus.Publish(event.Event{Type: event.SpanProgress, At: noon, SessionID: run.Session.ID, TurnIndex: event.Turn(i), CaseID: job.CaseID, RuleID: job.Subject,
			Data: map[string]any{"arm": job.Arm}})
		if i == len(d.turns)-1 && !control {
			select {
			case d.started <- struct{}{}:
			default:
			}
			select {
			case <-d.gate:
			case <-ctx.Done():
				return run, context.Cause(ctx)
			}
			t.Spans = repairedSpans(t.Spans)
		}
		t.SessionID, t.TraceID = run.Session.ID, fmt.Sprintf("%s.%d", run.Session.ID, i)
		run.Turns = append(run.Turns, t)
	}
	return run, nil
}

// repairedSpans are those of the failing turn as they are when the rule was read.
func repairedSpans(spans []trace.Span) []trace.Span {
	var out []trace.Span
	done := false
	for _, s := range spans {
		switch {
		case s.Kind == trace.TOOL && s.Name == "issue_refund" && done, s.Kind == trace.LLM && strings.Contains(s.Output, "turned down"):
			continue
		case s.Kind == trace.TOOL && s.Name == "issue_refund":
			s.Input = `{"amount":28.4,"order_id":"A-1004","reason_code":"damaged"}`
			s.Output, s.Error, done = `{"refund_id":"R-1","status":"issued"}`, "", true
		case s.Kind == trace.LLM && strings.Contains(s.Output, "could not complete"):
			s.Output = "The refund of 28.40 for the garden hose is issued."
		}
		out = append(out, s)
	}
	return out
}

// apply tells the panes and runs what they ask for until nothing is left.
func (d *desk) apply(c Change) {
	d.t.Helper()
	for _, id := range paneOrder {
		d.run(d.panes[id].Apply(d.ctx, c))
	}
	for range scopeRounds {
		if *d.ctx.Scope == d.last {
			return
		}
		old := d.last
		d.last = *d.ctx.Scope
		for _, id := range paneOrder {
			d.run(d.panes[id].Apply(d.ctx, Change{Scope: true, Old: old}))
		}
	}
}

// run executes a command as Bubble Tea does; ticks are left out, nothing here waits.
func (d *desk) run(cmd tea.Cmd) {
	d.t.Helper()
	switch m := answer(d.t, cmd).(type) {
	case tea.BatchMsg:
		for _, c := range m {
			d.run(c)
		}
	case sayMsg:
		d.said = append(d.said, m.text)
	case paneReply:
		_, next := d.panes[m.For()].Take(d.ctx, m)
		d.run(next)
	}
}

// pump hands the panes what has happened since the last pump.
func (d *desk) pump() {
	d.t.Helper()
	for {
		b, ok := d.sub.TryNext()
		if !ok {
			break
		}
		c := Change{Events: b.Events, Reload: b.Lost > 0}
		for _, e := range b.Events {
			c.Held = c.Held || e.Type == event.StepWaiting
			d.ctx.Live.take(e)
			switch e.Type {
			case event.AgentStarted:
				d.ctx.Scope.Session = e.SessionID
			case event.RepairStarted:
				d.ctx.Scope.Episode = e.EpisodeID
			case event.RuleAdd:
				d.ctx.Scope.Rule = e.RuleID
			}
		}
		d.ctx.Held = d.hold.Waiting()
		d.apply(c)
	}
	d.apply(Change{}) // the scope may have moved
}

// held waits for the next checkpoint and shows it.
func (d *desk) held() *Held {
	d.t.Helper()
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(2 * time.Millisecond) {
		if h := d.hold.Waiting(); h != nil && h != d.ctx.Held {
			d.pump()
			return h
		}
	}
	d.t.Fatal("no checkpoint within a minute")
	return nil
}

// activity is the conductor's word.
func (d *desk) activity(a Activity) {
	d.ctx.Running = a
	d.apply(Change{Running: true})
}

func (d *desk) size(id PaneID, w, h int) []string {
	d.panes[id].SetSize(w, h)
	return d.panes[id].Rows()
}

// sees fails unless the pane shows all of the texts.
func (d *desk) sees(id PaneID, texts ...string) {
	d.t.Helper()
	screen := ansi.Strip(strings.Join(d.panes[id].Rows(), "\n"))
	for _, x := range texts {
		if !strings.Contains(screen, x) {
			d.t.Errorf("pane %s does not show %q:\n%s", id, x, screen)
		}
	}
}
