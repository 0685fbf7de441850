package repair

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"time"

	"vise/engine/episode"
	"vise/engine/event"
	"vise/engine/guard"
	"vise/engine/model"
	"vise/engine/rule"
	"vise/engine/rule/tools"
	"vise/store"
)

// Error categories of a result besides the kinds of package model.
const (
	CategoryTimeout    = "timeout"
	CategorySettlement = "settlement_timeout"
	CategoryTokens     = "token_limit"
	CategoryTurns      = "turn_limit"
	CategoryEmpty      = "empty_response"
	CategoryMalformed  = "malformed_tool_arguments"
	CategoryCancelled  = "cancelled"
	CategoryStore      = "store"
	CategoryException  = "exception"
)

// closing bounds the transaction that ends a run whose context is over.
const closing = 5 * time.Second

// maxTruncated is how often a cut stream is asked again within a run.
const maxTruncated = 1

// run is one run of the agent over one episode.
type run struct {
	agent    *Agent
	now      func() time.Time
	stepper  Stepper
	redactor *guard.Redactor
	ep       episode.Episode
	as       episode.Assignment

	// branch is what a fork goes on from, then the rules of that time.
	branch *Branch
	then   rule.Past
	edited bool // the call being executed has arguments that a person wrote

	tools    *toolset
	messages []model.Message
	// told is the number of messages already stored with a step.
	told      int
	attempt   int
	turn      int
	deadline  time.Time
	step      episode.Step
	result    episode.Result
	ended     *episode.Result // what the call that resolved the episode has stored
	estimated int64           // output tokens of answers without usage
	truncated int
}

// ending is how a run ends before the episode is resolved.
type ending struct {
	status   episode.Status
	category string
	// turns finished; the question that could not be asked does not count.
	turns int
	err   error
}

// run is the bounded loop.
func (r *run) run(ctx context.Context) episode.Result {
	a := r.agent
	started := r.now()
	r.attempt = r.ep.Attempts + 1
	r.ep.Attempts, r.ep.Status = r.attempt, episode.Running
	var rules rule.Source = a.Store
	if r.ep.Fork != nil {
		rules = pastRules{r}
	}
	r.tools = &toolset{agent: a, run: r, reads: tools.New(rules, tools.Options{TrialMin: a.Config.TrialMin})}
	if r.ep.CandidateID != "" {
		// An earlier run was cut off after it had written its one rule.
		r.tools.found.candidates = []string{r.ep.CandidateID}
	}
	r.result = episode.Result{EpisodeID: r.ep.ID, NoticeIDs: r.ep.NoticeIDs, Model: a.modelName(), Started: started,
		CandidateRuleIDs: []string{}, ConsideredRuleIDs: []string{}}
	err := a.Store.Update(ctx, func(tx *store.Tx) error {
		if err := tx.PutEpisode(r.ep); err != nil {
			return err
		}
		return tx.Emit(r.event(event.RepairStarted, map[string]any{"attempt": r.attempt, "notice_ids": r.ep.NoticeIDs,
			"recommended_scope": r.as.RecommendedScope, "model": r.result.Model}))
	})
	if err != nil {
		return r.finish(ctx, ending{status: episode.Failed, category: CategoryStore, err: err})
	}
	r.deadline = started.Add(max(0, a.Config.Timeout))
	if r.branch != nil {
		r.resume()
		if end, done := r.again(ctx); done {
			return r.finish(ctx, end)
		}
	} else {
		user, err := brief(r.as, r.ep)
		if err != nil {
			return r.finish(ctx, ending{status: episode.Failed, category: CategoryException, err: err})
		}
		r.messages = []model.Message{{Role: model.System, Content: system}, {Role: model.User, Content: user}}
	}
	turns := max(1, a.Config.MaxTurns)
	for r.turn++; r.turn <= turns; r.turn++ {
		end, done := r.round(ctx)
		if done {
			return r.finish(ctx, end)
		}
	}
	r.turn = turns
	return r.finish(ctx, ending{status: episode.Failed, category: CategoryTurns, turns: turns})
}

