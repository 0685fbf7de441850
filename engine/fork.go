package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"vise/engine/episode"
	"vise/engine/event"
	"vise/engine/model"
	"vise/engine/notice"
	"vise/engine/repair"
	"vise/engine/rule"
	"vise/engine/trace"
	"vise/store"
)

// maxForks bounds the forks that are kept of one session's repairs.
const maxForks = 200

// ForkSpec is a what-if: from where a past repair goes on, and what is changed. Zero
// values keep what the settings say.
type ForkSpec struct {
	Episode string // may be a fork itself
	Attempt int    // the run of it; 0 = the newest
	repair.Change
	Model     string // provider/model; "" = the repair model
	MaxTurns  int    // with the kept turns
	MaxTokens int    // output tokens of the fork alone
	Timeout   time.Duration
	Deny      []string // tools that the fork does not have; "rule_add" is harness_rule_add
}

// Fork lets a past repair go on from one of its turns under other conditions, and
// returns how that ended. It reads the rules as they were then, and the notices as if
// they were open; what it writes stays in its own record. Only its cost is real: the
// ledger counts it. A fork that did not end well is no error of Fork.
//
// Until it has begun, errors say what is wrong with the spec; nothing is stored then.
func (h *Harness) Fork(ctx context.Context, s ForkSpec) (episode.Episode, error) {
	ep, err := h.fork(ctx, s)
	if err != nil {
		return ep, fmt.Errorf("fork episode %s: %w", s.Episode, err)
	}
	return ep, nil
}

func (h *Harness) fork(ctx context.Context, s ForkSpec) (episode.Episode, error) {
	denied, err := repair.ToolNames(s.Deny)
	if err != nil {
		return episode.Episode{}, err
	}
	agent, done, err := h.forkAgent(ctx, s)
	if err != nil {
		return episode.Episode{}, err
	}
	defer done()
	id := h.store.NewID("f")
	r, end := h.claim(id)
	defer end()
	var in repair.Input
	var branch repair.Branch
	var then rule.Past
	var ep episode.Episode
	if err := h.store.Update(ctx, func(tx *store.Tx) error {
		from, err := forkable(tx, s.Episode)
		if err != nil {
			return err
		}
		attempt := from.Attempts
		if s.Attempt > 0 {
			attempt = s.Attempt
		}
		s.Change.Redactor = h.red
		if branch, err = branchOf(tx, from, attempt, s.Change); err != nil {
			return err
		}
		if branch.Turn >= agent.Config.MaxTurns {
			return fmt.Errorf("%d of its model turns are kept, and the fork may have %d with them: allow more (--max-turns) or keep fewer", branch.Turn, agent.Config.MaxTurns)
		}
		f := episode.Fork{Of: from.ID, Attempt: attempt, Turn: branch.Turn, Model: agent.Model.Name(), MaxTurns: agent.Config.MaxTurns,
			MaxTokens: agent.Config.MaxTokens, Timeout: agent.Config.Timeout, Denied: denied, Edited: branch.Edited, Cut: branch.Cut, AsOf: branch.At.UTC()}
		if from.Fork != nil && branch.Turn >= from.Fork.Turn {
			f.AsOf = from.Fork.AsOf // a fork lives in the time that it goes on from
		}
		if f.Candidate, err = keptCandidate(tx, from, branch.CandidateID); err != nil {
			return err
		}
		ep = episode.Episode{ID: id, SessionID: from.SessionID, TurnIndex: from.TurnIndex, NoticeIDs: from.NoticeIDs,
			AllowedTraces: from.AllowedTraces, RecommendedScope: from.RecommendedScope, CreatedAt: h.now(), Status: episode.Open, Fork: &f}
		for i := range branch.Steps {
			step := &branch.Steps[i]
			step.EpisodeID, step.Attempt, step.Kept = ep.ID, 1, true
			step.Usage = trace.Usage{}
			if err := tx.PutStep(*step); err != nil {
				return err
			}
		}
		if then, err = rulesAsOf(tx, f.AsOf); err != nil {
			return err
		}
		// What the runs that it goes on from wrote later, on however coarse a clock.
		for e := from; ; {
			if e.CandidateID != "" && e.CandidateID != branch.CandidateID {
				then.Gone = append(then.Gone, e.CandidateID)
			}
			if e.Fork == nil {
				break
			}
			if e, _, err = tx.Episode(e.Fork.Of); err != nil {
				return err
			}
		}
		if in, err = h.repairInput(tx, ep); err != nil {
			return err
		}
		if err := tx.PutEpisode(ep); err != nil {
			return err
		}
		return tx.Emit(event.Event{Type: event.EpisodeForked, SessionID: ep.SessionID, TurnIndex: event.Turn(ep.TurnIndex), EpisodeID: ep.ID,
			Data: forkData(f)})
	}); err != nil {
		return episode.Episode{}, err
	}
	ctx, stop := h.runContext(ctx)
	defer stop()
	r.result = agent.Fork(ctx, in.Episode, repair.BuildAssignment(in), branch, then)
	err = nil
	if r.result.ErrorCategory == string(model.KindBudget) {
		err = h.store.Update(context.WithoutCancel(ctx), func(tx *store.Tx) error { return h.stopped(tx, r.result.Error) })
	}
	return ep, errors.Join(err, h.store.View(func(tx *store.Tx) (err error) {
		ep, _, err = tx.Episode(ep.ID)
		return err
	}))
}

