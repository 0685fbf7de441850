// Package themes holds the looks of the workbench: one TOML file per theme and
// the loader that refuses a theme which leaves a role open, says something it
// does not know, or cannot be read.
package themes

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"
)

// Appearance says which kind of terminal a theme is for.
type Appearance string

// The appearances. A theme for Any terminal takes its background as it is.
const (
	Dark  Appearance = "dark"
	Light Appearance = "light"
	Any   Appearance = "any"
)

// Theme is one complete look.
type Theme struct {
	Name       string
	Appearance Appearance
	// Pair is the theme of the other appearance that belongs to this one; "" = none.
	Pair string
	// About says in a line what the theme is for.
	About string
	// File is where it was read from; "" = it comes with the program.
	File string
	// Poor says which text is hard to read, each with file and line: a contrast below the
	// least of WCAG 2.2. Themes of the program have none, with one's own it is a warning.
	Poor []string
	// Background is the terminal background that the theme assumes: Default for Any.
	Background Color
	// Roles has a look for every role.
	Roles [RoleCount]Look
}

// Look is how a role is drawn. The zero look is the terminal's own text. The look of
// a ground is added to what lies on it; its Fg replaces that of the text.
type Look struct {
	Fg, Bg                           *Color
	Bold, Italic, Underline, Reverse bool
}

//go:embed *.toml
var files embed.FS

// Builtin returns the themes that come with the program: dark and light first, then
// by name.
func Builtin() ([]*Theme, error) {
	names, err := fs.Glob(files, "*.toml")
	if err != nil {
		return nil, fmt.Errorf("themes: %w", err)
	}
	var out []*Theme
	for _, name := range names {
		raw, err := files.ReadFile(name)
		if err != nil {
			return nil, fmt.Errorf("themes: %w", err)
		}
		t, err := Parse(name, raw)
		if err != nil {
			return nil, err
		}
		if len(t.Poor) > 0 {
			return nil, errors.New(strings.Join(t.Poor, "\n"))
		}
		t.File = ""
		out = append(out, t)
	}
	slices.SortStableFunc(out, func(a, b *Theme) int { return rank(a.Name) - rank(b.Name) })
	return out, nil
}

func rank(name string) int {
	switch name {
	case string(Dark):
		return 0
	case string(Light):
		return 1
	}
	return 2
}

// Named returns the theme of that name, nil when there is none.
func Named(list []*Theme, name string) *Theme {
	for _, t := range list {
		if t.Name == name {
			return t
		}
	}
	return nil
}

// All returns the built-in themes and those of a folder (*.toml; it may be
// missing). A theme of the folder replaces a built-in one of the same name. A
// file that cannot be used is left out and reported in the joined error.
func All(dir string) ([]*Theme, error) {
	out, err := Builtin()
	if dir == "" {
		return out, err
	}
	paths, gerr := filepath.Glob(filepath.Join(dir, "*.toml"))
	err = errors.Join(err, gerr)
	for _, p := range paths {
		raw, rerr := os.ReadFile(p)
		if rerr != nil {
			err = errors.Join(err, fmt.Errorf("themes: %w", rerr))
			continue
		}
		t, perr := Parse(p, raw)
		if perr != nil {
			err = errors.Join(err, perr)
			continue
		}
		if i := slices.IndexFunc(out, func(o *Theme) bool { return o.Name == t.Name }); i >= 0 {
			out[i] = t
		} else {
			out = append(out, t)
		}
	}
	return out, err
}

// document is the form of a theme file.
type document struct {
	Name       string            `toml:"name"`
	Appearance string            `toml:"appearance"`
	Pair       string            `toml:"pair"`
	About      string            `toml:"about"`
	Background string            `toml:"background"`
	Palette    map[string]string `toml:"palette"`
	Roles      map[string]string `toml:"roles"`
}

// Parse reads a theme. Every problem is reported, each with file and line; the
// theme is nil when there is any. Text that is hard to read is told in Poor.
func Parse(file string, raw []byte) (*Theme, error) {
	var doc document
	dec := toml.NewDecoder(strings.NewReader(string(raw)))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&doc); err != nil {
		return nil, syntax(file, err)
	}
	p := &parser{file: file, lines: strings.Split(string(raw), "\n"), palette: map[string]Color{}}
	return p.theme(doc)
}

func syntax(file string, err error) error {
	var strict *toml.StrictMissingError
	if errors.As(err, &strict) {
		var errs []error
		for _, e := range strict.Errors {
			row, _ := e.Position()
			errs = append(errs, fmt.Errorf("theme %s:%d: unknown key %q; known are name, appearance, pair, about, background, palette, roles", file, row, strings.Join(e.Key(), ".")))
		}
		return errors.Join(errs...)
	}
	var de *toml.DecodeError
	if errors.As(err, &de) {
		row, col := de.Position()
		return fmt.Errorf("theme %s:%d:%d: %w", file, row, col, err)
	}
	return fmt.Errorf("theme %s: %w", file, err)
}

// parser turns a document into a theme and collects what is wrong with it.
type parser struct {
	file    string
	lines   []string
	palette map[string]Color
	errs    []error
}

func (p *parser) fail(table, key, format string, args ...any) {
	p.errs = append(p.errs, fmt.Errorf("theme %s:%d: %s: "+format, append([]any{p.file, p.line(table, key), key}, args...)...))
}

