package tui

import (
	"fmt"
	"time"

	"vise/engine/event"
	"vise/engine/patch/run"
)

// progress is what the header says about what is running: a fold over events.
type progress struct {
	since     time.Time // of the activity
	session   string
	done      int // turns of the session that have ended
	turns     int
	episode   string
	fork      string // the newest fork, and how many model turns it may have
	forkTurns int
	state     string // of the patch loop
	step      int
	started   time.Time
	rule      string
	round     int
	cases     int
	silent    time.Time // since when the agent has said nothing, once that is long
	promoted  int
	retired   int
}

// take folds one event.
func (p *progress) take(e event.Event) {
	switch e.Type {
	case event.AgentStarted:
		p.session, p.done = e.SessionID, 0
		p.turns, _ = number(e.Data["turns"])
	case event.AgentIdle:
		if n, ok := number(e.Data["silent_s"]); ok && e.SessionID == p.session {
			p.silent = e.At.Add(-time.Duration(n) * time.Second)
		}
	case event.SpanProgress:
		p.silent = time.Time{}
		if e.TurnIndex != nil && e.SessionID == p.session {
			p.done = *e.TurnIndex
		}
	case event.TurnReplayed:
		p.silent = time.Time{}
		if e.TurnIndex != nil && e.SessionID == p.session {
			p.done = *e.TurnIndex + 1
		}
	case event.EpisodeForked:
		p.fork = e.EpisodeID
		p.forkTurns, _ = number(e.Data["max_turns"])
	case event.RepairStarted:
		p.episode, p.step, p.started = e.EpisodeID, 1, e.At
	case event.PatchState:
		p.state, _ = e.Data["state"].(string)
		p.step, _ = number(e.Data["attempt"])
	case event.StepWaiting:
		if e.RunID != "" {
			break // a patch loop
		}
		p.step, _ = number(e.Data["turn"])
		p.episode = e.EpisodeID
	case event.RepairModelTurn:
		if n, ok := number(e.Data["turn"]); ok {
			p.step = n
		}
	case event.RepairCompleted, event.RepairDuplicate, event.RepairAlreadyCovered, event.RepairNoProposal, event.RepairUnactionable,
		event.RepairTimedOut, event.RepairFailed:
		p.episode = ""
	case event.ValidationRoundStarted:
		p.round++
		p.cases = 0
	case event.ValidationCandidate:
		p.rule, p.cases = e.RuleID, 0
	case event.ValidationReplayCase:
		p.cases++
	case event.RulePromote:
		p.promoted++
	case event.RuleRetire:
		p.retired++
	}
}

// of turns to what runs now, and forgets what ran before.
func (p *progress) of(a Activity) {
	if !a.Since.Equal(p.since) {
		*p = progress{since: a.Since}
	}
}

// number reads a datum of an event, which is an int in process and a float64 from the journal.
func number(v any) (int, bool) {
	switch n := v.(type) {
	case int:
		return n, true
	case int64:
		return int(n), true
	case float64:
		return int(n), true
	}
	return 0, false
}

// most is how many model turns an episode may have: a fork has a bound of its own.
func (p *progress) most(episode string, maxTurns int) int {
	if episode == p.fork {
		return p.forkTurns
	}
	return maxTurns
}

// text is the state of an activity in words.
func (p *progress) text(a Activity, held *Held, maxTurns int, now time.Time) string {
	of := func(n, max int) string {
		if max <= 0 {
			return fmt.Sprint(n)
		}
		return fmt.Sprintf("%d/%d", n, max)
	}
	switch {
	case held != nil:
		return fmt.Sprintf("repair held  model turn %s  %s", of(held.Turn, p.most(held.EpisodeID, maxTurns)), tag(held.EpisodeID))
	case a.Stopping:
		return "cancelling the " + string(a.Kind)
	case p.episode != "":
		return fmt.Sprintf("repairing  model turn %s  %s  %s", of(p.step, p.most(p.episode, maxTurns)), elapsed(now.Sub(a.Since)), tag(p.episode))
	case a.Kind == Replaying:
		s := fmt.Sprintf("replaying  %s %s  %s", a.Session, turnsDone(p.done, p.turns), elapsed(now.Sub(a.Since)))
		if !p.silent.IsZero() {
			s += "  nothing heard for " + elapsed(now.Sub(p.silent))
		}
		return s
	case a.Kind == Validating:
		s := "validating"
		if p.round > 0 {
			s += fmt.Sprintf("  round %d", p.round)
		}
		if p.rule != "" {
			s += fmt.Sprintf("  %s  case %d", tag(p.rule), p.cases+1)
		}
		return s + "  " + elapsed(now.Sub(a.Since))
	case a.Kind == Repairing:
		return "repairing  " + a.Episode
	case a.Kind == Importing:
		return "importing " + a.Arg + "  " + elapsed(now.Sub(a.Since))
	case a.Kind == Scoring:
		return "scoring " + a.Session + "  " + elapsed(now.Sub(a.Since))
	case a.Kind == Patching:
		return "coding agent  " + a.Arg + "  " + elapsed(now.Sub(a.Since))
	case a.Kind == Mending:
		return fmt.Sprintf("patch loop  %s  %s  attempt %d", runTag(a.Run), p.state, attemptAt(run.State(p.state), p.step))
	}
	return ""
}

// turnsDone is how far a replay is. It counts what has ended, which no one takes for
// the index of a turn; of is 0 when the number of turns is not known.
func turnsDone(done, of int) string {
	if of <= 0 {
		return count(done, "turn") + " done"
	}
	return fmt.Sprintf("%d of %s done", done, count(of, "turn"))
}

// elapsed is a duration as a person reads it.
func elapsed(d time.Duration) string {
	switch {
	case d < 0:
		return "0 s"
	case d < time.Minute:
		return fmt.Sprintf("%d s", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%d:%02d min", int(d.Minutes()), int(d.Seconds())%60)
	}
	return fmt.Sprintf("%d:%02d h", int(d.Hours()), int(d.Minutes())%60)
}
