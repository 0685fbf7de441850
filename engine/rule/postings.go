package rule

import (
	"cmp"
	"hash/maphash"
	"slices"
	"strings"
	"sync"
)

// Postings is an inverted index over rules in memory: which tokens are in which rules.
// It ranks and compares without reading a rule, in time that grows with the number of
// rules that share a token, some nanoseconds each. It is a cache: what it names must be
// read from the store. Any number of readers, or one writer, may use it at a time.
type Postings struct {
	docs []doc
	// in is the scope of each doc as a number, beside them: comparing goes through all
	// that share a word, and only those of one scope are worth a look.
	in     []uint32
	scopes map[string]uint32
	at     map[string]uint32   // rule id → place in docs
	lists  map[string][]uint32 // token → places, each shifted by postingBits, with how it occurs
	words  map[uint64][]uint32 // digest of the wording → places
	order  []uint32            // places by created_at, then id descending
	dead   int                 // docs that a newer version has replaced
	seed   maphash.Seed
	spare  sync.Pool // *tally
}

// How a token occurs in a rule.
const (
	inTags      = 1 << iota
	inBody      // text, rationale or metric
	inText      // text, and no stop word
	postingBits = iota
)

// doc is what is known of a rule without reading it.
type doc struct {
	id, created, scope string
	status             Status
	content            uint64 // digest of all that the index is about, the status excepted
	tokens             int    // of the text, without stop words
	signatures         []string
	tags               []string // that say what the rule is about
	dead               bool
}

// tally counts hits by place; it is all zero between uses.
type tally struct {
	n       []uint16
	touched []uint32
}

// NewPostings returns an empty index.
func NewPostings() *Postings {
	return &Postings{scopes: map[string]uint32{}, at: map[string]uint32{}, lists: map[string][]uint32{}, words: map[uint64][]uint32{}, seed: maphash.MakeSeed()}
}

// Put adds a rule or replaces the earlier version of it.
func (p *Postings) Put(r Rule) {
	content := p.digest(r)
	if i, ok := p.at[r.ID]; ok {
		if d := &p.docs[i]; d.content == content {
			d.status = r.Status
			return
		}
		p.docs[i].dead = true
		p.dead++
		p.order = slices.DeleteFunc(p.order, func(o uint32) bool { return o == i })
	}
	i := uint32(len(p.docs))
	m := measure(r)
	d := doc{id: r.ID, created: r.CreatedAt, scope: r.Scope, status: r.Status, content: content, tokens: len(m.tokens), signatures: r.FailureSignatures}
	for t := range m.tags {
		d.tags = append(d.tags, t)
	}
	p.docs = append(p.docs, d)
	scope, ok := p.scopes[r.Scope]
	if !ok {
		scope = uint32(len(p.scopes))
		p.scopes[r.Scope] = scope
	}
	p.in = append(p.in, scope)
	p.at[r.ID] = i
	occurs := map[string]uint32{}
	mark := func(how uint32, texts ...string) {
		for _, text := range texts {
			eachToken(text, func(t string) { occurs[t] |= how })
		}
	}
	mark(inTags, r.Tags...)
	mark(inBody, r.Text, r.Rationale, r.Metric)
	for t := range m.tokens {
		occurs[t] |= inText
	}
	for t, how := range occurs {
		p.lists[t] = append(p.lists[t], i<<postingBits|how)
	}
	w := p.wording(m.wording)
	p.words[w] = append(p.words[w], i)
	at, _ := slices.BinarySearchFunc(p.order, i, p.compare)
	p.order = slices.Insert(p.order, at, i)
}

// Worn reports that replaced versions have become a burden: make the index anew.
func (p *Postings) Worn() bool { return p.dead > 1000 && p.dead > len(p.docs)/2 }

// compare orders places by created_at, then id descending: read from its end, the
// order is that of equal hits.
func (p *Postings) compare(a, b uint32) int {
	x, y := &p.docs[a], &p.docs[b]
	if c := cmp.Compare(x.created, y.created); c != 0 {
		return c
	}
	return cmp.Compare(y.id, x.id)
}

func (p *Postings) digest(r Rule) uint64 {
	var h maphash.Hash
	h.SetSeed(p.seed)
	for _, s := range []string{r.CreatedAt, r.Scope, r.Text, r.Rationale, r.Metric, strings.Join(r.Tags, "\x00"), strings.Join(r.FailureSignatures, "\x00")} {
		_, _ = h.WriteString(s)
		_ = h.WriteByte(0xff) // in no text
	}
	return h.Sum64()
}

func (p *Postings) wording(w string) uint64 { return maphash.String(p.seed, w) }

