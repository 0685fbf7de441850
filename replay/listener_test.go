package replay

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"vise/engine/model"
	"vise/engine/trace"
	"vise/replay/llmproxy"
	"vise/replay/otlp"
)

// Two turns of one conversation, told by the words that are said again, and its end.
func TestAConversationIsASession(t *testing.T) {
	d, cut := listening(t, ListenerOptions{}, func(l *Listener, d *desk) {
		c := new(talk).user("where is it?")
		l.Read([]string{"r-before"}) // asked for before the first step
		c.step(t, l, "call:c1")
		l.Read([]string{"r-within"})
		time.Sleep(30 * time.Second) // the call takes its time
		c.step(t, l, "there")
		time.Sleep(time.Second)
		c.user("pay it back").step(t, l, "done")
		time.Sleep(11 * time.Minute)
	})
	wants(t, d, `begin s1 "where is it?"`, "calls s1.0: 2", `turn s1.0 "where is it?": 3 spans, end_turn`, "settle s1",
		"calls s1.1: 1", `turn s1.1 "pay it back": 1 spans, end_turn`, "settle s1", "end s1: silent for 10m0s, 2 turns")
	if got := d.heads["s1"]; !slices.Equal(got.RulesRead, []string{"r-before", "r-within"}) || got.Ended.Sub(got.Started) > 40*time.Second {
		t.Errorf("its head: %+v", got)
	}
	if cut {
		t.Error("something was interrupted")
	}
}

// Who else speaks is another session, however alike.
func TestSessionsAreToldApart(t *testing.T) {
	for _, c := range []struct {
		name string
		do   func(l *Listener)
		want []string // the turns, by session
	}{
		{"the same question at once", func(l *Listener) {
			a, b := new(talk).user("hi"), new(talk).user("hi")
			endA, endB := a.open(t, l), b.open(t, l)
			endA("call:a1")
			endB("call:b1")
			a.step(t, l, "A")
			b.step(t, l, "B")
		}, []string{`s1.0 "hi" end_turn 3`, `s2.0 "hi" end_turn 3`}},
		{"the same in every word, by their connections", func(l *Listener) {
			a, b := (&talk{conn: "1"}).user("hi"), (&talk{conn: "2"}).user("hi")
			endA, endB := a.open(t, l), b.open(t, l)
			endA("call:c")
			endB("call:c")
			a.step(t, l, "A")
			b.step(t, l, "A")
			a.user("more").step(t, l, "A")
			b.user("more").step(t, l, "A")
		}, []string{`s1.0 "hi" end_turn 3`, `s1.1 "more" end_turn 1`, `s2.0 "hi" end_turn 3`, `s2.1 "more" end_turn 1`}},
		{"the same question again", func(l *Listener) {
			new(talk).user("hi").step(t, l, "A")
			new(talk).user("hi").step(t, l, "B")
		}, []string{`s1.0 "hi" end_turn 1`, `s2.0 "hi" end_turn 1`}},
		{"conversations that began alike go on by their answers", func(l *Listener) {
			a, b := new(talk).user("hi"), new(talk).user("hi")
			a.step(t, l, "A")
			b.step(t, l, "B")
			a.user("more").step(t, l, "A2")
			time.Sleep(4 * time.Second)
		}, []string{`s1.0 "hi" end_turn 1`, `s1.1 "more" end_turn 1`, `s2.0 "hi" end_turn 1`}},
		{"a question that failed is asked again", func(l *Listener) {
			a := new(talk).user("hi")
			a.step(t, l, "fail")
			a.step(t, l, "A")
		}, []string{`s1.0 "hi" end_turn 2`}},
		{"a header names it", func(l *Listener) {
			h := http.Header{llmproxy.Header: {"desk"}}
			(&talk{header: h}).user("one").step(t, l, "A")
			(&talk{header: h}).user("two").step(t, l, "B")
			new(talk).user("one").step(t, l, "C")
		}, []string{`s1.0 "one" end_turn 1`, `s1.1 "two" end_turn 1`, `s2.0 "one" end_turn 1`}},
		{"a helper of the same trace", func(l *Listener) {
			h := http.Header{"Traceparent": {"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"}}
			a := (&talk{header: h}).user("hi")
			a.step(t, l, "call:a1")
			(&talk{header: h}).user("summarise this").step(t, l, "short")
			a.step(t, l, "A")
		}, []string{`s1.0 "hi" end_turn 4`}},
		{"what was never answered", func(l *Listener) {
			new(talk).user("hi").step(t, l, "call:a1")
			time.Sleep(2 * time.Minute)
		}, []string{`s1.0 "hi" timeout 2`}},
		{"an agent that hangs up in the middle of an answer", func(l *Listener) {
			new(talk).user("hi").step(t, l, "cut")
			time.Sleep(31 * time.Second)
			new(talk).user("hi").step(t, l, "A")
		}, []string{`s1.0 "hi" cancelled 1`, `s2.0 "hi" end_turn 1`}},
		{"a provider that fails", func(l *Listener) {
			new(talk).user("hi").step(t, l, "fail")
			time.Sleep(2 * time.Minute)
		}, []string{`s1.0 "hi" error 1`}},
	} {
		t.Run(c.name, func(t *testing.T) {
			d, _ := listening(t, ListenerOptions{}, func(l *Listener, _ *desk) { c.do(l) })
			var got []string
			for _, turn := range d.turns {
				got = append(got, fmt.Sprintf("%s %q %s %d", turn.TraceID, turn.Input, turn.StopReason, len(turn.Spans)))
			}
			slices.Sort(got)
			if !slices.Equal(got, c.want) {
				t.Errorf("turns %q, want %q", got, c.want)
			}
		})
	}
}

