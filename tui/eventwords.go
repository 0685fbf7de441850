package tui

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"

	"vise/engine/event"
	"vise/engine/evidence"
	"vise/tui/style"
)

// eventRole is the colour of a type: what is wrong, what got better, the rest.
func eventRole(e event.Event) style.Role {
	if role, ok := patchRole(e); ok {
		return role
	}
	switch e.Type {
	case event.Regression:
		if e.Data["clean"] == true {
			return style.Good
		}
		return style.Bad
	case event.Notice, event.RuleFlagged, event.RuleRetire, event.RepairFailed, event.RepairTimedOut, event.StoreQuarantined, event.BudgetStopped:
		return style.Bad
	case event.RulePromote, event.RuleCleared, event.Recovery, event.RepairCompleted:
		return style.Good
	case event.Skip, event.RepairUnactionable, event.RepairNoProposal:
		return style.Warn
	case event.RepairModelTurn, event.RepairToolCall, event.TurnReplayed, event.ValidationCandidate, event.ScopeIndexRegenerated:
		return style.Dim
	}
	return style.Info
}

// fields reads the data of an event, which are Go values in process and JSON ones
// from the journal.
type fields map[string]any

func (f fields) text(name string) string { return datum(f[name]) }

func (f fields) int(name string) string {
	if n, ok := number(f[name]); ok {
		return strconv.Itoa(n)
	}
	return "?"
}

