// Package exec drives an agent that is any command: a script, a binary, a
// container. Each turn is one run of it, with the user's input on standard input,
// as an argument, or as JSON; what it writes to standard output is its answer.
//
// What happened on the way is learned from three sides: model calls through the
// recording proxy and OpenTelemetry through the receiver, which the runner joins,
// and lines that the command itself appends to the file that VISE_TRACE names:
//
//	{"type":"execution_started"}
//	{"type":"span","kind":"TOOL","name":"issue_refund","input":"{\"order\":\"A-1\"}","output":"...","error":""}
//
// A span line has the fields of trace.Span; a line with the id of an earlier one
// takes its place. In the environment it further finds VISE_SESSION_ID,
// VISE_TURN_INDEX, VISE_RUN_SEED and, to reach the rules over MCP, VISE_RULES_URL
// and VISE_RULES_TOKEN.
package exec

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	osexec "os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"vise/engine/process"
	"vise/engine/trace"
	"vise/replay/driver"
)

// Placeholder in an argument is replaced by the user's input; standard input is empty then.
const Placeholder = "{input}"

// session is one conversation: state between its turns is the command's own, in its
// working directory, or the history that JSON input holds.
type session struct {
	cfg     driver.Config
	history []exchange
	mu      sync.Mutex // of info, which any goroutine may ask for
	info    driver.Info
	exit    driver.Exit // of the last turn, with what all of them left behind
	began   sync.Once   // execution: told once a session
}

// begin tells that execution began: the command said so, or did anything.
func (s *session) begin() { s.began.Do(s.cfg.OnExecution) }

type exchange struct {
	Input  string `json:"input"`
	Answer string `json:"answer"`
}

// Start checks the command and makes a session of it; nothing runs before the
// first Prompt. Errors are of type *driver.Error.
func Start(ctx context.Context, cfg driver.Config) (driver.Session, error) {
	cfg = cfg.WithDefaults()
	fail := func(err error) (driver.Session, error) {
		return nil, &driver.Error{Kind: driver.StartFailed, Op: "start agent", Err: err}
	}
	if len(cfg.Command) == 0 || cfg.Command[0] == "" {
		return fail(errors.New("no command given; set agent.command in vise.toml"))
	}
	if cfg.Dir == "" {
		cfg.Dir = "."
	}
	dir, err := filepath.Abs(cfg.Dir)
	if err == nil {
		_, err = os.Stat(dir)
	}
	if err != nil {
		return fail(fmt.Errorf("working directory: %w", err))
	}
	cfg.Dir = dir
	program := cfg.Command[0]
	if strings.ContainsRune(program, filepath.Separator) && !filepath.IsAbs(program) {
		program = filepath.Join(dir, program)
	}
	if _, err := osexec.LookPath(program); err != nil {
		return fail(err)
	}
	if ctx.Err() != nil {
		return nil, &driver.Error{Kind: driver.Cancelled, Op: "start agent", Err: context.Cause(ctx)}
	}
	s := &session{cfg: cfg, info: driver.Info{Agent: filepath.Base(cfg.Command[0]), PID: os.Getpid(), Held: process.None("agent.sandbox is off")}}
	if cfg.Sandbox != nil {
		if s.info.Held, err = process.Probe(ctx, cfg.Sandbox); err != nil {
			return fail(err)
		}
	}
	return s, nil
}

// Info implements driver.Session. The process is ours between turns.
func (s *session) Info() driver.Info {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.info
}

func (s *session) tell(change func(*driver.Info)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change(&s.info)
}

// Close implements driver.Session: nothing runs between turns.
func (s *session) Close(context.Context) driver.Exit { return s.exit }

