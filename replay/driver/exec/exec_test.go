package exec

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"vise/engine/trace"
	"vise/replay/driver"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// script is an agent of a few lines of shell.
func script(t *testing.T, text string) driver.Config {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "agent"), []byte("#!/bin/sh\n"+text), 0o755); err != nil {
		t.Fatal(err)
	}
	return driver.Config{Command: []string{"./agent"}, Dir: dir, Env: []string{"PATH=" + os.Getenv("PATH"), "A=1"}, SessionID: "s1", Aside: filepath.Join(t.TempDir(), "aside"),
		TurnTimeout: 20 * time.Second}
}

func run(t *testing.T, cfg driver.Config, inputs ...string) (turns []trace.Turn, err error) {
	t.Helper()
	s, err := Start(t.Context(), cfg)
	if err != nil {
		return nil, err
	}
	defer s.Close(context.Background())
	for i, in := range inputs {
		turn, err := s.Prompt(t.Context(), i, in)
		turns = append(turns, turn)
		if err != nil {
			return turns, err
		}
	}
	return turns, nil
}

func words(turns []trace.Turn) string {
	var b strings.Builder
	for _, turn := range turns {
		for _, s := range turn.Spans {
			fmt.Fprintf(&b, "%d %s %s %s > %s", turn.Index, s.Kind, s.Name, s.Input, s.Output)
			if s.Error != "" {
				b.WriteString(" ! " + s.Error)
			}
			b.WriteByte('\n')
		}
	}
	return b.String()
}

func TestInputAndAnswer(t *testing.T) {
	for _, c := range []struct {
		name   string
		script string
		with   func(*driver.Config)
		want   string
	}{
		{name: "standard input", script: `read line; echo "you said $line"; echo "turn $VISE_TURN_INDEX of $VISE_SESSION_ID, A is $A"`,
			want: "0 LLM agent  > you said hello\nturn 0 of s1, A is 1\n1 LLM agent  > you said bye\nturn 1 of s1, A is 1\n"},
		{name: "the last argument", script: `echo "$# $1 $2"`, with: func(c *driver.Config) { c.Command = append(c.Command, "--fast"); c.Input = driver.InputArgument },
			want: "0 LLM agent  > 2 --fast hello\n1 LLM agent  > 2 --fast bye\n"},
		{name: "an input is no option", script: `echo "$# [$1] [$2]"`, with: func(c *driver.Config) { c.Command = append(c.Command, Placeholder, "-v"); c.Preamble = "--trust-all" },
			want: "0 LLM agent  > 2 [ --trust-all\n\nhello] [-v]\n1 LLM agent  > 2 [bye] [-v]\n"},
		{name: "where it stands", script: `echo "$1"`, with: func(c *driver.Config) { c.Command = append(c.Command, "--say="+Placeholder+"!") },
			want: "0 LLM agent  > --say=hello!\n1 LLM agent  > --say=bye!\n"},
		{name: "JSON with the history, a JSON answer", script: `printf '{"answer":"%s"}' "$(cat | tr -d '\n' | sed 's/"/'"'"'/g')"`, with: func(c *driver.Config) { c.Input = driver.InputJSON },
			want: "0 LLM agent  > {'history':[],'input':'hello','schema':'vise.input/1','session_id':'s1','turn_index':0}\n" +
				"1 LLM agent  > {'history':[{'input':'hello','answer':'{'history':[],'input':'hello','schema':'vise.input/1','session_id':'s1','turn_index':0}'}],'input':'bye','schema':'vise.input/1','session_id':'s1','turn_index':1}\n"},
		{name: "a preamble, once", script: `cat`, with: func(c *driver.Config) { c.Preamble = "Rules:" },
			want: "0 LLM agent  > Rules:\n\nhello\n1 LLM agent  > bye\n"},
		{name: "a file kept in the working directory", script: `cat >> log; wc -l < log | tr -d ' '`, want: "0 LLM agent  > 1\n1 LLM agent  > 2\n"},
		{name: "spans of its own", script: `echo '{"type":"execution_started"}' >> "$VISE_TRACE"
echo '{"type":"span","id":"c","kind":"TOOL","name":"refund","input":"{}","pending":true}' >> "$VISE_TRACE"
echo 'no JSON' >> "$VISE_TRACE"
echo '{"type":"span","id":"c","kind":"TOOL","name":"refund","input":"{}","output":"no","error":"missing reason"}' >> "$VISE_TRACE"
printf '{"type":"span","kind":"LLM","name":"m","output":"done"}' >> "$VISE_TRACE"
echo done`, want: "0 TOOL refund {} > no ! missing reason\n0 LLM m  > done\n1 TOOL refund {} > no ! missing reason\n1 LLM m  > done\n"},
		{name: "a failure after an answer", script: `echo "I give up"; echo "no such order" >&2; exit 3`,
			want: "0 LLM agent  > I give up ! exit status 3: no such order\n1 LLM agent  > I give up ! exit status 3: no such order\n"},
		{name: "bytes that are no text", script: `printf 'a\377b'`, want: "0 LLM agent  > a\uFFFDb\n1 LLM agent  > a\uFFFDb\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			cfg := script(t, c.script)
			if c.with != nil {
				c.with(&cfg)
			}
			turns, err := run(t, cfg, "hello", "bye")
			if err != nil {
				t.Fatal(err)
			}
			if got := words(turns); got != c.want {
				t.Errorf("got\n%s\nwant\n%s", got, c.want)
			}
			if left, _ := os.ReadDir(cfg.Aside); len(left) > 0 {
				t.Errorf("left behind: %v", left)
			}
		})
	}
}

