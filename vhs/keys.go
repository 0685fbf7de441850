package vhs

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/charmbracelet/vhs/parser"
	"github.com/charmbracelet/vhs/token"
)

// named are the keys that have a command of their own.
var named = map[parser.CommandType]string{
	token.BACKSPACE: "\x7f", token.DELETE: "\x1b[3~", token.INSERT: "\x1b[2~", token.ENTER: "\r", token.SPACE: " ",
	token.TAB: "\t", token.ESCAPE: "\x1b", token.PAGE_UP: "\x1b[5~", token.PAGE_DOWN: "\x1b[6~",
	token.UP: "\x1b[A", token.DOWN: "\x1b[B", token.RIGHT: "\x1b[C", token.LEFT: "\x1b[D",
}

// keys are the byte strings, one per key press, that xterm.js sends for a
// command, measured with VHS v0.10.0: no kitty keyboard protocol, so many chords
// arrive as something else and some not at all (those are an error). With
// cursorKeys, the program asked for application cursor keys (DECCKM).
func keys(c parser.Command, cursorKeys bool) ([]string, error) {
	switch c.Type {
	case token.TYPE:
		var out []string
		for _, r := range c.Args {
			out = append(out, string(r))
		}
		return out, nil
	case token.CTRL:
		s, err := ctrl(strings.Fields(c.Args))
		return []string{s}, err
	case token.ALT, token.SHIFT:
		s := c.Args
		switch s {
		case "Enter":
			s = "\r"
		case "Tab":
			if s = "\t"; c.Type == token.SHIFT {
				s = "\x1b[Z"
			}
		}
		if c.Type == token.ALT {
			s = "\x1b" + s
		}
		return []string{s}, nil
	case token.COPY, token.PASTE:
		return nil, fmt.Errorf("VHS needs a clipboard program (xclip, wl-copy) for Copy and Paste; Type the text")
	}
	s, ok := named[c.Type]
	if !ok {
		return nil, fmt.Errorf("%s is no key of VHS v0.10.0", c.Type)
	}
	if cursorKeys && len(s) == 3 && s[1] == '[' {
		s = "\x1bO" + s[2:]
	}
	n, err := strconv.Atoi(c.Args)
	if err != nil { // no repeat count
		n = 1
	}
	out := make([]string, n)
	for i := range out {
		out[i] = s
	}
	return out, nil
}

func ctrl(chord []string) (string, error) {
	prefix := ""
	for _, a := range chord {
		switch a {
		case "Alt":
			prefix = "\x1b"
		case "Shift":
			return "", fmt.Errorf("xterm.js sends nothing for Ctrl+Shift")
		case "Enter":
			return prefix + "\r", nil
		case "Space":
			return prefix + "\x00", nil
		case "Backspace":
			return prefix + "\b", nil
		default:
			if b := a[0] &^ 0x20; b >= 'A' && b <= 'Z' {
				return prefix + string(rune(b&0x1f)), nil
			}
			if strings.ContainsAny(a, `[\]^`) {
				return prefix + string(rune(a[0]&0x1f)), nil
			}
		}
	}
	return "", fmt.Errorf("xterm.js sends nothing for Ctrl+%s", strings.Join(chord, "+"))
}
