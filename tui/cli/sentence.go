package cli

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"vise/engine/event"
	"vise/engine/trace"
)

// sentence is what an event says to a person, without the clock and the type;
// "" when there is no wording of its own for it.
func sentence(e event.Event) string {
	d := e.Data
	text := func(key string) string {
		if d[key] == nil {
			return ""
		}
		return value(d[key])
	}
	words := func(key string) string {
		if d[key] == nil {
			return ""
		}
		return show(fmt.Sprint(d[key]), 200)
	}
	turn := ""
	if e.TurnIndex != nil {
		turn = fmt.Sprintf("turn %d", *e.TurnIndex)
	}
	switch e.Type {
	case event.AgentStarted:
		if d["replay_of"] == nil {
			through := "model calls"
			if d["through"] == "otlp" {
				through = "traces"
			}
			return fmt.Sprintf("%s, started by hand, seen through its %s · session %s", cmp.Or(words("agent"), "an agent"), through, e.SessionID)
		}
		s := fmt.Sprintf("%s runs %s · %s · session %s", cmp.Or(words("agent"), "an agent"), words("replay_of"), counted(d["turns"], "turn"), e.SessionID)
		if d["sandbox"] != nil {
			s += " · " + words("sandbox")
		}
		if d["mode"] != nil {
			s += " · mode " + words("mode")
		}
		return s
	case event.ProcessesReaped:
		return "ended what an earlier run left behind: " + detachedWords(d, "killed")
	case event.AgentExited:
		if d["error"] != nil {
			return fmt.Sprintf("%s · %s", words("reason"), words("error"))
		}
		s := fmt.Sprintf("%s · %s", words("exit"), counted(d["turns"], "turn"))
		if d["unfinished"] != nil {
			s += fmt.Sprintf(" · %s not finished (%s)", counted(d["unfinished"], "turn"), words("unfinished_why"))
		}
		if d["stray"] != nil {
			s += fmt.Sprintf(" · %s not understood, see .vise/logs/%s.log", counted(d["stray"], "line"), e.RunID)
		}
		if said := answeredWords(d); said != "" {
			s += " · asked vise: " + said
		}
		if d["revived"] != nil {
			s += fmt.Sprintf(" · ended between turns and went on %s", counted(d["revived"], "time"))
		}
		if said := detachedWords(d, "detached"); said != "" {
			s += " · had detached and was ended: " + said
		}
		return s
	case event.ModelCallsKept:
		return fmt.Sprintf("%s · %s recorded", turn, counted(d["calls"], "model call"))
	case event.TurnReplayed:
		s := fmt.Sprintf("%s · %s, %s, %s", turn, counted(d["steps"], "model step"), counted(d["calls"], "call"), counted(d["errors"], "error"))
		if why := words("stop_reason"); why != "end_turn" && why != "" && d["stop_reason"] != nil {
			ended := " · ended "
			if (trace.Turn{StopReason: why}).Failed() {
				ended = " · the agent's command failed: "
			}
			s += ended + why
		}
		return s
	case event.Notice:
		return fmt.Sprintf("%s · %s · %s  (%s)", turn, words("severity"), words("summary"), e.NoticeID)
	case event.Recovery:
		return turn + " · nothing alerts any more"
	case event.Skip:
		why := words("reason")
		if !strings.Contains(why, " ") { // a code, such as rate_limit
			why = strings.ReplaceAll(why, "_", " ")
		}
		return strings.TrimPrefix(strings.Join([]string{turn, strings.TrimSpace(e.RuleID + " " + words("what")), why}, " · "), " · ")
	case event.Health:
		return fmt.Sprintf("%s cannot be used: %s · %s", words("what"), words("reason"), words("effect"))
	case event.BudgetStopped:
		return words("reason")
	case event.EvalsetCapture:
		return fmt.Sprintf("%s · captured as %s", turn, e.CaseID)
	case event.RepairStarted:
		return fmt.Sprintf("%s · attempt %s with %s", e.EpisodeID, text("attempt"), words("model"))
	case event.RepairModelTurn:
		return fmt.Sprintf("model turn %s · %s tokens in, %s out · %s ms", text("turn"), text("input_tokens"), text("output_tokens"), text("ms"))
	case event.RepairToolCall:
		if d["ok"] != true {
			return fmt.Sprintf("%s refused: %s", words("tool"), words("error"))
		}
		return words("tool")
	case event.RepairCandidateAdded:
		if d["created"] != true {
			return "nothing new: covered by an existing rule"
		}
		return e.RuleID
	case event.RepairNoticeResolved:
		return fmt.Sprintf("%s %s", words("resolution"), e.NoticeID)
	case event.EpisodeForked:
		s := fmt.Sprintf("%s goes on from %s after turn %s, with %s", e.EpisodeID, words("fork_of"), text("turn"), words("model"))
		if d["edited"] != nil {
			s += " · " + words("edited") + " changed"
		}
		if d["denied"] != nil {
			s += " · without " + words("denied")
		}
		return s
	case event.ForkAccepted:
		return fmt.Sprintf("%s · rule %s by a person", e.EpisodeID, e.RuleID)
	case event.ForkRemoved:
		return fmt.Sprintf("%s · by %s", e.EpisodeID, words("by"))
	case event.RuleAdd:
		if d["fork_of"] != nil {
			return fmt.Sprintf("%s · candidate in %s, from a fork of %s, accepted by a person", e.RuleID, words("scope"), words("fork_of"))
		}
		if d["edited_from"] != nil {
			return fmt.Sprintf("%s · candidate in %s, edited by a person from %s", e.RuleID, words("scope"), words("edited_from"))
		}
		return fmt.Sprintf("%s · candidate in %s, about %s", e.RuleID, words("scope"), words("metric"))
	case event.RulePromote, event.RuleRetire:
		return fmt.Sprintf("%s · %s", e.RuleID, words("reason"))
	case event.RetestQueued, event.RetestDropped:
		return fmt.Sprintf("%s · %s waiting", e.RuleID, counted(d["waiting"], "test"))
	case event.HoldbackEnded:
		return fmt.Sprintf("%s · %s", e.RuleID, words("reason"))
	case event.RuleFlagged, event.RuleCleared:
		return fmt.Sprintf("%s · %s", e.RuleID, words("why"))
	case event.Regression:
		return fmt.Sprintf("%s, %s replayed · %s regressed, %s improved", counted(d["total"], "case"), text("replayed"), text("regressed"), text("improved"))
	case event.WinOffered:
		return fmt.Sprintf("%s · %s; vise cases protect %s", turn, words("why"), e.SessionID)
	case event.CaseShrunk:
		return fmt.Sprintf("%s · %s of %s inputs after %s", e.CaseID, text("after"), text("before"), counted(d["runs"], "run"))
	case event.NoiseMeasured:
		return fmt.Sprintf("%s on %s, %s · may only inform: %s", words("evaluated_by"), counted(d["turns"], "stored turn"), counted(d["cases"], "case"), text("inform_only"))
	case event.ValidationRoundStarted:
		list, _ := d["queued"].([]any)
		return counted(len(list), "candidate")
	case event.ValidationCandidate:
		return fmt.Sprintf("%s by %s", e.RuleID, words("validator"))
	case event.ValidationReplayCase:
		read := "the rule was read"
		if d["read"] != true {
			read = "the rule was not read"
		}
		return fmt.Sprintf("%s · %s %s · %s · %s", e.CaseID, words("kind"), words("status"), changes(d), read)
	case event.ValidationPair:
		return fmt.Sprintf("%s · %s", e.RuleID, pairWords(d))
	case event.ValidationVerdict:
		outcome := words("outcome")
		if d["result"] != nil { // of a rule in force
			outcome = words("result")
		}
		return fmt.Sprintf("%s · %s by %s: %s", e.RuleID, outcome, words("validator"), words("reason"))
	case event.ValidationRoundEnded:
		if d["cancelled"] == true {
			return fmt.Sprintf("stopped: %s promoted, %s retired; what is open goes on next time", text("promoted"), text("retired"))
		}
		s := fmt.Sprintf("%s promoted, %s retired, %s pending", text("promoted"), text("retired"), text("pending"))
		if why := words("stopped"); why != "" {
			s += ": " + why
		}
		return s
	}
	if said := patchSentence(e, words, text); said != "" {
		return said
	}
	if strings.HasPrefix(string(e.Type), "repair_") && d["status"] != nil {
		s := fmt.Sprintf("%s after %s, %s", words("status"), counted(d["turns"], "turn"), counted(d["tool_calls"], "tool call"))
		if why := text("error_category"); why != "" {
			s += fmt.Sprintf(": %s (vise episodes show %s)", why, e.EpisodeID)
		}
		return s
	}
	return ""
}

