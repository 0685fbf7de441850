package acp

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	sdk "github.com/coder/acp-go-sdk"

	"vise/engine/guard"
	"vise/engine/trace"
	"vise/replay/driver"
)

// Bounds of what one turn keeps besides its text.
const (
	maxForeign   = 200      // spans of updates of unknown kind
	maxForeignIn = 16 << 10 // bytes of one of them
	maxErrorText = 4 << 10
	maxStray     = 20 // stray lines quoted
)

// settings are kinds that tell nothing the agent did: an echo of our own
// input, or what it can be set to.
var settings = map[string]bool{"user_message_chunk": true, "available_commands_update": true, "current_mode_update": true,
	"config_option_update": true, "session_info_update": true}

// recorder builds the spans of one turn from updates. Its owner locks.
type recorder struct {
	turn     int
	id       string // trace id
	now      func() time.Time
	emit     func(trace.Span)
	maxSpans int
	left     int           // bytes of text still kept
	said     int           // of those, bytes that the agent itself may still say
	full     chan struct{} // closed when it says more

	spans   []*building
	tools   map[string]*building
	terms   map[string]*terminal // commands that were run for the agent, by id
	llm     *building            // takes the next chunk; nil after a tool call
	plan    *building
	stray   *building
	foreign int
	dropped int      // spans not kept
	cut     int      // bytes not kept
	cost    *float64 // of the session so far, as last told
}

// building is a span whose texts still grow. The builders only append, so a
// text handed out earlier stays what it was.
type building struct {
	span    trace.Span
	output  strings.Builder
	thought strings.Builder
	// Of a tool call:
	status string   // as last told
	final  bool     // it has completed or failed
	named  bool     // by its machine name, not its title
	raw    bool     // Output is the raw output, not the content shown to people
	terms  []string // terminals that its content shows
}

func (b *building) snapshot() trace.Span {
	s := b.span
	if s.Kind == trace.LLM {
		s.Output, s.Thought = b.output.String(), b.thought.String()
	}
	if s.Attrs != nil {
		attrs := make(map[string]any, len(s.Attrs))
		for k, v := range s.Attrs {
			attrs[k] = v
		}
		s.Attrs = attrs
	}
	return s
}

func (b *building) attr(key string, v any) {
	if b.span.Attrs == nil {
		b.span.Attrs = map[string]any{}
	}
	b.span.Attrs[key] = v
}

// open appends a span; nil when the turn holds as many as it may.
func (r *recorder) open(kind trace.Kind, name string) *building {
	if len(r.spans) >= r.maxSpans {
		r.dropped++
		return nil
	}
	b := &building{span: trace.Span{ID: fmt.Sprintf("%s.s%d", r.id, len(r.spans)), Kind: kind, Name: name, Start: r.now()}}
	r.spans = append(r.spans, b)
	return b
}

func (r *recorder) told(b *building) {
	if b != nil {
		r.emit(b.snapshot())
	}
}

// keep takes text out of the turn's allowance.
func (r *recorder) keep(s string) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	k := cutText(s, r.left)
	r.left -= len(k)
	r.cut += len(s) - len(k)
	return k
}

// replace keeps a text in the place of an earlier one, which is given back: an
// agent that tells a growing output again and again uses up its last size only.
func (r *recorder) replace(old, new string) string {
	r.left += len(old)
	return r.keep(new)
}

// apply takes one update. It reports false for a kind it does not know.
func (r *recorder) apply(u update, raw json.RawMessage) bool {
	switch u.Kind {
	case "agent_message_chunk", "agent_thought_chunk":
		r.chunk(u)
	case "tool_call", "tool_call_update":
		r.tool(u)
	case "plan":
		if r.plan == nil {
			r.plan = r.open(trace.CHAIN, "plan")
		}
		if r.plan != nil {
			r.plan.span.Output = r.keep(valueText(u.Entries))
			r.plan.span.End = r.now()
			r.told(r.plan)
		}
	case "usage_update":
		if u.Cost != nil && (u.Cost.Currency == "" || strings.EqualFold(u.Cost.Currency, "usd")) {
			r.cost = &u.Cost.Amount
		}
	default:
		if settings[u.Kind] {
			return true
		}
		r.unknown(u.Kind, raw)
		return false
	}
	return true
}

func (r *recorder) chunk(u update) {
	text := blockText(u.Content)
	if len(text) > r.said {
		select {
		case <-r.full:
		default:
			close(r.full)
		}
		r.cut += len(text) - r.said
		text = cutText(text, r.said)
	}
	r.said -= len(text)
	text = r.keep(text)
	if r.llm == nil {
		if text == "" {
			return
		}
		if r.llm = r.open(trace.LLM, metaString(u.Meta, "model", "modelId")); r.llm == nil {
			return
		}
	}
	if u.Kind == "agent_thought_chunk" {
		r.llm.thought.WriteString(text)
	} else {
		r.llm.output.WriteString(text)
	}
	r.llm.span.End = r.now()
	r.told(r.llm)
}