// forkAgent is the repair agent of a fork; done gives its model back.
func (h *Harness) forkAgent(ctx context.Context, s ForkSpec) (agent *repair.Agent, done func(), err error) {
	done = func() {}
	switch {
	case h.cfg.Evaluate.ObserveOnly:
		return nil, nil, errors.New("evaluate.observe_only is on: nothing is repaired")
	case h.agent != nil:
		a := *h.agent
		agent = &a
	default:
		agent = &repair.Agent{Redactor: h.red, Store: h.store, Stepper: h.stepper, Bus: h.bus, Now: h.store.Now, Config: repairConfig(h.cfg)}
	}
	if s.Model != "" && (agent.Model == nil || s.Model != agent.Model.Name()) {
		if h.modelFor == nil {
			return nil, nil, fmt.Errorf("model %s: no models can be made here", s.Model)
		}
		m, err := h.modelFor(ctx, s.Model)
		if err != nil {
			return nil, nil, fmt.Errorf("model %s: %w", s.Model, err)
		}
		agent.Model, done = m, m.Close
	}
	if agent.Model == nil {
		return nil, nil, errors.New("no model: name one, or set repair.model, e.g. \"builtin/heuristic\" (free, no network)")
	}
	c := &agent.Config
	if s.MaxTurns > 0 {
		c.MaxTurns = s.MaxTurns
	}
	if s.MaxTokens > 0 {
		c.MaxTokens = s.MaxTokens
	}
	if s.Timeout > 0 {
		c.Timeout = s.Timeout
	}
	return agent, done, nil
}

// forkable is an episode that a fork may go on from.
func forkable(tx *store.Tx, id string) (episode.Episode, error) {
	e, ok, err := tx.Episode(id)
	switch {
	case err != nil:
		return e, err
	case !ok:
		return e, fmt.Errorf("no such episode; vise episodes ls lists them")
	case e.Status == episode.Running:
		return e, fmt.Errorf("it is running: wait for its end or cancel it")
	}
	list, err := tx.EpisodesOfSession(e.SessionID)
	if err != nil {
		return e, err
	}
	n := 0
	for _, x := range list {
		if x.Fork != nil {
			n++
		}
	}
	if n >= maxForks {
		return e, fmt.Errorf("its session has %d forks: remove some with vise episodes rm FORK", n)
	}
	return e, nil
}

// branchOf cuts one run of an episode.
func branchOf(tx *store.Tx, e episode.Episode, attempt int, c repair.Change) (repair.Branch, error) {
	steps, err := tx.Steps(e.ID)
	if err != nil {
		return repair.Branch{}, err
	}
	steps = slices.DeleteFunc(steps, func(s episode.Step) bool { return s.Attempt != attempt })
	var ended time.Time
	if e.Result != nil && attempt == e.Attempts {
		ended = e.Result.Ended
	}
	b, err := repair.NewBranch(steps, ended, c)
	if err != nil && attempt != e.Attempts {
		err = fmt.Errorf("attempt %d: %w", attempt, err)
	}
	return b, err
}

// keptCandidate is the rule that the kept turns added, as the fork's own.
func keptCandidate(tx *store.Tx, from episode.Episode, id string) (*rule.Rule, error) {
	if id == "" {
		return nil, nil
	}
	if from.Fork != nil && from.Fork.Candidate != nil && from.Fork.Candidate.ID == id {
		return from.Fork.Candidate, nil
	}
	versions, err := tx.RuleVersions(id)
	if err != nil {
		return nil, err
	}
	if len(versions) == 0 {
		return nil, fmt.Errorf("its kept turns added rule %s, which is not stored any more: keep fewer", id)
	}
	return &versions[0], nil
}

// rulesAsOf is what must be known to see the rules as they were at a time. The journal
// tells which have moved since, their versions what they were.
func rulesAsOf(tx *store.Tx, at time.Time) (rule.Past, error) {
	p := rule.Past{Until: at.UTC().Format(timeText), Was: map[string]rule.Rule{}}
	moves := map[string]int{}
	for n := 256; ; n *= 4 {
		events, err := tx.LastEvents(n, event.RulePromote, event.RuleRetire, event.RuleRestore)
		if err != nil {
			return p, err
		}
		if len(events) == n && events[n-1].At.After(at) {
			continue
		}
		for _, e := range events {
			if e.At.After(at) && e.RuleID != "" {
				moves[e.RuleID]++
			}
		}
		break
	}
	for id, n := range moves {
		versions, err := tx.RuleVersions(id)
		if err != nil {
			return p, err
		}
		i := len(versions) - 1
		for ; i > 0 && n > 0; i-- {
			if versions[i].Status != versions[i-1].Status {
				n--
			}
		}
		if i >= 0 {
			p.Was[id] = versions[i]
		}
	}
	return p, nil
}

