package md

import (
	"strings"
	"time"
)

// Every is the shortest time between two renders of a text that grows.
const Every = 100 * time.Millisecond

// Doc is one text on the screen, perhaps still growing. It belongs to the goroutine
// that updates the screen; only Job.Do runs elsewhere:
//
//	doc.Set(text, width)
//	if job, wait := doc.Next(now); job != nil {
//		return func() tea.Msg { return job.Do() } // later: doc.Take(done)
//	}
//
// While text is added, only what is behind the last place where no construct is
// open is rendered again, at most ten times a second, one render at a time.
type Doc struct {
	r     *Renderer
	text  string
	width int
	epoch uint64

	rows    []string
	shown   int // bytes of the text that rows show; -1: rows are plain text
	stable  int // bytes of the prefix whose rows are settled
	prefix  []string
	seq     uint64
	busy    bool
	last    time.Time
	version uint64
}

// NewDoc returns an empty document.
func NewDoc(r *Renderer) *Doc { return &Doc{r: r} }

// Set shows a text at a width. A text that begins with the present one is a stream
// that went on: what is on the screen stays until the next render.
func (d *Doc) Set(text string, width int) {
	width = max(1, width)
	d.r.mu.Lock()
	epoch := d.r.palette.Epoch
	d.r.mu.Unlock()
	if text == d.text && width == d.width && epoch == d.epoch {
		return
	}
	grown := width == d.width && epoch == d.epoch && d.text != "" && strings.HasPrefix(text, d.text)
	d.text, d.width, d.epoch = text, width, epoch
	if grown {
		if d.shown < 0 {
			d.plain()
		}
		return
	}
	d.seq++ // a render under way is of another text
	d.busy, d.last = false, time.Time{}
	d.stable, d.prefix = 0, nil
	if rows, ok := d.r.Cached(text, width); ok {
		d.rows, d.shown = rows, len(text)
		d.version++
		return
	}
	d.shown = -1
	d.plain()
}

// plainShown bounds the text wrapped as plain text while the first render is under
// way: more does not fit on a screen.
const plainShown = 16 << 10

func (d *Doc) plain() {
	t := d.text
	if len(t) > plainShown {
		t = strings.ToValidUTF8(t[:plainShown], "")
	}
	d.rows = Plain(d.r.safe(t), d.width)
	d.version++
}

// inline is the size up to which a text may be rendered on the update goroutine,
// once, where nothing else can: a resize has no command of its own.
const inline = 2 << 10

// Settle renders a short text at once; it changes nothing for a longer one.
func (d *Doc) Settle() {
	if d.busy || d.width == 0 || d.shown == len(d.text) || len(d.text) > inline {
		return
	}
	d.rows, d.shown = d.r.Render(d.text, d.width), len(d.text)
	d.version++
}

// Shown returns the rows of the document if it shows that text at that width.
func (d *Doc) Shown(text string, width int) ([]string, bool) {
	if text != d.text || width != d.width || text == "" {
		return nil, false
	}
	return d.rows, true
}

// Rows are the rows to show now, each at most the width wide. Do not change them.
func (d *Doc) Rows() []string { return d.rows }

// Done reports that the rows show the whole text, rendered.
func (d *Doc) Done() bool { return !d.busy && d.shown == len(d.text) }

// Version changes when Rows do.
func (d *Doc) Version() uint64 { return d.version }

// Job is one render to be done off the update goroutine.
type Job struct {
	r           *Renderer
	doc         *Doc
	seq         uint64
	text        string
	width       int
	from, split int
}

// Done is what a Job brought.
type Done struct {
	job    Job
	prefix []string
	tail   []string
}

// Next returns the render that is due, or nil and how long to wait before asking
// again (0: nothing to do, or one is under way and Take will tell).
func (d *Doc) Next(now time.Time) (*Job, time.Duration) {
	if d.busy || d.width == 0 || d.shown == len(d.text) {
		return nil, 0
	}
	if left := Every - now.Sub(d.last); !d.last.IsZero() && left > 0 {
		return nil, left
	}
	d.busy, d.last = true, now
	return &Job{r: d.r, doc: d, seq: d.seq, text: d.text, width: d.width, from: d.stable, split: boundary(d.text, d.stable)}, 0
}

// Do renders: first what has become stable, then the rest.
func (j *Job) Do() Done {
	out := Done{job: *j}
	if j.split > j.from {
		out.prefix = j.r.Render(j.text[j.from:j.split], j.width)
	}
	out.tail = j.r.Render(j.text[j.split:], j.width)
	return out
}

// Take shows what a job brought; false when it was of another document or text.
func (d *Doc) Take(done Done) bool {
	if done.job.doc != d || done.job.seq != d.seq {
		return false
	}
	d.busy = false
	d.prefix = join(d.prefix, done.prefix)
	d.stable = done.job.split
	d.rows = join(d.prefix, done.tail)
	d.shown = len(done.job.text)
	d.version++
	return true
}

// join puts one blank row between two renders, as glamour does between blocks.
func join(a, b []string) []string {
	if len(a) == 0 {
		return b
	}
	if len(b) == 0 {
		return a
	}
	out := make([]string, 0, len(a)+1+len(b))
	return append(append(append(out, a...), ""), b...)
}

// boundary is the end of the last blank line behind from where the text can be cut
// without changing how either side renders: outside of code fences, before a line
// that begins a block of its own.
func boundary(text string, from int) int {
	cut, fence, blank := from, "", false
	for pos := from; pos < len(text); {
		end := strings.IndexByte(text[pos:], '\n')
		if end < 0 {
			break // the last line may go on
		}
		line := text[pos : pos+end]
		switch t := strings.TrimLeft(line, " "); {
		case fence != "":
			if strings.HasPrefix(t, fence) && strings.Trim(t, fence[:1]+" \r") == "" {
				fence = ""
			}
		case strings.TrimSpace(line) == "":
			blank = true
			pos += end + 1
			continue
		default:
			if blank && ownBlock(line) {
				cut = pos
			}
			if strings.HasPrefix(t, "```") || strings.HasPrefix(t, "~~~") {
				fence = t[:len(t)-len(strings.TrimLeft(t, t[:1]))]
			}
		}
		blank = false
		pos += end + 1
	}
	return cut
}

// ownBlock reports whether a line after a blank one cannot belong to the block before it.
func ownBlock(line string) bool {
	switch line[0] {
	case ' ', '\t', '-', '+', '*', '>', ':', '[', '|':
		return false
	}
	return line[0] < '0' || line[0] > '9'
}
