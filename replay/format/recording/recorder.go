package recording

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"hash"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"vise/engine/guard"
	"vise/engine/trace"
)

// Recorder stands between a format's reader and the sink. It gives sessions and
// traces their ids, masks credentials in every text, counts, and computes the digest.
type Recorder struct {
	ctx  context.Context
	sink Sink
	red  *guard.Redactor // counts what it masks
	mute *guard.Redactor // the same without counting, for what is masked twice
	sum  Summary

	ids    map[string]bool // session ids given so far
	head   trace.Session   // the open session, as the reader knows it
	open   bool
	begun  trace.Session // the head as it is told to the sink
	told   bool          // the sink knows the open session
	held   *trace.Turn   // a hollow turn that waits for what shows that the session is one
	odd    int           // records of unknown types behind which the session begins
	all    int           // records behind which it begins
	counts trace.Counts
	turns  int
	damage int // damages of the file when the session was opened
	digest hash.Hash
	aside  map[string]int // records not kept, by type, of all sessions
}

// NewRecorder returns a recorder for one file.
func NewRecorder(ctx context.Context, path, format string, o Options, sink Sink) *Recorder {
	red := o.Redactor
	if red == nil {
		red = guard.DefaultRedactor()
	}
	classes := map[string]int{}
	return &Recorder{ctx: ctx, sink: sink, red: red.Tally(classes), mute: red, ids: map[string]bool{},
		sum: Summary{Path: path, Format: format, MaskedAs: classes}}
}

// Summary returns what was read so far.
func (r *Recorder) Summary() Summary {
	s := r.sum
	if len(r.aside) > 0 {
		s.Notes = append(slices.Clone(s.Notes), "not kept, they hold no message: "+Counts(r.aside))
	}
	return s
}

// Aside tells which records of a session, by type, are not kept. All sessions of a
// file share one note.
func (r *Recorder) Aside(kinds map[string]int) {
	if r.aside == nil {
		r.aside = map[string]int{}
	}
	for k, n := range kinds {
		r.aside[r.name(k)] += n
	}
}

// Context is the context of the reading.
func (r *Recorder) Context() context.Context { return r.ctx }

// Record counts one record read in full.
func (r *Recorder) Record() { r.sum.Records++ }

// Damage counts a part of the file that could not be read in full.
func (r *Recorder) Damage(d Damage) { r.sum.damage(d) }

// Unknown counts a record of a type that is kept but not interpreted.
func (r *Recorder) Unknown(kind string) { r.sum.unknown(r.name(kind)) }

// name is the type of a record as the summary names it: masked, which the session's
// own copy of it counts, and bounded.
func (r *Recorder) name(kind string) string {
	kind, _ = r.mute.Payload(kind)
	return Cut(kind, maxKind)
}

// maxKind is the longest type of a record, or reason for which a turn ended, kept, in bytes.
const maxKind = 80

// Note adds a remark to the summary.
func (r *Recorder) Note(format string, args ...any) { r.sum.note(format, args...) }

// Begin opens a session. Its ID is made safe and, within the file, unique; the
// id it got is in the head that Head returns.
func (r *Recorder) Begin(s trace.Session) error {
	if r.open {
		return fmt.Errorf("read %s: session %s opened before %s was closed", r.sum.Path, s.ID, r.head.ID)
	}
	s.ID = r.unique(SafeID(r.Mask(s.ID))) // an id may be the name of a file, and that may hold a key
	s.Origin = trace.Recorded
	s.File = r.Mask(r.sum.Path)
	s.Counts, s.Digest = trace.Counts{}, ""
	s.Damaged = max(0, s.Damaged) // of what the session was exported from
	r.head, r.open, r.turns, r.counts = s, true, 0, trace.Counts{}
	r.damage, r.digest = r.sum.DamagedTotal, sha256.New()
	if r.sum.Sessions == 0 {
		r.damage = 0 // what was damaged before the first session belongs to it
	}
	r.begun = s
	r.mute.Session(&r.begun)
	r.names(&r.begun)
	r.told, r.held = false, nil
	return nil
}

// tell makes the open session known to the sink, with the turn that was held back.
func (r *Recorder) tell() error {
	if r.told {
		return nil
	}
	r.told = true
	if err := r.sink.Begin(r.begun); err != nil {
		return fmt.Errorf("read %s: session %s: %w", r.sum.Path, r.head.ID, err)
	}
	if r.held == nil {
		return nil
	}
	t := *r.held
	r.held = nil
	return r.hand(t)
}