// Prompt runs the command once.
func (s *session) Prompt(ctx context.Context, index int, input string) (trace.Turn, error) {
	turn := trace.Turn{SessionID: s.cfg.SessionID, Index: index, TraceID: s.cfg.SessionID + "." + strconv.Itoa(index), Input: input, Start: s.cfg.Now()}
	op := fmt.Sprintf("prompt turn %d", index)
	argv, stdin, err := s.ask(index, input)
	if err != nil {
		return turn, &driver.Error{Kind: driver.StartFailed, Op: op, Err: err}
	}
	file, err := s.traceFile(index)
	if err != nil {
		return turn, &driver.Error{Kind: driver.StartFailed, Op: op, Err: err}
	}
	follow := newFollower(file, s.cfg, index, s.begin)
	defer follow.close()

	out, err := process.Filter(ctx, process.Spec{
		Command: argv, Dir: s.cfg.Dir, Env: s.environ(index, file.Name()), Stderr: s.cfg.Log, Sandbox: s.cfg.Sandbox, Grace: s.cfg.CancelGrace,
		OnStart: func(r process.Record) {
			s.tell(func(i *driver.Info) { i.PID = r.PID })
			if s.cfg.OnProcess != nil {
				s.cfg.OnProcess(r)
			}
		},
	}, stdin, process.Limits{Time: s.limit(index), Output: s.cfg.MaxSaid})
	spans, stray := follow.finish()
	s.tell(func(i *driver.Info) {
		i.Stray += stray
		i.Updates += len(spans)
	})
	left := append(s.exit.Leftover, out.Exit.Leftover...)
	s.exit = out.Exit
	s.exit.Leftover = left
	turn.End = s.cfg.Now()
	if err == nil {
		s.begin() // at the latest: it has answered
	}
	answer := answerOf(out.Out)
	said := strings.TrimSpace(answer)
	last := lastLine(out.Tail)

	var failed *driver.Error
	switch {
	case err == nil:
	case ctx.Err() != nil:
		failed = &driver.Error{Kind: driver.Cancelled, Op: op, Err: context.Cause(ctx)}
	case errors.Is(err, process.ErrTime):
		failed = &driver.Error{Kind: driver.Timeout, Op: op, Err: err}
	case errors.Is(err, process.ErrOutput):
		failed = &driver.Error{Kind: driver.OutputLimit, Op: op, Err: err}
	default:
		failed = &driver.Error{Kind: driver.StartFailed, Op: op, Err: err}
	}
	if failed == nil && !out.Exit.OK() && (out.Exit.Signal != "" || said == "" && len(spans) == 0) {
		// Killed, or it failed before it said or did anything: nothing to judge it by.
		failed = &driver.Error{Kind: driver.AgentExited, Op: op, Err: errors.New("it ended without an answer"), Exit: out.Exit.String()}
	}
	reply := trace.Span{ID: turn.TraceID + "-answer", Kind: trace.LLM, Name: s.info.Agent, Output: answer, Start: turn.Start, End: turn.End,
		Attrs: map[string]any{"source": "stdout"}}
	if failed == nil && !out.Exit.OK() {
		reply.Error = strings.TrimSuffix(out.Exit.String()+": "+last, ": ")
	}
	// The command may have told of its last model call itself.
	told := slices.ContainsFunc(spans, func(sp trace.Span) bool {
		return sp.Kind == trace.LLM && said != "" && strings.TrimSpace(sp.Output) == said
	})
	if !told && (said != "" || reply.Error != "") {
		spans = append(spans, reply)
		s.cfg.OnSpan(index, reply)
	}
	turn.Spans = spans
	for _, sp := range spans {
		turn.Usage = turn.Usage.Add(sp.Usage)
	}
	if failed != nil {
		failed.Stderr = out.Tail
		return turn, failed
	}
	turn.StopReason = "end_turn"
	if !out.Exit.OK() {
		turn.StopReason = out.Exit.String() // it answered, and says itself that it failed
	}
	s.history = append(s.history, exchange{Input: input, Answer: answer})
	return turn, nil
}

