package md

import (
	"strings"

	"charm.land/glamour/v2/ansi"
)

// config is glamour's style in the colours of a palette. Marks of Markdown stay
// readable without colour: headings keep their hashes, code its backquotes.
func config(p Palette) ansi.StyleConfig {
	text := primitive(p.Text)
	bullet, rule, quote, tick, untick := "•"+itemMark+" ", "────────", string(standBar), "✓"+itemMark+" ", "○"+itemMark+" "
	column, cross, line := "│", "┼", "─"
	if p.ASCII {
		bullet, rule, quote, tick, untick = "-"+itemMark+" ", "--------", string(standPipe), "[x]"+itemMark+" ", "[ ]"+itemMark+" "
		column, cross, line = "|", "+", "-"
	}
	bold := func(color, prefix string) ansi.StyleBlock {
		s := primitive(color)
		s.Bold, s.Prefix = ref(true), prefix
		return ansi.StyleBlock{StylePrimitive: s}
	}
	heading := primitive(p.Heading)
	heading.Bold, heading.BlockSuffix = ref(true), "\n"
	strong, emph := primitive(p.Strong), ansi.StylePrimitive{Italic: ref(true)}
	strong.Bold = ref(true)
	code := primitive(p.Code)
	code.Prefix, code.Suffix = "`", "`"
	item := primitive(p.Text)
	item.BlockPrefix = bullet
	enum := primitive(p.Text)
	enum.BlockPrefix = "." + itemMark + " "
	hr := primitive(p.Dim)
	hr.Format = "\n" + rule + "\n"
	image := primitive(p.Dim)
	image.Format = "[image: {{.text}}]"
	link := primitive(p.Link)
	link.Underline = ref(true)
	chroma := chroma(p)
	return ansi.StyleConfig{
		Document:       ansi.StyleBlock{StylePrimitive: text, Margin: ref(uint(0))},
		BlockQuote:     ansi.StyleBlock{StylePrimitive: primitive(p.Quote), Indent: ref(uint(1)), IndentToken: ref(quote)},
		List:           ansi.StyleList{StyleBlock: ansi.StyleBlock{StylePrimitive: text}, LevelIndent: 2},
		Heading:        ansi.StyleBlock{StylePrimitive: heading},
		H1:             bold(p.Heading, "# "),
		H2:             bold(p.Heading, "## "),
		H3:             bold(p.Heading, "### "),
		H4:             bold(p.Heading, "#### "),
		H5:             bold(p.Heading, "##### "),
		H6:             bold(p.Heading, "###### "),
		Strikethrough:  ansi.StylePrimitive{CrossedOut: ref(true)},
		Emph:           emph,
		Strong:         strong,
		HorizontalRule: hr,
		Item:           item,
		Enumeration:    enum,
		Task:           ansi.StyleTask{StylePrimitive: text, Ticked: tick, Unticked: untick},
		Link:           link,
		LinkText:       primitive(p.Link),
		Image:          link,
		ImageText:      image,
		Code:           ansi.StyleBlock{StylePrimitive: code},
		CodeBlock: ansi.StyleCodeBlock{
			StyleBlock: ansi.StyleBlock{StylePrimitive: primitive(p.Code), Margin: ref(uint(2))},
			Chroma:     &chroma,
		},
		Table: ansi.StyleTable{StyleBlock: ansi.StyleBlock{StylePrimitive: text},
			CenterSeparator: ref(cross), ColumnSeparator: ref(column), RowSeparator: ref(line)},
		DefinitionTerm:        strong,
		DefinitionDescription: ansi.StylePrimitive{BlockPrefix: "\n" + bullet},
	}
}

// chroma colours code by the same roles; no background, so that no cell but ours is painted.
func chroma(p Palette) ansi.Chroma {
	// The highlighter knows sRGB only: code in the terminal's own colours has none.
	known := func(color string) ansi.StylePrimitive {
		if !strings.HasPrefix(color, "#") {
			color = ""
		}
		return primitive(color)
	}
	code, keyword, str, number, comment := known(p.Code), known(p.Keyword), known(p.String), known(p.Number), known(p.Comment)
	return ansi.Chroma{
		Text: code, Error: code, Comment: comment, CommentPreproc: comment,
		Keyword: keyword, KeywordReserved: keyword, KeywordNamespace: keyword, KeywordType: keyword,
		Operator: code, Punctuation: code, Name: code, NameBuiltin: keyword, NameTag: keyword, NameAttribute: code,
		NameClass: code, NameConstant: number, NameDecorator: keyword, NameException: keyword, NameFunction: code, NameOther: code,
		Literal: str, LiteralNumber: number, LiteralDate: number, LiteralString: str, LiteralStringEscape: str,
		GenericDeleted: keyword, GenericInserted: str, GenericEmph: code, GenericStrong: code, GenericSubheading: code,
	}
}

func primitive(color string) ansi.StylePrimitive {
	if color == "" {
		return ansi.StylePrimitive{}
	}
	return ansi.StylePrimitive{Color: &color}
}

func ref[T any](v T) *T { return &v }