// forkData is what the journal tells of a fork: ids, counts and names.
func forkData(f episode.Fork) map[string]any {
	data := map[string]any{"fork_of": f.Of, "turn": f.Turn, "model": f.Model, "max_turns": f.MaxTurns, "max_tokens": f.MaxTokens, "timeout": f.Timeout.String()}
	if len(f.Denied) > 0 {
		data["denied"] = strings.Join(f.Denied, " ")
	}
	if e := f.Edited; e != nil && e.Message > 0 {
		data["edited"] = fmt.Sprintf("message %d", e.Message)
	} else if e != nil {
		data["edited"] = fmt.Sprintf("arguments of call %d", e.Call)
	}
	return data
}

// AcceptFork makes the candidate that a fork wrote one of the live rules, where
// validation judges it like any other. It passes novelty, leak and refusal checks
// against the rules of now. What the fork decided about its notices is not done: they
// are closed by their own repair or by a person.
func (h *Harness) AcceptFork(ctx context.Context, id string) (rule.Rule, error) {
	var r rule.Rule
	if err := h.store.Update(ctx, func(tx *store.Tx) error {
		ep, err := h.endedFork(tx, id)
		if err != nil {
			return err
		}
		switch f := ep.Fork; {
		case f.AcceptedAt != "":
			return fmt.Errorf("it is accepted already, as rule %s", ep.CandidateID)
		case f.Candidate == nil:
			return fmt.Errorf("it wrote no rule: it ended %s, and there is nothing to accept", ep.Status)
		}
		if r, err = repair.Adopt(tx, repairConfig(h.cfg), ep, h.now()); err != nil {
			return err
		}
		f := *ep.Fork
		f.AcceptedAt = h.now()
		ep.Fork, ep.CandidateID = &f, r.ID
		if err := tx.PutEpisode(ep); err != nil {
			return err
		}
		return tx.Emit(event.Event{Type: event.ForkAccepted, SessionID: ep.SessionID, TurnIndex: event.Turn(ep.TurnIndex), EpisodeID: ep.ID, RuleID: r.ID,
			Data: map[string]any{"fork_of": f.Of, "by": rule.Person}})
	}); err != nil {
		return r, fmt.Errorf("accept fork: %w", err)
	}
	return r, nil
}

// RemoveFork removes a fork with its transcript. One whose candidate was accepted stays:
// it is where that rule comes from.
func (h *Harness) RemoveFork(ctx context.Context, id string) error {
	if err := h.store.Update(ctx, func(tx *store.Tx) error {
		ep, err := h.endedFork(tx, id)
		if err != nil {
			return err
		}
		if ep.Fork.AcceptedAt != "" {
			return fmt.Errorf("its candidate was accepted: it is where rule %s comes from", ep.CandidateID)
		}
		return removeFork(tx, ep, rule.Person)
	}); err != nil {
		return fmt.Errorf("remove fork: %w", err)
	}
	return nil
}

func removeFork(tx *store.Tx, ep episode.Episode, by string) error {
	if err := tx.DeleteFork(ep); err != nil {
		return err
	}
	return tx.Emit(event.Event{Type: event.ForkRemoved, SessionID: ep.SessionID, TurnIndex: event.Turn(ep.TurnIndex), EpisodeID: ep.ID,
		Data: map[string]any{"fork_of": ep.Fork.Of, "by": by}})
}

// endedFork is a fork that nothing is running any more.
func (h *Harness) endedFork(tx *store.Tx, id string) (episode.Episode, error) {
	ep, ok, err := tx.Episode(id)
	switch {
	case err != nil:
		return ep, err
	case !ok:
		return ep, fmt.Errorf("no fork %q; vise episodes ls marks them", id)
	case ep.Fork == nil:
		return ep, fmt.Errorf("episode %s is no fork", id)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if ep.Status == episode.Running || h.repairs[id] != nil {
		return ep, fmt.Errorf("fork %s is running: wait for its end or cancel it", id)
	}
	return ep, nil
}

// repairInput reads what the assignment of an episode is built from. The notices of a
// fork are as they were while they were open.
func (h *Harness) repairInput(tx *store.Tx, ep episode.Episode) (in repair.Input, err error) {
	in.Episode = ep
	for _, id := range ep.NoticeIDs {
		n, ok, err := tx.Notice(id)
		if err != nil {
			return in, err
		}
		if ep.Fork != nil && ok {
			n = repair.Open(n)
		}
		if ep.Fork == nil && (!ok || n.Status != notice.Pending) {
			return in, fmt.Errorf("its notice %s is not pending any more", id)
		}
		in.Notices = append(in.Notices, n)
	}
	if in.Session, _, err = tx.Session(ep.SessionID); err != nil {
		return in, err
	}
	in.Turn, _, err = tx.Turn(ep.SessionID, ep.TurnIndex)
	in.Hints, in.DomainPolicy = h.cfg.Agent.Hints.Scopes, h.cfg.Repair.DomainPolicy
	in.SanitizeMax, in.Redactor = h.cfg.Rules.SanitizeMaxLen, h.red
	return in, err
}
