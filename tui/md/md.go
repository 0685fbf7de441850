// Package md renders Markdown for panes: with glamour, in colours of the theme,
// never on the goroutine that updates the screen.
//
// What is shown is what an agent would read: raw HTML, comments and character
// references are printed as they are written, and nothing in the text can put a
// control sequence of its own into a cell (see Render).
package md

import (
	"container/list"
	"crypto/sha256"
	"fmt"
	"reflect"
	"strings"
	"sync"

	"charm.land/glamour/v2"
	"charm.land/glamour/v2/ansi"
	"github.com/alecthomas/chroma/v2/styles"
)

// CacheBytes bounds the rendered rows that a Renderer keeps.
const CacheBytes = 2 << 20

// MaxBytes bounds what is rendered of one text: about 0.15 s of work. What lies
// behind it is shown as plain text.
const MaxBytes = 64 << 10

// Palette are the colours of a theme by their use: "#rrggbb" or the number of a
// terminal colour; "" is the terminal's own.
type Palette struct {
	Text, Dim, Heading, Strong, Link, Code, Quote string
	Keyword, String, Number, Comment              string
	// ASCII draws bullets and rules without characters beyond ASCII.
	ASCII bool
	// Epoch tells palettes apart; it is part of every cache key.
	Epoch uint64
}

// Renderer renders and remembers. It is safe for concurrent use; renders run one
// after the other.
type Renderer struct {
	mu      sync.Mutex // guards what follows, not the rendering
	clean   func(string) string
	palette Palette
	config  ansi.StyleConfig
	cache   map[key]*list.Element
	order   *list.List // most recently used first
	bytes   int
}

// rendering makes renders run one after the other, in all renderers: glamour is not
// safe for concurrent use, and the highlighter behind it keeps its style in a variable
// of the process. colours are those it has now.
var (
	rendering sync.Mutex
	colours   *ansi.Chroma
)

// highlighter is the name under which glamour registers the colours of code, once:
// they are taken away when they are not those that are wanted, so that it does it again.
const highlighter = "charm"

func recolour(c *ansi.Chroma) {
	if colours == nil || !reflect.DeepEqual(*colours, *c) {
		delete(styles.Registry, highlighter)
		colours = c
	}
}

type key struct {
	sum   [16]byte
	width int
	epoch uint64
}

type entry struct {
	key  key
	rows []string
	size int
}

// New returns a renderer. clean makes text safe for a terminal (every control or
// invisible character visible) and keeps line ends; it must not be nil.
func New(clean func(string) string) *Renderer {
	r := &Renderer{clean: clean, cache: map[key]*list.Element{}, order: list.New()}
	r.config = config(r.palette)
	return r
}

// Use changes the look of everything rendered from now on. clean is that of New.
func (r *Renderer) Use(p Palette, clean func(string) string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.palette, r.config, r.clean = p, config(p), clean
}

func (r *Renderer) safe(text string) string {
	r.mu.Lock()
	clean := r.clean
	r.mu.Unlock()
	return clean(text)
}

func (r *Renderer) key(text string, width int) key {
	sum := sha256.Sum256([]byte(text))
	k := key{width: width, epoch: r.palette.Epoch}
	copy(k.sum[:], sum[:])
	return k
}

// Cached returns the rows of a text that was rendered before at that width in the
// present colours. Rows are shared: do not change them.
func (r *Renderer) Cached(text string, width int) ([]string, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.cached(r.key(text, width))
}

// Now returns the rows of a text that was rendered before, or is so short that it may be
// rendered on the update goroutine.
func (r *Renderer) Now(text string, width int) ([]string, bool) {
	if rows, ok := r.Cached(text, max(1, width)); ok || len(text) > inline {
		return rows, ok
	}
	return r.Render(text, width), true
}

// Plain returns the rows of a text as it is written: what is shown until Render is done.
func (r *Renderer) Plain(text string, width int) []string {
	if len(text) > plainShown {
		text = strings.ToValidUTF8(text[:plainShown], "")
	}
	return Plain(r.safe(text), max(1, width))
}

func (r *Renderer) cached(k key) ([]string, bool) {
	e, ok := r.cache[k]
	if !ok {
		return nil, false
	}
	r.order.MoveToFront(e)
	return e.Value.(*entry).rows, true
}