// pairWords says what one pair brought, and where the test stands.
func pairWords(d map[string]any) string {
	number := func(key string) float64 { x, _ := d[key].(float64); return x }
	s := fmt.Sprintf("pair %v on a %v: ", d["pair"], d["kind"])
	switch {
	case d["excluded"] != nil:
		return s + "left out, " + show(fmt.Sprint(d["excluded"]), 60)
	case d["guard"] != nil:
		return s + fmt.Sprintf("evidence of harm to wins %.1f", number("e_guard"))
	}
	return s + fmt.Sprintf("%s %.2f → %.2f · %v of %v pairs, evidence of a gain %.1f of %v", show(fmt.Sprint(d["metric"]), 40),
		number("control"), number("treatment"), d["counted"], d["cap"], number("e_gain"), d["threshold"])
}

// counted is a number with its noun: "1 turn", "2 turns".
func counted(n any, noun string) string {
	text := value(n)
	if text != "1" {
		noun += "s"
	}
	return text + " " + noun
}

// changes lists what a replay moved: "argument_correctness 0.27 → 1.00 (+0.73)".
func changes(d map[string]any) string {
	deltas, _ := d["deltas"].(map[string]any)
	before, _ := d["baseline"].(map[string]any)
	after, _ := d["scores"].(map[string]any)
	var parts []string
	for _, m := range slices.Sorted(maps.Keys(deltas)) {
		if delta, _ := deltas[m].(float64); delta != 0 {
			parts = append(parts, fmt.Sprintf("%s %.2f → %.2f", m, before[m], after[m]))
		}
	}
	if len(parts) == 0 {
		return "no score changed"
	}
	return strings.Join(parts, ", ")
}

