package repair

import (
	"context"
	"time"

	"vise/engine/episode"
	"vise/engine/event"
	"vise/engine/guard"
	"vise/engine/model"
	"vise/engine/trace"
	"vise/store"
)

// Bounds of what is stored of a run, in code points and items.
const (
	maxStored     = 32000
	maxStoredCall = 16000
	maxListed     = 50
	maxErrorText  = 300
)

// stamp is the time as records compare it: fixed width, so that text order is time order.
func (r *run) stamp() string {
	return r.now().UTC().Format("2006-01-02T15:04:05.000000000Z07:00")
}

// textMax caps single texts shown to the model.
func (r *run) textMax() int {
	if n := r.agent.Config.SanitizeMax; n > 0 {
		return n
	}
	return DefaultSanitizeMax
}

// event is a journal event of the run.
func (r *run) event(t event.Type, data map[string]any) event.Event {
	e := event.Event{At: r.now(), Type: t, SessionID: r.ep.SessionID, TurnIndex: event.Turn(r.ep.TurnIndex), EpisodeID: r.ep.ID, Data: data}
	switch {
	case r.ep.Fork != nil:
		// Nothing is repaired: who counts by notice must not take it for a repair of it.
		e.Data["fork_of"] = r.ep.Fork.Of
	case len(r.ep.NoticeIDs) > 0:
		e.NoticeID = r.ep.NoticeIDs[0]
	}
	return e
}

// stream publishes what the model says while it says it.
func (r *run) stream(d model.Delta) {
	if r.agent.Bus == nil {
		return
	}
	data := map[string]any{"turn": r.turn, "attempt": r.attempt}
	if d.Text != "" {
		data["text"] = d.Text
	}
	if d.Reasoning != "" {
		data["reasoning"] = d.Reasoning
	}
	if d.Call >= 0 {
		data["call"], data["name"], data["arguments"] = d.Call, d.Name, d.Arguments
	}
	r.agent.Bus.Publish(r.event(event.RepairDelta, data))
}

// open begins the record of a turn with the messages not yet stored.
func (r *run) open() {
	r.step = episode.Step{EpisodeID: r.ep.ID, Attempt: r.attempt, Turn: r.turn, Started: r.now(), Messages: []episode.Message{}}
	for _, m := range r.messages[r.told:] {
		if m.Role == model.Assistant {
			continue // stored as the step that said it
		}
		r.step.Messages = append(r.step.Messages, episode.Message{Role: m.Role, Content: r.keep(m.Content, maxStored), ToolCallID: m.CallID})
	}
	r.told = len(r.messages)
}

// close completes the record of a turn with the answer and counts its usage.
func (r *run) close(reply model.Reply, err error) {
	r.step.Ended = r.now()
	r.step.Text, r.step.Reasoning = r.keep(reply.Text, maxStored), r.keep(reply.Reasoning, maxStored)
	r.step.Finish, r.step.Usage = reply.Finish, reply.Usage
	if err != nil {
		r.step.Error = guard.Line(err.Error(), maxErrorText)
	}
	for _, c := range reply.Calls {
		r.step.Calls = append(r.step.Calls, episode.Call{ID: guard.Line(c.ID, 128), Name: guard.Line(c.Name, 128), Arguments: r.keep(c.Arguments, maxStoredCall)})
	}
	r.result.Usage = r.result.Usage.Add(reply.Usage)
	r.result.TotalTokens += reply.Total
	if !reply.UsageKnown {
		r.estimated += reply.Estimate
	}
}

// keep redacts and bounds a text for storing. Control characters stay in the
// record; whatever shows it makes them visible.
func (r *run) keep(s string, limit int) string {
	s, _ = r.redactor.Text(s)
	return guard.Head(s, limit)
}

// record stores the turn and journals it.
func (r *run) record(ctx context.Context, data map[string]any) error {
	u := r.step.Usage
	data["turn"], data["attempt"], data["tool_calls"], data["finish"] = r.turn, r.attempt, len(r.step.Calls), guard.Line(r.step.Finish, 40)
	data["input_tokens"], data["output_tokens"], data["ms"] = u.Input, u.Output, r.step.Ended.Sub(r.step.Started).Milliseconds()
	if u.CostUSD != nil {
		data["cost_usd"] = *u.CostUSD
	}
	return r.agent.Store.Update(ctx, func(tx *store.Tx) error {
		if err := tx.PutStep(r.step); err != nil {
			return err
		}
		return tx.Emit(r.event(event.RepairModelTurn, data))
	})
}

