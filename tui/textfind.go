package tui

import (
	"strings"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"vise/engine/event"
	"vise/engine/rule"
	"vise/tui/style"
	"vise/tui/vlist"
	"vise/tui/vtext"
)

// searchText looks for a query in a text; "" ends the search. It returns how many places
// have it.
func searchText(t *vtext.Text, s *style.Style, query string) int {
	if t == nil {
		return 0
	}
	if query == "" {
		return t.Find(nil, "", "")
	}
	return t.Find(compile(query).all, s.Prefix(style.Strong, style.Match), s.Prefix(style.Strong, style.Match)+"\x1b[7m")
}

// markRow shows the places of a query in a row that is drawn, on the ground of matches.
func markRow(s *style.Style, row, query string) string {
	p, plain, total := compile(query), ansi.Strip(row), s.Width(row)
	for at := 0; at < len(plain); {
		from, to := p.find(plain[at:])
		if from < 0 {
			break
		}
		text := plain[at+from : at+to]
		row = lay(s, row, s.PaintOn(style.Strong, style.Match, text), s.Width(plain[:at+from]), s.Width(text), total)
		at += to
	}
	return row
}

// all are the places of the query in a text.
func (p *pattern) all(text string) (out [][2]int) {
	if p.regex != nil {
		for _, at := range p.regex.FindAllStringIndex(text, vtext.MaxMatches) {
			if at[1] > at[0] {
				out = append(out, [2]int(at))
			}
		}
		return out
	}
	if p.text == "" {
		return nil
	}
	if p.fold {
		if low := strings.ToLower(text); len(low) == len(text) { // else its places would be others
			text = low
		}
	}
	for at := 0; len(out) < vtext.MaxMatches; {
		i := strings.Index(text[at:], p.text)
		if i < 0 {
			break
		}
		out = append(out, [2]int{at + i, at + i + len(p.text)})
		at += i + len(p.text)
	}
	return out
}

// under are the marks of a text that stands that many rows under the top of its pane.
func under(head int, marks []int) []int {
	out := make([]int, len(marks))
	for i, m := range marks {
		out[i] = m + head
	}
	return out
}

// counted is a searcher that counts its matches anew while what it shows changes.
type counted interface{ Matches() int }

// NextMatch implements Searcher.
func (p *repairPane) NextMatch(_ *Context, dir int) tea.Cmd {
	p.body.Next(dir)
	p.bump()
	return nil
}

// Matches, MatchAt and Marks implement counted, placed and marker.
func (p *repairPane) Matches() int { return p.body.Found() }

// MatchAt: see Matches.
func (p *repairPane) MatchAt() int { return p.body.At() }

// Marks: see Matches.
func (p *repairPane) Marks() []int {
	if p.body == nil {
		return nil
	}
	return under(repairHead, p.body.Marks())
}

// NextMatch implements Searcher.
func (p *validationPane) NextMatch(_ *Context, dir int) tea.Cmd {
	p.body.Next(dir)
	p.bump()
	return nil
}

// Matches, MatchAt and Marks implement counted, placed and marker.
func (p *validationPane) Matches() int { return p.body.Found() }

// MatchAt: see Matches.
func (p *validationPane) MatchAt() int { return p.body.At() }

// Marks: see Matches.
func (p *validationPane) Marks() []int {
	if p.body == nil {
		return nil
	}
	return under(1, p.body.Marks())
}

// NextMatch implements Searcher.
func (p *attemptsPane) NextMatch(_ *Context, dir int) tea.Cmd {
	p.body.Next(dir)
	p.bump()
	return nil
}

// Matches, MatchAt and Marks implement counted, placed and marker.
func (p *attemptsPane) Matches() int { return p.body.Found() }

// MatchAt: see Matches.
func (p *attemptsPane) MatchAt() int { return p.body.At() }

// Marks: see Matches.
func (p *attemptsPane) Marks() []int {
	if p.body == nil {
		return nil
	}
	return under(p.listRows()+1, p.body.Marks())
}

// NextMatch implements Searcher.
func (p *scoresPane) NextMatch(_ *Context, dir int) tea.Cmd {
	p.found.Next(dir)
	p.bump()
	return nil
}

// Matches, MatchAt and Marks implement counted, placed and marker.
func (p *scoresPane) Matches() int { return p.found.Found() }

// MatchAt: see Matches.
func (p *scoresPane) MatchAt() int { return p.found.At() }

// Marks: see Matches.
func (p *scoresPane) Marks() []int {
	if p.found == nil {
		return nil
	}
	return under(p.headRows()+1, p.found.Marks())
}

// Marks implements marker, for the lists.
func (p *tracePane) Marks() []int { return listMarks(p.find, 0, p.list, p.match) }

// Marks implements marker.
func (p *sessionsPane) Marks() []int { return listMarks(p.find, 0, p.list, p.match) }

// Marks implements marker.
func (p *turnsPane) Marks() []int { return listMarks(p.find, 1, p.list, p.match) }

// Marks implements marker.
func (p *rulesPane) Marks() []int {
	return listMarks(p.find, 0, p.list, func(r rule.Rule) bool { return matches(r.Text, p.find) })
}

// Marks implements marker.
func (p *journalPane) Marks() []int {
	return listMarks(p.find, 0, p.list, func(e event.Event) bool { return matches(eventWords(p.ctx, e)+" "+string(e.Type), p.find) })
}

// listMarks are the marks of a list that stands that many rows under the top of its pane.
func listMarks[T any](query string, head int, l *vlist.List[T], match func(T) bool) []int {
	if query == "" {
		return nil
	}
	return under(head, l.Marks(match))
}
