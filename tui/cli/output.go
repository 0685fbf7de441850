package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"reflect"
	"slices"
	"sort"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"text/tabwriter"
	"unicode/utf16"
	"unicode/utf8"

	"vise/engine/event"
	"vise/engine/guard"
	"vise/engine/longtext"
	"vise/engine/trace"
)

// output writes data to stdout: JSON Lines with --json, text otherwise. Every line of
// text passes guard.Visible here, whatever was printed into it, so that nothing recorded
// can drive the terminal; show and block are for its length and its lines.
type output struct {
	mu   sync.Mutex
	w    io.Writer
	json bool
	// plain: columns have tabs between them and nothing is aligned (plain.go).
	plain bool
	// links: ids in tables are hyperlinks (hyperlink.go); on terminals only.
	links bool
	// clock is the layout of times in text: the time of day while a command runs,
	// with the date where the past is told.
	clock string
	// sessions: lines of events that belong to a session name it, as those of several
	// sessions come between each other.
	sessions bool
	err      error // first write error; commands end with it
	// gone ends what the command does, in order: nobody reads the output any more.
	gone func()
}

// wrote keeps the first error of a write. The lock is held.
func (o *output) wrote(err error) {
	o.err = err
	if errors.Is(err, syscall.EPIPE) && o.gone != nil {
		o.gone()
	}
}

// linked is a record that has an address.
type linked interface{ Link() string }

// object writes one JSON object, its schema name first: {"schema":"vise.rule/1", ...}. The
// address of a record that has one comes last, as "link".
func (o *output) object(schema string, v any) error {
	raw, err := encodeObject(schema, v)
	if err != nil {
		return err
	}
	return o.write(escapeHidden(raw))
}

// turn writes a turn as an object, long texts piece by piece.
func (o *output) turn(t trace.Turn) error {
	var aside longtext.Aside
	aside.Take(&t.Input)
	t.Spans = slices.Clone(t.Spans)
	for i := range t.Spans {
		s := &t.Spans[i]
		aside.Take(&s.Input, &s.Output, &s.Thought, &s.Error)
	}
	raw, err := encodeObject("vise.turn/1", t)
	if err != nil {
		return err
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.err == nil {
		o.wrote(aside.Write(&jsonLines{w: o.w}, raw))
	}
	return o.err
}

// encodeObject is the line of an object.
func encodeObject(schema string, v any) ([]byte, error) {
	raw, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("write %s: %w", schema, err)
	}
	if len(raw) < 2 || raw[0] != '{' {
		return nil, fmt.Errorf("write %s: not an object", schema)
	}
	b := make([]byte, 0, len(raw)+64)
	b = fmt.Appendf(b, "{%q:%q", "schema", schema)
	if len(raw) > 2 {
		b = append(b, ',')
	}
	b = append(b, raw[1:len(raw)-1]...)
	if x, ok := v.(linked); ok && x.Link() != "" {
		at, err := json.Marshal(x.Link())
		if err != nil {
			return nil, fmt.Errorf("write %s: %w", schema, err)
		}
		b = fmt.Appendf(b, ",%q:%s", "link", at)
	}
	return append(b, "}\n"...), nil
}

func (o *output) write(b []byte) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.err == nil {
		_, err := o.w.Write(b)
		o.wrote(err)
	}
	return o.err
}

// Write is for what renders its own bytes (an export, a protocol): as they are.
func (o *output) Write(b []byte) (int, error) {
	if err := o.write(b); err != nil {
		return 0, err
	}
	return len(b), nil
}

