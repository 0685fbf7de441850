package repair

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"vise/engine/event"
	"vise/engine/guard"
	"vise/engine/rule"
	"vise/engine/rule/tools"
	"vise/store"
)

// findings is what the tools of one run have found out and decided.
type findings struct {
	candidates     []string
	resolution     string
	existingRule   string
	considered     []string
	selectedScope  string
	scopeRationale string
	suppression    string
	noticeRead     bool
	traceInspected bool
	rulesSearched  bool
}

func (f findings) clone() findings {
	f.candidates = slices.Clone(f.candidates)
	f.considered = slices.Clone(f.considered)
	return f
}

// consider remembers rules the agent looked at, each once.
func (f *findings) consider(ids ...string) {
	for _, id := range ids {
		if !slices.Contains(f.considered, id) {
			f.considered = append(f.considered, id)
		}
	}
}

// toolset is the nine tools over one episode. It is used by one goroutine.
type toolset struct {
	agent *Agent
	// run gives ids and records of events, the clock and the texts' caps.
	run   *run
	reads *tools.Toolset
	found findings
}

// outcome is the answer of one tool call.
type outcome struct {
	ok   bool
	data map[string]any
	// events to journal with the call, besides those the tool wrote.
	created string // id of the rule that was created
}

func refused(err error) outcome {
	var e *rule.Error
	if errors.As(err, &e) {
		return outcome{data: map[string]any{"ok": false, "error": e.Class, "message": guard.Line(e.Message, 400)}}
	}
	return outcome{data: map[string]any{"ok": false, "error": "internal", "message": "the tool failed; the failure is recorded"}}
}

func refuse(class, format string, args ...any) error {
	return &rule.Error{Class: class, Message: fmt.Sprintf(format, args...)}
}

// call runs one tool and journals the call in the transaction of whatever the
// tool changed. then runs in the same transaction. The error says that the store
// failed: nothing was changed then. A change that was made and is only not safe from a
// power cut yet is no error: what was promoted or resolved must not be undone in memory.
func (t *toolset) call(ctx context.Context, name string, args map[string]any, then func(tx *store.Tx, out outcome) error) (outcome, error) {
	before, ep := t.found.clone(), t.run.ep
	var out outcome
	var write func(*store.Tx) (outcome, error)
	no, denied := t.denied(name)
	switch {
	case denied:
		out = no
	case name == toolNoticeRead:
		out = t.noticeRead(args)
	case name == toolTraceInspect:
		out = t.traceInspect(ctx, args)
	case name == toolRuleAdd:
		write = func(tx *store.Tx) (outcome, error) { return t.ruleAdd(tx, args) }
	case name == toolNoticeAck:
		write = func(tx *store.Tx) (outcome, error) { return t.noticeAck(tx, args) }
	case name == toolNoticeResolve:
		write = func(tx *store.Tx) (outcome, error) { return t.noticeResolve(tx, args) }
	default:
		out = t.read(name, args)
	}
	err := t.agent.Store.Update(ctx, func(tx *store.Tx) error {
		if write != nil {
			var err error
			if out, err = write(tx); err != nil {
				var e *rule.Error
				if !errors.As(err, &e) {
					return err
				}
				out = refused(err)
			}
		}
		data := map[string]any{"tool": guard.Line(name, 80), "ok": out.ok, "turn": t.run.turn}
		if class, _ := out.data["error"].(string); class != "" {
			data["error"] = class
		}
		if err := tx.Emit(t.run.event(event.RepairToolCall, data)); err != nil {
			return err
		}
		if out.created != "" {
			e := t.run.event(event.RepairCandidateAdded, map[string]any{"rule_id": out.created, "created": true, "scope": t.found.selectedScope})
			e.RuleID = out.created
			if err := tx.Emit(e); err != nil {
				return err
			}
		}
		return then(tx, out)
	})
	if err != nil && !errors.Is(err, store.ErrNotDurable) {
		t.found, t.run.ep = before, ep
		return refused(err), fmt.Errorf("repair: tool %s: %w", guard.Line(name, 80), err)
	}
	return out, nil
}

// read is one of the four reads, or an unknown tool.
func (t *toolset) read(name string, args map[string]any) outcome {
	r := t.reads.Call(name, args)
	if r.OK {
		switch name {
		case tools.RulesSearch:
			t.found.rulesSearched = true
			t.found.consider(r.Hits...)
		case tools.RulesRead:
			t.found.consider(t.reads.Surfaced()...)
		}
	}
	return outcome{ok: r.OK, data: r.Map()}
}

// encode is the result as the model reads it.
func (o outcome) encode() json.RawMessage {
	raw, err := json.Marshal(o.data)
	if err != nil {
		return json.RawMessage(`{"ok":false,"error":"internal"}`)
	}
	return raw
}

// text returns an argument as text; ok is false when it is absent or null.
func text(args map[string]any, key string) (string, bool) {
	v, ok := args[key]
	if !ok || v == nil {
		return "", false
	}
	return rule.TextOf(v), true
}

// required is text for arguments that must be there.
func required(args map[string]any, key string) (string, error) {
	s, ok := text(args, key)
	if !ok {
		return "", refuse(rule.ErrMissingArgument, "argument %s is missing", key)
	}
	return s, nil
}
