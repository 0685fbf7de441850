// Package local scores turns from their spans alone: deterministic, free, and
// without a model. It finds faults of the process that are visible in the trace
// (an error nobody repaired, a turn without an answer, arguments out of thin
// air) and is no judge of success: a wrong booking made without an error scores
// 1.0. Word lists are English; in other languages most checks stay silent.
//
// Every check has an id and one of four severities; a score is the product of
// (1 - weight) over the findings, each check counting three times per turn at
// most. See [Evaluator.Turn].
package local

import (
	"crypto/sha256"
	"fmt"

	"vise/engine/score"
	"vise/engine/trace"
)

// Identity is what an evaluator with default options writes into Score.By.
const Identity = "local/1"

const (
	answerAlike  = 0.80 // the same answer again, as a Jaccard index of content words
	requestAlike = 0.60 // the same request again
	answerWords  = 8    // shorter answers are not compared
	requestWords = 4
)

// Options change what the evaluator counts.
type Options struct {
	// Handoff is the severity of handing the user over to a human: note, hint,
	// sign or fault. Empty means note, which costs nothing: in some domains it
	// is the right end, in others the failure.
	Handoff string
}

// Name is what an evaluator with these options writes into Score.By.
func Name(o Options) string {
	if sev, ok := parseSeverity(o.Handoff); ok && sev != note {
		return Identity + "+handoff=" + o.Handoff
	}
	return Identity
}

// Evaluator folds over the turns of one session, in order, without looking
// ahead. The cost of a turn does not grow with the number of turns before it
// but for a filter test per 64 KiB of text the agent has read. Not safe for
// concurrent use.
type Evaluator struct {
	by      string
	handoff severity
	known   map[string]*parameters // tools by name; empty: unknown
	seen    seen
	failed  map[[sha256.Size]byte]bool
	made    map[[sha256.Size]byte]int // epoch of the last identical call
	epoch   int                       // successful changing calls so far
	calls   int
	turns   int
	asked   bool // the last answer asked for a yes
	answers *likeness
	inputs  *likeness
}

// New returns an evaluator for a session that has had no turn yet. It uses the
// system prompt and the tools of s. Options are taken as the config has checked
// them: a Handoff that is no severity counts as note.
func New(s trace.Session, o Options) *Evaluator {
	e := &Evaluator{
		by:      Name(o),
		handoff: note,
		known:   map[string]*parameters{},
		failed:  map[[sha256.Size]byte]bool{},
		made:    map[[sha256.Size]byte]int{},
		answers: newLikeness(answerAlike),
		inputs:  newLikeness(requestAlike),
	}
	if sev, ok := parseSeverity(o.Handoff); ok && sev != note {
		e.handoff = sev
	}
	for _, t := range s.Tools {
		e.known[t.Name] = newParameters(t.Schema)
	}
	e.seen.add(s.System)
	return e
}

// Turn scores the next turn of the session. It returns task_completion,
// coherence, tool_correctness, argument_correctness and step_efficiency, in this
// order, each with a value in [0,1] or nil when there is nothing to go by, its
// reasons worst first and its findings. Tier is left to the caller.
func (e *Evaluator) Turn(t trace.Turn) []score.Score {
	f := e.read(t)
	out := f.scores(e.handoff)
	for i := range out {
		out[i].By = e.by
		out[i].TraceID = t.TraceID
	}
	return out
}

// turn is the state of one turn while its spans are read.
type turn struct {
	tally
	final   string // answer so far
	model   *string
	tail    *string // last span that counts
	last    *call   // last call
	finish  *call   // last finish call
	handoff bool    // a hand-off tool was called
	open    []*call // last call per tool, if it failed, in order of first failure
	mended  int
	mendedC *call
	weak    int
	weakC   *call
}

// read runs every check on a turn and takes it into the session's state.
func (e *Evaluator) read(t trace.Turn) *turn {
	e.seen.add(t.Input)
	w := &turn{}
	lastCall := -1
	for i := range t.Spans {
		if s := &t.Spans[i]; s.Kind == trace.TOOL && !ours(s) {
			lastCall = i
		}
	}
	for i := range t.Spans {
		s := &t.Spans[i]
		switch {
		case s.Kind == trace.TOOL && ours(s):
			e.seen.add(result(s))
			continue
		case s.Kind == trace.TOOL:
			e.call(w, newCall(s), i == lastCall)
		case s.Kind == trace.LLM:
			w.steps++
			w.model = &s.ID
			if !blank(s.Output) {
				w.final = s.Output
			}
		}
		w.tail = &s.ID
	}
	if blank(w.final) && w.steps == 0 && w.finish == nil {
		// An instrumentation that traces the agent and its calls, and no model: what the
		// agent returned is its answer.
		for i := range t.Spans {
			if s := &t.Spans[i]; s.Kind == trace.AGENT && s.Parent == "" && !blank(s.Output) {
				w.final = s.Output
			}
		}
	}
	if t.Failed() {
		w.hit("command_failed", 1, w.tail, "the agent's command failed: %s", quote(first(t.StopReason, 60)))
	}
	e.outcome(w)
	e.answer(w, t.Input)
	e.turns++
	return w
}

