package repair

import (
	"vise/engine/event"
	"vise/engine/guard"
	"vise/engine/rule"
	"vise/store"
)

// Edit is a person's other wording of a rule.
type Edit struct {
	Text string
	Why  string // "" = that it is another wording; the other rule's reason is its writer's
	// ID and Now (RFC 3339) of the new rule.
	ID, Now string
}

// Reword stores a person's wording of a rule as a new candidate of its own: with the
// notice, the scope and the metric of the rule it comes from, which stays what it is. It
// passes every check that a rule of the repair agent passes, and only validation can
// make it active.
//
// Errors are of type *rule.Error when the wording is refused: empty, unchanged, said by
// another rule already, retired by evidence, quoting how the agent is graded, or one more
// than rules.max_active.
func Reword(tx *store.Tx, c Config, red *guard.Redactor, from rule.Rule, e Edit) (rule.Rule, error) {
	clean := func(s string) string {
		s, _ = red.Text(s)
		return guard.Trim(guard.Sanitize(s, c.SanitizeMax))
	}
	r := rule.Rule{ID: e.ID, CreatedAt: e.Now, Text: clean(e.Text), Rationale: clean(e.Why), SourceNoticeID: from.SourceNoticeID,
		EpisodeID: from.EpisodeID, Metric: from.Metric, Tags: from.Tags, Scope: from.Scope, Applicability: from.Applicability,
		FailureSignatures: from.FailureSignatures, Author: rule.Person, EditedFrom: from.ID}
	if r.Rationale == "" {
		r.Rationale = "Another wording, by a person, of rule " + from.ID + "."
	}
	switch r.Text {
	case "":
		return r, refuse(rule.ErrEmptyRule, "nothing of the rule's text is left after sanitising")
	case from.Text:
		return r, refuse(rule.ErrEmptyRule, "the text is that of rule %s: change it", from.ID)
	}
	ep, _, err := tx.Episode(from.EpisodeID)
	if err != nil {
		return r, err
	}
	return r, admit(tx, c, &r, ep.SessionID, ep.TurnIndex, event.Event{Data: map[string]any{"by": rule.Person, "edited_from": from.ID}})
}

// admit stores a rule that a person has written or chosen, as a candidate, and tells of
// it: it passes every check that a rule of the repair agent passes. The session and turn
// are those it is about, whose answers it must not quote; told is what is told beyond
// the rule itself.
func admit(tx *store.Tx, c Config, r *rule.Rule, session string, turn int, told event.Event) error {
	if err := said(tx, *r); err != nil {
		return err
	}
	if err := leaks(tx, c.Protected, session, turn, *r); err != nil {
		return err
	}
	if err := room(tx, c.MaxActive); err != nil {
		return err
	}
	if err := begin(tx, r, c.ValidationOn); err != nil {
		return err
	}
	if err := tx.PutRule(*r); err != nil {
		return err
	}
	told.Type, told.RuleID, told.NoticeID = event.RuleAdd, r.ID, r.SourceNoticeID
	for k, v := range map[string]any{"scope": r.Scope, "status": string(r.Status), "metric": r.Metric, "applicability": r.Applicability} {
		told.Data[k] = v
	}
	return tx.Emit(told)
}

// said refuses a wording that another rule says already, or that evidence has retired.
// The rule that it comes from does not count: the wording is to be compared with it.
func said(tx *store.Tx, r rule.Rule) error {
	rules, err := rule.Comparable(tx, r)
	if err != nil {
		return err
	}
	for _, c := range rule.Covering(rules, r) {
		if c.RuleID != r.EditedFrom {
			return refuse(rule.ErrSaid, "rule %s says it already (%s)", c.RuleID, c.Reason)
		}
	}
	if c, retired := rule.Disproved(rules, r); retired {
		return refuse(rule.ErrSaid, "rule %s, which is retired, says it word for word", c.RuleID)
	}
	return nil
}
