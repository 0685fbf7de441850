package cli

import (
	"fmt"
	"slices"
	"strings"

	"vise/engine/config"
	"vise/engine/event"
	"vise/engine/score"
	"vise/engine/trace"
	"vise/replay"
	"vise/store"
)

// recordedTurns are the turns whose answers the requests of an agent get: those of a
// session, or of the one that a case was captured from. A session that is gone has none.
func recordedTurns(st *store.Store, session, caseID string) (turns []trace.Turn, err error) {
	if caseID != "" {
		if err := st.View(func(tx *store.Tx) error {
			c, _, err := tx.Case(caseID)
			session = c.SessionID
			return err
		}); err != nil {
			return nil, err
		}
	}
	if session == "" {
		return nil, nil
	}
	err = eachTurn(st, session, 0, func(t trace.Turn, _ *score.Report) error {
		turns = append(turns, t)
		return nil
	})
	return turns, err
}

// effectsWords say what a setting of agent.effects does.
var effectsWords = map[string]string{
	"recorded": "files and commands that the agent asks vise for come from the recording; what it does not hold is refused",
	"confined": "files that the agent asks vise for are those of its workspace; commands come from the recording or run without a network",
	"live":     "files and commands that the agent asks vise for are done, in its sandbox",
}

// examineEffects says what of a run is recorded and what stays live: the doctor's part.
func examineEffects(cfg *config.Config, agent replay.Agent) check {
	said := effectsWords[cfg.Agent.Effects]
	if len(agent.Servers) > 0 && cfg.Agent.Effects != "live" {
		said += "; calls of " + counted(len(agent.Servers), "tool server") + " get recorded results or are refused"
	}
	return check{"effects", "ok", said + "; live: " + strings.Join(agent.Live(), ", ")}
}

// answeredWords say who answered what an agent asked of its client, from an event.
func answeredWords(d map[string]any) string {
	counts, ok := d["answered"].(map[string]any)
	if !ok {
		return ""
	}
	names := map[string]string{"workspace": "from the workspace", "recording": "from the recording", "command": "run", "server": "by a live server", "refused": "refused"}
	var parts []string
	for _, by := range []string{"workspace", "recording", "command", "server", "refused"} {
		if n := counts[by]; n != nil {
			parts = append(parts, fmt.Sprintf("%v %s", n, names[by]))
		}
	}
	return strings.Join(parts, ", ")
}

// detachedWords name processes that had left their group and were ended, from an event.
func detachedWords(d map[string]any, key string) string {
	list, _ := d[key].([]any)
	var parts []string
	for _, x := range list {
		if m, ok := x.(map[string]any); ok {
			parts = append(parts, fmt.Sprintf("%v (%s)", m["pid"], show(fmt.Sprint(m["command"]), 60)))
		}
	}
	return strings.Join(slices.Clip(parts), ", ")
}

// idleWords say that an agent is silent.
func idleWords(e event.Event) string {
	return fmt.Sprintf("nothing heard from the agent for %v s in turn %d; agent.idle_timeout ends the turn after %v s", e.Data["silent_s"], *e.TurnIndex, e.Data["limit_s"])
}