// hollow says that nothing in a turn was recognised: no input, no step, no call.
func hollow(t trace.Turn) bool {
	return t.Synthetic && t.Input == "" && !slices.ContainsFunc(t.Spans, func(s trace.Span) bool { return s.Kind != trace.CHAIN })
}

// Head gives access to the head of the open session; what is set there before
// End reaches the sink with it.
func (r *Recorder) Head() *trace.Session { return &r.head }

// Open reports whether a session is open.
func (r *Recorder) Open() bool { return r.open }

// Turn hands a turn on: index, session and trace id are set here. A first turn in
// which nothing was recognised waits for the next one or for the end.
func (r *Recorder) Turn(t trace.Turn) error {
	if !r.told && r.held == nil && hollow(t) {
		r.held = &t
		return nil
	}
	if err := r.tell(); err != nil {
		return err
	}
	return r.hand(t)
}

func (r *Recorder) hand(t trace.Turn) error {
	if err := r.ctx.Err(); err != nil {
		return fmt.Errorf("read %s: session %s: %w", r.sum.Path, r.head.ID, context.Cause(r.ctx))
	}
	t.SessionID, t.Index = r.head.ID, r.turns
	t.TraceID = fmt.Sprintf("%s.%d", r.head.ID, t.Index)
	r.turns++
	if t.Spans == nil {
		t.Spans = []trace.Span{}
	}
	r.redactTurn(&t)
	c := trace.Count([]trace.Turn{t})
	r.counts.Turns += c.Turns
	r.counts.Steps += c.Steps
	r.counts.Calls += c.Calls
	r.counts.Errors += c.Errors
	if r.head.Title == "" && t.Input != "" {
		r.head.Title = FirstWords(t.Input)
	}
	if r.head.Started.IsZero() {
		r.head.Started = t.Start
	}
	if t.End.After(r.head.Ended) {
		r.head.Ended = t.End
	}
	if err := t.Digest(r.digest); err != nil {
		return fmt.Errorf("read %s: session %s turn %d: %w", r.sum.Path, r.head.ID, t.Index, err)
	}
	if err := r.sink.Turn(t); err != nil {
		return fmt.Errorf("read %s: session %s turn %d: %w", r.sum.Path, r.head.ID, t.Index, err)
	}
	return nil
}

// End closes the open session. One that is nothing but records of unknown types, a
// header at most, is none: a vendor that renames its records would leave an empty one
// that looks healthy.
func (r *Recorder) End() error {
	odd, all := r.sum.unknowns()-r.odd, r.sum.Records-r.all
	r.odd, r.all = r.odd+odd, r.all+all
	if r.held != nil && odd > 0 && odd+1 >= all {
		r.open, r.held = false, nil
		r.Note("session %s is left out: %d records of unknown types and no turn", r.head.ID, odd)
		return nil
	}
	if r.held != nil && all == 0 && r.sum.DamagedTotal > 0 {
		r.open, r.held = false, nil
		r.Note("session %s is left out: none of its records could be read", r.head.ID)
		return nil
	}
	if err := r.tell(); err != nil {
		return err
	}
	s := r.head
	r.sum.Masked += r.red.Session(&s)
	r.names(&s)
	s.Counts = r.counts
	s.Damaged += r.sum.DamagedTotal - r.damage
	raw, err := json.Marshal(struct {
		System, Agent, Label string
		Tools                []trace.Tool
	}{s.System, s.Agent, s.Label, s.Tools})
	if err != nil {
		return fmt.Errorf("read %s: session %s: %w", r.sum.Path, s.ID, err)
	}
	r.digest.Write(raw)
	s.Digest = hex.EncodeToString(r.digest.Sum(nil))
	r.open = false
	r.sum.Sessions++
	r.sum.Turns += s.Counts.Turns
	r.sum.Steps += s.Counts.Steps
	r.sum.Calls += s.Counts.Calls
	r.sum.Errors += s.Counts.Errors
	if err := r.sink.End(s); err != nil {
		return fmt.Errorf("read %s: session %s: %w", r.sum.Path, s.ID, err)
	}
	return nil
}

