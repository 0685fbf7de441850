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

// The two appearances.
const (
	Dark  Appearance = "dark"
	Light Appearance = "light"
)

// Theme is one complete look.
type Theme struct {
	Name       string
	Appearance Appearance
	// Background is the terminal background that the theme assumes.
	Background Color
	// Roles has a look for every role.
	Roles [RoleCount]Look
}

// Look is how a role is drawn. The zero look is the terminal's own text.
type Look struct {
	Fg, Bg                  *Color
	Bold, Italic, Underline bool
}

//go:embed *.toml
var files embed.FS

// Builtin returns the themes that come with the program, dark first.
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
		out = append(out, t)
	}
	return out, nil
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
	Background string            `toml:"background"`
	Palette    map[string]string `toml:"palette"`
	Roles      map[string]string `toml:"roles"`
}

// Parse reads a theme. Every problem is reported, each with file and line; the
// theme is nil when there is any.
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
			errs = append(errs, fmt.Errorf("theme %s:%d: unknown key %q; known are name, appearance, background, palette, roles", file, row, strings.Join(e.Key(), ".")))
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
		}
		name, _, ok := strings.Cut(l, "=")
		if ok && in == table && strings.Trim(strings.TrimSpace(name), `"'`) == key {
			return i + 1
		}
	}
	return 1
}

func (p *parser) theme(doc document) (*Theme, error) {
	t := &Theme{Name: doc.Name, Appearance: Appearance(doc.Appearance)}
	if t.Name == "" {
		p.fail("", "name", "is missing")
	}
	if t.Appearance != Dark && t.Appearance != Light {
		p.fail("", "appearance", "is %q; use \"dark\" or \"light\"", doc.Appearance)
	}
	for _, name := range sorted(doc.Palette) {
		c, err := ParseColor(doc.Palette[name])
		if err != nil {
			p.fail("palette", name, "%w", err)
			continue
		}
		p.palette[name] = c
	}
	if c, err := p.color(doc.Background); err != nil {
		p.fail("", "background", "%w", err)
	} else {
		t.Background = c
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
		case role.Ground() && look.Bg == nil:
			p.fail("roles", name, "is a ground and needs \"on COLOUR\"")
		case !role.Ground() && look.Fg == nil:
			p.fail("roles", name, "needs a text colour")
		}
	}
	for _, name := range roleNames {
		if _, ok := doc.Roles[name]; !ok {
			p.fail("roles", name, "is missing")
		}
	}
	if len(p.errs) == 0 { // a contrast needs both of its colours
		for i := range roleNames {
			p.contrast(t, Role(i))
		}
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

// contrast checks a role on the background and on every ground text can lie on.
func (p *parser) contrast(t *Theme, role Role) {
	if role.Ground() {
		return
	}
	look := t.Roles[role]
	bg := t.Background
	if look.Bg != nil {
		bg = *look.Bg
	}
	least := textContrast
	if role.Mark() {
		least = markContrast
	}
	grounds := []struct {
		name string
		c    Color
	}{{"the background", bg}}
	if !role.Mark() {
		for g := Cursor; g < roleCount; g++ {
			grounds = append(grounds, struct {
				name string
				c    Color
			}{"ground " + g.String(), *t.Roles[g].Bg})
		}
	}
	for _, g := range grounds {
		if c := Contrast(*look.Fg, g.c); c < least {
			p.fail("roles", role.String(), "contrast %.2f:1 on %s; at least %.1f:1 is needed", c, g.name, least)
		}
	}
}

// look reads "[COLOUR] [bold|italic|underline ...] [on COLOUR]".
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
	if strings.HasPrefix(s, "#") {
		return ParseColor(s)
	}
	return Color{}, fmt.Errorf("%q is neither a colour of [palette] nor #rrggbb", s)
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
