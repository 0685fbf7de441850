package repair

import (
	"encoding/json"
	"slices"

	"vise/engine/event"
	"vise/engine/guard"
	"vise/engine/notice"
	"vise/engine/rule"
	"vise/store"
)

// assigned checks that a notice belongs to the episode.
func (t *toolset) assigned(args map[string]any) (string, error) {
	id, _ := text(args, "notice_id")
	if !slices.Contains(t.run.ep.NoticeIDs, id) {
		return "", refuse(rule.ErrNotAssigned, "notice %q does not belong to this episode", guard.Line(id, 80))
	}
	return id, nil
}

func (t *toolset) noticeRead(args map[string]any) outcome {
	id, err := t.assigned(args)
	if err != nil {
		return refused(err)
	}
	var n notice.Notice
	var found bool
	err = t.agent.Store.View(func(tx *store.Tx) error {
		n, found, err = tx.Notice(id)
		return err
	})
	if err != nil {
		return refused(err)
	}
	if !found {
		return refused(refuse(rule.ErrNoticeMissing, "notice %s has vanished", id))
	}
	if t.run.ep.Fork != nil {
		n = Open(n)
	}
	n = cleanNotice(t.run.redactor, n, t.run.textMax())
	raw, err := json.Marshal(n)
	if err != nil {
		return refused(err)
	}
	t.found.noticeRead = true
	return outcome{ok: true, data: map[string]any{"ok": true, "notice_id": id, "notice_ids": t.run.ep.NoticeIDs,
		"status": string(n.Status), "notice": json.RawMessage(raw)}}
}

// noticeAck closes the episode with the candidate it wrote.
func (t *toolset) noticeAck(tx *store.Tx, args map[string]any) (outcome, error) {
	if _, err := t.assigned(args); err != nil {
		return outcome{}, err
	}
	id, err := required(args, "rule_id")
	if err != nil {
		return outcome{}, err
	}
	if !slices.Contains(t.found.candidates, id) {
		return outcome{}, refuse(rule.ErrAckNotCandidate, "rule %q is not the candidate of this episode", guard.Line(id, 80))
	}
	note, _ := text(args, "note")
	if note = t.clean(note); blank(note) {
		note = "candidate added"
	}
	return t.resolve(tx, "candidate", id, note)
}

// noticeResolve closes the episode without a new rule.
func (t *toolset) noticeResolve(tx *store.Tx, args map[string]any) (outcome, error) {
	if _, err := t.assigned(args); err != nil {
		return outcome{}, err
	}
	kind, err := required(args, "resolution")
	if err != nil {
		return outcome{}, err
	}
	existing, _ := text(args, "existing_rule_id")
	switch kind {
	case "duplicate", "already_covered":
		if blank(existing) {
			return outcome{}, refuse(rule.ErrMissingExistingRule, "resolution %s needs existing_rule_id", kind)
		}
	case "no_proposal", "unactionable":
	default:
		return outcome{}, refuse(rule.ErrInvalidResolution, "resolution %q is none of duplicate, already_covered, no_proposal, unactionable", guard.Line(kind, 60))
	}
	if len(t.found.candidates) > 0 {
		// An episode that wrote a rule ends with that rule: it can neither be closed
		// as if there were none nor be its own precedent.
		return outcome{}, refuse(rule.ErrInvalidResolution, "this episode wrote candidate %s: acknowledge the notice with it (%s)", t.found.candidates[0], toolNoticeAck)
	}
	if !blank(existing) {
		r, found, err := t.rules(tx).Rule(existing)
		if err != nil {
			return outcome{}, err
		}
		named := guard.Line(existing, 80)
		switch covers := kind == "duplicate" || kind == "already_covered"; {
		case !covers && !found:
			return outcome{}, refuse(rule.ErrRuleMissing, "there is no rule %q", named)
		case covers && (!found || !r.Live()):
			return outcome{}, refuse(rule.ErrNotLive, "rule %q is neither a candidate nor active", named)
		case kind == "duplicate" && r.Status != rule.Active:
			return outcome{}, refuse(rule.ErrMustBeActive, "rule %s is a candidate: resolve as already_covered", named)
		case kind == "already_covered" && r.Status != rule.Candidate:
			return outcome{}, refuse(rule.ErrMustBeCandidate, "rule %s is active: resolve as duplicate", named)
		}
	} else {
		existing = ""
	}
	note, err := required(args, "note")
	if err != nil {
		return outcome{}, err
	}
	out, err := t.resolve(tx, kind, existing, t.clean(note))
	if err == nil {
		t.found.existingRule = existing
	}
	return out, err
}

// resolve acknowledges all notices of the episode, or none.
func (t *toolset) resolve(tx *store.Tx, kind, ruleID, note string) (outcome, error) {
	if t.run.ep.Fork != nil {
		t.keepResolution(kind, ruleID, note)
		return t.resolved(kind), nil
	}
	notices := make([]notice.Notice, 0, len(t.run.ep.NoticeIDs))
	for _, id := range t.run.ep.NoticeIDs {
		n, found, err := tx.Notice(id)
		if err != nil {
			return outcome{}, err
		}
		if !found || n.Status != notice.Pending {
			return outcome{}, refuse(rule.ErrNotPending, "notice %s is not pending any more", id)
		}
		notices = append(notices, n)
	}
	at := t.run.stamp()
	for _, n := range notices {
		n.Status = notice.Acknowledged
		n.Resolution = &notice.Resolution{Kind: kind, RuleID: ruleID, Note: note, By: t.run.ep.ID, At: at}
		if err := tx.PutNotice(n); err != nil {
			return outcome{}, err
		}
	}
	e := t.run.event(event.RepairNoticeResolved, map[string]any{"notice_ids": t.run.ep.NoticeIDs, "resolution": kind, "rule_id": ruleID})
	e.RuleID = ruleID
	if err := tx.Emit(e); err != nil {
		return outcome{}, err
	}
	t.found.resolution = kind
	return t.resolved(kind), nil
}

// resolved is the answer about an episode that was closed.
func (t *toolset) resolved(kind string) outcome {
	return outcome{ok: true, data: map[string]any{"ok": true, "notice_ids": t.run.ep.NoticeIDs, "resolution": kind}}
}

// clean sanitises a text the model wrote.
func (t *toolset) clean(s string) string {
	s, _ = t.run.redactor.Text(s)
	return guard.Unjoined(guard.Sanitize(s, t.agent.Config.SanitizeMax))
}
