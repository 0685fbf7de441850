package repair

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"vise/engine/episode"
	"vise/engine/event"
	"vise/engine/model"
	"vise/engine/notice"
	"vise/engine/rule"
	"vise/store"
)

// saying is one call of a scripted model; an empty tool is a model that fails.
type saying struct{ tool, args string }

// closure runs the agent with a model that says these things, one call an answer, and
// checks what must hold however it went: one run has one end; the episode's notices are
// closed if and only if it is resolved; it has at most one rule, and remembers it.
func closure(t interface {
	Fatalf(string, ...any)
	Errorf(string, ...any)
}, s *store.Store, ep episode.Episode, as episode.Assignment, says []saying) {
	cfg := defaultConfig()
	cfg.MaxTurns = 8
	asked := 0
	created := func() (id string) {
		_ = s.View(func(tx *store.Tx) error {
			if e, ok, err := tx.Episode(ep.ID); ok && err == nil {
				id = e.CandidateID
			}
			return nil
		})
		return id
	}
	names := func(args string) string {
		return strings.NewReplacer("RULE", created(), "NOTICE", ep.NoticeIDs[0], "TRACE", ep.AllowedTraces[0]).Replace(args)
	}
	a := &Agent{Store: s, Config: cfg, ask: func(context.Context, time.Duration, model.Request, func(model.Delta)) (model.Reply, error) {
		if asked++; asked > len(says) || says[asked-1].tool == "" {
			return model.Reply{}, fmt.Errorf("no answer")
		}
		x := says[asked-1]
		return model.Reply{Calls: []model.Call{{ID: fmt.Sprint(asked), Name: x.tool, Arguments: names(x.args)}}, Finish: "tool_calls"}, nil
	}}
	res := a.Run(context.Background(), ep, as)
	err := s.View(func(tx *store.Tx) error {
		stored, ok, err := tx.Episode(ep.ID)
		if err != nil || !ok {
			return fmt.Errorf("episode: %v, %w", ok, err)
		}
		if stored.Status != res.Status || stored.Status == episode.Running || stored.Status == episode.Open {
			t.Errorf("the run ended %s, the episode is %s", res.Status, stored.Status)
		}
		for _, id := range ep.NoticeIDs {
			n, _, err := tx.Notice(id)
			if err != nil {
				return err
			}
			if closed := n.Status == notice.Acknowledged; closed != res.Status.Success() || closed != (n.Resolution != nil) {
				t.Errorf("the episode is %s, notice %s is %s", res.Status, id, n.Status)
			}
		}
		r, ok, err := tx.Rule(stored.CandidateID)
		if err != nil {
			return err
		}
		if ok && (r.Status != rule.Candidate || r.EpisodeID != ep.ID) {
			t.Errorf("rule %+v of episode %+v", r, stored)
		}
		if !ok && (stored.CandidateID != "" || len(res.CandidateRuleIDs) > 0 || res.Status == episode.CandidateAdded) {
			t.Errorf("%s, and there is no rule %q", res.Status, stored.CandidateID)
		}
		begun, ended, wrote := 0, 0, 0
		events, err := tx.Events(0, 0, store.EventFilter{SessionID: ep.SessionID, EpisodeID: ep.ID})
		for _, e := range events {
			switch e.Type {
			case event.RepairStarted:
				begun++
			case event.RuleAdd:
				wrote++
			case event.RepairCompleted, event.RepairDuplicate, event.RepairAlreadyCovered, event.RepairNoProposal, event.RepairUnactionable,
				event.RepairTimedOut, event.RepairFailed:
				ended++
			}
		}
		if begun != 1 || ended != 1 || wrote > 1 || (wrote == 1) != ok {
			t.Errorf("%d begins, %d ends and %d rules in the journal", begun, ended, wrote)
		}
		steps, serr := tx.Steps(ep.ID)
		if serr != nil || len(steps) < res.Turns {
			t.Errorf("%d steps of %d turns: %v", len(steps), res.Turns, serr)
		}
		for _, st := range steps {
			for _, c := range st.Calls {
				if c.Result != nil && !json.Valid(c.Result) {
					t.Errorf("the result of %s is no JSON: %s", c.Name, c.Result)
				}
			}
		}
		return err
	})
	if err != nil {
		t.Fatalf("look: %v", err)
	}
}

// useful are calls that lead somewhere, and some that must not.
var useful = []saying{
	{toolNoticeRead, `{"notice_id":"NOTICE"}`}, {toolNoticeRead, `{"notice_id":"n-2"}`}, {toolTraceInspect, `{"trace_id":"TRACE"}`},
	{"harness_rules_search", `{"query":"refund"}`}, {toolRuleAdd, `{"rule":"Always pass reason_code.","rationale":"It was missing.","scope":"refunds"}`},
	{toolRuleAdd, `{"rule":"Never refund twice.","rationale":"x","scope":"../etc"}`}, {toolRuleAdd, `{"rule":""}`}, {toolRuleAdd, `{}`},
	{toolNoticeAck, `{"notice_id":"NOTICE","rule_id":"RULE"}`}, {toolNoticeAck, `{"notice_id":"NOTICE","rule_id":"r-none"}`},
	{toolNoticeResolve, `{"notice_id":"NOTICE","resolution":"unactionable","note":"x"}`}, {toolNoticeResolve, `{"notice_id":"NOTICE","resolution":"no_proposal","note":"x"}`},
	{toolNoticeResolve, `{"notice_id":"NOTICE","resolution":"already_covered","rule_id":"RULE"}`}, {toolNoticeResolve, `{"notice_id":"NOTICE","resolution":"candidate"}`},
	{"harness_frobnicate", `{}`}, {toolRuleAdd, `{"rule":`}, {"", ""},
}

// TestEpisodesCloseWhole runs random sequences of calls, each on an episode of its own.
func TestEpisodesCloseWhole(t *testing.T) {
	s, n := memory(t, time.Now), 0
	rapid.Check(t, func(rt *rapid.T) {
		n++
		ep, as := furnishAs(t, s, fmt.Sprint("-", n))
		closure(rt, s, ep, as, rapid.SliceOfN(rapid.SampledFrom(useful), 0, 9).Draw(rt, "calls"))
	})
}

// FuzzToolArguments is the same with any tool names and arguments: a line of the input
// is a tool, a space and its arguments.
func FuzzToolArguments(f *testing.F) {
	var all []string
	for _, x := range useful {
		f.Add(x.tool + " " + x.args)
		all = append(all, x.tool+" "+x.args)
	}
	f.Add(strings.Join(all[:5], "\n") + "\n" + all[8])
	f.Add(toolRuleAdd + ` {"rule":1e400,"rationale":null,"scope":["a"],"tags":[1,null,{"a":[]}],"metric":true,"applicability":0}`)
	s, n := memory(f, time.Now), 0
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > 8<<10 {
			return
		}
		n++
		ep, as := furnishAs(t, s, fmt.Sprint("-", n))
		var says []saying
		for lines := bufio.NewScanner(strings.NewReader(text)); lines.Scan() && len(says) < 9; {
			tool, args, _ := strings.Cut(lines.Text(), " ")
			says = append(says, saying{tool, args})
		}
		closure(t, s, ep, as, says)
	})
}
