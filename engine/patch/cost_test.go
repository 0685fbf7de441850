package patch_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"vise/engine/patch"
	"vise/engine/patch/run"
	"vise/engine/trace"
)

// priced is a scripted agent that tells what it cost as claude does.
func priced(first, again string) []string {
	tell := func(usd float64, tokens int) string {
		return fmt.Sprintf(`; echo '{"type":"result","result":"Done.","total_cost_usd":%g,"usage":{"input_tokens":%d,"output_tokens":10}}'`, usd, tokens)
	}
	return agent(first+tell(0.25, 1000), again+tell(0.5, 2000))
}

// What the agents of repairs tell of their use is kept with the run and summed for
// the loop; a cap refuses an attempt before it is paid, and is never held by what
// is not known.
func TestCapHoldsBeforeAnAttemptIsPaid(t *testing.T) {
	for name, c := range map[string]struct {
		agent        []string
		cap          run.Cap
		status, code string
		agents       int // started by the loop
		says         string
	}{
		"no cap":         {priced("printf wrong > value.txt", "printf right > value.txt"), run.Cap{}, run.Repaired, "", 1, ""},
		"it fits":        {priced("printf wrong > value.txt", "printf right > value.txt"), run.Cap{USD: 1, Tokens: 5000}, run.Repaired, "", 1, ""},
		"no room":        {priced("printf wrong > value.txt", "printf right > value.txt"), run.Cap{USD: 0.2}, run.OutOfTime, "cost_exceeded", 0, "$0.2500 of $0.2000"},
		"no tokens left": {priced("printf wrong > value.txt", "printf right > value.txt"), run.Cap{Tokens: 100}, run.OutOfTime, "cost_exceeded", 0, "1010 of 100 tokens"},
		"no second":      {priced("printf wrong > value.txt", "date +%N > value.txt"), run.Cap{USD: 0.6}, run.OutOfTime, "cost_exceeded", 1, "$1.0000 of $0.6000"},
		"nothing told":   {agent("printf wrong > value.txt", "printf right > value.txt"), run.Cap{USD: 9}, run.OutOfTime, "cost_unknown", 0, "does not say what it used"},
		"no price": {agent(`printf wrong > value.txt; echo '{"type":"turn.completed","usage":{"input_tokens":5,"output_tokens":1}}'`, "printf right > value.txt"),
			run.Cap{USD: 9}, run.OutOfTime, "cost_unknown", 0, "--max-tokens"},
		"tokens without a price": {agent(`printf wrong > value.txt; echo '{"type":"turn.completed","usage":{"input_tokens":5,"output_tokens":1}}'`, "printf right > value.txt"),
			run.Cap{Tokens: 100}, run.Repaired, "", 1, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			files := map[string]string{}
			for p, text := range value {
				files[p] = text
			}
			// Failures differ, so that only the cap ends a loop of many attempts.
			files["check.sh"] = "#!/bin/sh\n[ \"$(cat value.txt)\" = right ] && exit 0\necho \"FAILED value$(cat value.txt) - wrong\"\nexit 1\n"
			d := newDesk(t, files, nil)
			r := d.start(c.agent)
			before := len(d.pids)
			l := d.repair(r.ID, func(q *patch.RepairRequest) { q.Cap, q.MaxAttempts = c.cap, 3 })
			if c.code != "" || c.status == run.Repaired {
				want(t, l, c.status, c.code)
			}
			if n := len(d.pids) - before; n != c.agents {
				t.Errorf("%d agents were started, want %d", n, c.agents)
			}
			if says := patch.Says(l); !strings.Contains(says, c.says) {
				t.Errorf("it says %q, want %q in it", says, c.says)
			}
			if o := patch.OutcomeOf(l); o.Used.Runs != c.agents || o.Cap != c.cap {
				t.Errorf("the outcome tells of %+v, cap %+v", o.Used, o.Cap)
			}
		})
	}
}

// An agent that tells step by step is ended when it is over the cap, and its run
// is kept.
func TestAgentIsEndedOverItsCap(t *testing.T) {
	d := newDesk(t, value, nil)
	step := `echo '{"type":"step_finish","part":{"type":"step-finish","cost":0.1,"tokens":{"input":10,"output":1}}}'`
	r := d.start(agent("printf wrong > value.txt; "+step, "printf half > value.txt; for i in 1 2 3 4 5; do "+step+"; done; sleep 300"))
	begun := time.Now()
	l := d.repair(r.ID, func(q *patch.RepairRequest) { q.Cap = run.Cap{USD: 0.35} })
	want(t, l, run.OutOfTime, "cost_exceeded")
	if time.Since(begun) > 2*time.Minute {
		t.Errorf("it took %s", time.Since(begun))
	}
	last, err := d.bench.Run(l.Runs[len(l.Runs)-1])
	if err != nil || len(l.Runs) != 2 || last.Status != run.Costly || len(last.Patch.Entries) != 1 || last.Usage == nil || *last.Usage.CostUSD < 0.35 {
		t.Errorf("runs %v, the last %+v, %v", l.Runs, last, err)
	}
}

// A larger budget is asked before every agent, with what the dearest one used, and
// is told what each used: nothing for one that does not say.
func TestLargerBudgetIsAsked(t *testing.T) {
	var asked, settled []string
	refuse := false
	d := newDesk(t, value, func(o *patch.Options) {
		o.Reserve = func(u trace.Usage) (patch.Reserved, error) {
			asked = append(asked, fmt.Sprint(u.Input))
			if refuse {
				return patch.Reserved{}, errors.New("the budget is empty")
			}
			return patch.Reserved{Over: func(trace.Usage) bool { return false }, Settle: func(u *trace.Usage) {
				if u == nil {
					settled = append(settled, "unknown")
					return
				}
				settled = append(settled, fmt.Sprint(u.Input))
			}}, nil
		}
	})
	r := d.start(priced("printf wrong > value.txt", "printf right > value.txt"))
	want(t, d.repair(r.ID, nil), run.Repaired, "")
	d.start([]string{"sh", "-c", "true"})
	if a, s := strings.Join(asked, " "), strings.Join(settled, " "); a != "0 1000 0" || s != "1000 2000 unknown" {
		t.Errorf("asked for %s, settled %s", a, s)
	}
	refuse = true
	l := d.repair(r.ID, func(q *patch.RepairRequest) { q.Again = true })
	want(t, l, run.OutOfTime, "cost_exceeded")
	if _, err := d.bench.Start(t.Context(), patch.Request{Argv: []string{"true"}}); err == nil || !strings.Contains(err.Error(), "the budget is empty") {
		t.Errorf("an agent was started: %v", err)
	}
}
