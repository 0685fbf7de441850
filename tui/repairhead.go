package tui

import (
	"fmt"
	"strings"
	"time"

	"vise/engine/episode"
	"vise/engine/trace"
	"vise/tui/style"
)

// head is the row of bounds: status, turns, time, money, model.
func (p *repairPane) head() string {
	e, g := p.data.episode, p.st().Glyphs
	mark, word, role := g.Pass, strings.ReplaceAll(string(e.Status), "_", " "), style.Good
	switch {
	case p.held != nil && p.held.EpisodeID == e.ID:
		mark, word, role = g.Held, "held "+strings.ReplaceAll(string(p.held.Point), "_", " "), style.Warn
		if p.held.Break != "" {
			word += " at breakpoint " + p.held.Break
		}
	case e.Status == episode.Running && !p.here:
		mark, word, role = g.Fail, p.ctx.Text("interrupted, {run.step} starts it again"), style.Warn
	case e.Status == episode.Running:
		mark, word, role = g.Busy, "running", style.Info
	case e.Status == episode.Open:
		mark, word, role = g.Trial, "open", style.Warn
	case !e.Status.Success():
		mark, role = g.Fail, style.Bad
	}
	row := p.line()
	if at := p.station(); at > 0 { // what is below is not now
		row.Put(style.Accent, fmt.Sprintf("%s step %d of %d  ", p.st().Glyphs.Pointer, at, len(p.data.steps)))
	}
	row.Put(role, mark+" "+word)
	if n := p.body.Unseen(); n > 0 {
		row.Put(style.Accent, fmt.Sprintf("  %s %d new", g.Down, n))
	}
	part := func(text string) {
		if text != "" {
			row.Put(style.Dim, "  "+text)
		}
	}
	turns, timeout := p.bounds()
	done, usage, priced := p.spent()
	if turns > 0 {
		part(fmt.Sprintf("model turn %d/%d", done, turns))
	} else {
		part(fmt.Sprintf("model turn %d", done))
	}
	switch fresh, back := p.changes(); {
	case fresh > 0:
		row.Put(style.Info, fmt.Sprintf("  +%d new", fresh))
	case back > 0:
		row.Put(style.Warn, fmt.Sprintf("  -%d not yet", back))
	}
	if d, ok := p.clock(); ok && timeout > 0 {
		part(seconds(d) + " of " + seconds(timeout))
	}
	part(cost(usage, priced))
	modelName := p.model()
	if e.Result != nil {
		modelName = e.Result.Model
	}
	if strings.HasPrefix(modelName, "builtin/") {
		modelName += " (fixed rules, no language model)"
	}
	part(modelName)
	return row.String()
}

// seconds is a duration as a bound is read: 0.1 s of 60 s.
func seconds(d time.Duration) string {
	switch {
	case d < 10*time.Second && d%time.Second != 0:
		return fmt.Sprintf("%.1f s", d.Seconds())
	case d < 10*time.Minute:
		return fmt.Sprintf("%.0f s", d.Seconds())
	}
	return elapsed(d)
}

// spent is the last turn of the newest attempt, and what all attempts used.
func (p *repairPane) spent() (turn int, u trace.Usage, priced bool) {
	own := 0
	for _, s := range p.data.steps {
		if !s.Kept {
			own++
		}
		u = u.Add(s.Usage)
		if s.Attempt == p.data.episode.Attempts {
			turn = s.Turn
		}
		priced = priced || s.Usage.CostUSD != nil
	}
	if r := p.data.episode.Result; r != nil && !p.here {
		turn = max(turn, r.Turns) // the last one may have been cancelled before it was kept
	}
	if p.live.turn > 0 {
		turn = p.live.turn
	}
	if p.held != nil && p.held.EpisodeID == p.data.episode.ID {
		turn = p.held.Turn
	}
	return turn, u, priced || own == 0
}

// cost is money as a person reads it: an unknown price is unknown.
func cost(u trace.Usage, known bool) string {
	switch {
	case u.CostUSD == nil && known:
		return "$0.000"
	case u.CostUSD == nil:
		return "cost unknown"
	case *u.CostUSD == 0:
		return "$0.000 (free)"
	}
	return fmt.Sprintf("$%.3f", *u.CostUSD)
}

// clock is how long the newest run has been going, without the time it was held.
func (p *repairPane) clock() (time.Duration, bool) {
	e := p.data.episode
	steps := p.data.steps
	if e.Status != episode.Running || !p.here {
		var d time.Duration
		for _, s := range steps {
			if s.Attempt == e.Attempts && !s.Kept {
				d += s.Ended.Sub(s.Started)
			}
		}
		return d, len(steps) > 0
	}
	start := p.begin(e.ID)    // what it was held is counted from there
	for _, s := range steps { // without that event, from its first step on
		if start.IsZero() && s.Attempt == e.Attempts && !s.Kept {
			start = s.Started
		}
	}
	if start.IsZero() {
		return 0, true
	}
	now := p.now()
	d := now.Sub(start) - p.heldFor
	if !p.heldAt.IsZero() {
		d -= now.Sub(p.heldAt)
	}
	return max(0, d), true
}