// patchSentence is sentence for the events of the patch loop.
func patchSentence(e event.Event, words, text func(string) string) string {
	d := e.Data
	switch e.Type {
	case event.PatchStarted:
		s := fmt.Sprintf("%s · %s in a workspace of %s", e.RunID, words("program"), counted(d["base_files"], "file"))
		if d["repair_of"] != nil {
			s += fmt.Sprintf(" · repair %s of %s", text("attempt"), words("repair_of"))
		}
		return s
	case event.PatchDriven:
		s := fmt.Sprintf("%s · %s · %s changed · policy says %s · %s", words("status"), words("exit"), counted(d["files"], "file"), words("outcome"), words("sandbox"))
		if d["input_tokens"] != nil {
			s += fmt.Sprintf(" · %s tokens in, %s out", text("input_tokens"), text("output_tokens"))
		}
		if usd, told := d["usd"].(float64); told {
			s += fmt.Sprintf(", $%.4f", usd)
		}
		return s
	case event.PatchProved:
		s := words("verdict")
		if d["class"] != nil {
			s += " (" + words("class") + ")"
		}
		if d["again"] == true {
			s += ", proven once more"
		}
		return fmt.Sprintf("%s · %s in %s ms · plan %s", s, counted(d["phases"], "phase"), text("ms"), words("plan"))
	case event.PatchRouted:
		return fmt.Sprintf("%s · %s", words("kind"), words("code"))
	case event.PatchPacket:
		return fmt.Sprintf("failure packet for repair %s", text("attempt"))
	case event.PatchState:
		if d["of"] == nil {
			return words("state")
		}
		return fmt.Sprintf("%s · attempt %s", words("state"), text("attempt"))
	case event.PatchFinished:
		s := words("status")
		if d["code"] != "" {
			s += " · " + words("code")
		}
		return fmt.Sprintf("%s after %s", s, counted(d["attempts"], "proof"))
	case event.PatchApplied, event.PatchUndone:
		return fmt.Sprintf("%s · %s", e.RunID, counted(d["files"], "file"))
	}
	return ""
}