// limit bounds a turn; the first one may have to wait for its surroundings.
func (s *session) limit(index int) time.Duration {
	if index == 0 && s.cfg.EnvWait > 0 {
		return s.cfg.EnvWait + s.cfg.TurnTimeout
	}
	return s.cfg.TurnTimeout
}

// ask makes the command line and the standard input of a turn.
func (s *session) ask(index int, input string) (argv []string, stdin []byte, err error) {
	text := input
	if index == 0 && s.cfg.Preamble != "" {
		text = s.cfg.Preamble + "\n\n" + input
	}
	argv = slices.Clone(s.cfg.Command)
	placed := false
	for i, a := range argv[1:] {
		if strings.Contains(a, Placeholder) {
			placed = true
			argv[i+1] = strings.ReplaceAll(a, Placeholder, text)
			if strings.HasPrefix(a, Placeholder) {
				argv[i+1] = noOption(argv[i+1])
			}
		}
	}
	switch {
	case placed || s.cfg.Input == driver.InputArgument:
		if strings.ContainsRune(text, 0) {
			return nil, nil, errors.New("the input holds a NUL and cannot be an argument; use agent.input = \"stdin\"")
		}
		if !placed {
			argv = append(argv, noOption(text))
		}
	case s.cfg.Input == driver.InputJSON:
		q := map[string]any{"schema": "vise.input/1", "session_id": s.cfg.SessionID, "turn_index": index, "input": input, "history": s.history}
		if s.history == nil {
			q["history"] = []exchange{}
		}
		if s.cfg.Preamble != "" {
			q["preamble"] = s.cfg.Preamble
		}
		if stdin, err = json.Marshal(q); err != nil {
			return nil, nil, fmt.Errorf("write the input: %w", err)
		}
	default:
		stdin = []byte(text + "\n")
	}
	return argv, stdin, nil
}

// noOption keeps an input such as "--yes" from being an option of the command: what
// a recorded user wrote must not change how the agent runs. A blank is nothing to a reader.
func noOption(text string) string {
	if strings.HasPrefix(text, "-") {
		return " " + text
	}
	return text
}

func (s *session) environ(index int, file string) []string {
	env := append(slices.Clone(s.cfg.Env), "VISE_SESSION_ID="+s.cfg.SessionID, "VISE_TURN_INDEX="+strconv.Itoa(index), "VISE_TRACE="+file)
	if len(s.cfg.MCP) > 0 {
		env = append(env, "VISE_RULES_URL="+s.cfg.MCP[0].URL, "VISE_RULES_TOKEN="+s.cfg.MCP[0].Token)
	}
	return env
}

// traceFile makes the file of a turn, outside the workspace.
func (s *session) traceFile(index int) (*os.File, error) {
	if s.cfg.Aside != "" {
		if err := os.MkdirAll(s.cfg.Aside, 0o700); err != nil {
			return nil, fmt.Errorf("make the folder for traces: %w", err)
		}
	}
	f, err := os.CreateTemp(s.cfg.Aside, fmt.Sprintf("trace-%d-*.jsonl", index))
	if err != nil {
		return nil, fmt.Errorf("make the trace file: %w", err)
	}
	return f, nil
}

// answerOf is the text of standard output: its "answer" when it is a JSON object
// that has one, else all of it without the last line feed.
func answerOf(out []byte) string {
	if t := bytes.TrimSpace(out); len(t) > 0 && t[0] == '{' {
		var o struct {
			Answer *string `json:"answer"`
		}
		if json.Unmarshal(t, &o) == nil && o.Answer != nil {
			return *o.Answer
		}
	}
	text := strings.TrimRight(string(out), "\r\n")
	if !utf8.ValidString(text) {
		text = strings.ToValidUTF8(text, "\uFFFD")
	}
	return text
}

func lastLine(s string) string {
	s = strings.TrimSpace(s)
	s = s[strings.LastIndexByte(s, '\n')+1:]
	if r := []rune(s); len(r) > 200 {
		s = string(r[:200]) + "…"
	}
	return s
}
