package tui

import (
	"math"
	"slices"

	"vise/engine/episode"
	"vise/engine/model"
	"vise/engine/repair"
)

// moment is how far an episode is: attempt, model turn, and how many calls of that turn
// have run. Moments are compared in that order.
type moment [3]int

// lastly is after everything there is.
var lastly = moment{math.MaxInt, math.MaxInt, math.MaxInt}

func (m moment) after(o moment) bool { return slices.Compare(m[:], o[:]) > 0 }

// since is what a person has seen at the last stop and sees at this one. A stop is a
// checkpoint that is held, a step that was gone to in time, or the end of the run.
type since struct {
	episode string
	was, is moment
	seen    bool // there was a stop before this one
}

// moment is where the episode stands on the screen; stop is false while it runs on.
func (p *repairPane) moment() (m moment, stop bool) {
	h := p.held
	switch {
	case p.step > 0:
		return moment{p.attempt, p.step, math.MaxInt}, true
	case h != nil && h.EpisodeID == p.data.episode.ID && h.Point == repair.BeforeModel:
		return moment{h.Attempt, h.Turn - 1, math.MaxInt}, true
	case h != nil && h.EpisodeID == p.data.episode.ID:
		ran := 0
		for i := len(h.Messages) - 1; i >= 0 && h.Messages[i].Role == model.ToolRole; i-- {
			ran++
		}
		return moment{h.Attempt, h.Turn, ran}, true
	}
	return lastly, !p.running()
}

// look takes over where the episode stands and returns between which moments something
// has changed since the last stop; from is after to when a person went back in time.
func (p *repairPane) look() (from, to moment) {
	m, stop := p.moment()
	s := &p.since
	switch {
	case s.episode != p.data.episode.ID:
		*s = since{episode: p.data.episode.ID, was: m, is: m, seen: stop}
	case stop && !s.seen:
		s.was, s.is, s.seen = m, m, true
	case stop && m != s.is:
		s.was, s.is = s.is, m
	}
	if !stop && s.seen {
		return s.is, lastly
	}
	return s.was, s.is
}

// changed says of a call that it has run, or was asked for, since the last stop (1), that it has not run
// yet where a person went back to (-1), or neither (0).
func (p *repairPane) changed(s episode.Step, i int) int {
	m := moment{s.Attempt, s.Turn, i + 1}
	if c := s.Calls[i]; !c.Ran && len(c.Result) == 0 {
		m[2] = 0 // the model has asked for it
	}
	switch {
	case m.after(p.from) && !m.after(p.to):
		return 1
	case m.after(p.to) && !m.after(p.from):
		return -1
	}
	return 0
}

// changes counts the calls that have changed since the last stop.
func (p *repairPane) changes() (fresh, back int) {
	for _, s := range p.data.steps {
		for i := range s.Calls {
			switch p.changed(s, i) {
			case 1:
				fresh++
			case -1:
				back++
			}
		}
	}
	return fresh, back
}
