package vhs

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/charmbracelet/vhs/parser"
	"github.com/charmbracelet/vhs/token"
)

const (
	// fastTyping is the longest pause between two keys unless Options.Realtime.
	fastTyping = 5 * time.Millisecond
	// afterEscape is the shortest pause after Escape in real time: programs take a key that follows within 50 ms as Alt+key.
	afterEscape = 80 * time.Millisecond
	// promptLimit ends the waiting for the shell's first prompt.
	promptLimit = time.Minute
	// quiet is how long a screen must not change to count as settled.
	quiet = 150 * time.Millisecond
	// settleLimit ends the waiting for a screen that never settles (a spinner, a clock).
	settleLimit = 2 * time.Second
	// hold is the shortest Sleep behind a Wait that leaves its screen in a
	// recording for some frames. Only such screens are worth a frame of the golden.
	hold = 300 * time.Millisecond
)

// Options say how to play.
type Options struct {
	Dir      string   // where the shell starts, as VHS's own working folder
	Env      []string // environment of the shell (PATH with the program, HOME, LANG, ...); the tape's Env comes on top
	Realtime bool     // keep every Sleep and typing pause as the tape has it
	Every    bool     // take a frame after each Sleep too
	Draw     bool     // draw every frame as SVG

	// Patience is the shortest bound of a Wait, for a play on a machine that may
	// stand still for a while. VHS knows only the tape's own.
	Patience time.Duration
	// Want is the golden that the play should come to. A screen that differs from its
	// frame is looked at again for as long as Patience: quiet is not settled where the
	// program waits for the machine. After the first that stays different none is
	// waited for.
	Want string
}

// Frame is the settled screen after a Screenshot, after a Wait on which the tape
// rests (a Wait without a Sleep behind it only keeps step), and at the end if a
// key came since.
type Frame struct {
	Name     string // number and text of the command
	Lines    []string
	SVG      string // only with Options.Draw
	Recorded bool   // false behind Hide: a recording does not have it
}

// Result is what one play showed.
type Result struct {
	Cols, Rows int
	Frames     []Frame
	Problems   []string // what VHS would ignore, or what proves nothing
	Took       time.Duration
}

type player struct {
	Options
	tape  *Tape
	term  *terminal
	res   *Result
	speed time.Duration
	shown bool
	fresh bool              // a key came since the last frame
	want  map[string]string // frames of the golden by name; empty: take what is there
}

// Play plays a tape in a shell. In fast mode, the default, typing is quick and a
// Sleep ends once the screen is quiet: a tape must therefore wait for what it
// needs by Wait+Screen, never by Sleep.
//
// The error names the command and shows the last screen when a Wait found no
// match in time; the frames up to there are in the result. Problems of the tape
// itself are in Result.Problems and should fail a test.
func Play(ctx context.Context, t *Tape, o Options) (*Result, error) {
	begun := time.Now()
	cols, rows := t.Settings.Grid()
	p := &player{Options: o, tape: t, speed: t.Settings.TypingSpeed, shown: true, want: map[string]string{},
		res: &Result{Cols: cols, Rows: rows, Problems: slices.Clone(t.Problems)}}
	if o.Want != "" {
		frames, err := goldenFrames(o.Want)
		if err != nil {
			return p.res, fmt.Errorf("play: %w", err)
		}
		for _, f := range frames {
			p.want[f.name] = f.text
		}
	}
	env := append(slices.Clone(o.Env), t.Env...)
	for _, program := range t.Requires {
		if err := lookPath(program, env); err != nil {
			return p.res, fmt.Errorf("play: Require %s: %w", program, err)
		}
	}
	var err error
	if p.term, err = newTerminal(o.Dir, env, cols, rows); err != nil {
		return p.res, fmt.Errorf("play: %w", err)
	}
	defer p.term.stop()
	if !p.term.until(ctx, promptLimit, func() bool { return strings.HasSuffix(p.term.line(), ">") }) {
		return p.res, fmt.Errorf("play: the shell showed no prompt within %s; its line is %q", promptLimit, p.term.line())
	}
	before := p.term.screen() // as the last key found it: what a Wait must not match already
	for i, c := range t.Body {
		if err := ctx.Err(); err != nil {
			return p.res, fmt.Errorf("play: %w", err)
		}
		if isKey(c) {
			before, p.fresh = p.term.screen(), true
		}
		if err := p.step(ctx, i, c, before); err != nil {
			return p.res, err
		}
	}
	if p.fresh {
		p.frame(ctx, "end")
	}
	p.res.Took = time.Since(begun)
	return p.res, nil
}