// keepStep stores the turn without an event of its own.
func (r *run) keepStep(ctx context.Context) error {
	return r.agent.Store.Update(ctx, func(tx *store.Tx) error { return tx.PutStep(r.step) })
}

// finish ends the run, also when its context is over, unless the call that
// resolved the episode has ended it already.
func (r *run) finish(ctx context.Context, end ending) episode.Result {
	if r.ended != nil {
		return *r.ended
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closing)
	defer cancel()
	res := r.outcome(end)
	if err := r.agent.Store.Update(ctx, func(tx *store.Tx) error { return r.conclude(tx, res) }); err != nil && res.Error == "" {
		res.Error = guard.Line("repair: record the end: "+err.Error(), maxErrorText)
	}
	return res
}

// conclude stores the end of the run: the episode with its result, the last
// turn's record and the one terminal event. A resolution is concluded in the
// transaction that acknowledges the notices, so that no crash can leave an episode
// running whose notices are closed.
func (r *run) conclude(tx *store.Tx, res episode.Result) error {
	ep := r.ep
	ep.Status, ep.Result = res.Status, &res
	if err := tx.PutEpisode(ep); err != nil {
		return err
	}
	if r.step.EpisodeID != "" {
		// The last turn's record, with calls that never ran marked so.
		if err := tx.PutStep(r.step); err != nil {
			return err
		}
	}
	return tx.Emit(r.event(terminal(res.Status), r.summary(res)))
}

// outcome is the result of the run as it stands.
func (r *run) outcome(end ending) episode.Result {
	f, res := r.tools.found, r.result
	res.Ended = r.now()
	res.CandidateRuleIDs = append([]string{}, f.candidates...)
	res.ConsideredRuleIDs = append([]string{}, head(f.considered, maxListed)...)
	res.ExistingRuleID, res.SelectedScope, res.ScopeRationale, res.SuppressionReason = f.existingRule, f.selectedScope, f.scopeRationale, f.suppression
	if f.resolution != "" {
		res.Turns, res.ResolutionKind = r.turn, f.resolution
		res.Status = episode.Status(f.resolution)
		if f.resolution == "candidate" {
			res.Status = episode.CandidateAdded
		}
		return res
	}
	res.Turns, res.Status, res.ErrorCategory, res.ResolutionKind = end.turns, end.status, end.category, string(end.status)
	if end.err != nil {
		res.Error = guard.Line(r.keep(end.err.Error(), 4*maxErrorText), maxErrorText)
	}
	return res
}

// terminal is the one event that ends a run with the status.
func terminal(s episode.Status) event.Type {
	switch s {
	case episode.CandidateAdded:
		return event.RepairCompleted
	case episode.Duplicate:
		return event.RepairDuplicate
	case episode.AlreadyCovered:
		return event.RepairAlreadyCovered
	case episode.NoProposal:
		return event.RepairNoProposal
	case episode.Unactionable:
		return event.RepairUnactionable
	case episode.TimedOut:
		return event.RepairTimedOut
	}
	return event.RepairFailed
}

// summary is the data of the terminal event: ids, counts and reasons.
func (r *run) summary(res episode.Result) map[string]any {
	data := map[string]any{"status": string(res.Status), "resolution_kind": res.ResolutionKind, "attempt": r.attempt,
		"notice_ids": head(res.NoticeIDs, maxListed), "candidate_rule_ids": res.CandidateRuleIDs, "considered_rule_ids": res.ConsideredRuleIDs,
		"turns": res.Turns, "tool_calls": res.ToolCalls, "usage": usageData(res.Usage, res.TotalTokens),
		"ms": res.Ended.Sub(res.Started).Round(time.Millisecond).Milliseconds(), "model": res.Model}
	for name, v := range map[string]string{"existing_rule_id": res.ExistingRuleID, "selected_scope": res.SelectedScope,
		"recommended_scope": r.as.RecommendedScope, "suppression_reason": res.SuppressionReason, "error_category": res.ErrorCategory} {
		if v != "" {
			data[name] = v
		}
	}
	return data
}

func usageData(u trace.Usage, total int64) map[string]any {
	data := map[string]any{"input": u.Input, "output": u.Output, "cached": u.Cached, "total": total}
	if u.CostUSD != nil {
		data["cost_usd"] = *u.CostUSD
	}
	return data
}