// line finds a key of a table, for messages; 1 when the file does not have it.
func (p *parser) line(table, key string) int {
	in := ""
	for i, l := range p.lines {
		l = strings.TrimSpace(l)
		if strings.HasPrefix(l, "[") {
			in = strings.Trim(l, "[] ")
			if in == table && l == key {
				return i + 1
			}
		}
		name, _, ok := strings.Cut(l, "=")
		if ok && in == table && strings.Trim(strings.TrimSpace(name), `"'`) == key {
			return i + 1
		}
	}
	return 1
}

func (p *parser) theme(doc document) (*Theme, error) {
	t := &Theme{Name: doc.Name, Appearance: Appearance(doc.Appearance), Pair: doc.Pair, About: doc.About, File: p.file}
	switch {
	case t.Name == "":
		p.fail("", "name", "is missing")
	case t.Name == "auto" || strings.ContainsAny(t.Name, ": \t\r\n") || len(t.Name) > maxName:
		p.fail("", "name", "%q cannot be the name of a theme: at most %d bytes without blanks and colons, and not auto", t.Name, maxName)
	}
	if t.Appearance != Dark && t.Appearance != Light && t.Appearance != Any {
		p.fail("", "appearance", "is %q; use \"dark\" or \"light\", or \"any\" with the terminal's own background", doc.Appearance)
	}
	for _, name := range sorted(doc.Palette) {
		c, err := ParseColor(doc.Palette[name])
		if err != nil {
			p.fail("palette", name, "%w", err) // what uses the name is not told again
		}
		p.palette[name] = c
	}
	if c, err := p.color(doc.Background); err != nil {
		p.fail("", "background", "%w", err)
	} else if t.Background = c; (t.Appearance == Any) != (c.Own == Default) || !c.Known() && c.Own != Default {
		p.fail("", "background", "is %q; \"default\" belongs to appearance \"any\", #rrggbb to the others", doc.Background)
	}
	for _, name := range sorted(doc.Roles) {
		role, ok := RoleNamed(name)
		if !ok {
			p.fail("roles", name, "unknown role; known are %s", strings.Join(roleNames[:], ", "))
			continue
		}
		look, err := p.look(doc.Roles[name])
		if err != nil {
			p.fail("roles", name, "%w", err)
			continue
		}
		t.Roles[role] = look
		switch {
		case role.Ground() && look.Bg == nil && !(t.Appearance == Any && (look.Reverse || look.Underline || look.Bold)):
			p.fail("roles", name, "is a ground and needs \"on COLOUR\"")
		case !role.Ground() && look.Fg == nil:
			p.fail("roles", name, "needs a text colour")
		}
	}
	var missing []string
	for _, name := range roleNames {
		if _, ok := doc.Roles[name]; !ok {
			missing = append(missing, name)
		}
	}
	if len(missing) > 0 {
		p.fail("roles", "[roles]", "missing: %s", strings.Join(missing, ", "))
	}
	if len(p.errs) == 0 { // a contrast needs both of its colours
		for i := range roleNames {
			p.contrast(t, Role(i))
		}
		for _, err := range p.errs {
			t.Poor = append(t.Poor, err.Error())
		}
		return t, nil
	}
	if len(p.errs) > 0 {
		return nil, errors.Join(p.errs...)
	}
	return t, nil
}

// The least contrast of text and of lines (WCAG 2.2, success criteria 1.4.3 and 1.4.11).
const (
	textContrast = 4.5
	markContrast = 3.0
)

// maxName bounds the name of a theme, in bytes.
const maxName = 40

// look reads "[COLOUR] [bold|italic|underline|reverse ...] [on COLOUR]".
func (p *parser) look(s string) (Look, error) {
	var l Look
	words := strings.Fields(s)
	for i := 0; i < len(words); i++ {
		switch w := words[i]; w {
		case "bold":
			l.Bold = true
		case "italic":
			l.Italic = true
		case "underline":
			l.Underline = true
		case "reverse":
			l.Reverse = true
		case "on":
			i++
			if i == len(words) {
				return l, errors.New("\"on\" needs a colour after it")
			}
			c, err := p.color(words[i])
			if err != nil {
				return l, err
			}
			l.Bg = &c
		default:
			if l.Fg != nil {
				return l, fmt.Errorf("%q: a second colour; a background is written \"on %s\"", w, w)
			}
			c, err := p.color(w)
			if err != nil {
				return l, err
			}
			l.Fg = &c
		}
	}
	return l, nil
}

func (p *parser) color(s string) (Color, error) {
	if c, ok := p.palette[s]; ok {
		return c, nil
	}
	if strings.HasPrefix(s, "#") || strings.HasPrefix(s, "ansi:") || s == "default" {
		return ParseColor(s)
	}
	return Color{}, fmt.Errorf("%q is neither a colour of [palette] nor #rrggbb, ansi:NAME or default", s)
}

func sorted(m map[string]string) []string {
	out := make([]string, 0, len(m))
	for k := range m {
		out = append(out, k)
	}
	slices.Sort(out)
	return out
}

// Source is the file of a built-in theme: the starting point for one's own.
func Source(name string) ([]byte, error) {
	raw, err := files.ReadFile(name + ".toml")
	if err != nil {
		return nil, fmt.Errorf("themes: no built-in theme %q", name)
	}
	return raw, nil
}
