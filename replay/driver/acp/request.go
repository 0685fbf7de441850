package acp

import (
	"cmp"
	"slices"
	"strings"

	"vise/engine/trace"
)

// request opens the span of what the agent asks of its client. The call that is at
// work is its parent, when there is just one.
func (r *recorder) request(name, input string) *building {
	b := r.open(trace.CHAIN, name)
	if b == nil {
		return nil
	}
	var at *building
	for _, s := range r.spans {
		if s.span.Kind == trace.TOOL && !s.final {
			if at != nil {
				at = nil
				break
			}
			at = s
		}
	}
	if at != nil {
		b.span.Parent = at.span.ID
	}
	whole := len(input)
	if b.span.Input = r.keep(input); len(b.span.Input) < whole {
		b.attr("cut", true)
	}
	r.told(b)
	return b
}

// reply notes how a request was answered, and by whom.
func (r *recorder) reply(b *building, by, output string, err error) {
	b.attr("answered_by", by)
	if b.span.Output = r.keep(output); len(b.span.Output) < len(output) {
		b.attr("cut", true) // too little of it to answer again
	}
	if err != nil {
		b.span.Error = cutText(strings.TrimSpace(err.Error()), maxErrorText)
	}
	b.span.End = r.now()
	r.told(b)
}

// command notes who runs a command, and how it ended once it has, or how it stands when
// that is over for a reason of ours.
func (r *recorder) command(t *terminal, by, over string) {
	b := t.span
	if r.terms[t.id] == nil {
		r.terms[t.id] = t
		b.attr("terminal_id", t.id)
		b.attr("answered_by", by)
		for _, call := range r.tools {
			if slices.Contains(call.terms, t.id) {
				b.span.Parent = call.span.ID
			}
		}
	}
	st := t.state()
	if st != nil || over != "" {
		text, truncated := t.output()
		b.span.Output = r.keep(text)
		if len(b.span.Output) < len(text) {
			b.attr("cut", true)
		}
		if truncated {
			b.attr("truncated", true)
		}
		b.span.End = r.now()
	}
	if st != nil && st.ExitCode != nil {
		b.attr("exit_code", *st.ExitCode)
	}
	if st != nil && st.Signal != nil {
		b.attr("signal", *st.Signal)
	}
	if st == nil && over != "" {
		b.span.Pending = true
	}
	if note := cmp.Or(t.why(), over); note != "" && (st != nil || over != "") {
		b.attr("ended", note)
	}
	r.told(b)
}

// shown is the text of a call whose content is terminals and nothing else: what they showed.
func (r *recorder) shown(b *building) {
	if b.raw || len(b.terms) == 0 {
		return
	}
	var marks, texts []string
	for _, id := range b.terms {
		marks = append(marks, "[terminal "+id+"]")
		if t := r.terms[id]; t != nil {
			texts = append(texts, t.span.span.Output)
		}
	}
	if b.span.Output == strings.Join(marks, "\n") && len(texts) > 0 {
		b.span.Output = r.keep(strings.Join(texts, "\n"))
		r.told(b)
	}
}
