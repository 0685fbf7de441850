package repair

import (
	"encoding/json"
	"slices"

	"vise/engine/event"
	"vise/engine/evidence"
	"vise/engine/guard"
	"vise/engine/notice"
	"vise/engine/rule"
	"vise/store"
)

// Bounds of what the agent may say beside the rule, in code points and items.
const (
	maxScopeRationale = 240
	maxTags           = 16
)

// ruleAdd writes the episode's one candidate, unless a rule covers it already.
// The order of the checks is part of the contract: a refused call has decided
// what was checked before.
func (t *toolset) ruleAdd(tx *store.Tx, args map[string]any) (outcome, error) {
	if t.found.resolution != "" {
		return outcome{}, refuse(rule.ErrNotPending, "the episode is resolved as %s", t.found.resolution)
	}
	if len(t.found.candidates) > 0 {
		return outcome{}, refuse(rule.ErrCandidateLimit, "this episode has its candidate: %s", t.found.candidates[0])
	}
	scope, applicability, err := rule.ResolveScope(rule.ScopeArgs{Scope: args["scope"], Applicability: args["applicability"],
		Recommended: t.run.as.RecommendedScope, Generic: t.run.as.GenericLabels})
	if err != nil {
		return outcome{}, err
	}
	metric, err := rule.ParseMetric(args["metric"])
	if err != nil {
		return outcome{}, err
	}
	t.found.selectedScope = scope
	rationale, _ := text(args, "scope_rationale")
	rationale, _ = t.run.redactor.Text(rationale)
	t.found.scopeRationale = guard.Trim(guard.Sanitize(rationale, maxScopeRationale))

	words, err := required(args, "rule")
	if err != nil {
		return outcome{}, err
	}
	notices, err := t.notices(tx)
	if err != nil {
		return outcome{}, err
	}
	proposal := rule.Rule{
		Text: guard.Trim(t.clean(words)), Metric: metric, Scope: scope, Applicability: applicability,
		Tags: tags(args["tags"], notices), FailureSignatures: signatures(notices),
	}
	if proposal.Text != "" {
		if out, covered, err := t.covered(tx, proposal); covered || err != nil {
			return out, err
		}
	}
	why, err := required(args, "rationale")
	if err != nil {
		return outcome{}, err
	}
	proposal.Rationale = guard.Trim(t.clean(why))
	if proposal.Text == "" {
		return outcome{}, refuse(rule.ErrEmptyRule, "nothing of the rule's text is left after sanitising")
	}
	if err := t.leaks(tx, proposal); err != nil {
		return outcome{}, err
	}
	if t.run.ep.Fork == nil { // what a fork writes takes no room until it is accepted
		if err := room(tx, t.agent.Config.MaxActive); err != nil {
			return outcome{}, err
		}
	}
	return t.create(tx, proposal)
}

// room refuses a further live rule where the project has as many as it may.
func room(tx *store.Tx, limit int) error {
	if limit <= 0 {
		return nil
	}
	live, err := tx.LiveRules(limit)
	if err == nil && live >= limit {
		err = refuse(rule.ErrRuleCap, "the project has as many live rules as rules.max_active allows (%d)", limit)
	}
	return err
}

// maxAnswers bounds the expected answers of one session that rules are compared with.
const maxAnswers = 200

// leaks refuses a rule that quotes how the agent is graded or what the answer is: an
// agent that follows it would pass without getting better.
func (t *toolset) leaks(tx *store.Tx, r rule.Rule) error {
	return leaks(tx, t.agent.Config.Protected, t.run.ep.SessionID, t.run.ep.TurnIndex, r)
}

func leaks(tx *store.Tx, graded []guard.Protected, sessionID string, index int, r rule.Rule) error {
	protected := slices.Clone(graded)
	session, _, err := tx.Session(sessionID)
	if err != nil {
		return err
	}
	turn, _, err := tx.Turn(sessionID, index)
	if err != nil {
		return err
	}
	var state any
	_ = json.Unmarshal(turn.EndState, &state) // absent or no JSON: it names no answer
	for _, v := range []any{state, map[string]any(session.Attrs)} {
		for _, answer := range guard.Answers(v, maxAnswers) {
			protected = append(protected, guard.Protected{Name: "an expected answer", Text: answer, Whole: true})
		}
	}
	for _, s := range []string{r.Text, r.Rationale} {
		if fragment, name, found := guard.Leak(s, protected); found {
			return refuse(rule.ErrLeak, "it quotes %s: %q; say in general terms what the agent should do", name, guard.Line(fragment, 120))
		}
	}
	return nil
}

// notices returns the episode's notices in joining order; vanished ones are left out.
func (t *toolset) notices(tx *store.Tx) ([]notice.Notice, error) {
	var out []notice.Notice
	for _, id := range t.run.ep.NoticeIDs {
		n, found, err := tx.Notice(id)
		if err != nil {
			return nil, err
		}
		if found {
			out = append(out, n)
		}
	}
	return out, nil
}