// round is one question to the model and the calls it answers with. done says
// that the run is over; a zero ending that it is over because the episode is resolved.
func (r *run) round(ctx context.Context) (end ending, done bool) {
	// The checkpoint comes first: time a person holds it must not count.
	if end, stop := r.hold(ctx, Checkpoint{Point: BeforeModel, Messages: r.messages}); stop {
		end.turns = r.turn - 1
		return end, true
	}
	left := r.deadline.Sub(r.now())
	if left <= 0 {
		return ending{status: episode.TimedOut, category: CategoryTimeout, turns: r.turn - 1}, true
	}
	// A provider that reports no usage is still bounded, by the length of what it said.
	tokens := max(0, int64(r.agent.Config.MaxTokens)-r.result.Usage.Output)
	if tokens-r.estimated <= 0 {
		return ending{status: episode.Failed, category: CategoryTokens, turns: r.turn - 1}, true
	}
	r.open()
	reply, err := r.agent.question(ctx, left, model.Request{Messages: r.messages, Tools: r.offered(), MaxTokens: int(tokens),
		Temperature: r.agent.Config.Temperature, ReasoningEffort: r.agent.Config.ReasoningEffort, Purpose: "repair"}, r.stream)
	r.close(reply, err)
	if err != nil {
		return r.failed(ctx, err)
	}
	if err := r.record(ctx, map[string]any{}); err != nil {
		return ending{status: episode.Failed, category: CategoryStore, turns: r.turn, err: err}, true
	}
	if len(reply.Calls) == 0 {
		return ending{status: episode.Failed, category: CategoryEmpty, turns: r.turn}, true
	}
	r.messages = append(r.messages, model.Message{Role: model.Assistant, Content: reply.Text, Calls: repaired(reply.Calls)})
	for i := range reply.Calls {
		if end, stop := r.execute(ctx, i, reply.Calls[i]); stop {
			return end, true
		}
		if r.tools.found.resolution != "" {
			return ending{}, true
		}
	}
	r.nudge()
	return ending{}, false
}

// failed decides what a failed question means. A cut stream is asked again once,
// as a turn of its own; nothing of it was executed.
func (r *run) failed(ctx context.Context, err error) (ending, bool) {
	if end, over := r.over(ctx); over {
		end.turns = r.turn
		return end, true
	}
	kind := model.KindOf(err)
	if kind == model.KindTruncated && r.truncated < maxTruncated {
		r.truncated++
		if err := r.record(ctx, map[string]any{"truncated": true}); err != nil {
			return ending{status: episode.Failed, category: CategoryStore, turns: r.turn, err: err}, true
		}
		return ending{}, false
	}
	if serr := r.keepStep(ctx); serr != nil {
		return ending{status: episode.Failed, category: CategoryStore, turns: r.turn, err: serr}, true
	}
	switch {
	case kind == model.KindTimeout, errors.Is(err, context.DeadlineExceeded):
		return ending{status: episode.TimedOut, category: CategoryTimeout, turns: r.turn, err: err}, true
	case kind != "":
		return ending{status: episode.Failed, category: string(kind), turns: r.turn, err: err}, true
	}
	return ending{status: episode.Failed, category: CategoryException, turns: r.turn, err: err}, true
}

// over reports that the caller ended the run.
func (r *run) over(ctx context.Context) (ending, bool) {
	switch cause := context.Cause(ctx); {
	case cause == nil:
		return ending{}, false
	case errors.Is(cause, context.DeadlineExceeded):
		return ending{status: episode.TimedOut, category: CategorySettlement, err: cause}, true
	default:
		return ending{status: episode.Cancelled, category: CategoryCancelled, err: cause}, true
	}
}

