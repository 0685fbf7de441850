package acp_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"vise/engine/process"
	"vise/engine/trace"
	"vise/replay/driver"
	"vise/replay/driver/acp"
	"vise/replay/sample"
)

// held reports whether a sandbox can hold files and network here.
func held(t *testing.T) bool {
	h, err := process.Probe(t.Context(), &process.Sandbox{})
	return err == nil && h.Files && h.Network == process.NetworkHeld
}

// request is the one span of a name in a turn.
func request(t *testing.T, turn trace.Turn, name string) trace.Span {
	t.Helper()
	var found []trace.Span
	for _, s := range turn.Spans {
		if s.Name == name && s.Kind == trace.CHAIN {
			found = append(found, s)
		}
	}
	if len(found) != 1 {
		t.Fatalf("%d spans of %s in %+v", len(found), name, turn.Spans)
	}
	return found[0]
}

func TestAgentAsksForFilesAndCommands(t *testing.T) {
	var mu sync.Mutex
	started := map[int]process.Record{}
	cfg := agentConfig(t, sample.Options{})
	cfg.Effects = driver.EffectsLive
	cfg.OnProcess = func(r process.Record) {
		mu.Lock()
		defer mu.Unlock()
		started[r.PID] = r
	}
	cfg.Env = append(cfg.Env, "MY_API_KEY=key")
	if err := os.WriteFile(filepath.Join(cfg.Dir, "a.txt"), []byte("one\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	s := start(t, cfg)
	turns := play(t, s, "read file a.txt", "read file /etc/passwd", "write file b/c.txt: written by it", "run: cat b/c.txt", "run: env", "run: sh -c exit${IFS}3")
	for i, c := range []struct{ name, by, input, output, err, tool string }{
		{driver.SpanRead, driver.ByWorkspace, `{"path":"a.txt"}`, "one\n", "", "read_file"},
		{driver.SpanRead, driver.ByNobody, `{"path":"/etc/passwd"}`, "", "outside the workspace", "read_file"},
		{driver.SpanWrite, driver.ByWorkspace, `{"path":"b/c.txt","content":"written by it"}`, "", "", "write_file"},
		{driver.SpanCommand, driver.ByCommand, `{"command":"cat","args":["b/c.txt"]}`, "written by it", "", "shell"},
		{driver.SpanCommand, driver.ByCommand, `{"command":"env"}`, "PATH=", "", "shell"},
		{driver.SpanCommand, driver.ByCommand, `{"command":"sh","args":["-c","exit${IFS}3"]}`, "", "", "shell"},
	} {
		got := request(t, turns[i], c.name)
		if got.Attrs["answered_by"] != c.by || got.Input != c.input || !strings.Contains(got.Output, c.output) || !strings.Contains(got.Error, c.err) ||
			(c.err == "") != (got.Error == "") || got.End.IsZero() {
			t.Errorf("turn %d: %+v, want %+v", i, got, c)
		}
		// It belongs to the call that asked.
		for _, sp := range turns[i].Spans {
			if sp.Kind == trace.TOOL && (sp.ID != got.Parent || sp.Name != c.tool) {
				t.Errorf("turn %d: span of %s below %s", i, sp.Name, got.Parent)
			}
			if sp.Kind == trace.TOOL && c.name == driver.SpanCommand && sp.Error == "" && sp.Output != got.Output {
				t.Errorf("turn %d: the call shows %q, its terminal %q", i, sp.Output, got.Output)
			}
		}
	}
	if out := request(t, turns[4], driver.SpanCommand).Output; strings.Contains(out, "MY_API_KEY") || strings.Contains(out, "TOKEN") {
		t.Errorf("a command sees credentials: %s", out)
	}
	if code := request(t, turns[5], driver.SpanCommand).Attrs["exit_code"]; code != 3 {
		t.Errorf("exit code %v", code)
	}
	if got := s.Info().Answered; got[driver.ByWorkspace] != 2 || got[driver.ByNobody] != 1 || got[driver.ByCommand] != 3 {
		t.Errorf("counted %v", got)
	}
	if len(started) != 4 {
		t.Errorf("told of %d processes", len(started))
	}
}

// Without a recording, confined commands reach no network and change nothing but the workspace.
func TestConfinedCommands(t *testing.T) {
	cfg := agentConfig(t, sample.Options{})
	cfg.Hide = []string{filepath.Join(cfg.Dir, "closed")}
	outside := filepath.Join(filepath.Dir(cfg.Dir), "outside")
	if err := os.Mkdir(filepath.Join(cfg.Dir, "closed"), 0o755); err != nil {
		t.Fatal(err)
	}
	s := start(t, cfg)
	turns := play(t, s, "run: touch here", "run: touch "+outside, "run: cat /proc/net/dev")
	if !held(t) {
		if got := request(t, turns[0], driver.SpanCommand); got.Attrs["answered_by"] != driver.ByNobody || !strings.Contains(got.Error, "agent.effects") {
			t.Errorf("nothing can hold it, and it ran: %+v", got)
		}
		t.Skip("FILES AND NETWORK CANNOT BE HELD HERE")
	}
	if _, err := os.Stat(filepath.Join(cfg.Dir, "here")); err != nil {
		t.Errorf("%v: %+v", err, request(t, turns[0], driver.SpanCommand))
	}
	if _, err := os.Stat(outside); err == nil {
		t.Error("a command wrote outside the workspace")
	}
	if got := request(t, turns[2], driver.SpanCommand); strings.Contains(got.Output, "eth") || !strings.Contains(got.Output, "lo:") {
		t.Errorf("it sees the network: %s", got.Output)
	}
}

// The recording answers what it holds, once and in its order; the rest is refused or,
// confined, comes from the workspace.
func TestRecordedAnswers(t *testing.T) {
	record := func(effects driver.Effects) ([]trace.Turn, driver.Config) {
		cfg := agentConfig(t, sample.Options{})
		cfg.Effects = effects
		if err := os.WriteFile(filepath.Join(cfg.Dir, "a.txt"), []byte("as it was\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		return nil, cfg
	}
	_, cfg := record(driver.EffectsLive)
	inputs := []string{"read file a.txt", "run: wc -c a.txt", "write file b.txt: x", "run: wc -c a.txt"}
	s := start(t, cfg)
	turns := play(t, s, inputs...)
	s.Close(context.Background())

	by := func(turn trace.Turn) string {
		for _, sp := range turn.Spans {
			if a, ok := sp.Attrs["answered_by"].(string); ok {
				if sp.Error != "" {
					return a + ": " + sp.Error
				}
				return a + ": " + strings.TrimSpace(sp.Output)
			}
		}
		return ""
	}
	for _, c := range []struct {
		name    string
		effects driver.Effects
		inputs  []string
		want    []string
	}{
		{"the same again", driver.EffectsRecorded, inputs, []string{"recording: as it was", "recording: 10 a.txt", "workspace:", "recording: 10 a.txt"}},
		{"twice", driver.EffectsRecorded, []string{"read file a.txt", "read file a.txt"}, []string{"recording: as it was", "refused: a.txt: this reading is not recorded"}},
		{"another command", driver.EffectsRecorded, []string{"run: wc -l a.txt"}, []string{"refused: this command is not recorded"}},
		{"what it wrote itself", driver.EffectsRecorded, []string{"write file n.txt: mine", "read file n.txt"}, []string{"workspace:", "workspace: mine"}},
		{"a result of another state", driver.EffectsRecorded, []string{"write file c.txt: y", "run: wc -c a.txt"}, []string{"workspace:", "refused: this command"}},
		{"before the write that it followed", driver.EffectsRecorded, []string{"run: wc -c a.txt", "run: wc -c a.txt"}, []string{"recording: 10 a.txt", "refused: this command"}},
		{"confined reads the workspace", driver.EffectsConfined, []string{"read file a.txt", "run: wc -c a.txt"}, []string{"workspace: changed since", "recording: 10 a.txt"}},
		{"confined falls back on the recording", driver.EffectsConfined, []string{"read file gone.txt"}, []string{"workspace: gone.txt: no such file"}},
		{"live takes nothing from it", driver.EffectsLive, []string{"run: wc -c a.txt"}, []string{"command: 14 a.txt"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, cfg := record(c.effects)
			if err := os.WriteFile(filepath.Join(cfg.Dir, "a.txt"), []byte("changed since\n"), 0o644); err != nil {
				t.Fatal(err)
			}
			cfg.Tape = driver.NewTape(turns, nil)
			for i, turn := range play(t, start(t, cfg), c.inputs...) {
				if got := by(turn); !strings.HasPrefix(got, c.want[i]) {
					t.Errorf("turn %d: %q, want %q", i, got, c.want[i])
				}
			}
		})
	}
}

// A project that is not the run's own is changed for the agent only when that is live.
func TestSharedWorkspace(t *testing.T) {
	cfg := agentConfig(t, sample.Options{})
	cfg.Shared = true
	s := start(t, cfg)
	turns := play(t, s, "write file a.txt: x", "run: touch b.txt")
	if got := request(t, turns[0], driver.SpanWrite); !strings.Contains(got.Error, "inplace") {
		t.Errorf("write: %+v", got)
	}
	for _, name := range []string{"a.txt", "b.txt"} {
		if _, err := os.Stat(filepath.Join(cfg.Dir, name)); err == nil {
			t.Errorf("the project holds %s", name)
		}
	}
}

// What the agent is told that it can ask for is what it gets.
func TestDenyAnnouncesLittle(t *testing.T) {
	cfg := agentConfig(t, sample.Options{})
	cfg.Permissions = driver.Deny
	turns := play(t, start(t, cfg), "write file a.txt: x", "run: ls")
	if got := request(t, turns[0], driver.SpanWrite); !strings.Contains(got.Error, "deny") {
		t.Errorf("write: %+v", got)
	}
	if got := request(t, turns[1], driver.SpanCommand); !strings.Contains(got.Error, "deny") {
		t.Errorf("command: %+v", got)
	}
}

// A command that its turn does not wait for ends with it, and so does what it started.
func TestCommandsEndWithTheTurn(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var started []process.Record
	cfg := agentConfig(t, sample.Options{})
	cfg.Effects, cfg.TurnTimeout, cfg.CancelGrace = driver.EffectsLive, patience, time.Second
	cfg.OnProcess = func(r process.Record) {
		mu.Lock()
		defer mu.Unlock()
		started = append(started, r)
	}
	s := start(t, cfg)
	turn, err := s.Prompt(t.Context(), 0, "run: sleep 300")
	if driver.KindOf(err) != driver.Timeout && request(t, turn, driver.SpanCommand).Attrs["signal"] == nil {
		t.Errorf("%v: %+v", err, turn.Spans)
	}
	s.Close(context.Background())
	mu.Lock()
	defer mu.Unlock()
	if len(started) != 2 {
		t.Fatalf("%d processes were told of", len(started))
	}
	for _, r := range started {
		if r.Alive() {
			t.Errorf("%s lives on", r.Command)
		}
	}
}

func TestModes(t *testing.T) {
	cfg := agentConfig(t, sample.Options{Modes: true})
	cfg.Mode = "terse"
	s := start(t, cfg)
	turn := play(t, s, failing[0])[0]
	if s.Info().Mode != "terse" || turn.Spans[0].Thought != "" {
		t.Errorf("mode %q, thought %q", s.Info().Mode, turn.Spans[0].Thought)
	}
	for _, c := range []struct {
		o    sample.Options
		mode string
		want string
	}{
		{sample.Options{Modes: true}, "fast", `no mode "fast"; it offers desk, terse`},
		{sample.Options{}, "fast", "it offers none"},
	} {
		cfg := agentConfig(t, c.o)
		cfg.Mode = c.mode
		if _, err := acp.Start(t.Context(), cfg); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, want %q", err, c.want)
		}
	}
}

// gone waits until a process has ended.
func gone(t *testing.T, r process.Record) {
	t.Helper()
	for end := time.Now().Add(time.Minute); r.Alive(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%s did not end", r.Command)
		}
	}
}

// An agent that ends between turns is started again and goes on with its session; one
// that cannot do that is not.
func TestAgentIsRevived(t *testing.T) {
	for _, keeps := range []bool{true, false} {
		o := sample.Options{Fault: sample.Leave, FaultTurn: 1}
		if keeps {
			o.Keep = t.TempDir()
		}
		cfg := agentConfig(t, o)
		var rec process.Record
		cfg.OnProcess = func(r process.Record) { rec = r }
		s := start(t, cfg)
		turns := play(t, s, failing[:2]...)
		gone(t, rec)
		turn, err := s.Prompt(t.Context(), 2, failing[2])
		info := s.Info()
		if !keeps {
			if driver.KindOf(err) != driver.AgentExited || info.Revived != 0 {
				t.Errorf("%v, revived %d", err, info.Revived)
			}
			continue
		}
		if err != nil || info.Revived != 1 || info.Late != 0 {
			t.Fatalf("%v, info %+v", err, info)
		}
		// It remembers: in its third turn it forgets the argument, as it always does.
		if got := strings.Join(lines(turn), "\n"); !strings.Contains(got, "missing required argument") || strings.Contains(got, "This was turn") {
			t.Errorf("third turn:\n%s", got)
		}
		if turns[0].Spans[0].ID == turn.Spans[0].ID {
			t.Error("spans share an id")
		}
	}
}

// A session goes on in another process, and what the agent tells of its past is no turn's.
func TestSessionIsLoaded(t *testing.T) {
	o := sample.Options{Keep: t.TempDir()}
	s := start(t, agentConfig(t, o))
	play(t, s, failing[:2]...)
	id := s.Info().AgentSession
	s.Close(context.Background())

	cfg := agentConfig(t, o)
	cfg.Load = id
	s = start(t, cfg)
	turn, err := s.Prompt(t.Context(), 2, failing[2])
	if got := strings.Join(lines(turn), "\n"); err != nil || !strings.Contains(got, "missing required argument") || strings.Contains(got, "This was turn") {
		t.Errorf("%v:\n%s", err, got)
	}
	cfg.Load = "desk-99"
	if _, err := acp.Start(t.Context(), cfg); err == nil || !strings.Contains(err.Error(), "no such session") {
		t.Errorf("a session that is not there: %v", err)
	}
	cfg = agentConfig(t, sample.Options{})
	cfg.Load = id
	if _, err := acp.Start(t.Context(), cfg); err == nil || !strings.Contains(err.Error(), "does not announce loadSession") {
		t.Errorf("an agent that loads none: %v", err)
	}
}
