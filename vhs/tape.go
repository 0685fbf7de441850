package vhs

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/charmbracelet/vhs/lexer"
	"github.com/charmbracelet/vhs/parser"
	"github.com/charmbracelet/vhs/token"
)

// Tape is a parsed tape, split as VHS splits it.
type Tape struct {
	Settings Settings
	Outputs  []string // files that VHS would write, relative to where it runs
	Requires []string // programs that must be on the PATH
	Env      []string // NAME=value, wherever it stands: VHS applies all before it starts the shell
	Body     []parser.Command
	Problems []string // what VHS would ignore
}

// Parse reads a tape with VHS's parser. The head is the leading Set, Output and
// Require commands: anything else, Env too, ends it, and a Set or Require behind
// it is ignored by VHS (Set TypingSpeed excepted) and so a problem here.
//
// The error is VHS's own, or says which setting is wrong.
func Parse(source string) (*Tape, error) {
	p := parser.New(lexer.New(source))
	commands := p.Parse()
	var errs []error
	for _, e := range p.Errors() {
		errs = append(errs, e)
	}
	if len(commands) == 0 {
		errs = append(errs, errors.New("the tape is empty"))
	}
	if err := errors.Join(errs...); err != nil {
		return nil, fmt.Errorf("parse tape: %w", err)
	}
	t := &Tape{Settings: defaultSettings()}
	head := true
	for _, c := range commands {
		switch c.Type {
		case token.OUTPUT:
			t.Outputs = append(t.Outputs, c.Args)
			continue
		case token.ENV:
			t.Env = append(t.Env, c.Options+"="+c.Args)
			head = false
			continue
		case token.SET:
			if !head && c.Options != "TypingSpeed" {
				t.problem("%s: VHS ignores a Set behind the head; move it above the first Env, Hide or key", name(c))
				continue
			}
			if head {
				if err := t.Settings.set(c); err != nil {
					return nil, fmt.Errorf("parse tape: %w", err)
				}
				continue
			}
		case token.REQUIRE:
			if !head {
				t.problem("%s: VHS never checks a Require behind the head; move it to the top", name(c))
				continue
			}
			t.Requires = append(t.Requires, c.Args)
			continue
		}
		head = false
		t.Body = append(t.Body, c)
	}
	return t, nil
}

// rests says whether the tape rests behind command i of its body, long enough for a recording to show the screen.
func (t *Tape) rests(i int) bool {
	if i+1 >= len(t.Body) || t.Body[i+1].Type != token.SLEEP {
		return false
	}
	d, err := time.ParseDuration(t.Body[i+1].Args)
	return err == nil && d >= hold
}

func (t *Tape) problem(format string, args ...any) {
	t.Problems = append(t.Problems, fmt.Sprintf(format, args...))
}

// name is a command as the tape has it, more or less.
func name(c parser.Command) string {
	words := make([]string, 0, 3)
	for _, w := range []string{c.Type.String(), c.Options, c.Args} {
		if w != "" {
			words = append(words, w)
		}
	}
	return strings.Join(words, " ")
}
