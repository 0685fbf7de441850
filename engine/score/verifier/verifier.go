// Package verifier asks the developer's own program whether a turn reached what
// it was for. The program gets one JSON document on its standard input and
// writes one JSON value: a number in [0,1], true, false, or null for "no verdict".
//
// The outcome is the most trusted score there is, so nothing is guessed: what is
// not exactly such a value (a number out of range, NaN, text, a failed exit, time
// up) is no score at all, with the reason. (The PandaProbe Harness 0.9 clamps
// numbers and reads NaN as 1.0.)
package verifier

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"vise/engine/guard"
	"vise/engine/process"
	"vise/engine/score"
	"vise/engine/trace"
)

// Bounds of one run. The texts are cut where they exceed them, which the document says.
const (
	maxText    = 256 << 10 // bytes of one text
	maxSpans   = 16 << 20  // bytes of all spans
	maxVerdict = 64 << 10  // bytes of the program's output
	maxProgram = 4 << 20   // bytes of a file that enters the identity
)

// Options say what to run.
type Options struct {
	Command []string      // argv; a relative path with a slash is relative to Dir
	Dir     string        // working directory of the program; "" = ours
	Env     []string      // its whole environment
	Timeout time.Duration // of one run; must be positive
	// Sandbox confines the program; nil does not. Confined, it may write into a folder
	// of its own only, which TMPDIR and XDG_CACHE_HOME name and which is gone afterwards.
	Sandbox *process.Sandbox
	// Scratch is the existing folder in which those are made; "" = that of the system.
	Scratch string
}

// Verifier runs the program. It is safe for concurrent use.
type Verifier struct {
	options  Options
	identity string
	files    []file // those that the argv names
}

// file is a program or script as it was when the verifier was made.
type file struct {
	word string
	sum  [sha256.Size]byte
}

// New returns a verifier. Its identity covers the argv and the content of every
// file that the argv names, so that an edited script is another verifier: its
// scores are not compared with those of before.
func New(o Options) (*Verifier, error) {
	if len(o.Command) == 0 || o.Command[0] == "" {
		return nil, errors.New("verifier: no command given; set evaluate.verifier to a list of arguments")
	}
	if o.Timeout <= 0 {
		return nil, errors.New("verifier: no time limit given; set evaluate.verifier_timeout")
	}
	v := &Verifier{options: o}
	sum := sha256.New()
	for _, word := range o.Command {
		fmt.Fprintf(sum, "%d:%s", len(word), word)
		if content, ok := program(o.Dir, word); ok {
			fmt.Fprintf(sum, "=%d:", len(content))
			sum.Write(content)
			v.files = append(v.files, file{word, sha256.Sum256(content)})
		}
	}
	v.identity = "verifier/1 " + hex.EncodeToString(sum.Sum(nil)[:6])
	return v, nil
}

// changed names a file of the program that is not any more what the identity says.
func (v *Verifier) changed() (string, bool) {
	for _, f := range v.files {
		if content, ok := program(v.options.Dir, f.word); !ok || sha256.Sum256(content) != f.sum {
			return f.word, true
		}
	}
	return "", false
}

// program reads the file that a word of the argv names, if it is a small regular one.
func program(dir, word string) ([]byte, bool) {
	if !filepath.IsAbs(word) {
		word = filepath.Join(dir, word)
	}
	info, err := os.Stat(word)
	if err != nil || !info.Mode().IsRegular() || info.Size() > maxProgram {
		return nil, false
	}
	content, err := os.ReadFile(word)
	return content, err == nil
}

// Identity names the verifier in Score.By.
func (v *Verifier) Identity() string { return v.identity }

// Question is what is asked about.
type Question struct {
	Session trace.Session
	// Inputs are the user's inputs up to and including the turn, in order.
	Inputs []string
	Turn   trace.Turn
}

// document is what the program reads; field names and meanings are documented in the README.
type document struct {
	Schema     string          `json:"schema"` // vise.verify/1
	SessionID  string          `json:"session_id"`
	Origin     trace.Origin    `json:"origin"`
	Source     string          `json:"source"`
	Agent      string          `json:"agent,omitempty"`
	ReplayOf   string          `json:"replay_of,omitempty"`
	CaseID     string          `json:"case_id,omitempty"`
	Task       string          `json:"task_summary,omitempty"`
	TurnIndex  int             `json:"turn_index"`
	Inputs     []string        `json:"inputs"`
	Answer     string          `json:"answer"`
	StopReason string          `json:"stop_reason,omitempty"`
	EndState   json.RawMessage `json:"end_state,omitempty"`
	Spans      []trace.Span    `json:"spans"`
	// Cut counts texts that were shortened, Omitted spans that were left out.
	Cut     int `json:"cut,omitempty"`
	Omitted int `json:"omitted_spans,omitempty"`
}

// Verdict is what the program says of a turn.
type Verdict struct {
	Value *float64 // in [0,1]; nil = it has no opinion
	Held  process.Held
}