// covered reports the rule that says the proposal already. All that do become
// considered; the first is the one to point at. A rule that evidence has retired
// may not come back word for word.
func (t *toolset) covered(tx *store.Tx, proposal rule.Rule) (outcome, bool, error) {
	rules, err := rule.Comparable(t.rules(tx), proposal)
	if err != nil {
		return outcome{}, false, err
	}
	all := rule.Covering(rules, proposal)
	for _, c := range all {
		t.found.consider(c.RuleID)
	}
	first, recommended := rule.Coverage{}, ""
	switch {
	case len(all) > 0:
		first, recommended = all[0], "duplicate"
		if first.Status == rule.Candidate {
			recommended = "already_covered"
		}
		t.found.existingRule = first.RuleID
	default:
		var retired bool
		if first, retired = rule.Disproved(rules, proposal); !retired {
			return outcome{}, false, nil
		}
		recommended = "no_proposal"
		t.found.consider(first.RuleID)
	}
	t.found.suppression = first.Reason
	existing, _, err := t.rules(tx).Rule(first.RuleID)
	if err != nil {
		return outcome{}, false, err
	}
	return outcome{ok: true, data: map[string]any{"ok": true, "created": false,
		"suppression_reason": first.Reason, "recommended_resolution": recommended,
		"existing": map[string]any{"id": existing.ID, "scope": existing.Scope, "status": string(existing.Status), "rule": clean(t.run.redactor, existing.Text, t.run.textMax())},
	}}, true, nil
}

// create stores the candidate with its trial, its scope's description and the
// episode's memory of it, and journals it.
func (t *toolset) create(tx *store.Tx, r rule.Rule) (outcome, error) {
	r.ID = t.agent.Store.NewID("r")
	r.CreatedAt = t.run.stamp()
	r.EpisodeID, r.Author = t.run.ep.ID, t.agent.modelName()
	if len(t.run.ep.NoticeIDs) > 0 {
		r.SourceNoticeID = t.run.ep.NoticeIDs[0]
	}
	if t.run.ep.Fork != nil {
		if r.Status = rule.Candidate; t.run.edited {
			r.Author = rule.Person
		}
		if err := t.keepCandidate(tx, r); err != nil {
			return outcome{}, err
		}
		return t.added(r), nil
	}
	if err := begin(tx, &r, t.agent.Config.ValidationOn); err != nil {
		return outcome{}, err
	}
	if err := tx.PutRule(r); err != nil {
		return outcome{}, err
	}
	for _, h := range t.run.as.ScopeHints {
		if key, ok := rule.NormalizeScopeOrNone(h.Key); ok && key == r.Scope {
			if err := tx.PutScopeDescription(r.Scope, rule.ScopeDescription(h.Description, r.Scope)); err != nil {
				return outcome{}, err
			}
			break
		}
	}
	t.run.ep.CandidateID = r.ID
	if err := tx.PutEpisode(t.run.ep); err != nil {
		t.run.ep.CandidateID = ""
		return outcome{}, err
	}
	e := t.run.event(event.RuleAdd, map[string]any{"scope": r.Scope, "status": string(r.Status), "metric": r.Metric, "applicability": r.Applicability})
	e.RuleID, e.NoticeID = r.ID, r.SourceNoticeID
	if err := tx.Emit(e); err != nil {
		return outcome{}, err
	}
	out := t.added(r)
	out.created = r.ID
	return out, nil
}

// added is the answer about a rule that was added.
func (t *toolset) added(r rule.Rule) outcome {
	t.found.candidates = append(t.found.candidates, r.ID)
	// What an earlier, suppressed attempt ran into does not describe this rule.
	t.found.suppression, t.found.existingRule = "", ""
	return outcome{ok: true, data: map[string]any{"ok": true, "created": true, "rule": map[string]any{
		"id": r.ID, "rule": r.Text, "rationale": r.Rationale, "status": string(r.Status), "scope": r.Scope,
		"applicability": r.Applicability, "metric": r.Metric, "tags": r.Tags, "failure_signatures": r.FailureSignatures,
		"source_notice_id": r.SourceNoticeID}}}
}

// begin makes a new rule a candidate with its trial; where nothing validates it is
// active at once.
func begin(tx *store.Tx, r *rule.Rule, validates bool) error {
	if r.Status = rule.Active; !validates {
		return nil
	}
	events, err := tx.LastEvents(evidence.BaselineWindow, event.Notice, event.Recovery)
	if err != nil {
		return err
	}
	trial := evidence.Baseline(events, r.Metric)
	trial.StartedAt, trial.TracksReads = r.CreatedAt, true
	r.Status, r.Trial = rule.Candidate, &trial
	return nil
}

// tags are the model's own, then those of the notices. The notices' tags select
// the cases a rule is replayed on, so the model's give way when there are too many.
func tags(v any, notices []notice.Notice) []string {
	var derived []string
	for _, n := range notices {
		derived = append(derived, notice.DeriveTags(n)...)
	}
	derived = rule.CleanTags(derived)
	var own []string
	if list, ok := v.([]any); ok {
		for _, x := range list[:min(len(list), 4*maxTags)] {
			s := rule.TextOf(x)
			own = append(own, guard.Sanitize(s, 0))
		}
	}
	own = rule.CleanTags(own)
	return rule.CleanTags(append(head(own, max(0, maxTags-len(derived))), derived...))
}

func signatures(notices []notice.Notice) []string {
	var out []string
	for _, n := range notices {
		for _, s := range n.Signatures {
			if !slices.Contains(out, s) {
				out = append(out, s)
			}
		}
	}
	return rule.CleanSignatures(out)
}
