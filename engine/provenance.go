package engine

import (
	"fmt"
	"slices"
	"strings"

	"vise/engine/evidence"
	"vise/store"
)

// Bounds of a provenance, per kind.
const (
	originEdits = 20
	originCases = 50
)

// Origin is one thing that a rule comes from or that came of it. The kinds, in the order
// of a provenance: rule (the rules it was edited from follow it), notice, episode, trace,
// case, verdict.
type Origin struct {
	Kind string `json:"kind"`
	ID   string `json:"id"`
	Text string `json:"text"` // one sentence
	// SessionID and TurnIndex are where a notice, episode, trace or case is from.
	SessionID string `json:"session_id,omitempty"`
	TurnIndex int    `json:"turn_index,omitempty"`
	RuleID    string `json:"rule_id,omitempty"` // of a verdict
	// Gone: it is named, and no longer stored (retention, or removed by a person).
	Gone bool `json:"gone,omitempty"`
}

// Why walks from a rule to what it is founded on: the notice that alerted, the repair that
// wrote it, the trace that went wrong, the cases it is tested on, and the verdicts about
// it, oldest first. ok is false when there is no rule of that id.
func Why(tx *store.Tx, ruleID string) (out []Origin, ok bool, err error) {
	r, ok, err := tx.Rule(ruleID)
	if err != nil || !ok {
		return nil, ok, err
	}
	by := r.Author
	if by == "" {
		by = "somebody"
	}
	out = append(out, Origin{Kind: "rule", ID: r.ID, Text: fmt.Sprintf("%s in %s, by %s: %s", r.Status, r.Scope, by, r.Text)})
	for from := r; from.EditedFrom != "" && len(out) <= originEdits; {
		id := from.EditedFrom
		if from, ok, err = tx.Rule(id); err != nil {
			return nil, false, err
		}
		o := Origin{Kind: "rule", ID: id, Gone: !ok}
		if ok {
			o.Text = fmt.Sprintf("%s, the wording before: %s", from.Status, from.Text)
		}
		out = append(out, o)
	}
	if out, err = alerted(tx, out, r.SourceNoticeID, r.EpisodeID); err != nil {
		return nil, false, err
	}
	verdicts, err := tx.Verdicts(r.ID)
	if err != nil {
		return nil, false, err
	}
	if out, err = tested(tx, out, r.FailureSignatures, verdicts); err != nil {
		return nil, false, err
	}
	for _, v := range verdicts {
		text := fmt.Sprintf("%s by %s on %d cases", v.Outcome, strings.ReplaceAll(v.Validator, "_", " "), len(v.Cases))
		if v.Reason != "" {
			text += ": " + v.Reason
		}
		out = append(out, Origin{Kind: "verdict", ID: v.ID, RuleID: r.ID, Text: text})
	}
	return out, true, nil
}

// alerted adds notice, episode and trace.
func alerted(tx *store.Tx, out []Origin, noticeID, episodeID string) ([]Origin, error) {
	n, known, err := tx.Notice(noticeID)
	if err != nil {
		return nil, err
	}
	if noticeID != "" {
		o := Origin{Kind: "notice", ID: noticeID, Gone: !known}
		if known {
			o.SessionID, o.TurnIndex = n.SessionID, n.TurnIndex
			o.Text = fmt.Sprintf("%s: %s", n.Severity, n.Summary)
		}
		out = append(out, o)
	}
	e, repaired, err := tx.Episode(episodeID)
	if err != nil {
		return nil, err
	}
	if episodeID != "" {
		o := Origin{Kind: "episode", ID: episodeID, Gone: !repaired}
		if repaired {
			o.SessionID, o.TurnIndex = e.SessionID, e.TurnIndex
			o.Text = fmt.Sprintf("%s in attempt %d", strings.ReplaceAll(string(e.Status), "_", " "), e.Attempts)
			if e.Result != nil {
				o.Text += fmt.Sprintf(", by %s after %d model turns", e.Result.Model, e.Result.Turns)
			}
			if e.Fork != nil {
				o.Text += fmt.Sprintf("; a fork of %s from turn %d on, accepted by a person", e.Fork.Of, e.Fork.Turn)
			}
		}
		out = append(out, o)
	}
	session, index := n.SessionID, n.TurnIndex
	if !known {
		session, index = e.SessionID, e.TurnIndex
	}
	if session == "" {
		return out, nil
	}
	heads, err := tx.TurnHeads(session, index, 1)
	if err != nil {
		return nil, err
	}
	o := Origin{Kind: "trace", ID: fmt.Sprintf("%s.%d", session, index), SessionID: session, TurnIndex: index, Gone: true}
	if len(heads) > 0 && heads[0].Index == index {
		h := heads[0]
		o.ID, o.Gone = h.TraceID, false
		o.Text = fmt.Sprintf("turn %d: %d calls, %d failed", index, h.Counts.Calls, h.Counts.Errors)
	}
	return append(out, o), nil
}

// tested adds the cases that the verdicts replayed, then those with the rule's signatures.
func tested(tx *store.Tx, out []Origin, signatures []string, verdicts []evidence.Verdict) ([]Origin, error) {
	used := map[string]int{}
	var ids []string
	add := func(id string) {
		if id != "" && !slices.Contains(ids, id) && len(ids) < originCases {
			ids = append(ids, id)
		}
	}
	for _, v := range verdicts {
		for _, c := range v.Cases {
			used[c.CaseID]++
			add(c.CaseID)
		}
	}
	for _, s := range signatures {
		cases, err := tx.CasesBySignature(s)
		if err != nil {
			return nil, err
		}
		for _, c := range cases {
			add(c.ID)
		}
	}
	for _, id := range ids {
		c, ok, err := tx.Case(id)
		if err != nil {
			return nil, err
		}
		o := Origin{Kind: "case", ID: id, Gone: !ok}
		if ok {
			o.SessionID, o.TurnIndex = c.SessionID, c.TurnIndex
			o.Text = string(c.Kind) + " " + strings.Join(c.Signature, " ")
		}
		if n := used[id]; n > 0 {
			o.Text += fmt.Sprintf(", replayed in %d of %d verdicts", n, len(verdicts))
		} else {
			o.Text += ", not replayed yet"
		}
		out = append(out, o)
	}
	return out, nil
}
