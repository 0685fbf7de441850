package tui

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	tea "charm.land/bubbletea/v2"

	"vise/engine"
)

// conducted is a conductor whose messages are collected.
func conducted(ctx context.Context, replay func(context.Context, string) error) (*Conductor, chan activityMsg) {
	out := make(chan activityMsg, 16)
	return &Conductor{ctx: ctx, harness: &engine.Harness{}, replay: replay, hold: NewHold(true), now: time.Now,
		send: func(m tea.Msg) { out <- m.(activityMsg) }, crash: func(any, []byte) {}}, out
}

func TestConductor(t *testing.T) {
	t.Run("one run at a time", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			release := make(chan struct{})
			c, out := conducted(t.Context(), func(context.Context, string) error { <-release; return nil })
			if err := c.Replay("s-1"); err != nil {
				t.Fatal(err)
			}
			for _, second := range []error{c.Replay("s-2"), c.Validate("")} {
				if second == nil || !strings.Contains(second.Error(), "{run.cancel} cancels") {
					t.Errorf("a second run: %v, want the reason and the way out", second)
				}
			}
			close(release)
			synctest.Wait()
			if m := <-out; m.now.Session != "s-1" {
				t.Errorf("began %+v", m)
			}
			if m := <-out; m.ended.Session != "s-1" || m.err != nil || c.Running().Kind != Idle {
				t.Errorf("ended %+v", m)
			}
		})
	})
	t.Run("validation follows by itself", func(t *testing.T) {
		d := newDesk(t, false)
		for _, auto := range []bool{false, true} {
			out := make(chan activityMsg, 16)
			c := &Conductor{ctx: t.Context(), harness: d.harness, hold: NewHold(true), now: time.Now, auto: auto, crash: func(any, []byte) {},
				replay: func(context.Context, string) error { return nil }, send: func(m tea.Msg) {
					if m, ok := m.(activityMsg); ok {
						out <- m
					}
				}}
			if err := c.Replay("s-1"); err != nil {
				t.Fatal(err)
			}
			var kinds []ActivityKind
			for last := (map[bool]ActivityKind{false: Replaying, true: Validating})[auto]; ; {
				m := <-out
				if m.now.Kind != Idle {
					kinds = append(kinds, m.now.Kind)
				} else if m.ended.Kind == last {
					break
				}
			}
			c.Close()
			if len(out) != 0 {
				t.Errorf("auto %v: more ran than expected", auto)
			}
			if want := map[bool]int{false: 1, true: 2}[auto]; len(kinds) != want || kinds[len(kinds)-1] == Replaying && auto {
				t.Errorf("auto %v: %v ran", auto, kinds)
			}
		}
	})
	t.Run("a cancelled run is no error", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			c, out := conducted(t.Context(), func(ctx context.Context, _ string) error { <-ctx.Done(); return ctx.Err() })
			if err := c.Replay("s-1"); err != nil {
				t.Fatal(err)
			}
			if said := c.Cancel(); said != "cancelling the replay" || !c.Running().Stopping && c.Running().Kind != Idle {
				t.Errorf("said %q", said)
			}
			synctest.Wait()
			<-out
			if m := <-out; m.err != nil {
				t.Errorf("ended with %v", m.err)
			}
			if said := c.Cancel(); said != "" {
				t.Errorf("nothing runs, said %q", said)
			}
		})
	})
	t.Run("an error is told", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			c, out := conducted(t.Context(), func(context.Context, string) error { return errors.New("the agent is missing") })
			if err := c.Replay("s-1"); err != nil {
				t.Fatal(err)
			}
			<-out
			if m := <-out; m.err == nil || m.ended.name() != "replay of s-1" {
				t.Errorf("ended %+v", m)
			}
		})
	})
	t.Run("close waits", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			ended := false
			c, _ := conducted(t.Context(), func(ctx context.Context, _ string) error {
				<-ctx.Done()
				time.Sleep(time.Second) // the agent takes its time
				ended = true
				return nil
			})
			if err := c.Replay("s-1"); err != nil {
				t.Fatal(err)
			}
			c.Close()
			if !ended {
				t.Error("it did not wait")
			}
		})
	})
	t.Run("no agent", func(t *testing.T) {
		c, _ := conducted(t.Context(), nil)
		if err := c.Replay("s-1"); err == nil || !strings.Contains(err.Error(), "agent.command") {
			t.Errorf("got %v", err)
		}
	})
}

// An error of what was started becomes an incident, is said, and stays in the header.
func TestIncident(t *testing.T) {
	b := newBench(t, worked(t), 160, 40)
	b.app.ctx.Scope.Session = "s-0001"
	b.send(activityMsg{ended: Activity{Kind: Replaying, Session: "s-0001"}, err: errors.New("start agent: no such \x1b[31mfile")})
	rows := b.frame()
	if !strings.Contains(rows[len(rows)-1], `no such \x1b[31mfile`) || !strings.Contains(rows[0], "1 error") {
		t.Errorf("header %q, footer %q", rows[0], rows[len(rows)-1])
	}
	for range 2 * maxIncidents {
		b.app.activity(activityMsg{ended: Activity{Kind: Validating}, err: errors.New("x")})
	}
	if n := len(b.app.ctx.Incidents); n > maxIncidents {
		t.Errorf("%d incidents are kept", n)
	}
}

// What is copied, and what is said about it: that it was sent, not that it arrived.
func TestCopy(t *testing.T) {
	b := newBench(t, worked(t), 160, 40)
	b.app.ctx.Scope.Session, b.app.ctx.Scope.Turn = "s-0001", 2
	b.send(nil)
	for _, c := range []struct{ key, want string }{
		{"y", "sent 6 bytes to the terminal's clipboard (OSC 52): s-0001"},
		{"Y", "vise sessions show s-0001"},
		{"L", "vise://session/s-0001/turn/2?pane=sessions"},
	} {
		b.press(c.key)
		if !strings.Contains(b.app.toast.text, c.want) {
			t.Errorf("%s says %q, want %q", c.key, b.app.toast.text, c.want)
		}
	}
	b.app.cfg.Env = []string{"TERM=screen"}
	if raw, ok := b.app.osc52("x")().(tea.RawMsg); !ok || !strings.HasPrefix(raw.Msg.(string), "\x1bP") {
		t.Errorf("in screen: sends %q", raw.Msg)
	}
}

// A wheel burst becomes few messages, and none is left when the finger stops.
func TestWheel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		late := make(chan wheelMsg, 500)
		f := &wheelFilter{send: func(m tea.Msg) { late <- m.(wheelMsg) }}
		total, direct := 0, 0
		for range 500 {
			if m, ok := f.filter(nil, tea.MouseWheelMsg{Button: tea.MouseWheelDown}).(wheelMsg); ok {
				total, direct = total+m.n, direct+1
			}
			time.Sleep(time.Millisecond)
		}
		time.Sleep(2 * wheelEvery)
		synctest.Wait()
		n := direct + len(late)
		for range len(late) {
			total += (<-late).n
		}
		if total != 500 || n > 2*500/16 {
			t.Errorf("500 turns became %d in %d messages", total, n)
		}
		f.stop()
		if f.filter(nil, tea.MouseMotionMsg{}) != nil {
			t.Error("motion gets through")
		}
	})
}