func (p *Postings) tally() *tally {
	t, _ := p.spare.Get().(*tally)
	if t == nil {
		t = &tally{}
	}
	if len(t.n) < len(p.docs) {
		t.n = make([]uint16, len(p.docs)+len(p.docs)/4+64)
	}
	return t
}

func (p *Postings) done(t *tally) {
	for _, i := range t.touched {
		t.n[i] = 0
	}
	t.touched = t.touched[:0]
	p.spare.Put(t)
}

// Query asks for the best rules.
type Query struct {
	Tokens   []string // distinct
	Limit    int
	Statuses []Status
	// Except leaves the rules of one scope out; "" = none.
	Except string
	// Shown restricts the candidates to these ids when Restricted is set.
	Shown      []string
	Restricted bool
}

func (q *Query) takes(d *doc) bool {
	return !d.dead && slices.Contains(q.Statuses, d.status) && (q.Except == "" || d.scope != q.Except) &&
		(!q.Restricted || d.status != Candidate || slices.Contains(q.Shown, d.id))
}

// Best returns the ids of the rules that Search ranks first for the query, in order.
func (p *Postings) Best(q Query) []string {
	t := p.tally()
	defer p.done(t)
	for _, token := range q.Tokens {
		for _, e := range p.lists[token] {
			i, points := e>>postingBits, uint16(1)
			switch {
			case e&inTags != 0:
				points = 2
			case e&inBody == 0:
				continue
			}
			if t.n[i] == 0 {
				t.touched = append(t.touched, i)
			}
			t.n[i] += points
		}
	}
	better := func(a, b uint32) int {
		// Most have fewer hits than the worst so far: their records are not touched.
		if c := cmp.Compare(t.n[b], t.n[a]); c != 0 {
			return c
		}
		return -p.compare(a, b)
	}
	best := make([]uint32, 0, min(q.Limit, len(p.docs)))
	for _, i := range t.touched {
		full := len(best) == q.Limit
		if full && better(i, best[len(best)-1]) > 0 || !q.takes(&p.docs[i]) {
			continue
		}
		at, _ := slices.BinarySearchFunc(best, i, better)
		if full {
			best = best[:len(best)-1]
		}
		best = slices.Insert(best, at, i)
	}
	// What matches nothing ranks last, the newest first.
	for k := len(p.order) - 1; k >= 0 && len(best) < q.Limit; k-- {
		if i := p.order[k]; t.n[i] == 0 && q.takes(&p.docs[i]) {
			best = append(best, i)
		}
	}
	return p.ids(best)
}

// Alike returns the ids of the rules that Covering and Disproved must see for a
// proposal, in listing order: those of equal wording, and those live ones of its scope
// that cover it.
func (p *Postings) Alike(proposed Rule) []string {
	proposed.Scope = NormalizeScope(proposed.Scope)
	m := propose(proposed)
	found := slices.DeleteFunc(slices.Clone(p.words[p.wording(m.wording)]), func(i uint32) bool { return p.docs[i].dead })
	t := p.tally()
	defer p.done(t)
	for token := range m.tokens {
		for _, e := range p.lists[token] {
			if e&inText == 0 {
				continue
			}
			i := e >> postingBits
			if t.n[i] == 0 {
				t.touched = append(t.touched, i)
			}
			t.n[i]++
		}
	}
	scope, known := p.scopes[proposed.Scope]
	for _, i := range t.touched {
		if !known || p.in[i] != scope {
			continue
		}
		d := &p.docs[i]
		if d.dead || d.status != Candidate && d.status != Active {
			continue
		}
		similarity, containment, smaller := likeness(int(t.n[i]), d.tokens, len(m.tokens))
		tags := func() bool {
			n := 0
			for _, tag := range d.tags {
				if m.tags[tag] {
					n++
				}
			}
			return n >= 2
		}
		if coverage(similarity, containment, smaller, func() bool { return intersects(d.signatures, proposed.FailureSignatures) }, tags) != "" {
			found = append(found, i)
		}
	}
	slices.SortFunc(found, func(a, b uint32) int {
		x, y := &p.docs[a], &p.docs[b]
		return cmp.Or(cmp.Compare(x.created, y.created), cmp.Compare(x.id, y.id))
	})
	return p.ids(slices.Compact(found))
}

func (p *Postings) ids(places []uint32) []string {
	out := make([]string, len(places))
	for k, i := range places {
		out[k] = p.docs[i].id
	}
	return out
}

// Indexed is a Reader that has Postings of what it reads.
type Indexed interface {
	Reader
	// Best returns the rules that Search ranks first for the query, in order; ok is
	// false when there is no index of this very state of the rules.
	Best(q Query) (rules []Rule, ok bool, err error)
	// Alike returns the rules that Covering and Disproved must see for a proposal.
	Alike(proposed Rule) (rules []Rule, ok bool, err error)
}
