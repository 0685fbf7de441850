package tui

import (
	"context"
	"strings"

	tea "charm.land/bubbletea/v2"

	"vise/engine/trace"
	"vise/store"
	"vise/tui/filter"
)

// FilterSpec implements Filterer.
func (p *turnsPane) FilterSpec() filter.Spec {
	return filter.Spec{
		Words: map[string][]string{"status": {"fail", "ok", "alert", "stall", "regress", "cut", "unscored"}, "tool": nil},
		Slow:  []string{"tool"}, Numbers: []string{"score", "turn", "calls", "errors"},
	}
}

// Filter implements Filterer.
func (p *turnsPane) Filter(ctx *Context, text string) tea.Cmd {
	p.bump()
	p.expr, _ = filter.Parse(text, p.FilterSpec())
	p.retitle()
	p.list.Set(nil, false, false)
	return p.ask(ctx)
}

// Filtered implements Filterer.
func (p *turnsPane) Filtered() string { return p.expr.String() }

// FilterCount implements Filterer.
func (p *turnsPane) FilterCount() string { return passing(p.list.Len(), p.of, true) }

// turnFacts is a turn as a filter asks it.
type turnFacts struct {
	turnRow
	tools func() map[string]bool
}

// Text implements filter.Row.
func (t turnFacts) Text() string { return strings.ToLower(t.Input) }

// Number implements filter.Row.
func (t turnFacts) Number(key string) (float64, bool) {
	switch key {
	case "turn":
		return float64(t.Index), true
	case "calls":
		return float64(t.Calls), true
	case "errors":
		return float64(t.Errors), true
	}
	if t.Worst == nil {
		return 0, false
	}
	return *t.Worst, true
}

// Is implements filter.Row.
func (t turnFacts) Is(key, value string) bool {
	if key == "tool" {
		for name := range t.tools() {
			if strings.Contains(name, value) {
				return true
			}
		}
		return false
	}
	bad := t.Worst != nil && *t.Worst < 0.5
	switch value {
	case "alert":
		return t.Notice != ""
	case "stall":
		return t.Stalled
	case "regress":
		return t.Regressed
	case "cut":
		return t.CutOff != ""
	case "unscored":
		return t.Worst == nil
	case "ok":
		return t.Worst != nil && !bad && t.Notice == ""
	}
	return bad || t.Notice != "" || t.Errors > 0 // fail
}

// siftTurns reads the turns of a session, as many as a search looks at, and returns
// those that pass and how many there were.
func siftTurns(alive context.Context, tx *store.Tx, session, compare string, e filter.Expr) (out []turnRow, of int, err error) {
	for from, more := 0, true; more && of < turnsSought && alive.Err() == nil; {
		var rows []turnRow
		if rows, more, err = turnRows(tx, session, compare, from); err != nil || len(rows) == 0 {
			return out, of, err
		}
		for _, r := range rows {
			f := turnFacts{r, nil}
			f.tools = func() map[string]bool {
				names := map[string]bool{}
				t, _, terr := tx.Turn(session, r.Index)
				if terr != nil {
					err = terr
				}
				for i := range t.Spans {
					if t.Spans[i].Kind == trace.TOOL {
						names[strings.ToLower(t.Spans[i].Name)] = true
					}
				}
				return names
			}
			if e.Match(f) && e.MatchSlow(f) {
				out = append(out, r)
			}
		}
		of += len(rows)
		from = rows[len(rows)-1].Index + 1
	}
	return out, of, err
}
