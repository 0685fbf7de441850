package vhs

import (
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/charmbracelet/vhs/lexer"
	"github.com/charmbracelet/vhs/parser"
	"github.com/charmbracelet/vhs/token"
)

// framerate is what a small machine captures in time; VHS assumes the rate it was
// told, so a higher one makes the recording run too fast.
const framerate = 12

// headOrder is the order in which the leading commands stand: VHS ends its head at the first Env or Hide.
var headOrder = []parser.CommandType{token.OUTPUT, token.REQUIRE, token.SET, token.ENV, token.HIDE}

// Lint lists what is wrong with the tape vhs/NAME.tape beyond what the parser
// says: everything that VHS v0.10.0 accepts and then ignores, sends as another
// key, or cannot show; and what makes a tape no test. Each entry says what to do.
func Lint(tapeName, source string) []string {
	t, err := Parse(source)
	if err != nil {
		return []string{err.Error()}
	}
	l := &lint{tape: t, found: slices.Clone(t.Problems)}
	commands := parser.New(lexer.New(source)).Parse()
	l.head(tapeName, source, commands)
	l.settings(commands)
	for i, c := range t.Body {
		l.command(i, c)
	}
	l.end()
	return l.found
}

type lint struct {
	tape  *Tape
	found []string
}

func (l *lint) add(format string, args ...any) {
	l.found = append(l.found, fmt.Sprintf(format, args...))
}

func (l *lint) head(tapeName, source string, commands []parser.Command) {
	stage := 0
	for _, c := range commands {
		at := slices.Index(headOrder, c.Type)
		if at < 0 {
			break
		}
		if at < stage {
			l.add("%s: write Output, Require, Set, Env, Hide in this order", name(c))
		}
		stage = max(stage, at)
	}
	want := "vhs/" + strings.TrimSuffix(filepath.Base(tapeName), ".tape") + ".gif"
	if !slices.Equal(l.tape.Outputs, []string{want}) {
		l.add("it writes %q: let its only Output be %s", l.tape.Outputs, want)
	}
	if !slices.Contains(l.tape.Requires, "vise") {
		l.add("it lacks Require vise, so VHS would record a shell that does not find it")
	}
	if regexp.MustCompile(`(?m)^\s*Source\b`).MatchString(source) {
		l.add("it has a Source: VHS drops that tape's Outputs and looks from where it runs; write the commands here")
	}
}

// settings wants those spelled out on which the grid depends, so that no default or missing font changes it.
func (l *lint) settings(commands []parser.Command) {
	for _, s := range []string{"Shell", "FontFamily", "FontSize", "Width", "Height", "Padding", "Framerate"} {
		if !slices.ContainsFunc(commands, func(c parser.Command) bool { return c.Type == token.SET && c.Options == s }) {
			l.add("it lacks Set %s", s)
		}
	}
	if s := l.tape.Settings; s.Framerate != framerate {
		l.add("Set Framerate %d: use %d, more is not captured in time", s.Framerate, framerate)
	} else if _, known := fonts[s.FontFamily]; !known {
		l.add("Set FontFamily %s: its measures are unknown; use JetBrains Mono", s.FontFamily)
	} else if s.FontSize == 20 {
		l.add("Set FontSize 20: Chromium measures one px less than for any other; use another size")
	}
}

func (l *lint) command(i int, c parser.Command) {
	switch c.Type {
	case token.WAIT:
		l.wait(i, c)
	case token.HIDE, token.SHOW, token.SET, token.SLEEP, token.SCREENSHOT:
	case token.CTRL, token.SHIFT, token.ALT:
		if as := arrivesAs(c); as != "" {
			l.add("%s arrives as %s: write that", name(c), as)
			return
		}
		fallthrough
	default:
		if _, err := keys(c, false); err != nil {
			l.add("%s: %v", name(c), err)
		}
	}
}

// arrivesAs names the plain key that a chord is without the kitty keyboard protocol, if it is one.
func arrivesAs(c parser.Command) string {
	switch name(c) {
	case "Shift Enter", "Ctrl Enter", "Ctrl M", "Ctrl m":
		return "Enter"
	case "Ctrl I", "Ctrl i":
		return "Tab"
	case "Ctrl [":
		return "Escape"
	case "Ctrl Backspace", "Ctrl H", "Ctrl h":
		return "Ctrl+H, which programs take as Backspace"
	}
	return ""
}

func (l *lint) wait(i int, c parser.Command) {
	scope, expr, given := strings.Cut(c.Args, " ")
	if scope != "Screen" || !given {
		l.add("%s: write Wait+Screen with a pattern; the cursor's row says nothing about a full-screen program", name(c))
		return
	}
	if anchored(expr) && !strings.Contains(expr, "(?m") {
		l.add("%s: ^ and $ are the ends of the whole screen here; begin the pattern with (?m)", name(c))
	}
	if i+1 < len(l.tape.Body) && l.tape.Body[i+1].Type == token.SLEEP && !l.tape.rests(i) {
		l.add("%s: a Sleep under %s shows nothing; rest longer, or drop it", name(c), hold)
	}
}

// anchored says whether a pattern holds ^ or $ outside escapes and classes.
func anchored(expr string) bool {
	class := false
	for i := 0; i < len(expr); i++ {
		switch expr[i] {
		case '\\':
			i++
		case '[':
			class = true
		case ']':
			class = false
		case '^', '$':
			if !class {
				return true
			}
		}
	}
	return false
}

// end wants the program's own quit proven: VHS does not see a crash.
func (l *lint) end() {
	asks := slices.ContainsFunc(l.tape.Body, func(c parser.Command) bool {
		return c.Type == token.TYPE && strings.Contains(c.Args, "vise") && strings.HasSuffix(c.Args, "; echo exit=$?")
	})
	last := -1
	for i, c := range l.tape.Body {
		if c.Type == token.WAIT {
			last = i
		}
	}
	if !asks || last < 0 || !strings.HasSuffix(l.tape.Body[last].Args, "exit=0") {
		l.add(`it does not prove how the program ended: Type "vise ...; echo exit=$?" and end with Wait+Screen /exit=0/`)
	}
}