// A budget that is spent ends the turn as one that says nothing of the agent, and is told
// once.
func TestTheBudgetEndsATurn(t *testing.T) {
	told := 0
	d, _ := listening(t, ListenerOptions{OnError: func(error) { told++ }}, func(l *Listener, d *desk) {
		for range 2 {
			q, _ := llmproxy.ReadQuestion(http.Header{}, "/chat/completions", []byte(`{"messages":[{"role":"user","content":"hi"}]}`))
			l.Question(q)(nil, fmt.Errorf("reserve: %w", model.ErrBudget))
			time.Sleep(4 * time.Second)
		}
	})
	if len(d.turns) != 2 || d.turns[0].StopReason != "budget" || d.turns[1].StopReason != "budget" || told != 1 {
		t.Errorf("told %d times, turns %+v", told, d.turns)
	}
}

// The end stores what is there: an answer that waits for silence is one, a turn in the
// middle of a call was cut off.
func TestTheEndOfListening(t *testing.T) {
	d, cut := listening(t, ListenerOptions{}, func(l *Listener, _ *desk) { new(talk).user("hi").step(t, l, "there") })
	wants(t, d, `begin s1 "hi"`, "calls s1.0: 1", `turn s1.0 "hi": 1 spans, end_turn`, "scored s1", "scored s1", "end s1: vise serve ended, 1 turns")
	if cut {
		t.Error("an answered turn was interrupted")
	}
	d, cut = listening(t, ListenerOptions{}, func(l *Listener, _ *desk) { new(talk).user("hi").open(t, l) })
	wants(t, d, `begin s1 "hi"`, `turn s1.0 "hi": 0 spans, cancelled`, "scored s1", "scored s1", "end s1: vise serve ended, 1 turns")
	if !cut {
		t.Error("nothing was interrupted")
	}
}

// What our own end breaks is no failure of anybody's.
func TestTheEndBreaksAnAnswer(t *testing.T) {
	var end func(string)
	d, cut := listening(t, ListenerOptions{}, func(l *Listener, _ *desk) {
		c := new(talk).user("hi")
		c.step(t, l, "let me see")
		end = c.open(t, l) // the same words again, in the same turn
		end("cut")         // as when the proxy has gone first
	})
	if len(d.turns) == 0 || d.turns[len(d.turns)-1].StopReason != "cancelled" || !cut {
		t.Errorf("turns %+v, cut %v", d.turns, cut)
	}
}

