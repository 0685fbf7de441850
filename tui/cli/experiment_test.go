package cli_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"vise/engine"
	"vise/engine/config"
	"vise/engine/event"
	"vise/engine/evidence"
	"vise/engine/rule"
	"vise/engine/score"
	"vise/engine/trace"
	"vise/engine/validate"
	"vise/replay"
	"vise/replay/ruleserver"
	"vise/store"
)

// lab is a project in memory with the sample agent as a subprocess, which fails a turn
// at random, besides what it always fails at.
type lab struct {
	t      *testing.T
	store  *store.Store
	h      *engine.Harness
	runner *replay.Runner
	runs   atomic.Int64
	source string // the notice the candidates were written from
}

// Replay counts the runs.
func (l *lab) Replay(ctx context.Context, job evidence.Job) (evidence.Run, error) {
	l.runs.Add(1)
	return replay.Cases{Runner: l.runner}.Replay(ctx, job)
}

// newLab opens the project and lets the agent fail: the cases are what comes of it. Ids
// are numbers, so that every draw is the same in every run of the test.
func newLab(t *testing.T, noise float64, edit func(*config.Config)) *lab {
	t.Helper()
	l := &lab{t: t}
	var mu sync.Mutex
	n := 0
	id := func(prefix string) string {
		mu.Lock()
		defer mu.Unlock()
		n++
		return fmt.Sprintf("%s-%05d", prefix, n)
	}
	bus := event.NewBus()
	var err error
	if l.store, err = store.Open(t.Context(), store.Options{InMemory: true, NewID: id, Bus: bus}); err != nil {
		t.Fatal(err)
	}
	server, err := ruleserver.Start(t.Context(), ruleserver.Options{Source: l.store})
	if err != nil {
		t.Fatal(err)
	}
	self, err := exec.LookPath("vise")
	if err != nil {
		t.Fatal(err)
	}
	cfg := config.Default()
	cfg.Repair.Model = ""
	cfg.Validate.Parallel = 2
	edit(cfg)
	l.runner = &replay.Runner{
		Agent: replay.Agent{Command: []string{self, "sample-agent", "--noise", fmt.Sprint(noise)}, Workspace: "scratch", Preamble: "prompt",
			Permissions: "workspace", TurnTimeout: time.Minute, IdleTimeout: time.Minute, StartTimeout: time.Minute},
		Self: self, Rules: server, Scratch: filepath.Join(t.TempDir(), "runs"), BaseSeed: cfg.Validate.Seed, Now: l.store.Now, NewID: id,
		Environ: append(os.Environ(), "GORACE=atexit_sleep_ms=0"),
	}
	if l.h, err = engine.Open(t.Context(), engine.Options{Config: cfg, Store: l.store, Bus: bus, Replayer: l, Agent: "vise-sample-agent"}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.h.Close(); err != nil {
			t.Error(err)
		}
		if err := server.Close(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
		l.store.Close()
	})
	return l
}

// desk are inputs of refund sessions. The agent always fails at the third refund of a
// session, and at the others at random.
var desk = [][]string{
	{"The wool blanket in A-1003 arrived torn, please refund it.", "The travel kettle A-1005 came weeks late, I ask for my money back.", "My garden hose A-1004 is cracked. Please reimburse me."},
	{"A-1008 is the wrong bread knife, refund it.", "The picture frame A-1007 is broken, I want my money back.", "The desk lamp A-1001 was not what I ordered, kindly reimburse."},
	{"The travel kettle A-1005 is damaged, a refund please.", "A-1004 came late by weeks, pay back the price."},
	{"Money back for A-1007: it is cracked.", "Refund A-1003, it is torn in two places.", "And A-1008 is the wrong thing, reimburse that too."},
	{"Refund the broken desk lamp A-1001.", "I was charged twice for A-1005: money back."},
	{"A-1004 is damaged, please refund.", "A-1007 came late, I want my money back.", "Kindly reimburse A-1003 as well: wrong colour, not what I ordered."},
	{"Pay back A-1008, it is broken.", "The hose A-1004 is cracked: refund."},
	{"The frame A-1007 is damaged: refund it.", "The blanket A-1003 is torn, money back.", "Reimburse the lamp A-1001, it came weeks late."},
}

// calm are the inputs of a session that goes well but for chance.
var calm = []string{"Has order A-1001 been delivered yet?", "The travel kettle, A-1005, came two weeks late: I ask for my money back."}

// live runs a session until it ends as wanted, and tells its id.
func (l *lab) live(name string, inputs []string, fails bool) string {
	l.t.Helper()
	for n := range 100 {
		before := len(l.cases(evidence.Failure))
		head, err := l.runner.Live(l.t.Context(), l.h, trace.Session{ID: name, Origin: trace.Recorded}, inputs, n, nil, trace.Session{})
		if err != nil {
			l.t.Fatal(err)
		}
		if len(l.cases(evidence.Failure)) > before == fails {
			return head.ID
		}
	}
	l.t.Fatalf("session %s never ends as wanted", name)
	return ""
}

// fail runs the sessions until each has gone wrong once and is a case, and protects one
// that went well.
func (l *lab) fail() {
	l.t.Helper()
	if _, err := l.h.ProtectCase(l.t.Context(), l.live("calm", calm, false), -1, false); err != nil {
		l.t.Fatal(err)
	}
	for i, inputs := range desk {
		l.live(fmt.Sprintf("desk-%d", i), inputs, true)
		if i == 0 {
			l.view(func(tx *store.Tx) error {
				all, err := tx.Notices(store.Window{Limit: 1})
				if len(all) > 0 {
					l.source = all[0].ID
				}
				return err
			})
		}
	}
}

