package engine_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"vise/engine"
	"vise/engine/config"
	"vise/engine/event"
	"vise/engine/notice"
	"vise/engine/rule"
	"vise/engine/trace"
	"vise/store"
)

// TestABurstOfTurnsIsScoredOnceEach: a newer turn waits for the older one instead
// of cancelling it, none is left out however many came at once, and none is folded
// again later.
func TestABurstOfTurnsIsScoredOnceEach(t *testing.T) {
	const turns = 60
	p := open(t, nil)
	p.begin("s", trace.Live)
	for i := range turns - 1 {
		if err := p.EndTurn(t.Context(), good("s", i)); err != nil {
			t.Fatal(err)
		}
	}
	p.end(bad("s", turns-1))
	p.view(func(tx *store.Tx) error {
		for i := range turns {
			if r, ok, err := tx.Report("s", i); err != nil || !ok || r.Empty() {
				t.Errorf("turn %d: scored %v, %v", i, ok, err)
			}
		}
		return nil
	})
	before := p.count()
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	p.start(engine.Options{Config: p.cfg, Store: p.store})
	p.settle("s")
	// The session itself, which nobody had ended, gets its end.
	if after := p.count() - p.count(event.AgentExited); after != before || p.count(event.Notice) != 1 {
		t.Errorf("%d events before the restart, %d after it, %d notices", before, after, p.count(event.Notice))
	}
}

// TestAFullDiskLosesNoNotice: what could not be stored is neither taken for seen
// nor for told; the turn is scored as soon as there is room.
func TestAFullDiskLosesNoNotice(t *testing.T) {
	p := open(t, func(c *config.Config, _ *engine.Options) { c.Evaluate.MaxPerRun = 2 }) // failing is no evaluation
	p.begin("s", trace.Live)
	p.end(good("s", 0))
	p.room.Store(2) // the turn itself: staged and put
	if err := p.EndTurn(t.Context(), bad("s", 1)); err != nil {
		t.Fatal(err)
	}
	var full *store.FullError
	if _, err := p.Settle(t.Context(), "s"); !errors.As(err, &full) {
		t.Fatalf("settled on a full disk: %v", err)
	}
	p.room.Store(plenty)
	if n := p.notices(); len(n) != 0 {
		t.Fatalf("notices: %+v", n)
	}
	p.settle("s")
	p.settle("s")
	if n := p.notices(); len(n) != 1 || n[0].TurnIndex != 1 || p.count(event.Notice) != 1 {
		t.Errorf("with room again: %d events, notices %+v", p.count(event.Notice), n)
	}
}

// TestARestartRepeatsNoNotice: what has been told is remembered by the store.
func TestARestartRepeatsNoNotice(t *testing.T) {
	p := open(t, nil)
	p.begin("s", trace.Live)
	p.end(bad("s", 0))
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	p.start(engine.Options{Config: p.cfg, Store: p.store})
	p.end(bad("s", 1))
	if n := p.notices(); len(n) != 1 {
		t.Errorf("%d notices about one unchanged condition", len(n))
	}
	p.end(good("s", 2))
	p.end(bad("s", 3))
	if n := p.notices(); len(n) != 2 || p.count(event.Recovery) != 1 {
		t.Errorf("%d notices, %d recoveries after it went away and came back", len(n), p.count(event.Recovery))
	}
}

// TestATurnWithoutScoresIsNoInformation: it neither recovers its session nor
// counts as a clean session in a trial.
func TestATurnWithoutScoresIsNoInformation(t *testing.T) {
	p := open(t, func(c *config.Config, o *engine.Options) {
		builtin(t)(c, o)
		// The offline evaluator knows nothing of these.
		c.Evaluate.Tier1 = []string{"plan_quality"}
	})
	p.begin("s", trace.Live)
	if err := p.store.Update(t.Context(), func(tx *store.Tx) error {
		return tx.PutRule(rule.Rule{ID: "r-1", CreatedAt: "2026-01-01T00:00:00Z", Text: "x", Scope: "global", Status: rule.Candidate, Trial: &rule.Trial{}})
	}); err != nil {
		t.Fatal(err)
	}
	p.end(good("s", 0))
	if got := p.rules()[0].Trial.ObservedSessions; len(got) != 0 {
		t.Errorf("observed %v", got)
	}
	if got := p.count(event.Recovery); got != 0 {
		t.Errorf("%d recoveries", got)
	}
}

// TestAFailingEpisodeBlocksNoOther: while one waits for its next attempt, its
// session's others are repaired.
func TestAFailingEpisodeBlocksNoOther(t *testing.T) {
	failing, resolving := completion{}, resolved()
	p, script := settling(t, func(c *config.Repair) { c.Backoff = time.Minute }, failing, resolving, resolving)
	p.post(settlementNotice{ID: "n-1", SessionID: "s", Signatures: []string{"breach:coherence"}, FlaggedTraces: []string{"a"}})
	p.post(settlementNotice{ID: "n-2", SessionID: "s", Signatures: []string{"stall:task_completion"}, FlaggedTraces: []string{"b"}})
	if s := p.settle("s"); s.Repair == nil || s.Repair.Status.Success() || s.Repair.NoticeIDs[0] != "n-1" {
		t.Fatalf("first: %+v", s.Repair)
	}
	if s := p.settle("s"); s.Repair == nil || !s.Repair.Status.Success() || s.Repair.NoticeIDs[0] != "n-2" {
		t.Fatalf("second: %+v", s.Repair)
	}
	if s := p.settle("s"); !s.Cached || script.asked != 2 {
		t.Fatalf("third: %+v, asked %d", s.Repair, script.asked)
	}
	p.now = p.now.Add(2 * time.Minute)
	if s := p.settle("s"); s.Repair == nil || !s.Repair.Status.Success() || s.Repair.NoticeIDs[0] != "n-1" {
		t.Errorf("after the back-off: %+v", s.Repair)
	}
}

