package tui

import (
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"vise/engine"
	"vise/engine/episode"
	"vise/engine/rule"
	"vise/store"
)

// untilForked hands the app what its conductor says until the run that was started has
// ended, and returns the fork.
func (b *bench) untilForked(said chan tea.Msg) (f episode.Episode) {
	b.t.Helper()
	for {
		select {
		case m := <-said:
			b.feed()
			b.send(m)
			switch m := m.(type) {
			case forkEnded:
				f = m.fork
			case activityMsg:
				if m.now.Kind == Idle {
					return f
				}
			}
		case <-time.After(time.Minute):
			b.t.Fatalf("the fork has not ended\n%s", b.screen())
		}
	}
}

// w opens the changes at the turn under the cursor; the fork that has ended stands beside
// its parent; a accepts its rule, u takes that back; X twice removes a fork.
func TestForkInThePane(t *testing.T) {
	d := worked(t)
	b := newBench(t, d, 120, 40)
	said := make(chan tea.Msg, 100)
	b.app.conductor.send = func(m tea.Msg) { said <- m }
	parent := b.anEpisode()
	b.app.ctx.Scope.Episode = parent
	b.send(nil)
	b.press("R", "5", "a")
	b.screenHas("this is no fork: w makes one")
	b.press("w")
	// At the end nothing can go on: the card proposes the turn before the decision.
	b.screenHas("fork "+tag(parent), "▸ turn      3", "a what-if: no notice is closed, no rule added", "the last that is kept is message 9, system")
	b.press("esc")
	b.app.ctx.Scope.Attempt, b.app.ctx.Scope.Step = 1, 2
	b.send(nil)
	b.press("w")
	b.screenHas("▸ turn      2")
	b.typed("9")
	b.screenHas("it has 5 model turns: choose 0 to 5")
	b.press("enter")
	if len(b.app.overlays) != 1 {
		t.Fatal("a fork of nothing was started")
	}
	b.send(tea.KeyPressMsg{Code: tea.KeyBackspace})
	b.press("down", "down", "down", "down", "down")
	b.typed("rule_add")
	b.press("down")
	b.screenHas("message 6, tool harness_trace_inspect: {", "ctrl+e stored text")
	b.press("enter")
	f := b.untilForked(said)
	if f.Fork == nil || f.Fork.Of != parent || f.Fork.Turn != 2 || f.Status != episode.Unactionable {
		t.Fatalf("fork %+v", f)
	}
	b.screenHas("two episodes, ", tag(parent), tag(f.ID))
	b.press("esc")
	b.screenHas("fork of "+tag(parent)+":2", "kept", "a what-if: nothing is acknowledged", "0 rules", "unsupported")
	b.press("a")
	b.screenHas("this fork wrote no rule")
	b.press("X")
	b.screenHas("again removes fork " + tag(f.ID))
	b.press("down", "X")
	if len(b.forks()) != 1 {
		t.Fatal("another key between the two did not keep the fork")
	}
	b.press("X")
	b.feed()
	if s := b.app.ctx.Scope; len(b.forks()) != 0 || s.Episode != parent {
		t.Errorf("%d forks, the pane shows %s\n%s", len(b.forks()), s.Episode, b.screen())
	}

	b.press(":")
	b.typed(`fork turn=x`)
	b.press("enter")
	b.screenHas("turn=x: write a number from 0 on")
	b.app.ctx.Scope.Attempt, b.app.ctx.Scope.Step = 0, 0
	b.press(":")
	b.typed(`fork arguments={"rule":"Ask the customer why before any money goes back.","rationale":"nobody asked"}`)
	b.press("enter")
	f = b.untilForked(said)
	if f.Fork == nil || f.Fork.Candidate == nil || f.Fork.Turn != 4 {
		t.Fatalf("fork %+v\n%s", f, b.screen())
	}
	b.press("esc")
	b.screenHas("a accepts it")
	if got, want := b.app.panes[PaneRepair].Headless(), "vise episodes show "+f.ID; got != want {
		t.Errorf("Y copies %q", got)
	}
	b.press("a")
	b.feed()
	r := b.ruleOf(f.Fork.Candidate.ID)
	if r.Status != rule.Candidate || r.ForkOf != parent {
		t.Fatalf("accepted %+v\n%s", r, b.screen())
	}
	b.screenHas("accepted: rule " + tag(r.ID) + " is candidate")
	b.press("X")
	b.screenHas("it is accepted, as rule " + tag(r.ID))
	b.press("u")
	b.feed()
	if got := b.ruleOf(r.ID).Status; got != rule.Retired {
		t.Errorf("taken back, it is %s", got)
	}
}

