package tui

import (
	"strings"

	"vise/themes"
	"vise/tui/md"
	"vise/tui/style"
)

// useStyle gives a Markdown renderer the colours and the safe texts of a style.
func useStyle(r *md.Renderer, s *style.Style) {
	color := func(role style.Role) string {
		look := s.Look(role)
		if look.Fg == nil || s.Options().NoColor {
			return ""
		}
		switch fg := *look.Fg; {
		case fg.Own == themes.Default:
			return ""
		case !fg.Known():
			return itoa(int(fg.Own) - 1)
		default:
			return fg.String()
		}
	}
	r.Use(md.Palette{
		Text: color(style.Text), Dim: color(style.Dim), Heading: color(style.MDHead), Strong: color(style.Strong), Link: color(style.MDLink),
		Code: color(style.MDCode), Quote: color(style.MDQuote), Keyword: color(style.SynKey), String: color(style.SynText),
		Number: color(style.SynNum), Comment: color(style.SynNote), ASCII: s.Options().ASCII, Epoch: s.Epoch(),
	}, func(text string) string {
		lines := strings.Split(strings.ReplaceAll(text, "\t", "    "), "\n")
		for i, l := range lines {
			lines[i] = s.Clean(l)
		}
		return strings.Join(lines, "\n")
	})
}
