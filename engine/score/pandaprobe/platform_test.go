package pandaprobe

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"vise/engine/score"
)

// answer is one scripted call of the program: what it must be called with, and what it says.
type answer struct {
	Argv   string // words joined by a blank; * matches anything
	Out    string
	Err    string
	Exit   int
	Sleeps bool
}

// program answers from the files that lie beside it, call by call, and notes its argv there.
const program = `#!/bin/sh
dir=${0%/*}
n=0
test -e "$dir/n" && read n < "$dir/n"
echo $((n+1)) > "$dir/n"
echo "$*" >> "$dir/log"
pattern=
test -e "$dir/$n.argv" && read -r pattern < "$dir/$n.argv"
case "$*" in
$pattern) ;;
*) echo "not in the script: $*" >&2; exit 99 ;;
esac
. "$dir/$n.do"
`

// scripted makes a platform that answers by a script; calls returns what was called.
func scripted(t *testing.T, script ...answer) (p *Platform, calls func() []string) {
	t.Helper()
	dir := t.TempDir()
	write := func(name, text string, mode os.FileMode) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), mode); err != nil {
			t.Fatal(err)
		}
	}
	for i, a := range script {
		write(fmt.Sprint(i, ".argv"), a.Argv+"\n", 0o600)
		write(fmt.Sprint(i, ".out"), a.Out, 0o600)
		do := fmt.Sprintf("cat %q\n", filepath.Join(dir, fmt.Sprint(i, ".out")))
		if a.Err != "" {
			write(fmt.Sprint(i, ".err"), a.Err, 0o600)
			do += fmt.Sprintf("cat %q >&2\n", filepath.Join(dir, fmt.Sprint(i, ".err")))
		}
		if a.Sleeps {
			do = "sleep 3600\n"
		}
		write(fmt.Sprint(i, ".do"), do+fmt.Sprintf("exit %d\n", a.Exit), 0o600)
	}
	write("pandaprobe", program, 0o700)
	p = New(Options{Binary: filepath.Join(dir, "pandaprobe"), Env: []string{"PATH=" + os.Getenv("PATH")}, Timeout: 20 * time.Second, PollMax: 4, Retries: 3, Backoff: time.Millisecond, List: 2, Health: true})
	return p, func() []string {
		log, _ := os.ReadFile(filepath.Join(dir, "log"))
		return strings.Split(strings.TrimSpace(string(log)), "\n")
	}
}

const (
	batch  = "evals runs batch --target trace --trace-ids t1 --metrics coherence"
	scores = "evals runs scores run-1 --target trace"
)

func listed(limit int) string {
	return fmt.Sprintf("traces list --session-id s-1 --status COMPLETED --sort-by started_at --sort-order desc --limit %d", limit)
}

func TestHealth(t *testing.T) {
	for name, c := range map[string]struct {
		script []answer
		sick   string
	}{
		"well":              {[]answer{{Argv: "version", Out: "1.2"}, {Argv: "auth status", Out: "{}"}}, ""},
		"does not run":      {[]answer{{Argv: "version", Exit: 127, Err: "no such library"}}, "pandaprobe version: exit status 127: no such library"},
		"not logged in":     {[]answer{{Argv: "version"}, {Argv: "auth status", Exit: 2, Err: `{"error":{"message":"log in first"}}`}}, "exit status 2: log in first"},
		"says nothing sure": {[]answer{{Argv: "version"}, {Argv: "auth status", Exit: 5}}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			p, calls := scripted(t, c.script...)
			for range 3 {
				err := p.Healthy(t.Context())
				if (err != nil) != (c.sick != "") || err != nil && !strings.Contains(err.Error(), c.sick) {
					t.Errorf("%v, want %q", err, c.sick)
				}
			}
			if got := calls(); len(got) != len(c.script) {
				t.Errorf("asked more than once: %q", got)
			}
		})
	}
	missing := New(Options{Binary: "no-such-pandaprobe", Timeout: time.Second, Health: true})
	if err := missing.Healthy(t.Context()); err == nil || !strings.Contains(err.Error(), "no-such-pandaprobe") {
		t.Errorf("%v", err)
	}
}

