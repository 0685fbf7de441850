package tui

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"

	"vise/engine/event"
	"vise/tui/style"
)

// eventRole is the colour of a type: what is wrong, what got better, the rest.
func eventRole(e event.Event) style.Role {
	switch e.Type {
	case event.Notice, event.Regression, event.RuleRetire, event.RepairFailed, event.RepairTimedOut, event.StoreQuarantined, event.BudgetStopped:
		return style.Bad
	case event.RulePromote, event.Recovery, event.RepairCompleted:
		return style.Good
	case event.Skip, event.RepairUnactionable, event.RepairNoProposal:
		return style.Warn
	case event.RepairModelTurn, event.RepairToolCall, event.TurnReplayed, event.ValidationCandidate, event.ScopeIndexRegenerated:
		return style.Dim
	}
	return style.Info
}

// told are data of events that other columns or ids say already.
var told = []string{"rule_id", "notice_ids", "flagged_traces", "attempt", "agent", "pid", "usage", "considered_rule_ids", "candidate_rule_ids", "verdict_id"}

// eventWords are ids and data of an event in one line.
func eventWords(e event.Event) string {
	var b strings.Builder
	word := func(s string) {
		if s == "" {
			return
		}
		if b.Len() > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(s)
	}
	session := tag(e.SessionID)
	if e.TurnIndex != nil {
		session += "/" + turnName(*e.TurnIndex)
	}
	word(session)
	for _, id := range []string{e.NoticeID, e.EpisodeID, e.RuleID, e.CaseID} {
		word(tag(id))
	}
	for _, k := range slices.Sorted(maps.Keys(e.Data)) {
		if !slices.Contains(told, k) {
			word(k + "=" + datum(e.Data[k]))
		}
	}
	return b.String()
}

// datum is a value of an event in short form; numbers are rounded to what one reads.
func datum(v any) string {
	switch x := v.(type) {
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
	if raw[0] != '{' && raw[0] != '[' || json.Unmarshal(raw, &plain) != nil {
		return string(raw)
	}
	return datum(plain)
}
