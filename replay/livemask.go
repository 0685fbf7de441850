package replay

import (
	"strings"
	"sync"

	"vise/engine/guard"
	"vise/engine/trace"
)

// liveMask masks spans while their turn runs, before anybody is told of them: a stored
// turn is masked as a whole, and what is shown before must be, too. Texts that grow are
// masked where they have grown only, so that a stream costs what it has and not its
// square. It is safe for concurrent use.
type liveMask struct {
	by *guard.Redactor

	mu    sync.Mutex
	turn  int
	spans map[string]*[2]growing // output and thought, by span
}

// maxMasked bounds the spans of a turn whose growth is remembered; others are masked whole.
const maxMasked = 10_000

func newLiveMask(by *guard.Redactor) *liveMask {
	if by == nil {
		by = guard.DefaultRedactor()
	}
	return &liveMask{by: by, spans: map[string]*[2]growing{}}
}

// span returns a span with its texts masked.
func (m *liveMask) span(turn int, s trace.Span) trace.Span {
	m.mu.Lock()
	defer m.mu.Unlock()
	if turn != m.turn {
		m.turn = turn
		clear(m.spans)
	}
	texts := m.spans[s.ID]
	if texts == nil {
		texts = &[2]growing{}
		if len(m.spans) < maxMasked {
			m.spans[s.ID] = texts
		}
	}
	output, thought := s.Output, s.Thought
	s.Output, s.Thought = "", ""
	one := trace.Turn{Spans: []trace.Span{s}}
	m.by.Turn(&one)
	s = one.Spans[0]
	open := s.End.IsZero()
	s.Output = texts[0].set(m.by, output, open, s.Kind == trace.LLM)
	s.Thought = texts[1].set(m.by, thought, open, true)
	return s
}

// growing is a text that may be told again with more at its end.
type growing struct {
	raw    string
	stream *guard.Stream // since it has grown
	out    *strings.Builder
}

// set masks the text. The last word of one that goes on is held back: it may be the
// beginning of a secret that is none yet. words says that it comes word by word from
// its beginning on; other texts are taken to be whole until they grow.
func (g *growing) set(by *guard.Redactor, text string, open, words bool) string {
	more, grown := strings.CutPrefix(text, g.raw)
	if !grown || g.raw == "" {
		g.stream, more = nil, text
	}
	grown = grown && g.raw != "" && more != ""
	g.raw = text
	if g.stream == nil {
		if !grown && !(words && open) {
			text, _ = by.Payload(text)
			return text
		}
		g.out, more = &strings.Builder{}, text
		g.stream = guard.NewStream(g.out, by)
	}
	_, _ = g.stream.Write([]byte(more)) // a builder takes everything
	rest := g.stream.Held()
	if open {
		rest = rest[:lastBreak(rest)]
	}
	rest, _ = by.Text(rest)
	return g.out.String() + rest
}

// lastBreak is where the last word of a text begins; secrets are of printable ASCII, so
// any other character ends one.
func lastBreak(text string) int {
	for i := len(text) - 1; i >= 0; i-- {
		if c := text[i]; c <= ' ' || c >= 0x7f {
			return i + 1
		}
	}
	return 0
}
