package tui

import (
	"fmt"
	"slices"
	"strings"

	"vise/engine"
	"vise/engine/rule"
	"vise/tui/style"
)

// ruleMarkdown is the rule as agents read it, and why.
func ruleMarkdown(r rule.Rule) string {
	s := r.Text
	if r.Rationale != "" {
		s += "\n\n> " + strings.ReplaceAll(r.Rationale, "\n", "\n> ")
	}
	return s
}

// facts are where the rule comes from, its trial and its verdicts.
func (p *rulesPane) facts() []string {
	r := p.shown.rule
	var rows []string
	fact := func(name string, role style.Role, text string) {
		if text == "" {
			return
		}
		const label = 10
		for i, l := range p.part(max(1, p.w-label-1)).wrapped(role, text, 0, 0, 4) {
			if i > 0 {
				name = ""
			}
			rows = append(rows, p.st().Row(label+1, style.Plain).Space(1).Cell(style.Heading, name, label).String()+l)
		}
	}
	fact("status", statusRole(r), string(r.Status)+reason(r))
	if r.Flagged() {
		fact("flagged", style.Bad, stamp(r.Flag.At)+"  "+r.Flag.Why)
	}
	if p.shown.expired != "" {
		fact("expired", style.Warn, p.shown.expired+": its verdict does not hold for what runs now; it waits for a new test")
	}
	fact("scope", style.Text, r.Scope+", "+r.Applicability)
	fact("metric", style.Text, r.Metric)
	fact("from", style.Dim, strings.TrimSpace(strings.Join([]string{tag(r.SourceNoticeID), tag(r.EpisodeID), "by " + author(r.Author), stamp(r.CreatedAt)}, "  ")))
	if r.ForkOf != "" {
		fact("fork", style.Dim, "of "+tag(r.ForkOf)+", accepted by a person")
	}
	if r.EditedFrom != "" {
		fact("edited", style.Dim, "from "+tag(r.EditedFrom))
	}
	if t := r.Trial; t != nil {
		trial := fmt.Sprintf("%s observed, %d breached", count(len(t.ObservedSessions), "session"), len(t.BreachedSessions))
		trial += fmt.Sprintf("; baseline %d of %d; %s", t.BaselineBreachedSessions, t.BaselineSessions, count(t.ReplayAttempts, "inconclusive replay"))
		fact("trial", style.Text, trial)
	}
	for i := len(p.shown.verdicts) - 1; i >= 0; i-- {
		v := p.shown.verdicts[i]
		fact("verdict", outcomeRole(v.Outcome), clock(v.At)+"  "+verdictWords(v))
	}
	if len(p.shown.verdicts) == 0 && r.Status == rule.Candidate {
		fact("verdict", style.Dim, p.ctx.Text("none yet: {run.validate_rule} validates this rule"))
	}
	if hb := p.shown.holdback; hb != nil {
		fact("holdback", style.Text, engine.HoldbackWords(*hb))
	}
	if u := p.shown.uptake; u.Live.Offered+u.Replay.Offered > 0 {
		read := fmt.Sprintf("in %d of %s, in %d of %s", u.Live.Read, count(u.Live.Offered, "live run"), u.Replay.Read, count(u.Replay.Offered, "replay"))
		if u.Live.Recurred > 0 {
			read += fmt.Sprintf("; what it is about went wrong all the same in %d", u.Live.Recurred)
		}
		fact("read", style.Text, read)
	}
	return rows
}

func reason(r rule.Rule) string {
	if r.Reason == "" {
		return ""
	}
	return ": " + r.Reason
}

// author says it when no model wrote the rule.
func author(name string) string {
	if strings.HasPrefix(name, "builtin/") {
		return name + " (fixed rules, no language model)"
	}
	if name == "" {
		return "somebody"
	}
	return name
}

// hasCandidate reports whether a rule waits for evidence; it may when not all are read.
func (p *rulesPane) hasCandidate() bool {
	_, more := p.list.More()
	return more || slices.ContainsFunc(p.list.Items(), func(r rule.Rule) bool { return r.Status == rule.Candidate })
}

// status of a rule as far as it is read, "" when it is not.
func (p *rulesPane) status(id string) rule.Status {
	if p.shown.found && p.shown.id == id {
		return p.shown.rule.Status
	}
	for _, r := range p.list.Items() {
		if r.ID == id {
			return r.Status
		}
	}
	return ""
}

func statusRole(r rule.Rule) style.Role {
	if r.Flagged() {
		return style.Bad
	}
	switch r.Status {
	case rule.Active:
		return style.Good
	case rule.Candidate:
		return style.Info
	case rule.Quarantined:
		return style.Bad
	}
	return style.Faint
}