func TestNewTraces(t *testing.T) {
	for name, c := range map[string]struct {
		script []answer
		want   []string
		err    string
	}{
		"a list, oldest first": {[]answer{{Argv: listed(2), Out: `[{"trace_id":"t2"},{"trace_id":"old"}]`}}, []string{"t2"}, ""},
		"in items, by id":      {[]answer{{Argv: listed(2), Out: `{"items":[{"id":"t1"}]}`}}, []string{"t1"}, ""},
		"in traces":            {[]answer{{Argv: listed(2), Out: `{"traces":[{"trace_id":"t1"}]}`}}, []string{"t1"}, ""},
		"more than one listing": {[]answer{{Argv: listed(2), Out: `[{"id":"t3"},{"id":"t2"}]`}, {Argv: listed(4), Out: `[{"id":"t3"},{"id":"t2"},{"id":"t1"},{"id":"old"}]`}},
			[]string{"t1", "t2", "t3"}, ""},
		"a little later":    {[]answer{{Argv: listed(2), Out: `[]`}, {Argv: listed(2), Exit: 3, Err: "no session"}, {Argv: listed(2), Out: `[{"id":"t1"}]`}}, []string{"t1"}, ""},
		"never":             {[]answer{{Argv: listed(2), Exit: 3}, {Argv: listed(2), Exit: 1, Err: "No traces yet"}, {Argv: listed(2), Out: `[{"id":"old"}]`}}, nil, ""},
		"the server is out": {[]answer{{Argv: listed(2), Exit: 5}, {Argv: listed(2), Exit: 5}, {Argv: listed(2), Exit: 5, Err: "maintenance"}}, nil, "exit status 5: maintenance"},
		"not logged in":     {[]answer{{Argv: listed(2), Exit: 2, Err: "log in"}}, nil, "exit status 2: log in"},
		"an unknown code":   {[]answer{{Argv: listed(2), Exit: 42, Err: "503 bad gateway"}, {Argv: listed(2), Out: `[{"id":"t1"}]`}}, []string{"t1"}, ""},
		"no JSON":           {[]answer{{Argv: listed(2), Out: `oops`}}, nil, "no JSON"},
		"ids like options":  {[]answer{{Argv: listed(2), Out: `[{"id":"--reveal-secrets"},{"id":"a,b"}]`}, {Argv: listed(2), Out: `[]`}, {Argv: listed(2), Out: `[]`}}, nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			p, calls := scripted(t, c.script...)
			got, err := p.NewTraces(t.Context(), "s-1", func(id string) bool { return id == "old" })
			if !slices.Equal(got, c.want) || (err != nil) != (c.err != "") || err != nil && !strings.Contains(err.Error(), c.err) {
				t.Errorf("%v, %v; want %v, %q", got, err, c.want, c.err)
			}
			if len(calls()) != len(c.script) {
				t.Errorf("calls %q", calls())
			}
		})
	}
}