// Render returns the rows of a text, each at most width cells wide and complete in
// itself: it begins and ends without a style. It costs about 2 µs per byte, so call
// it from a command. Rows are shared: do not change them.
//
// A text that glamour refuses is shown as plain text.
func (r *Renderer) Render(text string, width int) []string {
	width = max(1, width)
	r.mu.Lock()
	k := r.key(text, width)
	rows, ok := r.cached(k)
	c, clean := r.config, r.clean
	r.mu.Unlock()
	if ok {
		return rows
	}
	head, rest := text, ""
	if len(text) > MaxBytes {
		cut := strings.LastIndexByte(text[:MaxBytes], '\n') + 1
		if cut == 0 {
			cut = MaxBytes
		}
		head, rest = text[:cut], text[cut:]
	}
	safe := veil(clean(head))
	var out string
	var err error
	deep := depth(safe) > maxDepth
	if !deep {
		out, err = r.glamour(c, safe, max(1, width-quoteDepth(safe)))
	}
	if deep || err != nil {
		rows = Plain(clean(head), width)
	} else {
		rows = settle(hang(out, width), width, clean)
	}
	if rest != "" {
		rows = append(rows, Plain(clean(rest), width)...)
	}
	r.put(k, rows)
	return rows
}

// quoteDepth is how deep block quotes are nested: while it is rendered, the bar of
// a quote has one cell, and with its gap two on the screen.
func quoteDepth(text string) int {
	deepest := 0
	for line := range strings.SplitSeq(text, "\n") {
		body := strings.TrimLeft(line, "> \t-+*.)0123456789") // also in an item of a list
		deepest = max(deepest, strings.Count(line[:len(line)-len(body)], ">"))
	}
	return deepest
}

// maxDepth bounds how deep quotes and lists are nested in what is rendered: a deeper text is
// shown as it is written. The time of the renderer grows with the cube of the levels: 100 of them
// are 0.1 s, 400 are 4 s (measured), and 400 levels fit into 400 bytes.
const maxDepth = 32

// depth is at least how deep quotes and lists are nested.
func depth(text string) int {
	deepest := 0
	for line := range strings.SplitSeq(text, "\n") {
		spaces, levels := 0, 0
	prefix:
		for i := 0; i < len(line); i++ {
			last := i+1 == len(line)
			switch c := line[i]; {
			case c == ' ':
				spaces++
			case c == '\t':
				spaces += 4
			case c == '>':
				levels++
			case strings.IndexByte("-+*", c) >= 0 && (last || strings.IndexByte(" \t>", line[i+1]) >= 0):
				levels++
			case c >= '0' && c <= '9' || strings.IndexByte(".)", c) >= 0 && i > 0 && line[i-1] >= '0' && line[i-1] <= '9':
				if c == '.' || c == ')' {
					levels++
				}
			default:
				break prefix
			}
		}
		if levels > 0 {
			deepest = max(deepest, levels+max(0, spaces-levels)/2)
		}
	}
	return deepest
}

func (r *Renderer) glamour(c ansi.StyleConfig, text string, width int) (out string, err error) {
	rendering.Lock()
	defer rendering.Unlock()
	recolour(c.CodeBlock.Chroma)
	// The text is untrusted and the renderer large: a panic in it is a text that
	// cannot be rendered, not the end of the program.
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("md: render: %v", p)
		}
	}()
	t, err := glamour.NewTermRenderer(glamour.WithStyles(c), glamour.WithWordWrap(width), glamour.WithInlineTableLinks(true),
		glamour.WithChromaFormatter("terminal16m"))
	if err != nil {
		return "", fmt.Errorf("md: %w", err)
	}
	if out, err = t.Render(text); err != nil {
		return "", fmt.Errorf("md: %w", err)
	}
	return out, nil
}

func (r *Renderer) put(k key, rows []string) {
	size := 64
	for _, row := range rows {
		size += len(row) + 16
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, ok := r.cache[k]; ok || size > CacheBytes/2 {
		return
	}
	r.cache[k] = r.order.PushFront(&entry{k, rows, size})
	r.bytes += size
	for r.bytes > CacheBytes {
		last := r.order.Back()
		e := r.order.Remove(last).(*entry)
		delete(r.cache, e.key)
		r.bytes -= e.size
	}
}
