package tui

import (
	"bytes"
	"encoding/json"
	"strings"
	"unicode/utf8"

	"vise/engine/guard"
	"vise/engine/trace"
	"vise/tui/style"
	"vise/tui/vtext"
)

// maxDetail is how much of one text of a span is laid out; the headless form has all.
const maxDetail = 64 << 10

// spanPart is one text of a span, with its title.
type spanPart struct {
	title, text string
	role        style.Role
}

// spanParts are the texts of a span that are shown, the error first, then what went in and out.
func spanParts(s *trace.Span) []spanPart {
	in, out := "input", "output"
	if s.Kind == trace.TOOL {
		in, out = "arguments", "result"
	}
	parts := []spanPart{{"", s.Name, style.Strong}, {"error", s.Error, style.Bad}, {in, s.Input, style.Text}, {"thought", s.Thought, style.Dim}, {out, s.Output, style.Text}}
	if s.Output == s.Error {
		parts[4].text = ""
	}
	return parts
}

// shown is the text as it is laid out: JSON indented, controls visible. A large one is shown
// in windows, as it is.
func (x spanPart) shown(st *style.Style) (text string, isJSON bool) {
	if len(x.text) > maxDetail {
		return x.text, false
	}
	text = x.text
	trimmed := strings.TrimSpace(text)
	if strings.HasPrefix(trimmed, "{") || strings.HasPrefix(trimmed, "[") {
		var b bytes.Buffer
		if json.Indent(&b, []byte(trimmed), "", "  ") == nil {
			text, isJSON = b.String(), true
		}
	}
	lines := strings.Split(strings.TrimRight(guard.Visible(text), "\n"), "\n")
	for i, l := range lines {
		lines[i] = st.Clean(strings.ReplaceAll(l, "\t", "    "))
	}
	return strings.Join(lines, "\n"), isJSON
}

// laidPart is where a text stands in the lines of a detail.
type laidPart struct {
	part, line int    // number of the text, and of its first line
	from       int    // byte of the text at which the first line begins
	text       string // what is laid out of it
}

// find is the line and the byte in it of a byte of the text.
func (l laidPart) find(at int) (line, col int) {
	before := l.text[:max(0, min(at-l.from, len(l.text)))]
	return l.line + strings.Count(before, "\n"), len(before) - 1 - strings.LastIndexByte(before, '\n')
}

// window is the part of a large text that is shown: from its beginning, or around a place.
func window(text string, around int) (from, to int) {
	if len(text) <= maxDetail {
		return 0, len(text)
	}
	from = max(0, min(around-maxDetail/2, len(text)-maxDetail))
	if i := strings.LastIndexByte(text[:from], '\n'); from-i <= 4<<10 {
		from = i + 1
	}
	to = min(len(text), from+maxDetail)
	for from > 0 && from < to && !utf8.RuneStart(text[from]) {
		from++
	}
	for to < len(text) && to > from && !utf8.RuneStart(text[to]) {
		to--
	}
	return from, to
}

// detail are the lines of a span and where its texts stand in them; of a large text what is
// around the place, if that is in it.
func detail(ctx *Context, s *trace.Span, around hit) (out []vtext.Line, laid []laidPart) {
	st := ctx.Style
	head := func(role style.Role, text string) {
		out = append(out, vtext.Line{Text: text, Style: st.Prefix(role, style.Plain)})
	}
	for n, x := range spanParts(s) {
		if n == 0 {
			lead := string(s.Kind)
			if x.text != "" {
				lead += "  " + st.Clean(x.text)
			}
			head(style.Strong, lead)
			laid = append(laid, laidPart{part: 0, from: -len(lead) + len(st.Clean(x.text)), text: lead})
			if d := took(s); d != "" {
				head(style.Dim, d)
			}
			if !s.Usage.IsZero() {
				head(style.Dim, "tokens: "+itoa(int(s.Usage.Input))+" in, "+itoa(int(s.Usage.Output))+" out")
			}
			if s.Pending {
				head(style.Warn, "never answered")
			}
			continue
		}
		if x.text == "" {
			continue
		}
		out = append(out, vtext.Line{})
		head(style.Heading, x.title)
		text, isJSON := x.shown(st)
		at := 0
		if around.part == n {
			at = around.at
		}
		from, to := window(text, at)
		if from > 0 {
			head(style.Faint, thousands(from)+" bytes before it")
		}
		laid = append(laid, laidPart{part: n, line: len(out), from: from, text: text[from:to]})
		out = append(out, paragraphs(st, text[from:to], isJSON, x.role)...)
		if to < len(text) {
			head(style.Faint, thousands(len(text)-to)+ctx.Text(" more bytes; {copy.command} copies the command that prints all, a search goes there"))
		}
	}
	return out, laid
}

// paragraphs are the lines of a text; keys of JSON stand out.
func paragraphs(st *style.Style, text string, isJSON bool, role style.Role) []vtext.Line {
	var out []vtext.Line
	for l := range strings.SplitSeq(text, "\n") {
		l = st.Clean(strings.ReplaceAll(guard.Visible(l), "\t", "    "))
		line := vtext.Line{Text: l, Style: st.Prefix(role, style.Plain)}
		if isJSON {
			line.Hang = len(l) - len(strings.TrimLeft(l, " ")) + 2
			if strings.HasPrefix(strings.TrimSpace(l), `"`) {
				line.Style = st.Prefix(style.SynKey, style.Plain)
			}
		}
		out = append(out, line)
	}
	return out
}
