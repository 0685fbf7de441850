package repair

import (
	"context"
	"fmt"
	"slices"

	"vise/engine/episode"
	"vise/engine/event"
	"vise/engine/guard"
	"vise/engine/model"
	"vise/engine/notice"
	"vise/engine/rule"
	"vise/store"
)

// Fork goes on from a branch of a past run, as the episode's fork says. It holds at the
// same checkpoints and ends like Run. What it writes stays in its own record: the rules,
// the notices and the counts of everything else are only read. Its rules are those of
// then; a notice that has been closed since is pending for it.
//
// The kept turns must be stored under the fork's id already.
func (a *Agent) Fork(ctx context.Context, ep episode.Episode, as episode.Assignment, b Branch, then rule.Past) episode.Result {
	r := a.newRun(ep, as)
	r.branch, r.then = &b, then
	return r.run(ctx)
}

// resume takes over the kept conversation.
func (r *run) resume() {
	b := r.branch
	for _, l := range b.Lines {
		r.messages = append(r.messages, l.message())
	}
	r.told = b.told
	r.turn = b.Turn
	r.tools.found = b.found(r.ep.Fork.Candidate)
}

// again executes the calls of the last kept turn that have no result: their arguments
// were changed, or the run ended before them.
func (r *run) again(ctx context.Context) (end ending, done bool) {
	b := r.branch
	if b.Turn == 0 {
		return ending{}, false
	}
	last := b.Steps[b.Turn-1]
	if last.Error != "" || !slices.ContainsFunc(last.Calls, func(c episode.Call) bool { return !c.Ran }) {
		return ending{}, false
	}
	r.step = last
	r.step.Calls = slices.Clone(last.Calls)
	for i, c := range last.Calls {
		if c.Ran {
			continue
		}
		r.edited = r.ep.Fork.Edited != nil && r.ep.Fork.Edited.Call == i+1
		if end, stop := r.execute(ctx, i, model.Call{ID: c.ID, Name: c.Name, Arguments: c.Arguments}); stop {
			return end, true
		}
		if r.tools.found.resolution != "" {
			return ending{}, true
		}
	}
	r.edited = false
	r.nudge()
	return ending{}, false
}

// past is the run's view of the rules: the fork's own candidate is among them.
func (r *run) past() rule.Past {
	p := r.then
	if c := r.ep.Fork.Candidate; c != nil {
		p.Own = append(slices.Clone(p.Own), *c)
	}
	return p
}

// rules are the rules as the run sees them.
func (t *toolset) rules(tx *store.Tx) rule.Reader {
	if t.run.ep.Fork == nil {
		return tx
	}
	return t.run.past().View(tx)
}

// pastRules is the source of the reads of a fork.
type pastRules struct{ r *run }

func (p pastRules) ReadRules(fn func(rule.Reader) error) error {
	return p.r.agent.Store.ReadRules(func(r rule.Reader) error { return fn(p.r.past().View(r)) })
}

// offered are the tools that the run has.
func (r *run) offered() []model.Tool {
	all := toolDefinitions()
	if r.ep.Fork == nil {
		return all
	}
	return slices.DeleteFunc(all, func(t model.Tool) bool { return slices.Contains(r.ep.Fork.Denied, t.Name) })
}

// denied refuses a call of a tool that the fork does not have.
func (t *toolset) denied(name string) (outcome, bool) {
	if f := t.run.ep.Fork; f != nil && slices.Contains(f.Denied, name) {
		return refused(refuse(rule.ErrUnsupported, "this fork does not have %s", guard.Line(name, 80))), true
	}
	return outcome{}, false
}

// keepCandidate keeps the rule that a fork wrote in its own record.
func (t *toolset) keepCandidate(tx *store.Tx, r rule.Rule) error {
	f := *t.run.ep.Fork
	f.Candidate = &r
	ep := t.run.ep
	ep.Fork = &f
	if err := tx.PutEpisode(ep); err != nil {
		return err
	}
	t.run.ep = ep
	return nil
}

// keepResolution keeps what a fork would have done to the notices.
func (t *toolset) keepResolution(kind, ruleID, note string) {
	f := *t.run.ep.Fork
	f.Resolution = &notice.Resolution{Kind: kind, RuleID: ruleID, Note: note, By: t.run.ep.ID, At: t.run.stamp()}
	t.run.ep.Fork = &f
	t.found.resolution = kind
}

// Open is the notice as it was while the episode was open.
func Open(n notice.Notice) notice.Notice {
	n.Status, n.Resolution = notice.Pending, nil
	return n
}

// ToolNames resolves names of tools as a person writes them, with or without "harness_"
// and with * for any text.
func ToolNames(patterns []string) ([]string, error) {
	var out []string
	for _, p := range patterns {
		known := false
		for _, name := range toolNames() {
			if toolMatches(p, name) {
				known = true
				if !slices.Contains(out, name) {
					out = append(out, name)
				}
			}
		}
		if !known {
			return nil, fmt.Errorf("there is no tool %s; the repair agent has %v", guard.Line(p, 80), toolNames())
		}
	}
	return out, nil
}

// Adopt makes the candidate of a fork one of the live rules on a person's word, as a
// candidate that validation judges like any other. It passes every check that a rule of
// the repair agent passes, against the rules of now.
//
// Errors are of type *rule.Error when it is refused: said by another rule already,
// retired by evidence, quoting how the agent is graded, or one more than rules.max_active.
func Adopt(tx *store.Tx, c Config, fork episode.Episode, now string) (rule.Rule, error) {
	if fork.Fork == nil || fork.Fork.Candidate == nil {
		return rule.Rule{}, refuse(rule.ErrRuleMissing, "the fork wrote no rule")
	}
	r := *fork.Fork.Candidate
	if _, there, err := tx.Rule(r.ID); err != nil {
		return r, err
	} else if there {
		return r, refuse(rule.ErrSaid, "rule %s, which the kept turns wrote, is among the rules already", r.ID)
	}
	r.CreatedAt, r.Trial = now, nil
	r.EpisodeID, r.ForkOf = fork.ID, fork.Fork.Of
	return r, admit(tx, c, &r, fork.SessionID, fork.TurnIndex, event.Event{EpisodeID: fork.ID, Data: map[string]any{"by": rule.Person, "fork_of": r.ForkOf}})
}