// Verify runs the program on one turn. An error says why there is no score; it is
// the context's cause when the caller ended the run.
func (v *Verifier) Verify(ctx context.Context, q Question) (Verdict, error) {
	fail := func(format string, args ...any) (Verdict, error) {
		return Verdict{}, fmt.Errorf("verifier: "+format, args...)
	}
	// An agent that is not held could have written over it in the very run that is judged.
	if name, changed := v.changed(); changed {
		return fail("%s has changed since vise started, so its word is not taken: if you changed it, start vise again; if not, look at what the agent did", name)
	}
	raw, err := json.Marshal(newDocument(q))
	if err != nil {
		return fail("write the turn: %w", err)
	}
	spec := process.Spec{Name: "verifier", Command: v.options.Command, Dir: v.options.Dir, Env: v.options.Env}
	if v.options.Sandbox != nil {
		own, err := os.MkdirTemp(v.options.Scratch, "verifier-*")
		if err != nil {
			return fail("make its folder: %w", err)
		}
		defer os.RemoveAll(own)
		box := *v.options.Sandbox
		box.Write = append(slices.Clone(box.Write), own)
		spec.Sandbox = &box
		spec.Env = append(slices.Clone(spec.Env), "TMPDIR="+own, "XDG_CACHE_HOME="+own)
	}
	out, err := process.Filter(ctx, spec, raw, process.Limits{Time: v.options.Timeout, Output: maxVerdict})
	switch {
	case errors.Is(err, process.ErrTime):
		return fail("no verdict within evaluate.verifier_timeout (%s)%s", v.options.Timeout, said(out.Tail))
	case err != nil:
		return fail("%w", err)
	case !out.Exit.OK():
		return fail("%s%s", out.Exit, said(out.Tail))
	}
	value, err := parse(out.Out)
	if err != nil {
		return fail("%w", err)
	}
	return Verdict{Value: value, Held: out.Held}, nil
}

// said quotes the end of what the program wrote on standard error.
func said(tail string) string {
	lines := strings.Split(strings.TrimSpace(tail), "\n")
	last := strings.TrimSpace(lines[len(lines)-1])
	if last == "" {
		return ""
	}
	last, _ = guard.DefaultRedactor().Text(last) // before it is cut: half a key is not known as one
	text, _ := shorten(last, 200)
	return ": " + text
}

// parse reads the verdict: exactly one JSON value. nil is null.
func parse(raw []byte) (*float64, error) {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var verdict any
	if err := d.Decode(&verdict); err != nil {
		if errors.Is(err, io.EOF) {
			return nil, errors.New("it wrote nothing; a number in [0,1], true, false or null is expected")
		}
		return nil, fmt.Errorf("its output %s is no JSON; a number in [0,1], true, false or null is expected", quoted(raw))
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("its output %s is more than one value", quoted(raw))
	}
	if verdict == nil {
		return nil, nil
	}
	if n, isNumber := verdict.(json.Number); isNumber {
		if f, err := n.Float64(); err != nil || f < 0 || f > 1 {
			return nil, fmt.Errorf("%s is not in [0,1]", quoted(raw))
		}
	}
	f := score.Outcome(verdict)
	if f == nil {
		return nil, fmt.Errorf("its output %s is neither a number nor true, false or null", quoted(raw))
	}
	return f, nil
}

func quoted(raw []byte) string {
	text, _ := shorten(strings.TrimSpace(string(raw)), 60)
	return fmt.Sprintf("%q", text)
}

func newDocument(q Question) document {
	d := document{Schema: "vise.verify/1", SessionID: q.Session.ID, Origin: q.Session.Origin, Source: q.Session.Source, Agent: q.Session.Agent,
		ReplayOf: q.Session.ReplayOf, CaseID: q.Session.CaseID, TurnIndex: q.Turn.Index, StopReason: q.Turn.StopReason, EndState: q.Turn.EndState,
		Inputs: make([]string, 0, len(q.Inputs)), Spans: make([]trace.Span, 0, len(q.Turn.Spans))}
	cut := func(s string) string {
		s, was := shorten(s, maxText)
		if was {
			d.Cut++
		}
		return s
	}
	d.Task = cut(first(q.Turn.TaskSummary, q.Session.TaskSummary))
	for _, in := range q.Inputs {
		d.Inputs = append(d.Inputs, cut(in))
	}
	left := maxSpans
	for _, s := range q.Turn.Spans {
		s.Input, s.Output, s.Thought, s.Error = cut(s.Input), cut(s.Output), cut(s.Thought), cut(s.Error)
		s.Attrs = nil // formats and drivers keep what they like there
		if left -= len(s.Input) + len(s.Output) + len(s.Thought) + len(s.Error) + 256; left < 0 {
			d.Omitted = len(q.Turn.Spans) - len(d.Spans)
			break
		}
		d.Spans = append(d.Spans, s)
	}
	d.Answer = cut(q.Turn.Answer())
	return d
}

func first(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

// shorten cuts a text to n bytes at a character boundary.
func shorten(s string, n int) (string, bool) {
	if len(s) <= n {
		return s, false
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + "…", true
}
