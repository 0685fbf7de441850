package tui

import (
	"context"
	"slices"
	"sort"
	"strings"

	tea "charm.land/bubbletea/v2"

	"vise/engine/trace"
	"vise/tui/style"
	"vise/tui/vtext"
)

// scanAtOnce is how much text is searched on the update goroutine; more is searched in a
// command, so that typing does not wait for it.
const scanAtOnce = 128 << 10

// hit is a place of the search in a span: in which of its texts, and where: a byte of that text as
// it is shown.
type hit struct{ part, at int }

// traceHits are the places of one query in all spans of a trace.
type traceHits struct {
	query string
	spans map[string][]hit // by id
}

// scan looks for a query in spans, at most vtext.MaxMatches in each.
func scan(ctx context.Context, st *style.Style, spans []trace.Span, query string) traceHits {
	out := traceHits{query: query, spans: map[string][]hit{}}
	p := compile(query)
	for i := range spans {
		if ctx.Err() != nil {
			break
		}
		var hits []hit
		for n, x := range spanParts(&spans[i]) {
			text, _ := x.shown(st)
			for _, at := range p.inLines(text) {
				if len(hits) < vtext.MaxMatches {
					hits = append(hits, hit{n, at})
				}
			}
		}
		if len(hits) > 0 {
			out.spans[spans[i].ID] = hits
		}
	}
	return out
}

// inLines are where the places of the query begin in a text of lines, none over a line's end.
func (p *pattern) inLines(text string) (out []int) {
	if p.regex == nil {
		for _, at := range p.all(text) { // a query has no line ends
			out = append(out, at[0])
		}
		return out
	}
	for from := 0; from < len(text) && len(out) < vtext.MaxMatches; {
		line := text[from:]
		if i := strings.IndexByte(line, '\n'); i >= 0 {
			line = line[:i]
		}
		for _, at := range p.all(line) {
			out = append(out, from+at[0])
		}
		from += len(line) + 1
	}
	return out
}

// seekHits begins to look for the query in what the pane holds: at once when that is little,
// else by the command. A search that is under way for another query is given up.
func (p *tracePane) seekHits(ctx *Context) tea.Cmd {
	if p.stopScan != nil {
		p.stopScan()
		p.stopScan = nil
	}
	p.scans.drop()
	if p.find == "" {
		p.hits = traceHits{}
		return nil
	}
	spans, size := p.spans(), 0
	for i := range spans {
		for _, x := range spanParts(&spans[i]) {
			size += len(x.text)
		}
	}
	if size <= scanAtOnce {
		p.hits = scan(ctx.Ctx, p.st(), spans, p.find)
		return nil
	}
	end, stop := context.WithCancel(ctx.Ctx)
	p.stopScan = stop
	st, query := p.st(), p.find
	spans = slices.Clone(spans) // those of a running turn change in place
	return p.scans.outside(ctx, func() (traceHits, error) {
		defer stop()
		return scan(end, st, spans, query), end.Err()
	})
}

// spans are those that are shown now.
func (p *tracePane) spans() []trace.Span {
	switch {
	case !p.data.found:
		return p.live
	case p.data.both:
		return slices.Concat(p.data.now, p.data.was)
	}
	return p.data.now
}

// takeHits shows what a search has found.
func (p *tracePane) takeHits(ctx *Context, h traceHits, err error) {
	p.stopScan = nil
	if err != nil || h.query != p.find {
		return // another one is under way
	}
	p.hits = h
	p.place1(ctx)
}

// place1 goes to the first place at or after the cursor, else to the first of all.
func (p *tracePane) place1(ctx *Context) {
	p.hit = -1
	p.bump()
	if _, moved := p.list.Find(p.match); moved {
		p.choose(ctx)
	}
	if r, ok := p.list.Selected(); ok && p.match(r) {
		p.hit = 0
	}
	p.showHit()
}