func (r *recorder) tool(u update) {
	b := r.tools[u.ToolCallID]
	if b == nil {
		r.llm = nil
		if b = r.open(trace.TOOL, ""); b == nil {
			return
		}
		r.tools[u.ToolCallID] = b
		b.attr("tool_call_id", cutText(u.ToolCallID, 256))
	}
	name := metaString(u.Meta, "toolName", "tool_name")
	switch {
	case name != "":
		b.span.Name = title(name)
		b.named = true
	case u.Title != "" && !b.named:
		b.span.Name = title(u.Title)
	case b.span.Name == "":
		b.span.Name = oneLine(u.ToolKind, 256)
	}
	if u.Title != "" {
		b.attr("title", title(u.Title))
	}
	if u.ToolKind != "" {
		b.attr("kind", oneLine(u.ToolKind, 64))
	}
	if len(u.Locations) > 0 {
		var paths []string
		for _, l := range u.Locations[:min(len(u.Locations), 20)] {
			paths = append(paths, oneLine(l.Path, 512))
		}
		b.attr("locations", paths)
	}
	if parent := r.tools[metaString(u.Meta, "parentToolUseId", "parentToolCallId")]; parent != nil && parent != b {
		b.span.Parent = parent.span.ID
	}
	// Some agents announce a call with {} and fill it in later; an empty
	// object never overwrites arguments.
	if in := valueText(u.RawInput); in != "" && (b.span.Input == "" || in != "{}") && in != b.span.Input {
		b.span.Input = r.replace(b.span.Input, in)
	}
	if out := valueText(u.RawOutput); out != "" {
		b.span.Output = r.replace(b.span.Output, out)
		b.raw = true
	} else if out := contentText(u.Content); out != "" && !b.raw && out != b.span.Output {
		b.span.Output = r.replace(b.span.Output, out)
	}
	for _, id := range terminals(u.Content) {
		if !slices.Contains(b.terms, id) && len(b.terms) < maxTerminals {
			b.terms = append(b.terms, id)
		}
		if t := r.terms[id]; t != nil && t.span.span.Parent != b.span.ID {
			t.span.span.Parent = b.span.ID
			r.told(t.span)
		}
	}
	if u.Status != "" {
		b.status = u.Status
		b.attr("status", oneLine(u.Status, 64))
	}
	if u.Status == "completed" || u.Status == "failed" {
		b.final = true
		b.span.End = r.now()
	}
	b.span.Error = ""
	if b.status == "failed" {
		if b.span.Error = cutText(strings.TrimSpace(b.span.Output), maxErrorText); b.span.Error == "" {
			b.span.Error = "failed"
		}
	}
	r.told(b)
}

// title is a name or a title of a call on one bounded line, masked before it is cut:
// agents put the command line there, and half a credential is not recognised later.
func title(s string) string {
	s, _ = guard.DefaultRedactor().Text(cutText(s, 4096))
	return oneLine(s, 256)
}

// unknown keeps an update of a kind we do not know, raw and bounded.
func (r *recorder) unknown(kind string, raw json.RawMessage) {
	if r.foreign++; r.foreign > maxForeign {
		return
	}
	if b := r.open(trace.CHAIN, "acp:"+oneLine(kind, 64)); b != nil {
		b.span.Output = r.keep(cutText(string(raw), maxForeignIn))
		b.span.End = b.span.Start
		if len(raw) > maxForeignIn {
			b.attr("truncated_bytes", len(raw)-maxForeignIn)
		}
		r.told(b)
	}
}

// note counts a stray line of standard output in the turn it fell into.
func (r *recorder) note(line string) {
	if r.stray == nil {
		if r.stray = r.open(trace.CHAIN, "stray output"); r.stray == nil {
			return
		}
	}
	n, _ := r.stray.span.Attrs["lines"].(int)
	r.stray.attr("lines", n+1)
	if n < maxStray {
		r.stray.span.Output += r.keep(oneLine(line, 500) + "\n")
	}
	r.stray.span.End = r.now()
	r.told(r.stray)
}

// permission notes the answer to a request on the call it is about.
func (r *recorder) permission(callID string, granted bool, reason string) {
	b := r.tools[callID]
	if b == nil {
		return
	}
	answer := "denied: "
	if granted {
		answer = "granted: "
	}
	b.attr("permission", answer+reason)
	r.told(b)
}

// finish closes the turn: calls without an end are pending.
func (r *recorder) finish() []trace.Span {
	for _, t := range r.terms {
		if t.span.span.End.IsZero() {
			r.command(t, driver.ByCommand, errTurnOver.Error())
		}
	}
	for _, b := range r.spans {
		r.shown(b)
		if b.span.Kind == trace.TOOL && !b.final && b.span.Output == "" {
			b.span.Pending = true
			r.told(b)
		}
	}
	if r.dropped > 0 || r.cut > 0 || r.foreign > maxForeign {
		r.maxSpans++ // the notice of the loss always fits
		b := r.open(trace.CHAIN, "limits")
		b.span.End = b.span.Start
		b.attr("dropped_spans", r.dropped)
		b.attr("dropped_bytes", r.cut)
		b.attr("dropped_unknown", max(0, r.foreign-maxForeign))
		r.told(b)
	}
	out := make([]trace.Span, 0, len(r.spans))
	for _, b := range r.spans {
		out = append(out, b.snapshot())
	}
	return slices.Clip(out)
}

// usageOf converts the kit's counts.
func usageOf(u *sdk.Usage) trace.Usage {
	if u == nil {
		return trace.Usage{}
	}
	get := func(p *int) int64 {
		if p == nil {
			return 0
		}
		return int64(*p)
	}
	return trace.Usage{Input: int64(u.InputTokens), Output: int64(u.OutputTokens), Cached: get(u.CachedReadTokens), Reasoning: get(u.ThoughtTokens)}
}
