package guard

import "vise/engine/trace"

// Session masks the credentials in the texts and names of a session head, in place, and
// returns how many there were. Ids, counts and times stay. What was shared with
// other heads (hints, tools, attributes) is copied, not changed.
func (r *Redactor) Session(s *trace.Session) (masked int) {
	for _, p := range []*string{&s.Title, &s.System, &s.TaskSummary, &s.Agent} {
		masked += r.in(p, r.Text)
	}
	s.ScopeHints = r.hints(s.ScopeHints, &masked)
	if len(s.Tools) > 0 {
		tools := make([]trace.Tool, len(s.Tools))
		for i, t := range s.Tools {
			schema, n, err := r.Schema(t.Schema)
			if err != nil {
				schema = nil
			}
			tools[i] = trace.Tool{Name: t.Name, Schema: schema}
			masked += n + r.in(&tools[i].Name, r.Text)
		}
		s.Tools = tools
	}
	s.Attrs = r.attrs(s.Attrs, &masked)
	return masked
}

// Turn masks the credentials in every text and name of a turn and its spans, in place,
// and returns how many there were: agents put whole command lines into the names of
// their calls. Ids of spans are masked only where they have the shape of a credential.
// An end state that is no JSON is dropped.
func (r *Redactor) Turn(t *trace.Turn) (masked int) {
	masked += r.in(&t.Input, r.Text) + r.in(&t.TaskSummary, r.Text) + r.in(&t.StopReason, r.Text)
	t.ScopeHints = r.hints(t.ScopeHints, &masked)
	if len(t.EndState) > 0 {
		out, n, err := r.JSON(t.EndState)
		if err != nil {
			out, n = nil, 0
		}
		t.EndState = out
		masked += n
	}
	ids := &Redactor{values: r.values, salt: r.salt, tally: r.tally}
	for i := range t.Spans {
		s := &t.Spans[i]
		masked += r.in(&s.Name, r.Text) + r.in(&s.ID, ids.Text) + r.in(&s.Parent, ids.Text)
		masked += r.in(&s.Input, r.Payload) + r.in(&s.Output, r.Payload) + r.in(&s.Thought, r.Text) + r.in(&s.Error, r.Text)
		s.Attrs = r.attrs(s.Attrs, &masked)
	}
	return masked
}

// in masks one text in place.
func (r *Redactor) in(p *string, mask func(string) (string, int)) (masked int) {
	*p, masked = mask(*p)
	return masked
}

func (r *Redactor) hints(hints []trace.ScopeHint, masked *int) []trace.ScopeHint {
	if len(hints) == 0 {
		return hints
	}
	out := make([]trace.ScopeHint, len(hints))
	for i, h := range hints {
		*masked += r.in(&h.Description, r.Text) + r.in(&h.Key, r.Text)
		out[i] = h
	}
	return out
}

func (r *Redactor) attrs(attrs map[string]any, masked *int) map[string]any {
	if len(attrs) == 0 {
		return attrs
	}
	v, n := r.Any(attrs)
	*masked += n
	return v.(map[string]any)
}