// match reports whether a row has a place of the search.
func (p *tracePane) match(r traceRow) bool {
	if p.find == "" || p.hits.query != p.find {
		return false
	}
	for _, s := range []*trace.Span{r.tree.Span, r.pair.a, r.pair.b} {
		if s != nil && len(p.hits.spans[s.ID]) > 0 {
			return true
		}
	}
	return false
}

// places are those of a row in the span that it shows in detail.
func (p *tracePane) places(r traceRow) []hit {
	for _, s := range []*trace.Span{r.tree.Span, r.pair.b, r.pair.a} {
		if s != nil {
			return p.hits.spans[s.ID]
		}
	}
	return nil
}

// count is how many places a row counts for; one that only the run before has is one.
func (p *tracePane) count(r traceRow) int {
	if !p.match(r) {
		return 0
	}
	return max(1, len(p.places(r)))
}

// Search implements Searcher: over names, arguments, results, thoughts and errors.
func (p *tracePane) Search(ctx *Context, q string) int {
	p.find, p.hit = q, -1
	p.seeking = p.seekHits(ctx)
	if p.seeking == nil {
		p.place1(ctx)
	}
	p.markDetail()
	p.bump()
	return p.Matches()
}

// SearchFar implements farSearcher: what is too much to look through at once.
func (p *tracePane) SearchFar(*Context, int) tea.Cmd {
	cmd := p.seeking
	p.seeking = nil
	return cmd
}

// Found implements farSearcher.
func (p *tracePane) Found() string {
	if p.find != "" && p.hits.query != p.find {
		return "looking through the texts"
	}
	return matchCount(p.Matches())
}

// NextMatch implements Searcher: the next place in the span, then those of the next row.
func (p *tracePane) NextMatch(ctx *Context, dir int) tea.Cmd {
	r, ok := p.list.Selected()
	if !ok {
		return nil
	}
	places := p.places(r)
	if to := p.hit + dir; to >= 0 && to < len(places) {
		p.hit = to
		p.showHit()
		return nil
	}
	if !p.seek(ctx, dir > 0, p.match) {
		return nil
	}
	p.hit = 0
	if r, _ := p.list.Selected(); dir < 0 {
		p.hit = p.count(r) - 1
	}
	p.showHit()
	return nil
}

// Matches implements counted: all places, in every row.
func (p *tracePane) Matches() (n int) {
	for _, r := range p.list.Items() {
		n += p.count(r)
	}
	return n
}

// MatchAt implements placed.
func (p *tracePane) MatchAt() (n int) {
	at := p.list.Index()
	for i, r := range p.list.Items() {
		if i == at {
			if p.hit < 0 || p.hit >= p.count(r) {
				return 0
			}
			return n + p.hit + 1
		}
		n += p.count(r)
	}
	return 0
}

// showHit lays the detail out around the present place and brings it onto the screen.
func (p *tracePane) showHit() {
	p.bump()
	p.detail()
	p.markDetail()
}

// markDetail marks the search in the detail and goes to the present place.
func (p *tracePane) markDetail() {
	if p.text == nil {
		return
	}
	line, at := p.text.Anchor()
	searchText(p.text, p.st(), p.find)
	h, ok := p.present()
	if !ok || p.shown == "" {
		p.text.GoAnchor(line, at) // the reader stays where he is
		return
	}
	lo := sort.Search(len(p.laid), func(i int) bool { return p.laid[i].part >= h.part })
	if lo < len(p.laid) && p.laid[lo].part == h.part {
		l, col := p.laid[lo].find(h.at)
		p.text.GoPlace(l, col)
	}
}

// present is the place of the search that is shown.
func (p *tracePane) present() (hit, bool) {
	r, ok := p.list.Selected()
	if !ok || p.hit < 0 {
		return hit{}, false
	}
	places := p.places(r)
	if p.hit >= len(places) {
		return hit{}, false
	}
	return places[p.hit], true
}
