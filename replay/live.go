package replay

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"vise/engine/event"
	"vise/engine/evidence"
	"vise/engine/guard"
	"vise/engine/model/cassette"
	"vise/engine/process"
	"vise/engine/trace"
	"vise/replay/driver"
)

// Live runs the inputs of a recorded session through the agent as a live
// session of the developer: every turn is stored, evaluated and settled before
// the next one. n numbers repeated runs of the same session. The head of the
// new session is returned even when the run ended early. With a tape the agent's
// model calls are answered by it, and nothing of them goes out. resumed, if its ID is
// set, is an earlier run whose session the agent goes on with; inputs are those that it
// has not had.
func (r *Runner) Live(ctx context.Context, host Host, from trace.Session, inputs []string, n int, tape *cassette.Tape, resumed trace.Session) (trace.Session, error) {
	if len(inputs) == 0 {
		return trace.Session{}, fmt.Errorf("session %s holds no user input to replay", from.ID)
	}
	if len(r.Agent.Command) == 0 {
		return trace.Session{}, errNoAgent
	}
	runID := r.NewID("run")
	head := trace.Session{
		ID: r.NewID("s"), Origin: trace.Live, Source: r.Agent.source(), Title: from.Title,
		ReplayOf: from.ID, TaskSummary: from.TaskSummary, ScopeHints: from.ScopeHints, Started: r.Now(),
		Attrs: map[string]any{"run_id": runID, "command": r.Agent.Command[0]},
	}
	load, _ := resumed.Attrs["agent_session"].(string)
	if resumed.ID != "" {
		if load == "" {
			return head, fmt.Errorf("resume session %s: it is not known under what name the agent keeps it; replay %s instead", resumed.ID, from.ID)
		}
		head.Attrs["resumes"] = resumed.ID
	}
	hidden, err := host.Hidden(ctx, head)
	if err != nil {
		return head, err
	}
	view := r.View
	view.Hidden, head.RulesHidden = hidden, hidden
	var turns int
	unfinished := map[string]int{} // by what the agent said of them
	out, err := r.drive(ctx, plan{
		runID: runID, sessionID: head.ID, inputs: inputs, view: view, recorded: from.ID, load: load,
		onIdle: func(turn int, silent time.Duration) {
			host.Publish(event.Event{Type: event.AgentIdle, At: r.Now(), SessionID: head.ID, TurnIndex: event.Turn(turn), RunID: runID,
				Data: map[string]any{"silent_s": int(silent.Seconds()), "limit_s": int(r.Agent.IdleTimeout.Seconds())}})
		},
		seed: evidence.RunSeed(r.BaseSeed, from.ID, "live", strconv.Itoa(n)),
		// Long enough for every turn to use its whole time, and the repairs between them.
		ttl: time.Duration(len(inputs)+1) * (r.Agent.TurnTimeout + time.Hour),
		onSpan: func(turn int, s trace.Span) {
			host.Publish(event.Event{Type: event.SpanProgress, At: r.Now(), SessionID: head.ID, TurnIndex: event.Turn(turn),
				RunID: runID, Data: map[string]any{"span": s}})
		},
		onStart: func(info driver.Info) error {
			head.Agent = info.Name()
			head.Attrs["sandbox"] = info.Held.String()
			r.Agent.describe(info, head.Attrs)
			if info.AgentSession != "" && info.Loads {
				head.Attrs["agent_session"] = info.AgentSession
			}
			data := map[string]any{"agent": head.Agent, "replay_of": from.ID, "pid": info.PID, "turns": len(inputs)}
			if len(hidden) > 0 {
				data["rules_hidden"] = hidden
			}
			r.Agent.describe(info, data)
			if resumed.ID != "" {
				data["resumes"] = resumed.ID
			}
			return host.BeginSession(ctx, head, event.Event{Type: event.AgentStarted, SessionID: head.ID, RunID: runID,
				Data: withSandbox(info.Held, data)})
		},
		tape: tape,
		onCalls: func(turn int, calls []cassette.Exchange) error {
			return host.KeepCalls(context.WithoutCancel(ctx), head.ID, turn, calls)
		},
		onTurn: func(t trace.Turn) error {
			t.SessionID = head.ID
			t.TaskSummary, t.ScopeHints = head.TaskSummary, head.ScopeHints
			// A turn cut short by an interrupt is stored like any other.
			if err := host.EndTurn(context.WithoutCancel(ctx), t); err != nil {
				return err
			}
			turns++
			if !t.Finished() && !t.CutShort() {
				unfinished[t.StopReason]++
			}
			head.Counts = add(head.Counts, trace.Count([]trace.Turn{t}))
			_, err := host.Settle(ctx, head.ID)
			return err
		},
	})
	head.Ended = r.Now()
	head.RulesRead = out.read
	if out.info.PID == 0 && turns == 0 {
		return head, err // never started: there is no session to end
	}
	data := map[string]any{"turns": turns, "exit": out.exit.String(), "rules_read": len(out.read)}
	if len(unfinished) > 0 {
		n, why := 0, slices.Sorted(maps.Keys(unfinished))
		for _, k := range why {
			n += unfinished[k]
		}
		data["unfinished"], data["unfinished_why"] = n, bounded(strings.Join(why, ", "), 200)
	}
	if out.info.Stray > 0 {
		data["stray"] = out.info.Stray
	}
	if len(out.exit.Leftover) > 0 {
		data["detached"] = detached(out.exit.Leftover, r.redactor())
	}
	if len(out.info.Answered) > 0 {
		data["answered"] = map[string]int(out.info.Answered)
	}
	if out.info.Revived > 0 {
		data["revived"] = out.info.Revived
	}
	if err != nil {
		// It may quote the agent's own last words.
		text, _ := r.redactor().Text(err.Error())
		data["error"] = bounded(text, 400)
		data["reason"] = infrastructure(ctx, err)
	}
	// What was said before an interrupt still belongs to the session.
	end, stop := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer stop()
	eerr := host.EndSession(end, head, event.Event{Type: event.AgentExited, SessionID: head.ID, RunID: runID, Data: data})
	return head, errors.Join(err, eerr)
}

// maxDetached bounds the descendants that an event names.
const maxDetached = 20

// detached is what the journal says of processes that had left their group: their
// commands may hold a credential.
func detached(list []process.Descendant, red *guard.Redactor) []map[string]any {
	var out []map[string]any
	for _, d := range list[:min(len(list), maxDetached)] {
		command, _ := red.Text(d.Command)
		out = append(out, map[string]any{"pid": d.PID, "command": bounded(command, 200), "killed": true})
	}
	return out
}

func add(a, b trace.Counts) trace.Counts {
	return trace.Counts{Turns: a.Turns + b.Turns, Steps: a.Steps + b.Steps, Calls: a.Calls + b.Calls, Errors: a.Errors + b.Errors}
}

func bounded(s string, n int) string {
	if r := []rune(s); len(r) > n {
		return string(r[:n-1]) + "…"
	}
	return s
}