// Sessions are bounded: the one that was silent longest gives way.
func TestTooManySessions(t *testing.T) {
	d, _ := listening(t, ListenerOptions{}, func(l *Listener, _ *desk) {
		for i := range maxHeard + 2 {
			new(talk).user(fmt.Sprint("hi ", i)).step(t, l, "call:x")
		}
	})
	for i, id := range []string{"s1", "s2"} {
		if !slices.ContainsFunc(d.log, func(s string) bool { return s == "end "+id+": too many sessions at once, 1 turns" }) {
			t.Errorf("%d: session %s was not ended:\n%s", i, id, strings.Join(d.log[max(0, len(d.log)-10):], "\n"))
		}
	}
	if len(d.heads) != maxHeard+2 {
		t.Errorf("%d sessions ended", len(d.heads))
	}
}

// What waits for quiet is done when no turn is open, ends when one begins, and goes on.
func TestNothingRunsBesideATurn(t *testing.T) {
	var log []string
	o := ListenerOptions{Idle: func(ctx context.Context) error {
		log = append(log, "begun "+time.Now().Format("4:05"))
		select {
		case <-ctx.Done():
			log = append(log, fmt.Sprint("stopped ", errors.Is(context.Cause(ctx), errTurn)))
			return ctx.Err()
		case <-time.After(time.Minute):
			log = append(log, "done")
			return nil
		}
	}}
	_, cut := listening(t, o, func(l *Listener, _ *desk) {
		time.Sleep(10 * time.Second)
		new(talk).user("hi").step(t, l, "there") // answered at 0:11, over at 0:14
		time.Sleep(5 * time.Minute)
	})
	if want := []string{"begun 0:00", "stopped true", "begun 0:14", "done"}; !slices.Equal(log, want) || cut {
		t.Errorf("%q, cut %v; want %q", log, cut, want)
	}
}

// A repair that failed is tried again, each time after a longer wait.
func TestAFailedRepairIsTriedAgain(t *testing.T) {
	d, _ := listening(t, ListenerOptions{}, func(l *Listener, d *desk) {
		d.failing = 2
		new(talk).user("hi").step(t, l, "there")
		time.Sleep(time.Minute)
		if n := d.settled(); n != 1 {
			t.Errorf("settled %d times in the first minute", n)
		}
		time.Sleep(8 * time.Minute)
	})
	if n := d.settled(); n != 3 {
		t.Errorf("settled %d times: %q", n, d.log)
	}
}

// Traces alone: a conversation's traces are its turns, whatever requests they come in;
// without one those of a program are, until it is silent.
func TestTracesAreTurns(t *testing.T) {
	span := func(id, parent, out string) trace.Span {
		s := trace.Span{ID: id, Kind: trace.LLM, Output: out}
		if parent != "" {
			s.Attrs = map[string]any{"parent_elsewhere": parent}
		}
		return s
	}
	told := func(conversation, agent, id, input string, whole bool, spans ...trace.Span) otlp.Trace {
		return otlp.Trace{ID: id, Session: trace.Session{ID: conversation, Agent: agent}, Turn: trace.Turn{Input: input, Spans: spans}, Whole: whole}
	}
	d, _ := listening(t, ListenerOptions{}, func(l *Listener, _ *desk) {
		l.Traces([]otlp.Trace{told("talk", "a", "t1", "", false, span("2", "1", "x"))})
		time.Sleep(10 * time.Second)
		l.Traces([]otlp.Trace{told("talk", "a", "t1", "hi", true, span("1", "", "y"))})
		l.Traces([]otlp.Trace{told("", "b", "t2", "one", true, span("1", "", "z"))})
		time.Sleep(4 * time.Second)
		l.Traces([]otlp.Trace{told("talk", "a", "t3", "more", true, span("1", "", "y"))})
		l.Traces([]otlp.Trace{told("", "b", "t4", "two", true, span("1", "", "z"))})
		time.Sleep(11 * time.Minute)
		l.Traces([]otlp.Trace{told("", "b", "t5", "three", true, span("1", "", "z"))})
	})
	var got []string
	for _, turn := range d.turns {
		got = append(got, fmt.Sprintf("%s %q %d", turn.TraceID, turn.Input, len(turn.Spans)))
	}
	slices.Sort(got)
	if want := []string{`s1.0 "hi" 2`, `s1.1 "more" 1`, `s2.0 "one" 1`, `s2.1 "two" 1`, `s3.0 "three" 1`}; !slices.Equal(got, want) {
		t.Errorf("turns %q, want %q", got, want)
	}
	for _, s := range d.turns[0].Spans {
		if s.ID == "2" && (s.Parent != "1" || s.Attrs["parent_elsewhere"] != nil) {
			t.Errorf("a span that came before its parent: %+v", s)
		}
	}
}

