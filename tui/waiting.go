package tui

import (
	"fmt"
	"strings"
	"time"

	"vise/engine"
	"vise/engine/episode"
	"vise/engine/event"
	"vise/engine/guard"
	"vise/engine/notice"
	"vise/engine/rule"
	"vise/store"
)

// Waiting reads everything stored that waits for a person; running tells which
// episodes do not because they are being repaired. At most wins offers of wins are named,
// the others are counted.
func Waiting(tx *store.Tx, wins int, running func(episode.Episode) bool) (out []AttentionItem, err error) {
	var paused struct {
		NoticeID string `json:"notice_id"`
		At       string `json:"at"`
	}
	stopped, err := tx.State("repair/paused", &paused)
	if err != nil {
		return nil, err
	}
	if stopped {
		out = append(out, AttentionItem{Kind: "paused", NoticeID: paused.NoticeID, At: parsed(paused.At),
			Text: "repair is paused since " + stamp(paused.At), Do: "{notice.resume} resumes it; headless: vise notices resume"})
	}
	var breaker notice.Breaker
	if _, err := tx.State("breaker", &breaker); err != nil {
		return nil, err
	}
	if breaker.Open && !stopped {
		out = append(out, AttentionItem{Kind: "breaker", Text: "too many notices: further ones are held back", Do: "look what went wrong, then a closes the breaker"})
	}
	if out, err = humans(tx, out); err != nil {
		return nil, err
	}
	if out, err = stuck(tx, out, running); err != nil {
		return nil, err
	}
	damaged, err := tx.Quarantine()
	if err != nil {
		return nil, err
	}
	if n := len(damaged); n > 0 {
		q := damaged[n-1]
		out = append(out, AttentionItem{Kind: "quarantine", At: q.At, Text: fmt.Sprintf("%s of the store could not be read, the last: %s", count(n, "record"), q.Record),
			Do: "they are kept aside; vise store verify tells more"})
	}
	budget, err := tx.LastEvents(1, event.BudgetStopped)
	if err != nil {
		return nil, err
	}
	if len(budget) > 0 {
		out = append(out, AttentionItem{Kind: "budget", At: budget[0].At, Text: "the budget stopped a model call at " + clock(budget[0].At), Do: "raise budget.usd or budget.tokens in vise.toml"})
	}
	if out, err = mending(tx, out); err != nil {
		return nil, err
	}
	if out, err = flagged(tx, out); err != nil {
		return nil, err
	}
	if out, err = offered(tx, wins, out); err != nil {
		return nil, err
	}
	if out, err = undecided(tx, out); err != nil {
		return nil, err
	}
	return unrepaired(tx, out)
}

// Offered is how many offers of wins are named at first: they are no trouble.
const Offered = 3

// offered adds the sessions that are worth protecting.
func offered(tx *store.Tx, wins int, out []AttentionItem) ([]AttentionItem, error) {
	list, err := engine.Offers(tx)
	if err != nil {
		return nil, err
	}
	for _, o := range list[:min(len(list), wins)] {
		head, ok, err := tx.Session(o.SessionID)
		if err != nil {
			return nil, err
		}
		if !ok {
			continue // it was removed meanwhile
		}
		text := "session " + either(head.Name, tag(o.SessionID)) + " ended well after it had alerted"
		out = append(out, AttentionItem{Kind: "win_offered", SessionID: o.SessionID, TurnIndex: o.Turn, At: parsed(o.At), Text: text,
			Do: "{case.protect} protects it as a win; {move.into} goes to it"})
	}
	if n := len(list) - wins; n > 0 {
		out = append(out, AttentionItem{Kind: "wins_offered", At: parsed(list[wins].At), Text: count(n, "more session") + " ended well after alerting",
			Do: "{move.into} names them; all: vise cases offers"})
	}
	return out, nil
}

