package tui

import (
	"regexp"
	"strings"

	"vise/engine/guard"
	"vise/tui/style"
	"vise/tui/vtext"
)

// where is a part of a wrapped error that names what it was done to ("run run-01M8…",
// "prompt turn 1") and not what went wrong.
var where = regexp.MustCompile(`^[a-z]+( [a-z]+)* \S*[0-9-]\S*$`)

// causeFirst turns the parts of an error around: what went wrong, then where. Errors
// are wrapped from the inside to the outside; a person reads from the left, in a row
// that may be cut at its right.
func causeFirst(err, at string) string {
	places := []string{}
	if at != "" {
		places = append(places, at)
	}
	for {
		head, rest, ok := strings.Cut(err, ": ")
		if !ok || !where.MatchString(head) {
			break
		}
		if head != at {
			places = append(places, head)
		}
		err = rest
	}
	if len(places) == 0 {
		return err
	}
	return err + "; " + strings.Join(places, ", ")
}

// folded are the rows of a text as it is wrapped to w cells, at most n: the last ends
// with an ellipsis when there would be more.
func (s *sheet) folded(text string, w, n int) []string {
	text = s.st().Clean(strings.Join(strings.Fields(guard.Visible(text)), " "))
	lines := vtext.Wrap(text, max(1, w), 0, s.st().Width)
	if n = max(1, n); len(lines) > n {
		lines[n-1] = s.st().Cut(strings.Join(lines[n-1:], " "), w)
		lines = lines[:n]
	}
	return lines
}

// shares divides h rows among texts that need some: two for each, and what is left to
// the first ones from the one at first on.
func shares(need []int, first, h int) []int {
	got := make([]int, len(need))
	for i, n := range need {
		got[i] = min(n, 2)
		h -= got[i]
	}
	for k := range need {
		i := (first + k) % len(need)
		more := min(max(0, h), need[i]-got[i])
		got[i] += more
		h -= more
	}
	return got
}

// fitted are the rows of every item: their causes as far as there are rows for them.
func (p *attentionPane) fitted() [][]string {
	const lead = 3
	need, used := make([]int, len(p.items)), 0
	does := make([][]string, len(p.items))
	for i, x := range p.items {
		does[i] = p.part(p.w-lead).wrapped(style.Dim, x.Do, 0, 0, 0)
		need[i] = len(p.folded(x.Text, p.w-lead, p.h+1))
		used += len(does[i])
	}
	got := shares(need, p.cursor, p.h-used)
	out := make([][]string, len(p.items))
	for i, x := range p.items {
		mark, role := p.mark(x.Kind)
		for j, l := range p.folded(x.Text, p.w-lead, got[i]) {
			r := p.line()
			switch {
			case j > 0:
				r.Space(lead)
			case i == p.cursor:
				r.Put(style.Accent, p.st().Glyphs.Pointer).Put(role, mark).Space(1)
			default:
				r.Space(1).Put(role, mark).Space(1)
			}
			out[i] = append(out[i], marked(r.Link(x.Link()), style.Text, l, p.find).Link("").String())
		}
		for _, l := range does[i] {
			out[i] = append(out[i], markRow(p.st(), p.st().Blank(lead)+l, p.find))
		}
	}
	return out
}