// hold asks the stepper. The time it takes does not count.
func (r *run) hold(ctx context.Context, c Checkpoint) (ending, bool) {
	c.SessionID, c.EpisodeID, c.Attempt, c.Turn, c.Spent = r.ep.SessionID, r.ep.ID, r.attempt, r.turn, r.result.Usage
	c.Notices = r.as.Notices
	before := r.now()
	action, err := r.stepper.At(ctx, c)
	r.deadline = r.deadline.Add(r.now().Sub(before))
	if end, over := r.over(ctx); over {
		end.turns = r.turn
		return end, true
	}
	if err != nil || action == ActionCancel {
		return ending{status: episode.Cancelled, category: CategoryCancelled, turns: r.turn, err: err}, true
	}
	return ending{}, false
}

// execute runs one tool call of the answer.
func (r *run) execute(ctx context.Context, i int, call model.Call) (ending, bool) {
	shown := &r.step.Calls[i]
	args, ok := arguments(call.Arguments)
	if ok {
		point := BeforeTool
		if call.Name == toolNoticeAck || call.Name == toolNoticeResolve {
			point = BeforeResolve
		}
		if end, stop := r.hold(ctx, Checkpoint{Point: point, Messages: r.messages, Call: shown}); stop {
			return end, true
		}
	}
	r.result.ToolCalls++
	if !ok {
		shown.Result = json.RawMessage(`{"ok":false,"error":"` + CategoryMalformed + `"}`)
		end := ending{status: episode.Failed, category: CategoryMalformed, turns: r.turn}
		if err := r.keepStep(ctx); err != nil {
			end.category, end.err = CategoryStore, err
		}
		return end, true
	}
	out, err := r.tools.call(ctx, call.Name, args, func(tx *store.Tx, out outcome) error {
		shown.OK, shown.Ran, shown.Result = out.ok, true, out.encode()
		if r.tools.found.resolution != "" {
			res := r.outcome(ending{})
			r.ended = &res
			return r.conclude(tx, res)
		}
		return tx.PutStep(r.step)
	})
	if err != nil {
		r.ended = nil
		shown.OK, shown.Ran, shown.Result = false, false, nil
		if end, over := r.over(ctx); over {
			end.turns = r.turn
			return end, true
		}
		return ending{status: episode.Failed, category: CategoryStore, turns: r.turn, err: err}, true
	}
	r.messages = append(r.messages, model.Message{Role: model.ToolRole, CallID: call.ID, Content: string(out.encode())})
	if r.tools.found.resolution != "" {
		// Resolved is resolved: a cancel that comes now must not turn it into a failure.
		return ending{}, false
	}
	return r.hold(ctx, Checkpoint{Point: AfterTool, Messages: r.messages, Call: shown})
}

// arguments decodes the text of a call: one JSON object, nothing after it.
func arguments(s string) (map[string]any, bool) {
	dec := json.NewDecoder(bytes.NewReader([]byte(s)))
	dec.UseNumber()
	var v any
	if dec.Decode(&v) != nil {
		return nil, false
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, false
	}
	args, ok := v.(map[string]any)
	return args, ok
}

// repaired replaces argument texts that are no JSON before they go back to the
// provider, which would refuse the whole conversation over them.
func repaired(calls []model.Call) []model.Call {
	out := make([]model.Call, len(calls))
	for i, c := range calls {
		if out[i] = c; !json.Valid([]byte(c.Arguments)) {
			out[i].Arguments = "{}"
		}
	}
	return out
}

// nudge adds at most one reminder after a round that did not conclude.
func (r *run) nudge() {
	f := r.tools.found
	inspected := f.traceInspected || len(r.as.AllowedTraces) == 0
	switch {
	case len(f.candidates) > 0:
		r.messages = append(r.messages, model.Message{Role: model.System, Content: nudgeAck})
	case f.noticeRead && inspected && f.rulesSearched:
		r.messages = append(r.messages, model.Message{Role: model.System, Content: nudgeDecide})
	}
}