// flagged adds the rules in force that evidence speaks against.
func flagged(tx *store.Tx, out []AttentionItem) ([]AttentionItem, error) {
	last, err := tx.LastEvents(4*attentionEach, event.RuleFlagged)
	if err != nil {
		return nil, err
	}
	seen := map[string]bool{}
	for _, e := range last {
		if seen[e.RuleID] || len(seen) == attentionEach {
			continue
		}
		seen[e.RuleID] = true
		r, ok, err := tx.Rule(e.RuleID)
		if err != nil {
			return nil, err
		}
		if ok && r.Flagged() {
			out = append(out, AttentionItem{Kind: "flagged", RuleID: r.ID, At: parsed(r.Flag.At), Text: "rule " + tag(r.ID) + " is in force and flagged: " + r.Flag.Why,
				Do: "{move.into} goes to it; in Rules {rule.retest} queues a new test, {rule.retire} retires it"})
		}
	}
	return out, nil
}

// humans adds the pending notices that ask for a person.
func humans(tx *store.Tx, out []AttentionItem) ([]AttentionItem, error) {
	list, err := tx.Notices(store.Window{Limit: 500})
	if err != nil {
		return nil, err
	}
	n := 0
	for _, x := range list {
		if x.Severity != notice.NeedsHuman || x.Status != notice.Pending {
			continue
		}
		if n++; n > attentionEach {
			continue
		}
		out = append(out, AttentionItem{Kind: "needs_human", At: parsed(x.CreatedAt), SessionID: x.SessionID, TurnIndex: x.TurnIndex, NoticeID: x.ID,
			Text: "needs_human: " + x.Summary + "; " + tag(x.ID), Do: "{move.into} goes to the turn; {notice.acknowledge} acknowledges it, {notice.resume} resumes repair"})
	}
	if n > attentionEach {
		out = append(out, AttentionItem{Kind: "needs_human", Text: fmt.Sprintf("%d more notices need a person", n-attentionEach), Do: "vise notices ls --pending"})
	}
	return out, nil
}

// stuck adds the episodes that failed, were cut off or were not begun.
func stuck(tx *store.Tx, out []AttentionItem, running func(episode.Episode) bool) ([]AttentionItem, error) {
	list, err := tx.Episodes(store.Window{Limit: 200})
	if err != nil {
		return nil, err
	}
	n := 0
	for _, e := range list {
		if e.Fork != nil || running(e) {
			continue // nothing waits for a fork
		}
		var x AttentionItem
		why := ""
		if e.Result != nil {
			why = e.Result.Error
			if why == "" {
				why = strings.ReplaceAll(e.Result.ErrorCategory, "_", " ")
			}
		}
		if onlyCancelled(why) {
			why = ""
		}
		if why != "" {
			why = causeFirst(why, "") + "; "
		}
		open, err := pendingOf(tx, e.NoticeIDs)
		if err != nil {
			return nil, err
		}
		if len(open) < len(e.NoticeIDs) {
			continue // a person has dealt with some: it cannot be started again, see unrepaired
		}
		cut := e.Result != nil && e.Result.ErrorCategory == "interrupted" || e.Status == episode.Running
		switch {
		case cut && !e.Status.Success() && e.Status != episode.Dead:
			if len(open) == 0 {
				continue
			}
			x = AttentionItem{Kind: "failed", Text: "interrupted: the process that ran it ended before it did; repair " + tag(e.ID),
				Do: "{move.into} shows its steps; {run.step} starts it again, {notice.acknowledge} lets it be"}
		case e.Status == episode.Dead:
			x = AttentionItem{Kind: "dead_letter", Text: fmt.Sprintf("%sgiven up after %s, %s", why, count(e.Attempts, "attempt"), tag(e.ID)),
				Do: "{move.into} shows its steps; {run.step} tries it once more, {notice.acknowledge} lets it be"}
		case e.Status == episode.Failed || e.Status == episode.TimedOut || e.Status == episode.Cancelled:
			x = AttentionItem{Kind: "failed", Text: fmt.Sprintf("%srepair %s, %s", why, strings.ReplaceAll(string(e.Status), "_", " "), tag(e.ID)),
				Do: "{move.into} shows its steps; {run.step} tries it again, {notice.acknowledge} lets it be"}
		case e.Status == episode.Open && len(open) > 0:
			if first, ok, err := tx.Notice(open[0]); err != nil {
				return nil, err
			} else if ok {
				x = AttentionItem{Kind: "notice", Text: string(first.Severity) + " waits for a repair: " + alerting(first.Summary) + "; " + tag(first.ID),
					Do: "{move.into} goes to the turn; {run.step} repairs it, {notice.acknowledge} acknowledges it"}
			}
		}
		if x.Kind == "" {
			continue
		}
		if n++; n > attentionEach {
			continue
		}
		x.At, x.SessionID, x.TurnIndex, x.EpisodeID = parsed(e.CreatedAt), e.SessionID, e.TurnIndex, e.ID
		x.NoticeIDs = open
		if len(open) > 0 {
			x.NoticeID = open[0]
		}
		out = append(out, x)
	}
	if n > attentionEach {
		out = append(out, AttentionItem{Kind: "notice", Text: count(n-attentionEach, "more repair") + " wait", Do: "all: vise notices ls --pending"})
	}
	return out, nil
}