// TestARelatedNoticeDuringARepair: it starts an episode of its own afterwards; two
// agents never work on one notice, nor two runs on one episode.
func TestARelatedNoticeDuringARepair(t *testing.T) {
	p, script := settling(t, func(*config.Repair) {}, resolved(), resolved())
	first := settlementNotice{ID: "n-1", SessionID: "s", Signatures: []string{"breach:coherence"}, FlaggedTraces: []string{"a"}}
	p.post(first)
	var joined sync.WaitGroup
	script.during = func() {
		script.during = nil
		second := first
		second.ID = "n-2"
		p.post(second)
		joined.Go(func() {
			// Whoever settles meanwhile joins the run.
			if s := p.settle("s"); s.Repair == nil || !slices.Equal(s.Repair.NoticeIDs, []string{"n-1"}) {
				t.Errorf("joined: %+v", s.Repair)
			}
		})
		for p.count(event.RepairStarted) != 1 {
			t.Error("a second agent was started")
		}
		for n := 0; n != 2; time.Sleep(time.Millisecond) { // who settles has seen the second notice, and joins
			if t.Context().Err() != nil {
				return
			}
			p.view(func(tx *store.Tx) error {
				list, err := tx.EpisodesOfSession("s")
				n = len(list)
				return err
			})
		}
	}
	if s := p.settle("s"); s.Repair == nil || !slices.Equal(s.Repair.NoticeIDs, []string{"n-1"}) {
		t.Fatalf("first: %+v", s.Repair)
	}
	joined.Wait()
	if script.asked != 1 {
		t.Errorf("asked %d times", script.asked)
	}
	if s := p.settle("s"); s.Repair == nil || !slices.Equal(s.Repair.NoticeIDs, []string{"n-2"}) {
		t.Errorf("afterwards: %+v", s.Repair)
	}
	for _, n := range p.notices() {
		if n.Status != notice.Acknowledged {
			t.Errorf("notice %s is %s", n.ID, n.Status)
		}
	}
}

// TestSessionsSideBySide: sessions that end their turns at the same time take
// nothing from each other's trial evidence.
func TestSessionsSideBySide(t *testing.T) {
	const sessions = 16
	p := open(t, func(c *config.Config, o *engine.Options) {
		builtin(t)(c, o)
		c.Validate.TrialMinSessions, c.Notice.BreakerMax = 2*sessions, 0
	})
	p.begin("author", trace.Live)
	p.end(bad("author", 0))
	var all sync.WaitGroup
	for i := range sessions {
		id := fmt.Sprint("s", i)
		p.begin(id, trace.Live)
		all.Go(func() {
			for turn := range 3 {
				if err := p.EndTurn(t.Context(), good(id, turn)); err != nil {
					t.Error(err)
				}
				if _, err := p.Settle(t.Context(), id); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	trial := p.rules(rule.Candidate)[0].Trial
	for i := range sessions {
		if id := fmt.Sprint("s", i); !slices.Contains(trial.ObservedSessions, id) {
			t.Errorf("session %s was not observed: %v", id, trial.ObservedSessions)
		}
	}
}

// TestScoreBacklog: turns that a killed process stored and did not score are
// scored by whoever comes next, though nobody settles their session any more.
func TestScoreBacklog(t *testing.T) {
	p := open(t, nil)
	for _, id := range []string{"whole", "cut"} {
		p.begin(id, trace.Live)
		p.end(good(id, 0))
	}
	staged, err := p.store.StageTurn(t.Context(), bad("cut", 1))
	if err != nil {
		t.Fatal(err)
	}
	if err := p.store.Update(t.Context(), func(tx *store.Tx) error { return tx.PutTurn(staged) }); err != nil {
		t.Fatal(err)
	}
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	p.start(engine.Options{Config: p.cfg, Store: p.store})
	for _, want := range [][]string{{"cut"}, nil} {
		got, err := p.ScoreBacklog(t.Context())
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("behind: %v, %v; want %v", got, err, want)
		}
	}
	if n := p.notices(); len(n) != 1 || n[0].SessionID != "cut" {
		t.Errorf("notices: %+v", n)
	}
}

// TestArtifactsCatchUp: a change that was committed and not rendered any more is
// rendered by the next start, and nothing is rendered twice.
func TestArtifactsCatchUp(t *testing.T) {
	dir := t.TempDir()
	p := open(t, nil)
	if err := p.store.Update(t.Context(), func(tx *store.Tx) error {
		return errors.Join(tx.PutRule(rule.Rule{ID: "r-1", CreatedAt: "2026-01-01T00:00:00Z", Text: "Pass reason_code.", Scope: "refunds", Status: rule.Active}),
			tx.Emit(event.Event{Type: event.RuleAdd, RuleID: "r-1"}))
	}); err != nil {
		t.Fatal(err)
	}
	document := filepath.Join(dir, "rules", "refunds.md")
	for range 2 {
		if err := p.Close(); err != nil {
			t.Fatal(err)
		}
		p.start(engine.Options{Config: p.cfg, Store: p.store, Artifacts: dir})
	}
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(document)
	if err != nil || !strings.Contains(string(text), "Pass reason_code.") {
		t.Fatalf("rendered %q, %v", text, err)
	}
	if err := os.WriteFile(document, []byte("untouched"), 0o600); err != nil {
		t.Fatal(err)
	}
	p.start(engine.Options{Config: p.cfg, Store: p.store, Artifacts: dir})
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	if text, _ := os.ReadFile(document); string(text) != "untouched" {
		t.Errorf("rendered again without a change: %q", text)
	}
}