func TestScore(t *testing.T) {
	run := answer{Argv: batch, Out: `{"run_id":"run-1","status":"pending"}`}
	for name, c := range map[string]struct {
		script []answer
		value  any // nil = pending
		limit  float64
		fault  string
		err    string
	}{
		"a number": {[]answer{run, {Argv: scores, Out: `[{"name":"coherence","value":0.8,"status":"SUCCESS","reason":"fine","trace_id":"t1","metadata":{"threshold":0.7}}]`}}, 0.8, 0.7, "", ""},
		"as text":  {[]answer{run, {Argv: scores, Out: `{"scores":[{"name":"coherence","value":" 0.25 ","status":"completed","target_id":"t1"}]}`}}, 0.25, 0, "", ""},
		"no trace": {[]answer{run, {Argv: scores, Out: `{"items":[{"name":"coherence","value":1,"status":"complete","trace_id":"t9"},{"name":"coherence","value":0.5,"status":"complete"}]}`}}, 0.5, 0, "", ""},
		"polled": {[]answer{run, {Argv: scores, Out: `[]`}, {Argv: scores, Exit: 3}, {Argv: scores, Out: `[{"name":"coherence","value":null,"status":"running"}]`},
			{Argv: scores, Out: `[{"name":"coherence","value":1,"status":"succeeded"}]`}}, 1.0, 0, "", ""},
		"failed":           {[]answer{run, {Argv: scores, Out: `[{"name":"coherence","value":null,"status":"failed"}]`}}, nil, 0, "", ""},
		"NaN":              {[]answer{run, {Argv: scores, Out: `[{"name":"coherence","value":"NaN","status":"success"}]`}}, nil, 0, "no number", ""},
		"prose":            {[]answer{run, {Argv: scores, Out: `[{"name":"coherence","value":"good","status":"success"}]`}}, nil, 0, "no number", ""},
		"percent":          {[]answer{run, {Argv: scores, Out: `[{"name":"coherence","value":85,"status":"success"}]`}}, nil, 0, "not in [0,1]", ""},
		"a rounding":       {[]answer{run, {Argv: scores, Out: `[{"name":"coherence","value":1.0000001,"status":"success"}]`}}, 1.0, 0, "", ""},
		"another metric":   {[]answer{run, {Argv: scores, Out: `[{"name":"confidence","value":1,"status":"success"}]`}}, nil, 0, "no score came", ""},
		"a second run":     {[]answer{{Argv: batch, Exit: 5}, run, {Argv: scores, Out: `[{"name":"coherence","value":1,"status":"success"}]`}}, 1.0, 0, "", ""},
		"refused":          {[]answer{{Argv: batch, Exit: 4, Err: "bad metric"}}, nil, 0, "", "exit status 4: bad metric"},
		"without a run":    {[]answer{{Argv: batch, Out: `{}`}}, nil, 0, "", "names no run"},
		"a run of options": {[]answer{{Argv: batch, Out: `{"run_id":"--target=secrets"}`}, {Argv: "*", Out: `[{"name":"coherence","value":1,"status":"success"}]`}}, nil, 0, "", "which is no id"},
		"by its other id":  {[]answer{{Argv: batch, Out: `{"id":"run-1"}`}, {Argv: scores, Out: `[{"name":"coherence","value":0,"status":"error"}]`}}, 0.0, 0, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			p, calls := scripted(t, c.script...)
			g, err := p.Score(t.Context(), []string{"t1"}, []string{score.Coherence})
			if c.err != "" {
				if err == nil || !strings.Contains(err.Error(), c.err) {
					t.Errorf("%v, want %q", err, c.err)
				}
				return
			}
			if err != nil || len(g.Scores) != 1 {
				t.Fatalf("%+v, %v; calls %q", g, err, calls())
			}
			s := g.Scores[0]
			if c.value == nil != (s.Value == nil) || s.Value != nil && *s.Value != c.value || s.Threshold != c.limit || s.TraceID != "t1" || s.By != Identity {
				t.Errorf("%+v", s)
			}
			if (c.fault == "") != (len(g.Faults) == 0) || c.fault != "" && !strings.Contains(g.Faults[0], c.fault) {
				t.Errorf("faults %q, want %q", g.Faults, c.fault)
			}
		})
	}
	// A run that does not end is started anew, and at last an error: not a score of any kind.
	running := answer{Argv: scores, Out: `[{"name":"coherence","status":"running"}]`}
	var script []answer
	for range 3 {
		script = append(script, run, running, running, running, running)
	}
	p, calls := scripted(t, script...)
	if g, err := p.Score(t.Context(), []string{"t1"}, []string{score.Coherence}); !errors.Is(err, errUnfinished) || Permanent(err) || len(calls()) != 15 {
		t.Errorf("%+v, %v, %d calls", g, err, len(calls()))
	}
}

func TestBounds(t *testing.T) {
	p, _ := scripted(t, answer{Argv: "*", Sleeps: true})
	p.options.Timeout = 300 * time.Millisecond
	p.options.Retries = 1
	if _, err := p.NewTraces(t.Context(), "s-1", func(string) bool { return false }); err == nil || !strings.Contains(err.Error(), "its time is up") || Permanent(err) {
		t.Errorf("%v", err)
	}
	ctx, stop := context.WithCancelCause(t.Context())
	why := errors.New("closed")
	stop(why)
	if err := p.Healthy(ctx); !errors.Is(err, why) {
		t.Errorf("%v", err)
	}
	if p.asked {
		t.Error("a call that was cut off counts as an answer")
	}
}

func TestInspect(t *testing.T) {
	p, calls := scripted(t, answer{Argv: "traces get t1", Out: `{"a":1}`}, answer{Argv: "traces spans t1 --kind TOOL", Exit: 5, Err: "down"}, answer{Argv: "evals scores get t1 --target trace", Out: `[]`})
	e := p.Inspect(t.Context(), "t1")
	if e.Trace == nil || e.Spans != nil || e.Scores == nil || e.Errs[0] != nil || e.Errs[1] == nil || e.Errs[2] != nil {
		t.Errorf("%+v, calls %q", e, calls())
	}
	if e := p.Inspect(t.Context(), "--reveal-secrets"); e.Errs[0] == nil || len(calls()) != 3 {
		t.Errorf("%+v, calls %q", e, calls())
	}
}