// escapeHidden writes DEL and C1 controls, bidirectional controls and tag characters of a
// JSON text as \u escapes: they mean the same, and a terminal that shows the line
// is not driven by them. (Other controls are escaped by JSON itself.)
func escapeHidden(raw []byte) []byte {
	hidden := func(r rune) bool {
		return r >= 0x7f && r <= 0x9f || r == 0x061c || r == 0x200e || r == 0x200f || r >= 0x202a && r <= 0x202e ||
			r >= 0x2066 && r <= 0x2069 || r >= 0xe0000 && r <= 0xe007f
	}
	if !bytes.ContainsFunc(raw, hidden) {
		return raw
	}
	var b bytes.Buffer
	for _, r := range string(raw) {
		switch {
		case !hidden(r):
			b.WriteRune(r)
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			fmt.Fprintf(&b, `\u%04x\u%04x`, high, low)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.Bytes()
}

// done tells that an act on one record is done: {"schema":"vise.done/1","done":"removed","id":...}.
func (a *app) done(what, id string) {
	if a.json {
		_ = a.out.object("vise.done/1", map[string]string{"done": what, "id": id})
		return
	}
	a.out.printf("%s %s", what, show(id, 128))
}

// printf writes one line of text; nothing with --json. A text printed into it stays on
// the line unless it is a block: nothing recorded begins a line that reads like ours.
func (o *output) printf(format string, a ...any) {
	if o.json {
		return
	}
	_ = o.write([]byte(o.text(format, a) + "\n"))
}

// text is a format with its texts, safe for a terminal.
func (o *output) text(format string, a []any) lines {
	for i := range a {
		if reflect.ValueOf(a[i]).Kind() != reflect.String {
			continue
		}
		s := fmt.Sprint(a[i])
		if _, whole := a[i].(lines); !whole {
			s = cell(s)
		}
		if o.plain {
			s = plainCell(s)
		}
		a[i] = s
	}
	if o.plain {
		format = plainFormat(format)
	}
	return block(fmt.Sprintf(format, a...))
}

// block writes text that may have many lines, the later ones indented, behind what the
// format says before its last %s. A text of many megabytes is written piece by piece.
func (o *output) block(format, text, indent string, before ...any) {
	safe := func(s string) lines { return lines(strings.ReplaceAll(string(block(s)), "\n", "\n"+indent)) }
	if len(text) <= longtext.Over {
		o.printf(format, append(before, safe(text))...)
		return
	}
	if o.json {
		return
	}
	_ = o.write([]byte(o.text(strings.TrimSuffix(format, "%s"), before)))
	for len(text) > 0 {
		n := min(len(text), 64<<10)
		// A line end if there is one: what is beside a character can decide how it is shown.
		if cut := strings.LastIndexByte(text[:n], '\n'); n < len(text) && cut > 0 {
			n = cut
		}
		for n < len(text) && !utf8.RuneStart(text[n]) {
			n++
		}
		_ = o.write([]byte(safe(text[:n])))
		text = text[n:]
	}
	_ = o.write([]byte("\n"))
}

// show returns untrusted text as one safe, bounded line for text output.
func show(s string, n int) string {
	s = strings.Join(strings.Fields(guard.Visible(s)), " ")
	if r := []rune(s); n > 0 && len(r) > n {
		return string(r[:n-1]) + "…"
	}
	return s
}

// lines is text that may be printed as several lines.
type lines string

// block returns untrusted text for text output, keeping its lines.
func block(s string) lines { return lines(guard.Visible(s)) }

// table writes rows under a header: a record one line, whatever its cells hold.
func (o *output) table(header []string, rows [][]string) error {
	for _, row := range rows {
		for i := range row {
			row[i] = cell(row[i])
		}
	}
	if o.plain {
		return o.plainTable(header, rows)
	}
	var b bytes.Buffer
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, strings.Join(header, "\t"))
	for _, r := range rows {
		fmt.Fprintln(w, strings.Join(r, "\t"))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	return o.write(o.linkedTable(header, rows, trimTrailing(b.Bytes())))
}

// cell is untrusted text as one cell of a table: nothing in it ends the cell or the row.
func cell(s string) string {
	return strings.Map(func(r rune) rune {
		if r == '\n' || r == '\t' {
			return ' '
		}
		return r
	}, guard.Visible(s))
}

// trimTrailing removes the padding tabwriter leaves at line ends.
func trimTrailing(b []byte) []byte {
	lines := bytes.Split(b, []byte("\n"))
	for i, l := range lines {
		lines[i] = bytes.TrimRight(l, " ")
	}
	return bytes.Join(lines, []byte("\n"))
}

// event writes one journal event.
func (o *output) event(e event.Event) error {
	if o.json {
		return o.object("vise.event/1", e)
	}
	if o.plain {
		return o.write([]byte(block(plainEvent(e, o.clock)) + "\n"))
	}
	line := eventLine(e, o.clock)
	if o.sessions && e.SessionID != "" && !strings.Contains(line, e.SessionID) {
		line += " · session " + show(e.SessionID, 80)
	}
	return o.write([]byte(cell(line) + "\n"))
}

// eventLine is the one-line text form of an event: clock, type, then its sentence, or
// ids and data by name.
func eventLine(e event.Event, clock string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s  %-28s", e.At.Local().Format(clock), e.Type)
	if s := sentence(e); s != "" {
		return b.String() + " " + s
	}
	id := func(name, v string) {
		if v != "" {
			fmt.Fprintf(&b, " %s=%s", name, show(v, 80))
		}
	}
	id("session", e.SessionID)
	if e.TurnIndex != nil {
		fmt.Fprintf(&b, " turn=%d", *e.TurnIndex)
	}
	id("notice", e.NoticeID)
	id("episode", e.EpisodeID)
	id("rule", e.RuleID)
	id("case", e.CaseID)
	id("run", e.RunID)
	return b.String() + dataWords(e)
}

// dataWords are the data of an event by name.
func dataWords(e event.Event) string {
	var b strings.Builder
	names := make([]string, 0, len(e.Data))
	for k := range e.Data {
		names = append(names, k)
	}
	sort.Strings(names)
	for _, k := range names {
		fmt.Fprintf(&b, " %s=%s", k, value(e.Data[k]))
	}
	return b.String()
}

// value is a datum of an event in short text form.
func value(v any) string {
	switch x := v.(type) {
	case string:
		if strings.ContainsAny(x, " =") {
			return fmt.Sprintf("%q", show(x, 120))
		}
		return show(x, 120)
	case float64:
		if x == math.Trunc(x) && math.Abs(x) < 1e15 {
			return strconv.FormatInt(int64(x), 10)
		}
		return strconv.FormatFloat(x, 'g', 4, 64)
	}
	raw, err := json.Marshal(v)
	if err != nil {
		return "?"
	}
	return show(string(raw), 160)
}
