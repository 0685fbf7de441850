package store

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"vise/engine/episode"
	"vise/engine/event"
	"vise/engine/evidence"
	"vise/engine/notice"
	"vise/engine/rule"
	"vise/engine/score"
)

func ruleOf(i int) rule.Rule {
	return rule.Rule{ID: fmt.Sprintf("r-%04d", i), CreatedAt: fmt.Sprintf("2026-03-01T00:00:00.%06dZ", i),
		Text: fmt.Sprintf("Pass word%d to issue_refund.", i), Status: rule.Candidate, Scope: "refunds", Applicability: rule.Task}
}

func ruleIDs(list []rule.Rule) string {
	var ids []string
	for _, r := range list {
		ids = append(ids, r.ID)
	}
	return strings.Join(ids, " ")
}

func TestRules(t *testing.T) {
	s := memory(t, Options{})
	update(t, s, func(tx *Tx) error {
		for i := range 4 {
			r := ruleOf(i)
			if i == 3 {
				r.Scope, r.Tags, r.Metric = "global", []string{"Shipping"}, score.Coherence
			}
			if err := tx.PutRule(r); err != nil {
				return err
			}
		}
		r := ruleOf(1)
		r.Status, r.Text = rule.Active, "Say hello."
		return tx.PutRule(r)
	})
	type query func(*Tx) ([]rule.Rule, error)
	tests := map[string]struct {
		q    query
		want string
	}{
		"all":             {func(tx *Tx) ([]rule.Rule, error) { return tx.Rules() }, "r-0000 r-0001 r-0002 r-0003"},
		"active":          {func(tx *Tx) ([]rule.Rule, error) { return tx.Rules(rule.Active) }, "r-0001"},
		"live":            {func(tx *Tx) ([]rule.Rule, error) { return tx.Rules(rule.Active, rule.Candidate, rule.Active) }, "r-0000 r-0001 r-0002 r-0003"},
		"retired":         {func(tx *Tx) ([]rule.Rule, error) { return tx.Rules(rule.Retired) }, ""},
		"scope":           {func(tx *Tx) ([]rule.Rule, error) { return tx.RulesInScope("refunds") }, "r-0000 r-0001 r-0002"},
		"scope candidate": {func(tx *Tx) ([]rule.Rule, error) { return tx.RulesInScope("refunds", rule.Candidate) }, "r-0000 r-0002"},
		"token":           {func(tx *Tx) ([]rule.Rule, error) { return tx.RulesWithTokens([]string{"issue_refund"}) }, "r-0000 r-0002 r-0003"},
		"tokens":          {func(tx *Tx) ([]rule.Rule, error) { return tx.RulesWithTokens([]string{"word0", "hello", "none"}) }, "r-0000 r-0001"},
		"old token":       {func(tx *Tx) ([]rule.Rule, error) { return tx.RulesWithTokens([]string{"word1"}) }, ""},
		"tag":             {func(tx *Tx) ([]rule.Rule, error) { return tx.RulesWithTokens(rule.Tokens("SHIPPING")) }, "r-0003"},
		"metric":          {func(tx *Tx) ([]rule.Rule, error) { return tx.RulesWithTokens(rule.Tokens(score.Coherence)) }, "r-0003"},
		"token, active":   {func(tx *Tx) ([]rule.Rule, error) { return tx.RulesWithTokens([]string{"issue_refund"}, rule.Active) }, ""},
	}
	if err := s.ReadRules(func(r rule.Reader) error {
		for name, tt := range tests {
			list, err := tt.q(r.(*Tx))
			if got := ruleIDs(list); got != tt.want || err != nil {
				t.Errorf("%s: %q, %v, want %q", name, got, err, tt.want)
			}
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	view(t, s, func(tx *Tx) error {
		v, err := tx.RuleVersions("r-0001")
		if len(v) != 2 || v[0].Version != 1 || v[0].Status != rule.Candidate || v[1].Version != 2 || v[1].Status != rule.Active {
			t.Errorf("versions %+v", v)
		}
		return err
	})
	err := s.Update(t.Context(), func(tx *Tx) error {
		r := ruleOf(9)
		r.Status = "validated"
		return tx.PutRule(r)
	})
	if err == nil {
		t.Error("a rule with an unknown status was stored")
	}
	update(t, s, func(tx *Tx) error { return tx.PutScopeDescription("refunds", "About refunds.") })
	view(t, s, func(tx *Tx) error {
		d, err := tx.ScopeDescriptions()
		same(t, "scope descriptions", d, map[string]string{"refunds": "About refunds."})
		return err
	})
	sound(t, s)
}

func TestNotices(t *testing.T) {
	s := memory(t, Options{})
	make := func(id, session, created string, status notice.Status) notice.Notice {
		return notice.Notice{ID: id, SessionID: session, CreatedAt: created, Status: status, Severity: notice.Breach}
	}
	update(t, s, func(tx *Tx) error {
		for _, n := range []notice.Notice{
			make("n-2", "a", "2026-01-02", notice.Pending), make("n-1-b", "a", "2026-01-04", notice.Pending),
			make("n-1", "a", "2026-01-03", notice.Pending), make("n-3", "b", "2026-01-01", notice.Pending),
			make("n-4", "ab", "2026-01-05", notice.Acknowledged),
		} {
			if err := tx.PutNotice(n); err != nil {
				return err
			}
		}
		return nil
	})
	ids := func(list []notice.Notice) string {
		var out []string
		for _, n := range list {
			out = append(out, n.ID)
		}
		return strings.Join(out, " ")
	}
	view(t, s, func(tx *Tx) error {
		p, _ := tx.PendingNotices("a")
		if got := ids(p); got != "n-1 n-1-b n-2" {
			t.Errorf("pending %q", got)
		}
		all, _ := tx.Notices(Window{})
		if got := ids(all); got != "n-4 n-1-b n-1 n-2 n-3" {
			t.Errorf("notices %q", got)
		}
		sessions, err := tx.PendingSessions()
		same(t, "pending sessions", sessions, []string{"a", "b"})
		return err
	})
	update(t, s, func(tx *Tx) error { return tx.PutNotice(make("n-3", "b", "2026-01-01", notice.Acknowledged)) })
	view(t, s, func(tx *Tx) error {
		sessions, err := tx.PendingSessions()
		same(t, "pending sessions", sessions, []string{"a"})
		return err
	})
	sound(t, s)
}

func TestEpisodesAndSteps(t *testing.T) {
	s := memory(t, Options{})
	ep := episode.Episode{ID: "e-1", SessionID: "a", CreatedAt: "2026-01-01", Status: episode.Open}
	step := func(attempt, turn int) episode.Step {
		return episode.Step{EpisodeID: "e-1", Attempt: attempt, Turn: turn, Messages: []episode.Message{{Role: "user", Content: strings.Repeat("x", 40_000)}}}
	}
	update(t, s, func(tx *Tx) error {
		if err := tx.PutEpisode(ep); err != nil {
			return err
		}
		for _, st := range []episode.Step{step(2, 1), step(1, 2), step(1, 1), step(1, 10)} {
			if err := tx.PutStep(st); err != nil {
				return err
			}
		}
		return nil
	})
	view(t, s, func(tx *Tx) error {
		got, err := tx.Steps("e-1")
		same(t, "steps", got, []episode.Step{step(1, 1), step(1, 2), step(1, 10), step(2, 1)})
		list, _ := tx.EpisodesOfSession("a")
		same(t, "episodes of the session", list, []episode.Episode{ep})
		list, _ = tx.Episodes(Window{})
		same(t, "episodes", list, []episode.Episode{ep})
		return err
	})
	sound(t, s)
}

func TestCases(t *testing.T) {
	s := memory(t, Options{})
	c := func(i int, kind evidence.Kind, sig ...string) evidence.Case {
		return evidence.Case{ID: fmt.Sprint("c-", i), CreatedAt: fmt.Sprint("2026-01-0", i), SessionID: "a", Kind: kind, Signature: sig,
			Input: &evidence.Input{Turns: []string{"hello"}, Digest: "d"}}
	}
	one, two, three := c(1, evidence.Failure, "breach:coherence"), c(2, evidence.Win, "breach:coherence", "stall:coherence"), c(3, evidence.Failure)
	update(t, s, func(tx *Tx) error {
		for _, v := range []evidence.Case{three, one, two} {
			if err := tx.PutCase(v); err != nil {
				return err
			}
		}
		return nil
	})
	view(t, s, func(tx *Tx) error {
		all, _ := tx.Cases("")
		same(t, "all", all, []evidence.Case{one, two, three})
		wins, _ := tx.Cases(evidence.Win)
		same(t, "wins", wins, []evidence.Case{two})
		sig, _ := tx.CasesBySignature("breach:coherence")
		same(t, "by signature", sig, []evidence.Case{one, two})
		got, found, err := tx.CaseByKey(evidence.CaptureKey("a", []string{"stall:coherence", "breach:coherence"}, evidence.Win))
		if !found || got.ID != "c-2" {
			t.Errorf("by key: %v %v", got.ID, found)
		}
		return err
	})
	update(t, s, func(tx *Tx) error { return tx.DeleteCase("c-2") })
	view(t, s, func(tx *Tx) error {
		if _, found, _ := tx.CaseByKey(evidence.CaptureKey(two.SessionID, two.Signature, two.Kind)); found {
			t.Error("a deleted case is still found by its key")
		}
		return nil
	})
	sound(t, s)
}

func TestVerdictsReportsStatesProcesses(t *testing.T) {
	s := memory(t, Options{})
	day := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	v := func(id string, at time.Time) evidence.Verdict {
		return evidence.Verdict{ID: id, RuleID: "r-1", At: at, Outcome: evidence.Retire}
	}
	value := 0.25
	report := score.Report{SessionID: "a", TurnIndex: 2, Scores: []score.Score{{Metric: score.Coherence, Value: &value}}}
	p := ProcessRecord{PID: 77, PGID: 77, StartTime: 5, Command: "agent", Started: day, RunID: "x"}
	update(t, s, func(tx *Tx) error {
		for _, err := range []error{
			tx.PutVerdict(v("v-1", day.Add(time.Hour))), tx.PutVerdict(v("v-2", day)),
			tx.PutReport(report), tx.PutProcess(p),
			tx.PutState("gate/a", map[string]int{"n": 3}), tx.PutState("gone", 1), tx.DeleteState("gone"),
		} {
			if err != nil {
				return err
			}
		}
		return nil
	})
	view(t, s, func(tx *Tx) error {
		list, _ := tx.Verdicts("r-1")
		same(t, "verdicts", list, []evidence.Verdict{v("v-2", day), v("v-1", day.Add(time.Hour))})
		got, found, _ := tx.Report("a", 2)
		same(t, "report", got, report)
		if _, other, _ := tx.Report("a", 1); !found || other {
			t.Error("report of the wrong turn")
		}
		ps, _ := tx.Processes()
		same(t, "processes", ps, []ProcessRecord{p})
		var doc map[string]int
		if found, err := tx.State("gate/a", &doc); !found || err != nil || doc["n"] != 3 {
			t.Errorf("state %v %v %v", doc, found, err)
		}
		if found, _ := tx.State("gone", &doc); found {
			t.Error("a deleted state is there")
		}
		return nil
	})
	update(t, s, func(tx *Tx) error { return tx.DeleteProcess(ProcessRecord{PID: 77, StartTime: 5}) })
	view(t, s, func(tx *Tx) error {
		if ps, _ := tx.Processes(); len(ps) != 0 {
			t.Errorf("processes %v", ps)
		}
		return nil
	})
	sound(t, s)
}

func TestJournal(t *testing.T) {
	s := memory(t, Options{})
	types := []event.Type{event.Notice, event.Recovery, event.Health}
	update(t, s, func(tx *Tx) error {
		for i := range 30 {
			e := event.Event{Type: types[i%3], SessionID: fmt.Sprint("s", i%2), RuleID: fmt.Sprint("r", i%5), Data: map[string]any{"i": i}}
			if err := tx.Emit(e); err != nil {
				return err
			}
		}
		return tx.Emit(event.Event{Type: event.RepairDelta}) // ephemeral: not stored
	})
	seqs := func(list []event.Event) (out []uint64) {
		for _, e := range list {
			out = append(out, e.Seq)
		}
		return out
	}
	view(t, s, func(tx *Tx) error {
		tests := []struct {
			name string
			got  func() ([]event.Event, error)
			want []uint64
		}{
			{"after", func() ([]event.Event, error) { return tx.Events(27, 0, EventFilter{}) }, []uint64{28, 29, 30}},
			{"limit", func() ([]event.Event, error) { return tx.Events(3, 2, EventFilter{}) }, []uint64{4, 5}},
			{"session", func() ([]event.Event, error) { return tx.Events(25, 0, EventFilter{SessionID: "s1"}) }, []uint64{26, 28, 30}},
			{"type", func() ([]event.Event, error) {
				return tx.Events(20, 2, EventFilter{Types: []event.Type{event.Health, event.Notice}})
			}, []uint64{21, 22}},
			{"session and type", func() ([]event.Event, error) {
				return tx.Events(4, 2, EventFilter{SessionID: "s1", Types: []event.Type{event.Notice}})
			}, []uint64{10, 16}},
			{"session and types", func() ([]event.Event, error) {
				return tx.Events(24, 0, EventFilter{SessionID: "s0", Types: []event.Type{event.Notice, event.Health}})
			}, []uint64{25, 27}},
			{"a session of nothing", func() ([]event.Event, error) {
				return tx.Events(0, 0, EventFilter{SessionID: "s", Types: []event.Type{event.Notice}})
			}, nil},
			{"type and rule", func() ([]event.Event, error) {
				return tx.Events(0, 1, EventFilter{Types: []event.Type{event.Notice}, RuleID: "r4"})
			}, []uint64{10}},
			{"last", func() ([]event.Event, error) { return tx.LastEvents(3) }, []uint64{30, 29, 28}},
			{"last of types", func() ([]event.Event, error) { return tx.LastEvents(3, event.Notice, event.Recovery) }, []uint64{29, 28, 26}},
		}
		for _, tt := range tests {
			got, err := tt.got()
			if err != nil || !slices.Equal(seqs(got), tt.want) {
				t.Errorf("%s: %v, %v, want %v", tt.name, seqs(got), err, tt.want)
			}
		}
		return nil
	})
	if err := s.Update(t.Context(), func(tx *Tx) error {
		return tx.Emit(event.Event{Type: event.Health, Data: map[string]any{"prompt": strings.Repeat("x", maxEvent)}})
	}); err == nil {
		t.Error("an event of unbounded text was journalled")
	}
	sound(t, s)
}