func (b *bench) forks() (out []episode.Episode) {
	b.view(func(tx *store.Tx) error {
		list, err := tx.Episodes(store.Window{})
		for _, e := range list {
			if e.Fork != nil {
				out = append(out, e)
			}
		}
		return err
	})
	return out
}

// A fork is held and stepped like any repair.
func TestAForkIsHeld(t *testing.T) {
	d := newDesk(t, true)
	b := newBench(t, d, 120, 40)
	said := make(chan tea.Msg, 100)
	b.app.conductor.send = func(m tea.Msg) { said <- m }
	ended := make(chan error, 1)
	go func() { ended <- d.live(t.Context(), "s-live") }()
	b.next()
	b.press("c")
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	b.feed()
	b.app.ctx.Scope.Episode = b.anEpisode()
	b.send(nil)
	b.press("R", "5", "w", "enter")
	h := b.next()
	if h.Turn != 4 || !strings.HasPrefix(h.EpisodeID, "f-") {
		t.Fatalf("held at %+v", h.Checkpoint)
	}
	b.screenHas("held before model", "fork of", "model turn 4/6")
	b.press("s")
	if h = b.next(); h.Call == nil || h.Call.Name != "harness_rule_add" {
		t.Fatalf("stepped to %+v", h.Checkpoint)
	}
	b.press("x")
	if f := b.untilForked(said); f.Status != episode.Cancelled || f.Fork.Candidate != nil {
		t.Errorf("cancelled %+v", f)
	}
}

func TestForkSpec(t *testing.T) {
	for _, x := range []struct{ text, command, says string }{
		{"", "vise episodes fork e-1", ""},
		{"turn=2 model=ollama/qwen3 turns=8 tokens=100 timeout=90s deny=rule_add,rules_*", "vise episodes fork e-1:2 --model ollama/qwen3 --max-turns 8 --max-tokens 100 --timeout 1m30s --deny-tool rule_add --deny-tool 'rules_*'", ""},
		{`turn=0 message=it's fine, really turn=1`, `vise episodes fork e-1:0 --message 'it'\''s fine, really turn=1'`, ""},
		{`message="a \"word\"" at=6`, `vise episodes fork e-1 --message 'a "word"' --message-at 6`, ""},
		{`call=2 arguments={"x": 1}`, `vise episodes fork e-1 --arguments '{"x": 1}' --call 2`, ""},
		{"hammer=1", "", `"hammer=1": write turn=2`},
		{"turns=0", "", "turns=0: write a number from 1 on"},
		{"timeout=soon", "", "write a time such as 90s"},
		{`message="open`, "", "does not end with one"},
	} {
		f, err := parseFork(x.text)
		var s engine.ForkSpec
		if err == nil {
			s, err = f.spec("e-1", 0)
		}
		switch {
		case x.says != "" && (err == nil || !strings.Contains(err.Error(), x.says)):
			t.Errorf("%q: %v", x.text, err)
		case x.says == "" && err != nil:
			t.Errorf("%q: %v", x.text, err)
		case x.says == "" && forkCommand(s) != x.command:
			t.Errorf("%q: %s", x.text, forkCommand(s))
		}
	}
}