// What says nothing about the agent is told apart from what it did.
func TestFailures(t *testing.T) {
	for _, c := range []struct {
		name, script string
		with         func(*driver.Config)
		kind         driver.Kind
		says         string
	}{
		{name: "no such program", with: func(c *driver.Config) { c.Command = []string{"./nothing"} }, kind: driver.StartFailed, says: "nothing"},
		{name: "it ends without a word", script: `echo "Traceback: boom" >&2; exit 1`, kind: driver.AgentExited, says: "boom"},
		{name: "it is killed", script: `echo half; kill -9 $$`, kind: driver.AgentExited, says: "killed"},
		{name: "it never ends", script: `echo half; sleep 600`, with: func(c *driver.Config) { c.TurnTimeout = 300 * time.Millisecond }, kind: driver.Timeout, says: "300ms"},
		{name: "it floods", script: `yes`, with: func(c *driver.Config) { c.MaxSaid = 100_000 }, kind: driver.OutputLimit, says: "100000"},
	} {
		t.Run(c.name, func(t *testing.T) {
			cfg := script(t, c.script)
			if c.with != nil {
				c.with(&cfg)
			}
			_, err := run(t, cfg, "hello")
			if driver.KindOf(err) != c.kind || !strings.Contains(err.Error(), c.says) {
				t.Errorf("got %v", err)
			}
		})
	}
}

// A command that answered and failed has not ended its turn as one that did not.
func TestFailureAfterAnAnswer(t *testing.T) {
	turns, err := run(t, script(t, `echo partial; exit 7`), "hello")
	if err != nil || turns[0].StopReason != "exit status 7" || turns[0].Finished() || turns[0].CutShort() || !turns[0].Failed() || trace.Count(turns).Errors != 1 {
		t.Errorf("%+v, %v", turns, err)
	}
}

func TestCancel(t *testing.T) {
	cfg := script(t, `echo '{"type":"span","kind":"TOOL","name":"begun"}' >> "$VISE_TRACE"; sleep 600`)
	ctx, cancel := context.WithCancel(t.Context())
	cfg.OnSpan = func(int, trace.Span) { cancel() } // seen while it runs
	s, err := Start(ctx, cfg)
	if err != nil {
		t.Fatal(err)
	}
	turn, err := s.Prompt(ctx, 0, "hello")
	if driver.KindOf(err) != driver.Cancelled || !errors.Is(err, context.Canceled) || len(turn.Spans) != 1 {
		t.Errorf("%+v, %v", turn.Spans, err)
	}
}

// Execution begins when the command says so, and once.
func TestExecutionStarted(t *testing.T) {
	cfg := script(t, `echo '{"type":"execution_started"}' >> "$VISE_TRACE"; [ "$VISE_TURN_INDEX" = 1 ] || while ! [ -e go ]; do sleep 0.02; done; echo ok`)
	n := 0
	cfg.OnExecution = func() {
		n++
		_ = os.WriteFile(filepath.Join(cfg.Dir, "go"), nil, 0o600) // it is told while the command runs
	}
	if _, err := run(t, cfg, "hello", "bye"); err != nil || n != 1 {
		t.Errorf("told %d times, %v", n, err)
	}
}

// A trace that never ends is cut, and says so.
func TestTraceIsBounded(t *testing.T) {
	cfg := script(t, `i=0; while [ $i -lt 3000 ]; do echo '{"type":"span","kind":"TOOL","name":"x"}'; i=$((i+1)); done >> "$VISE_TRACE"; echo ok`)
	cfg.MaxTurn = 50_000
	var log safeLog
	cfg.Log = &log
	turns, err := run(t, cfg, "hello")
	if err != nil {
		t.Fatal(err)
	}
	if n := len(turns[0].Spans); n < 500 || n > 2000 || !strings.Contains(log.String(), "more than 50000 bytes of trace") {
		t.Errorf("%d spans; log %q", n, log.String())
	}
}

type safeLog struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *safeLog) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *safeLog) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// What stands under the name of the trace file later is not ours to open: the
// command is confined, vise is not.
func TestTraceFileIsTheOneThatWasMade(t *testing.T) {
	secret := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(secret, []byte("a private key\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ name, script string }{
		{"a pipe takes its place", `rm -f "$VISE_TRACE"; mkfifo "$VISE_TRACE" && echo done`},
		{"a link takes its place", `ln -sf "` + secret + `" "$VISE_TRACE"; echo done`},
	} {
		t.Run(c.name, func(t *testing.T) {
			var log bytes.Buffer
			cfg := script(t, c.script)
			cfg.Log = &log
			turns, err := run(t, cfg, "go")
			if err != nil || words(turns) != "0 LLM agent  > done\n" {
				t.Errorf("turns %q, %v", words(turns), err)
			}
			if strings.Contains(log.String(), "private") {
				t.Errorf("the log has what the link points to: %s", log.String())
			}
		})
	}
}