// Opaque returns what is kept of a record that is not interpreted: its text,
// masked first and cut to MaxOpaque bytes after, so that no secret escapes by
// being cut in half. Of a record of megabytes the first values are kept.
func (r *Recorder) Opaque(raw []byte) string {
	if len(raw) > maxMasked {
		head := Mend(raw[:maxMasked])
		s, n := r.red.Payload(string(head))
		r.sum.Masked += n
		if s = Cut(s, MaxOpaque); len(head) <= MaxOpaque {
			s += fmt.Sprintf("… (+%d bytes)", len(raw)-len(head))
		}
		return s
	}
	s, n := r.red.Payload(strings.ToValidUTF8(string(raw), "\uFFFD"))
	r.sum.Masked += n
	return Cut(s, MaxOpaque)
}

// maxMasked is how much of a record that is kept as its beginning is masked, in bytes.
const maxMasked = 1 << 20

// Short masks a text and cuts it to n bytes after that: a secret that is cut in half
// would not be recognised any more. Every text of a file that is shortened on its way
// into a session goes through it.
func (r *Recorder) Short(s string, n int) string { return Cut(r.Mask(s), n) }

// Mask masks a text that is going to be used in part.
func (r *Recorder) Mask(s string) string {
	s, n := r.red.Payload(s)
	r.sum.Masked += n
	return s
}

// maxError is the longest error message kept, in bytes.
const maxError = 500

// ErrorLine is the error message of a failed call: the first line of its result
// that says something, masked and bounded; fallback if there is none.
func (r *Recorder) ErrorLine(s, fallback string) string {
	for line := range strings.Lines(s[:min(len(s), 64<<10)]) {
		if line = strings.TrimSpace(line); line != "" {
			line, n := r.red.Text(strings.ToValidUTF8(line, ""))
			r.sum.Masked += n
			return Cut(line, maxError)
		}
	}
	return fallback
}

// Preview is Opaque for a region of a file: at most its first MaxOpaque bytes
// and some more to recognise a secret by.
func (r *Recorder) Preview(raw []byte) string { return r.Opaque(raw[:min(len(raw), 4*MaxOpaque)]) }

func (r *Recorder) unique(id string) string {
	for n, base := 2, id; r.ids[id]; n++ {
		suffix := fmt.Sprintf("-%d", n)
		id = base[:min(len(base), MaxID-len(suffix))] + suffix
	}
	r.ids[id] = true
	return id
}

// names masks and bounds the names in a head: those of the tools, of which it has a
// copy already, and the label.
func (r *Recorder) names(s *trace.Session) {
	label, _ := r.mute.Payload(s.Label)
	s.Label = Cut(label, maxKind)
	for i := range s.Tools {
		name, _ := r.mute.Payload(s.Tools[i].Name)
		s.Tools[i].Name = Cut(name, maxName)
	}
}

func (r *Recorder) redactTurn(t *trace.Turn) {
	t.Input, t.StopReason = Describe(t.Input), r.Short(t.StopReason, maxKind)
	for i := range t.Spans {
		s := &t.Spans[i]
		s.Name, s.Input, s.Output = r.Short(s.Name, maxName), Describe(s.Input), Describe(s.Output)
	}
	r.sum.Masked += r.red.Turn(t)
}

// maxName is the longest name of a tool or model kept, in bytes.
const maxName = 200

var notInID = regexp.MustCompile(`[^A-Za-z0-9._-]+`)

// SafeID makes an id that can be a key and a file name: runs of other characters
// become one "-", and what is too long ends in a hash of the whole.
func SafeID(id string) string {
	s := strings.Trim(notInID.ReplaceAllString(id, "-"), "-")
	if s == "" || s == "." || s == ".." || len(s) > MaxID {
		sum := sha256.Sum256([]byte(id))
		h := hex.EncodeToString(sum[:6])
		s = strings.Trim(s[:min(len(s), MaxID-1-len(h))]+"-"+h, "-.")
	}
	return s
}

// FirstWords returns the beginning of a text as a one-line title.
func FirstWords(s string) string {
	const max = 80
	words := strings.Fields(s[:min(len(s), 8*max)])
	t := strings.ToValidUTF8(strings.Join(words, " "), "")
	if utf8.RuneCountInString(t) <= max {
		return t
	}
	r := []rune(t)[:max-1]
	return strings.TrimRight(string(r), " ") + "…"
}

// Cut shortens a text to n bytes, between characters, and says by how much.
func Cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	k := n
	for k > 0 && !utf8.RuneStart(s[k]) {
		k--
	}
	return fmt.Sprintf("%s… (+%d bytes)", s[:k], len(s)-k)
}