// pendingOf are those of the notices that still wait for a repair.
func pendingOf(tx *store.Tx, ids []string) (open []string, err error) {
	for _, id := range ids {
		n, ok, err := tx.Notice(id)
		if err != nil {
			return nil, err
		}
		if ok && n.Status == notice.Pending {
			open = append(open, id)
		}
	}
	return open, nil
}

// unrepaired adds, in one row, the pending notices that no repair looks at: there is none
// when repair is off, or paused when they came, or the rest of its notices was acknowledged.
func unrepaired(tx *store.Tx, out []AttentionItem) ([]AttentionItem, error) {
	told := map[string]bool{}
	list, err := tx.Episodes(store.Window{Limit: 200})
	if err != nil {
		return nil, err
	}
	for _, e := range list {
		open, err := pendingOf(tx, e.NoticeIDs)
		if err != nil {
			return nil, err
		}
		for _, id := range open {
			told[id] = told[id] || len(open) == len(e.NoticeIDs)
		}
	}
	notices, err := tx.Notices(store.Window{Limit: 500})
	if err != nil {
		return nil, err
	}
	var row AttentionItem
	n := 0
	for _, x := range notices {
		if x.Severity == notice.NeedsHuman || x.Status != notice.Pending || told[x.ID] {
			continue
		}
		if n++; n > 1 {
			continue
		}
		row = AttentionItem{Kind: "notice", At: parsed(x.CreatedAt), SessionID: x.SessionID, TurnIndex: x.TurnIndex, NoticeID: x.ID, NoticeIDs: []string{x.ID},
			Text: string(x.Severity) + " waits for a repair: " + alerting(x.Summary) + "; " + tag(x.ID), Do: "{move.into} goes to the turn; {notice.acknowledge} acknowledges it"}
	}
	if n == 0 {
		return out, nil
	}
	if n > 1 {
		row.Text = fmt.Sprintf("%d notices wait for a repair, the newest: %s", n, row.Text)
		row.Do += "; all: vise notices ls --pending"
	}
	return append(out, row), nil
}

// alerting is the first metric of a notice's summary, and how many more there are.
func alerting(summary string) string {
	metrics, _, _ := strings.Cut(summary, " · ")
	first, rest, more := strings.Cut(metrics, "; ")
	if more {
		first += fmt.Sprintf(" and %d more", 1+strings.Count(rest, "; "))
	}
	return guard.Line(first, 200)
}

// undecided adds the candidates that evidence has not judged.
func undecided(tx *store.Tx, out []AttentionItem) ([]AttentionItem, error) {
	list, err := tx.Rules(rule.Candidate)
	if err != nil || len(list) == 0 {
		return out, err
	}
	newest := list[len(list)-1]
	verdicts, err := tx.Verdicts(newest.ID)
	if err != nil {
		return nil, err
	}
	text, do := count(len(list), "candidate")+" pending, the newest "+tag(newest.ID), "{run.validate} validates until idle, {run.validate_rule} the rule in scope"
	if n := len(verdicts); n > 0 {
		text += ": " + verdicts[n-1].Reason
		if verdicts[n-1].PendingReason == "no_matching_replayable_case" {
			do = "no case can be replayed for it: the forward trial decides; retire it with {rule.retire} in Rules"
		}
	}
	return append(out, AttentionItem{Kind: "candidates", RuleID: newest.ID, At: parsed(newest.CreatedAt), Text: text, Do: do}), nil
}

func parsed(text string) time.Time {
	t, _ := time.Parse(time.RFC3339Nano, text)
	return t
}
