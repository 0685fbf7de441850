package tui

import (
	"bytes"
	"encoding/json"
	"strings"

	"vise/engine/guard"
	"vise/engine/trace"
	"vise/tui/style"
	"vise/tui/vtext"
)

// maxDetail is how much of one text of a span is laid out; the headless form has all.
const maxDetail = 64 << 10

// detail are the lines of a span: the error first, then what went in and out.
func detail(st *style.Style, s *trace.Span) []vtext.Line {
	var out []vtext.Line
	head := func(role style.Role, text string) {
		out = append(out, vtext.Line{Text: text, Style: st.Prefix(role, style.Plain)})
	}
	part := func(title, text string, role style.Role) {
		if text == "" {
			return
		}
		if len(out) > 0 {
			out = append(out, vtext.Line{})
		}
		head(style.Heading, title)
		cut := ""
		if len(text) > maxDetail {
			text, cut = strings.ToValidUTF8(text[:maxDetail], ""), itoa(len(text)-maxDetail)+" more bytes; Y copies the command that prints all"
		}
		out = append(out, paragraphs(st, text, role)...)
		if cut != "" {
			head(style.Faint, cut)
		}
	}
	name := string(s.Kind)
	if s.Name != "" {
		name += "  " + st.Clean(s.Name)
	}
	head(style.Strong, name)
	if d := took(s); d != "" {
		head(style.Dim, d)
	}
	if !s.Usage.IsZero() {
		head(style.Dim, "tokens: "+itoa(int(s.Usage.Input))+" in, "+itoa(int(s.Usage.Output))+" out")
	}
	if s.Pending {
		head(style.Warn, "never answered")
	}
	part("error", s.Error, style.Bad)
	in := "input"
	if s.Kind == trace.TOOL {
		in = "arguments"
	}
	part(in, s.Input, style.Text)
	part("thought", s.Thought, style.Dim)
	outTitle := "output"
	if s.Kind == trace.TOOL {
		outTitle = "result"
	}
	if s.Output != s.Error {
		part(outTitle, s.Output, style.Text)
	}
	return out
}

// paragraphs are the lines of a text; JSON is indented, its keys stand out.
func paragraphs(st *style.Style, text string, role style.Role) []vtext.Line {
	trimmed := strings.TrimSpace(text)
	isJSON := false
	if strings.HasPrefix(trimmed, "{") || strings.HasPrefix(trimmed, "[") {
		var b bytes.Buffer
		if json.Indent(&b, []byte(trimmed), "", "  ") == nil {
			text, isJSON = b.String(), true
		}
	}
	var out []vtext.Line
	for l := range strings.SplitSeq(strings.TrimRight(guard.Visible(text), "\n"), "\n") {
		l = st.Clean(strings.ReplaceAll(l, "\t", "    "))
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
