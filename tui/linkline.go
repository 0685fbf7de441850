package tui

// Panes with a text whose lines links name. The lines of a span are those of its text,
// whatever the width; the other panes count rows as they are laid out.

// Line implements liner.
func (p *tracePane) Line() int { return topLine(p.text) }

// GoLine implements liner.
func (p *tracePane) GoLine(ctx *Context, line int) bool {
	s := ctx.Scope
	if !p.data.found || p.session != s.Session || p.turn != s.Turn || p.shown == "" || s.Span != "" && p.shown != s.Span {
		return false
	}
	p.text.To(line - 1)
	p.bump()
	return true
}

// Line implements liner.
func (p *repairPane) Line() int { return topLine(p.body) }

// GoLine implements liner.
func (p *repairPane) GoLine(ctx *Context, line int) bool {
	if !p.data.found || p.data.episode.ID != ctx.Scope.Episode {
		return false
	}
	p.body.To(line - 1)
	p.bump()
	return true
}

// Line implements liner.
func (p *rulesPane) Line() int { return topLine(p.body) }

// GoLine implements liner.
func (p *rulesPane) GoLine(ctx *Context, line int) bool {
	if !p.shown.found || p.shown.id != ctx.Scope.Rule || !p.doc.Done() {
		return false
	}
	p.body.To(line - 1)
	p.bump()
	return true
}

// Line implements liner.
func (p *validationPane) Line() int { return topLine(p.body) }

// GoLine implements liner.
func (p *validationPane) GoLine(ctx *Context, line int) bool {
	if !p.data.found || p.data.rule.ID != ctx.Scope.Rule {
		return false
	}
	p.body.To(line - 1)
	p.bump()
	return true
}

// Line implements liner.
func (p *attemptsPane) Line() int { return topLine(p.body) }

// GoLine implements liner.
func (p *attemptsPane) GoLine(ctx *Context, line int) bool {
	if p.detail.run.ID == "" || p.detail.run.ID != ctx.Scope.Run {
		return false
	}
	p.body.To(line - 1)
	p.bump()
	return true
}