// call runs the checks on one tool call.
func (e *Evaluator) call(w *turn, c *call, final bool) {
	id, name := &c.span.ID, c.span.Name
	w.calls++
	e.calls++
	w.last = c
	changes := c.changes()
	if !c.failed && !c.finish && !changes && c.weak() {
		w.weak++
		w.weakC = c
	}
	spec, known := e.known[name]
	if len(e.known) > 0 && !known || unknownTool.MatchString(fold(first(c.out, 200))) {
		w.hit("unknown_tool", 1, id, "%s is not a known tool", name)
	}
	sig := c.signature()
	w.settle(c)
	if c.failed {
		if e.failed[sig] {
			w.hit("repeat_failed", 1, id, "%s repeated unchanged after it had failed", name)
		}
		e.failed[sig] = true
	}
	if c.span.Pending && !final && !c.finish {
		w.hit("unanswered", 1, id, "%s has no result", name)
	}
	e.arguments(w, c, spec)
	at, made := e.made[sig]
	if c.failed || made && at == e.epoch {
		w.wasted++
	}
	e.made[sig] = e.epoch
	if !c.failed && !c.span.Pending && changes {
		e.epoch++
	}
	e.seen.add(c.out)
	if handoffName.MatchString(c.name) {
		w.handoff = true
	}
	if !c.finish {
		w.final = ""
		return
	}
	w.finish = c
	if a := c.answer(); a != "" {
		w.final = a
	} else if w.final == "" {
		w.final = "submitted"
	}
}

// settle keeps, per tool, the last call if it failed.
func (w *turn) settle(c *call) {
	for i, o := range w.open {
		if o.span.Name != c.span.Name {
			continue
		}
		if c.failed {
			w.open[i] = c
			return
		}
		w.mended++
		w.mendedC = o
		w.open = append(w.open[:i], w.open[i+1:]...)
		return
	}
	if c.failed {
		w.open = append(w.open, c)
	}
}

// arguments runs the checks on the arguments of a call. Nothing the agent wrote
// itself has made a value known.
func (e *Evaluator) arguments(w *turn, c *call, spec *parameters) {
	id, name := &c.span.ID, c.span.Name
	if c.broken {
		w.hit("arg_parse", 1, id, "%s: arguments are not a JSON object", name)
	} else if len(c.args.members) > 0 {
		w.argued++
	}
	if c.object && !blank(c.raw) {
		for _, v := range spec.check(c.args) {
			w.hit("arg_schema", 1, id, "%s: %s", join(name, v.key), v.reason)
		}
	}
	if c.failed && argumentError.MatchString(fold(first(c.out, 600))) {
		w.hit("arg_message", 1, id, "%s: the error is about an argument: %s", name, clip(c.out, 80))
	}
	c.leaves(func(key string, v value) {
		if v.kind != text {
			return
		}
		switch {
		case placeholder.MatchString(fold(strip(v.text))) && !e.seen.has(v.text):
			w.hit("arg_placeholder", 1, id, "%s.%s looks like a placeholder: %s", name, key, clip(v.text, 80))
		case idLike(v.text) && !e.seen.has(v.text):
			w.hit("arg_unseen", 1, id, "%s.%s=%s was never seen before", name, key, clip(v.text, 80))
		}
	})
}

// outcome runs the checks on how the calls of the turn ended.
func (e *Evaluator) outcome(w *turn) {
	switch {
	case w.steps == 0 && w.calls == 0:
		w.hit("no_activity", 1, nil, "no model or tool span in this turn")
	case blank(w.final):
		w.hit("no_answer", 1, w.tail, "turn ends without an answer")
	}
	if w.last != nil && w.last.failed {
		w.hit("last_call_failed", 1, &w.last.span.ID, "last call %s failed: %s", w.last.span.Name, clip(w.last.out, 80))
	}
	for _, c := range w.open {
		if c != w.last {
			n := c.span.Name
			w.hit("unrecovered", 1, &c.span.ID, "%s failed and no later %s call succeeded: %s", n, n, clip(c.out, 80))
		}
	}
	if w.mended > 0 {
		w.hit("recovered", w.mended, &w.mendedC.span.ID, "%d failed call(s), later recovered", w.mended)
	}
	if w.weak > 0 {
		w.hit("empty_result", w.weak, &w.weakC.span.ID, "%d empty or not-found result(s)", w.weak)
	}
}

func percent(f float64) string { return fmt.Sprintf("%.0f%%", f*100) }
