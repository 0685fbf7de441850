package cassette

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"sync"

	"github.com/aymanbagabas/go-udiff"
)

// maxDiff bounds the difference that a miss shows, in bytes.
const maxDiff = 4 << 10

// Miss is a request that was not recorded, or asked once more than it was recorded.
type Miss struct {
	Method string `json:"method"`
	Path   string `json:"path"`
	Key    string `json:"key"`
	// Nearest is the recorded exchange that would have been next on this path, 0 for none.
	Nearest int `json:"nearest,omitempty"`
	// Diff shows what differs from it, as a unified difference, bounded.
	Diff string `json:"diff"`
}

// Tape hands recorded answers out. It is safe for concurrent use.
type Tape struct {
	mu        sync.Mutex
	left      map[string][]*Exchange
	order     []*Exchange
	used      map[*Exchange]bool
	renewed   bool // left goes by keys of today
	last      int
	reordered int
	misses    []Miss
}

// NewTape makes a tape of a recording. Exchanges without an answer are left out:
// the caller never got one either.
func NewTape(exchanges []Exchange) *Tape {
	t := &Tape{left: map[string][]*Exchange{}, used: map[*Exchange]bool{}}
	for i := range exchanges {
		e := &exchanges[i]
		if e.Status == 0 {
			continue
		}
		if len(e.Parts) == 0 && len(e.Body) > 0 {
			e.Parts = [][2]int64{{0, int64(len(e.Body))}}
		}
		t.left[e.Key] = append(t.left[e.Key], e)
		t.order = append(t.order, e)
	}
	return t
}

// Take returns the next unused answer recorded for the request, or the miss.
func (t *Tape) Take(method, path string, canonical []byte) (*Exchange, *Miss) {
	t.mu.Lock()
	defer t.mu.Unlock()
	key := Key(method, path, canonical)
	if len(t.left[key]) == 0 && !t.renewed {
		t.renew()
	}
	if queue := t.left[key]; len(queue) > 0 {
		e := queue[0]
		t.left[key] = queue[1:]
		t.used[e] = true
		if e.Seq < t.last {
			t.reordered++
		}
		t.last = max(t.last, e.Seq)
		return e, nil
	}
	m := Miss{Method: method, Path: path, Key: key}
	for _, e := range t.order {
		if !t.used[e] && e.Path == path {
			m.Nearest, m.Diff = e.Seq, difference(e.Seq, e.Request, canonical)
			break
		}
	}
	if m.Diff == "" {
		m.Diff = "no answer of the recording is left for " + method + " " + path
	}
	if len(t.misses) < 64 {
		t.misses = append(t.misses, m)
	}
	return nil, &m
}

// renew goes by keys made anew: what changes from run to run is recognised better by
// later versions, and a recording of an earlier one still holds it and a key over it.
// Only a request that is not found pays for that.
func (t *Tape) renew() {
	t.renewed = true
	clear(t.left)
	for _, e := range t.order {
		if t.used[e] {
			continue
		}
		key := e.Key
		if len(e.Request) > 0 {
			canonical, _ := Matcher{}.Canonical(e.Request)
			key = Key(e.Method, e.Path, canonical)
		}
		t.left[key] = append(t.left[key], e)
	}
}

// Misses are the requests that found no answer, in order; at most 64 are kept.
func (t *Tape) Misses() []Miss {
	t.mu.Lock()
	defer t.mu.Unlock()
	return append([]Miss(nil), t.misses...)
}

// Left is how many recorded answers were not asked for, Reordered how many were
// asked for later than in the recording.
func (t *Tape) Left() (left, reordered int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.order) - len(t.used), t.reordered
}

// difference is a unified difference of two request bodies, laid out for reading.
func difference(seq int, recorded, asked []byte) string {
	d := udiff.Unified(fmt.Sprintf("recorded request %d", seq), "this request", layout(recorded), layout(asked))
	if len(d) > maxDiff {
		d = strings.ToValidUTF8(d[:maxDiff], "") + "\n… cut"
	}
	return d
}

func layout(raw []byte) string {
	var out bytes.Buffer
	if json.Indent(&out, raw, "", " ") != nil {
		return string(raw)
	}
	// Long texts differ somewhere in the middle: a line each makes it visible.
	return strings.ReplaceAll(out.String(), `\n`, "\n") + "\n"
}