// step does command i of the body.
func (p *player) step(ctx context.Context, i int, c parser.Command, before []string) error {
	title := fmt.Sprintf("%02d %s", i, name(c))
	switch c.Type {
	case token.HIDE:
		p.shown = false
	case token.SHOW:
		p.shown = true
	case token.SET: // TypingSpeed, the only one that counts here
		d, err := time.ParseDuration(c.Args)
		if err != nil {
			return fmt.Errorf("play: %s: %w", title, err)
		}
		p.speed = d
	case token.SLEEP:
		d, err := time.ParseDuration(c.Args)
		if err != nil {
			return fmt.Errorf("play: %s: %w", title, err)
		}
		if p.Realtime {
			pause(ctx, d)
		} else {
			p.term.settle(ctx, quiet, d)
		}
		if p.Every {
			p.frame(ctx, title)
		}
	case token.WAIT:
		if err := p.wait(ctx, c, title, before); err != nil {
			p.frame(ctx, title+" FAILED")
			return err
		}
		if p.tape.rests(i) {
			p.frame(ctx, title)
		}
	case token.SCREENSHOT:
		p.frame(ctx, title)
	default:
		return p.press(ctx, title, c)
	}
	return nil
}

func isKey(c parser.Command) bool {
	switch c.Type {
	case token.HIDE, token.SHOW, token.SET, token.SLEEP, token.WAIT, token.SCREENSHOT:
		return false
	}
	return true
}

func (p *player) problem(format string, args ...any) {
	p.res.Problems = append(p.res.Problems, fmt.Sprintf(format, args...))
}

// frame takes the screen once it is settled and, while there is hope, as wanted.
func (p *player) frame(ctx context.Context, title string) {
	p.term.settle(ctx, quiet, settleLimit)
	p.fresh = false
	f := Frame{Name: title, Lines: p.term.screen(), Recorded: p.shown}
	if want, ok := p.want[title]; ok && !p.term.until(ctx, p.Patience, func() bool {
		f.Lines = p.term.screen()
		return Diff(want, screenText(f.Lines)) == ""
	}) {
		p.want = nil
	}
	if p.Draw {
		f.SVG = p.term.svg()
	}
	p.res.Frames = append(p.res.Frames, f)
}

// wait is VHS's Wait: +Screen matches all rows joined by newlines, +Line the
// cursor's row. A pattern that matched before the last key already proves
// nothing, since VHS would go on at once.
func (p *player) wait(ctx context.Context, c parser.Command, title string, before []string) error {
	scope, expr, given := strings.Cut(c.Args, " ")
	pattern, limit := p.tape.Settings.WaitPattern, p.tape.Settings.WaitTimeout
	var err error
	if given {
		if pattern, err = regexp.Compile(expr); err != nil {
			return fmt.Errorf("play: %s: %w", title, err)
		}
	}
	if c.Options != "" {
		if limit, err = time.ParseDuration(c.Options); err != nil {
			return fmt.Errorf("play: %s: %w", title, err)
		}
	}
	limit = max(limit, p.Patience)
	if scope == "Screen" && pattern.MatchString(strings.Join(before, "\n")) {
		p.problem("%s: it matched before the last key already, so it proves nothing; wait for something new", title)
	}
	var last string
	if !p.term.until(ctx, limit, func() bool {
		if scope == "Screen" {
			last = strings.Join(p.term.screen(), "\n")
		} else {
			last = p.term.line()
		}
		return pattern.MatchString(last)
	}) {
		return fmt.Errorf("play: %s: no match within %s; the screen:\n%s", title, limit, strings.TrimRight(last, "\n"))
	}
	return nil
}

// press types the keys of one command.
func (p *player) press(ctx context.Context, title string, c parser.Command) error {
	presses, err := keys(c, p.term.wantsCursorKeys())
	if err != nil {
		p.problem("%s: %v", title, err)
		return nil
	}
	speed := p.speed
	if d, err := time.ParseDuration(c.Options); err == nil { // Type@100ms
		speed = d
	}
	if !p.Realtime {
		speed = min(speed, fastTyping)
	}
	for _, k := range presses {
		if k == "\x1b" && !p.Realtime {
			// Unmistakable, as the Kitty protocol writes it: a test machine may stand still for
			// longer than any pause.
			k = "\x1b[27u"
		}
		if err := p.term.send(ctx, k); err != nil {
			return fmt.Errorf("play: %s: %w", title, err)
		}
		if k == "\x1b" {
			pause(ctx, max(speed, afterEscape))
		} else {
			pause(ctx, speed)
		}
	}
	return nil
}

func pause(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}

// lookPath finds a program on the last PATH of env, the one the shell gets.
func lookPath(program string, env []string) error {
	for _, e := range slices.Backward(env) {
		path, ok := strings.CutPrefix(e, "PATH=")
		if !ok {
			continue
		}
		for _, dir := range filepath.SplitList(path) {
			if st, err := os.Stat(filepath.Join(dir, program)); err == nil && !st.IsDir() && st.Mode()&0o111 != 0 {
				return nil
			}
		}
		break
	}
	return exec.ErrNotFound
}