// Exporters send the ends of steps before that of the agent, which alone names the
// conversation: such a trace waits. One whose agent never ends is a turn that is cut off,
// of no other conversation.
func TestATraceWaitsForItsConversation(t *testing.T) {
	told := func(conversation, id, input string, whole bool, span string) otlp.Trace {
		return otlp.Trace{ID: id, Session: trace.Session{ID: conversation, Agent: "a"}, Whole: whole,
			Turn: trace.Turn{Input: input, Spans: []trace.Span{{ID: span, Kind: trace.TOOL, Name: "look"}}}}
	}
	d, _ := listening(t, ListenerOptions{Longest: time.Minute}, func(l *Listener, _ *desk) {
		l.Traces([]otlp.Trace{told("", "t1", "", false, "2"), told("", "t2", "", false, "2")})
		time.Sleep(20 * time.Second)
		l.Traces([]otlp.Trace{told("one", "t1", "first", true, "1"), told("two", "t2", "other", true, "1")})
		time.Sleep(10 * time.Second)
		l.Traces([]otlp.Trace{told("", "t3", "", false, "2")})
		l.Traces([]otlp.Trace{told("one", "t3", "second", true, "1")})
		l.Traces([]otlp.Trace{told("", "t4", "", false, "2")}) // its agent is killed
		time.Sleep(2 * time.Minute)
	})
	var got []string
	for _, turn := range d.turns {
		got = append(got, fmt.Sprintf("%s %q %d %s", turn.TraceID, turn.Input, len(turn.Spans), turn.StopReason))
	}
	slices.Sort(got)
	if want := []string{`s1.0 "first" 2 end_turn`, `s1.1 "second" 2 end_turn`, `s2.0 "other" 2 end_turn`, `s3.0 "" 1 `}; !slices.Equal(got, want) {
		t.Errorf("turns %q, want %q", got, want)
	}
}

// A trace that comes while one agent's model calls are seen belongs to that turn: its
// tools are joined, its model calls are those that were seen.
func TestATraceJoinsWhatTheProxySaw(t *testing.T) {
	var told []string
	d, _ := listening(t, ListenerOptions{OnError: func(err error) { told = append(told, err.Error()) }}, func(l *Listener, _ *desk) {
		c := new(talk).user("hi")
		c.step(t, l, "call:c1")
		l.Traces([]otlp.Trace{{ID: "t1", Whole: true, Turn: trace.Turn{Input: "else", Spans: []trace.Span{{ID: "1", Kind: trace.LLM, Output: "told"},
			{ID: "2", Kind: trace.TOOL, Name: "look", Input: "{}", Error: "not there"}}}}})
		time.Sleep(10 * time.Second)
		c.step(t, l, "done")
		time.Sleep(4 * time.Second)
		l.Traces([]otlp.Trace{{ID: "t1", Turn: trace.Turn{Spans: []trace.Span{{ID: "3", Kind: trace.TOOL}}}}}) // too late
	})
	if want := []string{"spans of ended turns came too late and are not kept: 1"}; !slices.Equal(told, want) {
		t.Errorf("told %q", told)
	}
	if len(d.turns) != 1 || len(d.turns[0].Spans) != 3 || d.turns[0].Input != "hi" {
		t.Fatalf("turns %+v", d.turns)
	}
	if call := d.turns[0].Spans[1]; call.ID != "c1" || call.Error != "not there" || call.Output != "seen" {
		t.Errorf("the call: %+v", call)
	}
}
