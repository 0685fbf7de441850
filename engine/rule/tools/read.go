package tools

import (
	"fmt"
	"sort"
	"unicode/utf8"

	"vise/engine/guard"
	"vise/engine/rule"
)

// MaxDocument bounds a document in code points. A scope with more rules is cut
// at whole rules and says so: an agent's context is not ours to fill.
const MaxDocument = 24_000

// maxScopes bounds how many scopes are listed.
const maxScopes = 200

// readScope returns the document of a scope and surfaces every rule in it.
func (t *Toolset) readScope(r rule.Reader, args map[string]any) (Result, error) {
	scope := rule.ScopeGlobal
	if v := args["scope"]; v != nil {
		name, isText := v.(string)
		if !isText {
			return Result{}, &rule.Error{Class: rule.ErrInvalidScope, Message: "scope must be a text; leave it out to read global"}
		}
		if err := rule.ValidateScope(name); err != nil {
			return Result{}, &rule.Error{Class: rule.ErrInvalidScope, Message: err.Error()}
		}
		scope = name
	}
	o := rule.DocOptions{Retrieval: t.opts.Retrieval, TopK: t.opts.TopK, TrialMin: t.opts.TrialMin}
	if t.opts.Query != "" {
		o.Query = &t.opts.Query
	}
	doc, err := rule.Document(r, scope, o)
	if err != nil {
		return Result{}, fmt.Errorf("read rules of %s: %w", scope, err)
	}
	doc, text, hidden := fit(doc, MaxDocument)
	active, provisional := ids(doc.Active), ids(doc.Provisional)
	return Result{OK: true, Data: map[string]any{
		"scope": scope, "path": "rules/" + scope + ".md", "document": text,
		"active": active, "provisional": provisional, "omitted": doc.Omitted + hidden,
	}, Hits: append(append([]string{}, active...), provisional...)}, nil
}

// fit drops rules from the end of a document until it has at most limit code
// points: active ones first, since a search still finds them, and the candidates of
// a run are what the run is about. It returns what is shown, its text, and how many
// candidates are not.
func fit(doc rule.Doc, limit int) (shown rule.Doc, text string, hidden int) {
	render := func(active, provisional int) string {
		d := doc
		d.Active, d.Provisional = doc.Active[:active], doc.Provisional[:provisional]
		d.Omitted += len(doc.Active) - active
		shown, hidden = d, len(doc.Provisional)-provisional
		text := d.Markdown()
		if hidden > 0 {
			text += fmt.Sprintf("\n%d more provisional rules are not shown; search the rules to find them.\n", hidden)
		}
		return text
	}
	fits := func(active, provisional int) bool {
		return utf8.RuneCountInString(render(active, provisional)) <= limit
	}
	p := most(len(doc.Provisional), func(n int) bool { return fits(0, n) })
	a := 0
	if p == len(doc.Provisional) {
		a = most(len(doc.Active), func(n int) bool { return fits(n, p) })
	}
	text = render(a, p)
	return shown, text, hidden
}

// most is the largest number up to n that fits, when whatever is larger than one that
// does not fit does not fit either. It never tries more than twice what fits, so its
// cost is that of what is shown and not of what is stored.
func most(n int, fits func(int) bool) int {
	high := 1
	for high < n && fits(high) {
		high *= 2
	}
	return sort.Search(min(high, n), func(i int) bool { return !fits(i + 1) })
}

func ids(rules []rule.Rule) []string {
	out := make([]string, len(rules))
	for i, r := range rules {
		out[i] = r.ID
	}
	return out
}

// list returns the index of scopes and surfaces nothing: it holds no rule text.
func (t *Toolset) list(r rule.Reader, _ map[string]any) (Result, error) {
	entries, err := rule.Index(r)
	if err != nil {
		return Result{}, fmt.Errorf("list scopes: %w", err)
	}
	omitted := max(0, len(entries)-maxScopes)
	entries = entries[:len(entries)-omitted]
	text := rule.RootMarkdown(entries)
	if omitted > 0 {
		text += fmt.Sprintf("\n%d more scopes are not listed; search the rules to find theirs.\n", omitted)
	}
	return Result{OK: true, Data: map[string]any{"document": text, "scopes": entries, "omitted": omitted}}, nil
}

// Found is one hit of a search.
type Found struct {
	ID      string      `json:"id"`
	Scope   string      `json:"scope"`
	Status  rule.Status `json:"status"`
	Score   float64     `json:"score"`
	Snippet string      `json:"snippet"` // one line, at most 240 code points
}

// search ranks active rules and visible candidates and surfaces the hits.
func (t *Toolset) search(r rule.Reader, args map[string]any) (Result, error) {
	v := args["query"]
	if v == nil {
		return Result{}, missing("query", "what to look for, such as the name of a tool")
	}
	hits, err := rule.Search(r, guard.Head(rule.TextOf(v), maxQuery), limit(args["limit"]))
	if err != nil {
		return Result{}, fmt.Errorf("search rules: %w", err)
	}
	found := make([]Found, len(hits))
	res := Result{OK: true, Data: map[string]any{"hits": found}, Hits: make([]string, len(hits))}
	for i, h := range hits {
		found[i] = Found{ID: h.Rule.ID, Scope: h.Rule.Scope, Status: h.Rule.Status, Score: h.Score, Snippet: h.Snippet()}
		res.Hits[i] = h.Rule.ID
	}
	return res, nil
}

// Lifecycle is what a forward trial showed so far.
type Lifecycle struct {
	BaselineRate     float64 `json:"baseline_rate"` // share of sessions that breached before the rule; 1 without any
	TrialRate        float64 `json:"trial_rate"`    // and since; 0 without any
	SessionsObserved int     `json:"sessions_observed"`
	SessionsNeeded   int     `json:"sessions_needed"`
	ReplayAttempts   int     `json:"replay_attempts"`
	Verdict          string  `json:"verdict"`
}

// status tells where a rule stands in its life, retired ones included. A candidate
// that the view hides does not exist here either.
func (t *Toolset) status(r rule.Reader, args map[string]any) (Result, error) {
	v := args["rule_id"]
	if v == nil {
		return Result{}, missing("rule_id", "the id that a document or a search gave")
	}
	id := rule.TextOf(v)
	found, ok, err := r.Rule(id)
	if err != nil {
		return Result{}, fmt.Errorf("status of rule %s: %w", guard.Line(id, 60), err)
	}
	if !ok {
		return Result{}, &rule.Error{Class: rule.ErrRuleMissing, Message: fmt.Sprintf("there is no rule %q; search the rules to find its id", guard.Line(id, 60))}
	}
	data := map[string]any{"id": found.ID, "scope": found.Scope, "status": found.Status, "applicability": found.Applicability, "lifecycle": nil}
	if found.Trial != nil {
		data["lifecycle"] = lifecycle(*found.Trial, t.opts.TrialMin)
	}
	return Result{OK: true, Data: data, Hits: []string{found.ID}}, nil
}

func lifecycle(trial rule.Trial, needed int) Lifecycle {
	l := Lifecycle{BaselineRate: 1, SessionsObserved: len(trial.ObservedSessions), SessionsNeeded: needed,
		ReplayAttempts: trial.ReplayAttempts, Verdict: trial.Verdict}
	if trial.BaselineSessions > 0 {
		l.BaselineRate = float64(trial.BaselineBreachedSessions) / float64(trial.BaselineSessions)
	}
	if l.SessionsObserved > 0 {
		l.TrialRate = float64(len(trial.BreachedSessions)) / float64(l.SessionsObserved)
	}
	return l
}