// answeredWords say who answered what an agent asked of its client.
func answeredWords(counts any) string {
	var parts []string
	for _, by := range []struct{ key, text string }{{"workspace", "from the workspace"}, {"recording", "from the recording"}, {"command", "run"},
		{"server", "by a live server"}, {"refused", "refused"}} {
		n, ok := 0, false
		switch m := counts.(type) {
		case map[string]any:
			n, ok = number(m[by.key])
		case map[string]int:
			n, ok = m[by.key]
		}
		if ok {
			parts = append(parts, strconv.Itoa(n)+" "+by.text)
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return "asked vise: " + strings.Join(parts, ", ")
}

// processWords name processes that were ended.
func processWords(lead string, list any) string {
	var parts []string
	add := func(m map[string]any) {
		d := fields(m)
		parts = append(parts, d.int("pid")+" ("+d.text("command")+")")
	}
	switch l := list.(type) {
	case []any:
		for _, x := range l {
			if m, ok := x.(map[string]any); ok {
				add(m)
			}
		}
	case []map[string]any:
		for _, m := range l {
			add(m)
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return lead + strings.Join(parts, ", ")
}

// eventWords is what an event says in one line, the place it speaks of first.
func eventWords(ctx *Context, e event.Event) string {
	if said := patchWords(e); said != "" {
		return said
	}
	d := fields(e.Data)
	place := ctx.Called(e.SessionID)
	if e.TurnIndex != nil {
		place += "/" + turnName(*e.TurnIndex)
	}
	about := func(parts ...string) string {
		return strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), "  ")
	}
	switch e.Type {
	case event.AgentStarted:
		if d["replay_of"] == nil {
			return about(place, d.text("agent"), "started by hand")
		}
		return about(place, d.text("agent"), "replays "+ctx.Called(d.text("replay_of")), count2(d.int("turns"), "turn"), d.text("sandbox"))
	case event.AgentExited:
		stray := ""
		if d["stray"] != nil {
			stray = count2(d.int("stray"), "line") + " not understood"
		}
		revived := ""
		if d["revived"] != nil {
			revived = "ended between turns and went on " + count2(d.int("revived"), "time")
		}
		return about(place, d.text("exit"), d.text("error"), stray, revived, answeredWords(e.Data["answered"]), processWords("had detached and was ended: ", e.Data["detached"]))
	case event.ProcessesReaped:
		return about(processWords("ended what an earlier run left behind: ", e.Data["killed"]))
	case event.ModelCallsKept:
		return about(place, count2(d.int("calls"), "model call")+" recorded", d.int("bytes")+" bytes")
	case event.TurnReplayed:
		return about(place, count2(d.int("steps"), "model step"), count2(d.int("calls"), "call"), count2(d.int("errors"), "error"))
	case event.Notice:
		return about(place, tag(e.NoticeID), d.text("severity"), d.text("summary"))
	case event.Skip:
		why := d.text("reason")
		if !strings.Contains(why, " ") { // a code, such as rate_limit
			why = strings.ReplaceAll(why, "_", " ")
		}
		return about(place, tag(e.RuleID), d.text("what"), why)
	case event.Health:
		return about(d.text("what"), "cannot be used", d.text("reason"), d.text("effect"))
	case event.BudgetStopped:
		return d.text("reason")
	case event.EvalsetCapture, event.CaseProtected:
		return about(place, tag(e.CaseID))
	case event.RepairStarted:
		return about(tag(e.EpisodeID), place, "attempt "+d.int("attempt"), "by "+d.text("model"))
	case event.RepairModelTurn:
		return about(tag(e.EpisodeID), d.int("turn"), d.int("input_tokens")+" tokens in, "+d.int("output_tokens")+" out", d.int("ms")+" ms")
	case event.RepairToolCall:
		ok := "ok"
		if d["ok"] != true {
			ok = "refused " + d.text("error")
		}
		return about(tag(e.EpisodeID), d.text("tool"), ok, "model turn "+d.int("turn"))
	case event.RepairCandidateAdded, event.RuleAdd:
		return about(tag(e.RuleID), d.text("scope"), d.text("metric"))
	case event.RepairNoticeResolved:
		return about(tag(e.NoticeID), d.text("resolution"), tag(e.RuleID))
	case event.EpisodeForked:
		changed := ""
		if d["edited"] != nil {
			changed = d.text("edited") + " changed"
		}
		return about(tag(e.EpisodeID), place, "goes on from "+tag(d.text("fork_of"))+" after turn "+d.int("turn"), "by "+d.text("model"), changed)
	case event.ForkAccepted:
		return about(tag(e.EpisodeID), tag(e.RuleID))
	case event.ForkRemoved:
		return about(tag(e.EpisodeID), "fork of "+tag(d.text("fork_of")), "by "+d.text("by"))
	case event.RulePromote, event.RuleRetire:
		return about(tag(e.RuleID), d.text("reason"))
	case event.RetestQueued, event.RetestDropped:
		return about(tag(e.RuleID), count2(d.int("waiting"), "test")+" waiting")
	case event.HoldbackEnded:
		return about(tag(e.RuleID), d.text("reason"))
	case event.RuleFlagged, event.RuleCleared:
		return about(tag(e.RuleID), d.text("why"))
	case event.Regression:
		return count2(d.int("total"), "case") + ", " + d.int("replayed") + " replayed: " + d.int("regressed") + " regressed, " + d.int("improved") + " improved"
	case event.SessionRenamed:
		if d.text("name") == "" {
			return about(tag(e.SessionID), "has no name any more")
		}
		return about(tag(e.SessionID), "is called "+d.text("name"))
	case event.SessionPinned:
		if d["pinned"] == true {
			return about(place, "stays at the top")
		}
		return about(place, "takes its place in time again")
	case event.WinOffered:
		return about(place, d.text("why"))
	case event.CaseShrunk:
		return about(tag(e.CaseID), d.int("after")+" of "+count2(d.int("before"), "input"), count2(d.int("runs"), "run"), d.text("why"))
	case event.NoiseMeasured:
		return about(d.text("evaluated_by"), count2(d.int("turns"), "stored turn"), count2(d.int("cases"), "case"), "only inform "+d.text("inform_only"))
	case event.ValidationRoundStarted:
		n := 0
		switch list := d["queued"].(type) {
		case []any:
			n = len(list)
		case []string:
			n = len(list)
		}
		return count(n, "candidate")
	case event.ValidationCandidate:
		return about(tag(e.RuleID), "by "+strings.ReplaceAll(d.text("validator"), "_", " "))
	case event.ValidationReplayCase:
		read := ""
		if d["read"] != true {
			read = "rule not read"
		}
		return about(tag(e.RuleID), tag(e.CaseID), d.text("kind"), strings.ReplaceAll(d.text("status"), "_", " "), moves(d), read)
	case event.ValidationPair:
		switch {
		case d["excluded"] != nil:
			return about(tag(e.RuleID), "pair "+d.int("pair"), tag(e.CaseID), "left out: "+strings.ReplaceAll(d.text("excluded"), "_", " "))
		case d["guard"] != nil:
			return about(tag(e.RuleID), "pair "+d.int("pair"), tag(e.CaseID), "win")
		}
		return about(tag(e.RuleID), "pair "+d.int("pair"), tag(e.CaseID), d.text("metric"), d.int("counted")+" of "+d.int("cap"))
	case event.ValidationVerdict:
		if again := d.text("result"); again != "" { // of a rule in force
			return about(tag(e.RuleID), again, d.text("reason"))
		}
		return about(tag(e.RuleID), outcomeWord(evidence.Outcome(d.text("outcome"))), d.text("reason"))
	case event.ValidationRoundEnded:
		if d["cancelled"] == true {
			return "stopped: " + d.int("promoted") + " promoted, " + d.int("retired") + " retired; what is open goes on next time"
		}
		return about(d.int("promoted")+" promoted, "+d.int("retired")+" retired, "+d.int("pending")+" pending", d.text("stopped"))
	}
	words := []string{place, tag(e.NoticeID), tag(e.EpisodeID), tag(e.RuleID), tag(e.CaseID)}
	if d["status"] != nil && strings.HasPrefix(string(e.Type), "repair_") {
		status, category := d.text("status"), d.text("error_category")
		if category == status {
			category = "" // cancelled: cancelled
		}
		return about(append(words, strings.ReplaceAll(status, "_", " "), count2(d.int("turns"), "model turn"), count2(d.int("tool_calls"), "call"),
			strings.ReplaceAll(category, "_", " "))...)
	}
	for _, k := range slices.Sorted(maps.Keys(e.Data)) {
		words = append(words, k+"="+datum(e.Data[k]))
	}
	return about(words...)
}

// moves lists by how much a replay moved which score.
func moves(d fields) string {
	deltas := map[string]float64{}
	switch m := d["deltas"].(type) {
	case map[string]float64:
		deltas = m
	case map[string]any:
		for k, v := range m {
			deltas[k], _ = v.(float64)
		}
	}
	var parts []string
	for _, k := range slices.Sorted(maps.Keys(deltas)) {
		if c := signed(deltas[k]); c != "+0.00" {
			parts = append(parts, k+" "+c)
		}
	}
	if len(parts) == 0 {
		return "no score moved"
	}
	return strings.Join(parts, ", ")
}

func count2(n, noun string) string {
	if n == "1" {
		return "1 " + noun
	}
	return n + " " + noun + "s"
}

// datum is a value of an event in short form; numbers are rounded to what one reads.
func datum(v any) string {
	switch x := v.(type) {
	case nil:
		return ""
	case string:
		return x
	case float64:
		return strconv.FormatFloat(x, 'g', 4, 64)
	case map[string]any:
		var parts []string
		for _, k := range slices.Sorted(maps.Keys(x)) {
			parts = append(parts, k+" "+datum(x[k]))
		}
		return "{" + strings.Join(parts, ", ") + "}"
	case []any:
		var parts []string
		for _, y := range x {
			parts = append(parts, datum(y))
		}
		return "[" + strings.Join(parts, " ") + "]"
	}
	raw, err := json.Marshal(v)
	if err != nil {
		return "?"
	}
	var plain any
	if raw[0] != '{' && raw[0] != '[' && raw[0] != '"' || json.Unmarshal(raw, &plain) != nil {
		return string(raw)
	}
	return datum(plain)
}