func (l *lab) view(fn func(*store.Tx) error) {
	l.t.Helper()
	if err := l.store.View(fn); err != nil {
		l.t.Fatal(err)
	}
}

func (l *lab) cases(kind evidence.Kind) (out []evidence.Case) {
	l.view(func(tx *store.Tx) (err error) {
		out, err = tx.Cases(kind)
		return err
	})
	return out
}

// try validates one candidate alone and takes it out again, so that the next one is
// judged beside the same rules.
func (l *lab) try(id, text string) evidence.Verdict {
	l.t.Helper()
	r := rule.Rule{ID: id, CreatedAt: "2026-03-01T00:00:00Z-" + id, Text: text, Rationale: "an experiment", SourceNoticeID: l.source, Status: rule.Candidate,
		Metric: score.ArgumentCorrectness, Tags: []string{"regression:task_completion", "breach:tool_correctness", "breach:argument_correctness"},
		Scope: "refunds", Applicability: rule.Topical, Trial: &rule.Trial{}}
	put := func() {
		if err := l.store.Update(l.t.Context(), func(tx *store.Tx) error { return tx.PutRule(r) }); err != nil {
			l.t.Fatal(err)
		}
	}
	put()
	var last evidence.Verdict
	for range validate.MaxAttempts {
		round, err := l.h.ValidateRound(l.t.Context(), validate.Options{Rules: []string{id}})
		if err != nil {
			l.t.Fatal(err)
		}
		if len(round.Verdicts) == 0 {
			l.t.Fatalf("rule %s got no verdict", id)
		}
		last = round.Verdicts[0]
		if last.Outcome != evidence.PendingStill || last.Evidence == "paired" {
			break
		}
	}
	r.Status = rule.Retired
	put()
	return last
}

// candidates of known truth. Both kinds are found by an agent that looks for the tool;
// the sample agent needs one that names the argument.
func useless(i int) string {
	what := []string{"greet the customer first", "be polite", "write short sentences", "thank the customer afterwards", "use the customer's name", "keep calm"}
	return fmt.Sprintf("Before calling issue_refund, %s (habit %d).", what[i%len(what)], i)
}

func helpful(i int) string {
	how := []string{"Always pass reason_code to issue_refund", "issue_refund needs the argument reason_code", "Never call issue_refund without reason_code"}
	return fmt.Sprintf("%s (note %d).", how[i%len(how)], i)
}

// tally is what one way to decide did to candidates of known truth.
type tally struct {
	name                           string
	falsePromoted, truePromoted    int
	uselessRetired, helpfulRetired int
	uselessTried, helpfulTried     int
	runs                           int64
	took                           time.Duration
	pending                        map[string]int
}

func (l *lab) experiment(name string, bad, good int) tally {
	l.t.Helper()
	x := tally{name: name, uselessTried: bad, helpfulTried: good, pending: map[string]int{}}
	start, before := time.Now(), l.runs.Load()
	for i := range bad {
		v := l.try(fmt.Sprintf("r-u%02d", i), useless(i))
		l.t.Logf("%s: useless %d: %s %s: %s", name, i, v.Outcome, v.PendingReason, v.Reason)
		switch v.Outcome {
		case evidence.Promote:
			x.falsePromoted++
		case evidence.Retire:
			x.uselessRetired++
		default:
			x.pending[v.PendingReason]++
		}
	}
	for i := range good {
		v := l.try(fmt.Sprintf("r-h%02d", i), helpful(i))
		l.t.Logf("%s: helpful %d: %s %s: %s", name, i, v.Outcome, v.PendingReason, v.Reason)
		switch v.Outcome {
		case evidence.Promote:
			x.truePromoted++
		case evidence.Retire:
			x.helpfulRetired++
		default:
			x.pending[v.PendingReason]++
		}
	}
	x.runs, x.took = l.runs.Load()-before, time.Since(start)
	return x
}

func (x tally) String() string {
	return fmt.Sprintf("| %s | %d of %d | %d of %d | %d | %d | %.0f s |", x.name, x.falsePromoted, x.uselessTried, x.truePromoted, x.helpfulTried, x.helpfulRetired, x.runs, x.took.Seconds())
}

// TestExperiment compares the ways to decide on candidates of known truth, through the
// real agent as a subprocess that fails a turn at random with 15 %. The table of the
// README comes from the long form: VISE_EXPERIMENT=1 go test ./tui/cli -run TestExperiment -v -timeout 30m
func TestExperiment(t *testing.T) {
	bad, good := 1, 0 // a rule that helps: paired.txtar
	full := os.Getenv("VISE_EXPERIMENT") != ""
	if full {
		bad, good = 24, 6
	}
	var table []string
	for _, way := range []struct {
		name, evidence, profile string
		short                   bool
	}{{"seed", "seed", "full", false}, {"auto, quick profile", "auto", "quick", true}, {"auto", "auto", "full", false}} {
		if !full && !way.short {
			continue
		}
		l := newLab(t, 0.15, func(c *config.Config) { c.Validate.Evidence, c.Validate.Profile = way.evidence, way.profile })
		l.fail()
		for _, c := range l.cases("") {
			t.Logf("case %s of %s: %s, turns %d, %v", c.ID, c.SessionID, c.Kind, len(c.Input.Turns), c.Signature)
		}
		x := l.experiment(way.name, bad, good)
		table = append(table, x.String())
		t.Logf("%s; undecided %v", x, x.pending)
		if way.evidence == "auto" && x.falsePromoted > bad/5 {
			t.Errorf("%d of %d useless rules promoted by %s", x.falsePromoted, bad, way.name)
		}
	}
	t.Logf("\n%s", strings.Join(slices.Concat([]string{"| evidence | useless rules promoted | helping rules promoted | helping rules retired | agent runs | time |", "|---|---|---|---|---|---|"}, table), "\n"))
}
