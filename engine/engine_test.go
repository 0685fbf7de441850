package engine_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"vise/engine"
	"vise/engine/config"
	"vise/engine/episode"
	"vise/engine/event"
	"vise/engine/evidence"
	"vise/engine/model"
	"vise/engine/notice"
	"vise/engine/rule"
	"vise/engine/score"
	"vise/engine/trace"
	"vise/store"
)

// project is a harness over a store in memory, with a clock that the test moves.
type project struct {
	t     *testing.T
	store *store.Store
	cfg   *config.Config
	now   time.Time
	// bubble lets time run by itself, as it does in a synctest bubble.
	bubble bool
	// room is the number of writes until the disk is full.
	room atomic.Int64
	*engine.Harness
}

func (p *project) clock() time.Time {
	if p.bubble {
		return time.Now()
	}
	return p.now
}

// plenty of room on the disk.
const plenty = 1 << 40

// open makes a project; configure may change its settings and options.
func open(t *testing.T, configure func(*config.Config, *engine.Options)) *project {
	t.Helper()
	cfg, _, err := config.Load(config.LoadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	p := &project{t: t, cfg: cfg, now: time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)}
	bus := event.NewBus()
	p.room.Store(plenty)
	p.store, err = store.Open(t.Context(), store.Options{InMemory: true, Bus: bus, Now: p.clock, Free: func(string) (uint64, error) {
		if p.room.Add(-1) < 0 {
			return 0, nil
		}
		return plenty, nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.store.Close(); err != nil {
			t.Error(err)
		}
	})
	o := engine.Options{Config: cfg, Store: p.store, Bus: bus}
	if configure != nil {
		configure(cfg, &o)
	}
	p.start(o)
	return p
}

func (p *project) start(o engine.Options) {
	p.t.Helper()
	h, err := engine.Open(p.t.Context(), o)
	if err != nil {
		p.t.Fatal(err)
	}
	p.Harness = h
	p.t.Cleanup(func() {
		if err := h.Close(); err != nil {
			p.t.Error(err)
		}
	})
}

// builtin gives the project the free, deterministic repairer.
func builtin(t *testing.T) func(*config.Config, *engine.Options) {
	return func(_ *config.Config, o *engine.Options) {
		client, err := model.New(model.Options{Model: "builtin/heuristic"})
		if err != nil {
			t.Fatal(err)
		}
		o.Model = client
	}
}

// begin starts a session.
func (p *project) begin(id string, origin trace.Origin) {
	p.t.Helper()
	if err := p.BeginSession(p.t.Context(), trace.Session{ID: id, Origin: origin, Source: "acp", Started: p.now},
		event.Event{Type: event.AgentStarted, SessionID: id}); err != nil {
		p.t.Fatal(err)
	}
}

// end hands over a turn and settles.
func (p *project) end(t trace.Turn) episode.Settlement {
	p.t.Helper()
	if err := p.EndTurn(p.t.Context(), t); err != nil {
		p.t.Fatal(err)
	}
	return p.settle(t.SessionID)
}

func (p *project) settle(session string) episode.Settlement {
	p.t.Helper()
	s, err := p.Settle(p.t.Context(), session)
	if err != nil {
		p.t.Fatal(err)
	}
	return s
}

func (p *project) view(fn func(tx *store.Tx) error) {
	p.t.Helper()
	if err := p.store.View(fn); err != nil {
		p.t.Fatal(err)
	}
}

func (p *project) notices() (list []notice.Notice) {
	p.view(func(tx *store.Tx) (err error) {
		list, err = tx.Notices(store.Window{Oldest: true})
		return err
	})
	return list
}

func (p *project) rules(s ...rule.Status) (list []rule.Rule) {
	p.view(func(tx *store.Tx) (err error) {
		list, err = tx.Rules(s...)
		return err
	})
	return list
}

func (p *project) count(types ...event.Type) int {
	n := 0
	p.view(func(tx *store.Tx) error {
		list, err := tx.LastEvents(1000, types...)
		n = len(list)
		return err
	})
	return n
}

// good is a turn in which nothing goes wrong. Its words are its own.
func good(session string, i int) trace.Turn {
	id := fmt.Sprintf("%s.%d", session, i)
	words := []string{"blanket", "lantern", "kettle", "compass", "hammock", "whistle"}
	w := words[i%len(words)]
	return trace.Turn{SessionID: session, Index: i, Input: "Where does the " + w + " of aisle " + string(rune('a'+i)) + " stand now?", Spans: []trace.Span{
		{ID: id + ".a", Kind: trace.TOOL, Name: "look_up_order", Input: `{"item":"` + w + `"}`, Output: "the " + w + " is on the shelf"},
		{ID: id + ".b", Kind: trace.LLM, Output: "The " + w + " is on the shelf."},
	}}
}

// bad is a turn in which a call is repeated unchanged although it lacks an argument.
func bad(session string, i int) trace.Turn {
	id := fmt.Sprintf("%s.%d", session, i)
	call := func(n string) trace.Span {
		return trace.Span{ID: id + n, Kind: trace.TOOL, Name: "issue_refund", Input: `{"order_id":"kettle"}`,
			Output: "validation error: missing required argument 'reason_code'", Error: "validation error: missing required argument 'reason_code'"}
	}
	return trace.Turn{SessionID: session, Index: i, Input: "Refund order number " + fmt.Sprint(i) + " because it arrived broken.", Spans: []trace.Span{
		call(".a"), call(".b"),
		{ID: id + ".c", Kind: trace.LLM, Output: "The refund desk is closed for this order number " + fmt.Sprint(i) + "."},
	}}
}

func TestTheLoop(t *testing.T) {
	p := open(t, builtin(t))
	p.begin("s", trace.Live)
	if s := p.end(good("s", 0)); s.Repair != nil || !s.Evaluated {
		t.Fatalf("after a good turn: %+v", s)
	}
	s := p.end(bad("s", 1))
	if s.Repair == nil || s.Repair.Status != episode.CandidateAdded {
		t.Fatalf("after a bad turn: %+v", s.Repair)
	}
	rules := p.rules()
	if len(rules) != 1 || rules[0].Status != rule.Candidate || rules[0].Metric != score.ArgumentCorrectness {
		t.Fatalf("rules: %+v", rules)
	}
	n := p.notices()
	if len(n) != 1 || n[0].Status != notice.Acknowledged || n[0].Severity != notice.Breach {
		t.Fatalf("notices: %+v", n)
	}
	// The failure was captured with everything a replay needs.
	p.view(func(tx *store.Tx) error {
		cases, err := tx.Cases(evidence.Failure)
		if err != nil {
			return err
		}
		if len(cases) != 1 || !cases[0].Replayable() || len(cases[0].Input.Turns) != 2 || cases[0].Baseline[score.ArgumentCorrectness] >= 0.5 {
			t.Errorf("cases: %+v", cases)
		}
		// All five offline scores are stored for display, whatever the ladder asked for.
		r, ok, err := tx.Report("s", 0)
		if !ok || len(r.Scores) != 5 {
			t.Errorf("report of the good turn: %+v", r)
		}
		return err
	})
	// Settling again asks no model: the result is that of before.
	if again := p.settle("s"); !again.Cached || again.Repair == nil || again.Repair.EpisodeID != s.Repair.EpisodeID {
		t.Errorf("settled again: %+v", again)
	}
}

func TestRecordedSessionsTouchNoTrialAndNoBreaker(t *testing.T) {
	p := open(t, func(c *config.Config, o *engine.Options) {
		builtin(t)(c, o)
		c.Notice.BreakerMax = 1
	})
	for i, id := range []string{"r1", "r2", "r3"} {
		im := p.Import(t.Context(), false)
		head := trace.Session{ID: id, Source: "native", File: id + ".jsonl"}
		if err := errors.Join(im.Begin(head), im.Turn(good(id, 0)), im.Turn(bad(id, 1)), im.End(head), im.Finish(map[string]any{})); err != nil {
			t.Fatal(err)
		}
		if _, err := p.ReplayRecorded(t.Context(), trace.Session{ID: id}); err != nil {
			t.Fatal(err)
		}
		if got := len(p.notices()); got != i+1 {
			t.Fatalf("%d notices after %s: the breaker must not count recordings", got, id)
		}
	}
	for _, r := range p.rules(rule.Candidate) {
		if len(r.Trial.ObservedSessions) != 0 {
			t.Errorf("trial of %s observed %v", r.ID, r.Trial.ObservedSessions)
		}
	}
	// Scoring them again changes nothing.
	before := p.count()
	if _, err := p.ReplayRecorded(t.Context(), trace.Session{ID: "r1"}); err != nil {
		t.Fatal(err)
	}
	if after := p.count(); after != before {
		t.Errorf("%d events more after scoring a recording again", after-before)
	}
}

func TestLiveSessionsEnterTrials(t *testing.T) {
	p := open(t, builtin(t))
	p.begin("s", trace.Live)
	p.end(bad("s", 0))
	p.end(good("s", 1)) // no evidence for the rule that was made from it
	p.begin("other", trace.Live)
	p.end(good("other", 0))
	trial := p.rules(rule.Candidate)[0].Trial
	if got := trial.ObservedSessions; len(got) != 1 || got[0] != "other" {
		t.Errorf("observed %v, want [other]", got)
	}
	if len(trial.BreachedSessions) != 0 {
		t.Errorf("breached %v", trial.BreachedSessions)
	}
	p.begin("third", trace.Live)
	p.end(bad("third", 0))
	if got := p.rules(rule.Candidate)[0].Trial.BreachedSessions; len(got) != 1 || got[0] != "third" {
		t.Errorf("breached %v, want [third]", got)
	}
}

func TestTheBreakerAsksForAPersonAndPausesRepair(t *testing.T) {
	p := open(t, func(c *config.Config, o *engine.Options) {
		builtin(t)(c, o)
		c.Notice.BreakerMax = 1
	})
	for _, id := range []string{"a", "b", "c"} {
		p.begin(id, trace.Live)
		p.end(bad(id, 0))
	}
	n := p.notices()
	if len(n) != 2 || n[1].Severity != notice.NeedsHuman || n[1].Status != notice.Pending {
		t.Fatalf("notices: %+v", n)
	}
	if _, _, paused, err := p.Paused(); err != nil || !paused {
		t.Fatalf("paused %v, %v", paused, err)
	}
	if got := p.count(event.RepairStarted); got != 1 {
		t.Errorf("%d repairs, want only the one before the breaker opened", got)
	}
	got, err := p.Resume(t.Context())
	if err != nil || got != 1 {
		t.Fatalf("resume: %d, %v", got, err)
	}
	if _, _, paused, _ := p.Paused(); paused {
		t.Error("still paused")
	}
	p.begin("d", trace.Live)
	if s := p.end(bad("d", 0)); s.Repair == nil {
		t.Error("repair did not go on")
	}
}

// deadModel answers every question with an error.
type deadModel struct{ asked int }

func (d *deadModel) RoundTrip(r *http.Request) (*http.Response, error) {
	d.asked++
	return nil, errors.New("the line is dead")
}

func TestAFailingEpisodeBacksOffAndEndsAsADeadLetter(t *testing.T) {
	dead := &deadModel{}
	p := open(t, func(c *config.Config, o *engine.Options) {
		client, err := model.New(model.Options{Model: "dead/one", Providers: map[string]model.Provider{"dead": {BaseURL: "http://127.0.0.1:9/v1"}},
			Transport: dead, Retries: -1})
		if err != nil {
			t.Fatal(err)
		}
		o.Model = client
		c.Repair.MaxAttempts, c.Repair.Backoff = 2, time.Minute
	})
	p.begin("s", trace.Live)
	if s := p.end(bad("s", 0)); s.Repair == nil || s.Repair.Status != episode.Failed {
		t.Fatalf("first attempt: %+v", s.Repair)
	}
	asked := dead.asked
	if s := p.settle("s"); s.Repair != nil || dead.asked != asked {
		t.Errorf("asked again at once: %+v", s.Repair)
	}
	p.now = p.now.Add(2 * time.Minute)
	if s := p.settle("s"); s.Repair == nil {
		t.Error("not asked again after the back-off")
	}
	p.now = p.now.Add(24 * time.Hour)
	if s := p.settle("s"); s.Repair != nil {
		t.Errorf("a dead letter ran again: %+v", s.Repair)
	}
	p.view(func(tx *store.Tx) error {
		list, err := tx.EpisodesOfSession("s")
		if len(list) != 1 || list[0].Status != episode.Dead || list[0].Attempts != 2 {
			t.Errorf("episodes: %+v", list)
		}
		return err
	})
	// The notice is still pending: nothing was acknowledged by failing.
	if n := p.notices(); n[0].Status != notice.Pending {
		t.Errorf("notice is %s", n[0].Status)
	}
}

// TestTurnsSurviveARestart: a turn that was stored but not scored is scored once
// by the next start, and the gate is not folded twice.
func TestTurnsSurviveARestart(t *testing.T) {
	p := open(t, nil)
	p.begin("s", trace.Live)
	for i := range 3 {
		p.end(good("s", i))
	}
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	if err := p.EndTurn(t.Context(), good("s", 3)); !errors.Is(err, engine.ErrClosed) {
		t.Fatalf("a closed harness took a turn: %v", err)
	}
	// What another process had stored before it was killed.
	staged, err := p.store.StageTurn(t.Context(), bad("s", 3))
	if err != nil {
		t.Fatal(err)
	}
	if err := p.store.Update(t.Context(), func(tx *store.Tx) error { return tx.PutTurn(staged) }); err != nil {
		t.Fatal(err)
	}
	p.start(engine.Options{Config: p.cfg, Store: p.store})
	p.settle("s")
	if n := p.notices(); len(n) != 1 || n[0].TurnIndex != 3 {
		t.Fatalf("notices after the restart: %+v", n)
	}
	p.settle("s")
	if got := p.count(event.Notice); got != 1 {
		t.Errorf("%d notices after settling again", got)
	}
}

func TestSamplingSkipsScoresButNotTheStory(t *testing.T) {
	p := open(t, func(c *config.Config, _ *engine.Options) { c.Evaluate.SampleEvery = 2 })
	p.begin("s", trace.Live)
	for i := range 4 {
		p.end(good("s", i))
	}
	p.view(func(tx *store.Tx) error {
		for i := range 4 {
			if _, ok, err := tx.Report("s", i); err != nil || ok != (i%2 == 0) {
				t.Errorf("turn %d: scored %v, %v", i, ok, err)
			}
		}
		return nil
	})
}

func TestObserveOnlyStoresNoNotice(t *testing.T) {
	p := open(t, func(c *config.Config, o *engine.Options) {
		builtin(t)(c, o)
		c.Evaluate.ObserveOnly = true
	})
	p.begin("s", trace.Live)
	p.end(bad("s", 0))
	if n := p.notices(); len(n) != 0 {
		t.Errorf("notices: %+v", n)
	}
	if got := p.count(event.Notice); got != 1 {
		t.Errorf("%d notice events, want the journalled shadow", got)
	}
	if p.RepairOn() {
		t.Error("repair is on")
	}
}

// TestLiveTurnsAreMasked: what an agent says is masked before it is stored, as
// what a recording says is.
func TestLiveTurnsAreMasked(t *testing.T) {
	const secret = "sk-proj-abcdefghijklmnopqrstuvwxyz0123456789ABCD"
	p := open(t, nil)
	p.begin("s", trace.Live)
	turn := good("s", 0)
	turn.Input = "use " + secret
	turn.Spans[0].Output = `{"api_key":"` + secret + `"}`
	p.end(turn)
	p.view(func(tx *store.Tx) error {
		got, _, err := tx.Turn("s", 0)
		if raw := fmt.Sprint(got); strings.Contains(raw, secret) {
			t.Errorf("stored: %s", raw)
		}
		return err
	})
	if turn.Spans[0].Output != `{"api_key":"`+secret+`"}` {
		t.Error("the caller's turn was changed")
	}
}

// TestATurnCutShortIsNoSuccess: what a cancelled or killed agent had said is not
// scored, raises nothing and cannot be protected.
func TestATurnCutShortIsNoSuccess(t *testing.T) {
	p := open(t, nil)
	p.begin("s", trace.Live)
	cut := good("s", 0)
	cut.StopReason = "cancelled"
	p.end(cut)
	p.view(func(tx *store.Tx) error {
		if _, ok, err := tx.Report("s", 0); ok || err != nil {
			t.Errorf("scored: %v, %v", ok, err)
		}
		return nil
	})
	if p.count(event.Skip) != 1 {
		t.Error("the journal does not say that it was left out")
	}
	if _, err := p.ProtectCase(t.Context(), "s", 0, false); err == nil || !strings.Contains(err.Error(), "cut short") {
		t.Errorf("protected: %v", err)
	}
	p.end(good("s", 1))
	p.view(func(tx *store.Tx) error {
		if _, ok, err := tx.Report("s", 1); !ok || err != nil {
			t.Errorf("the next turn is not scored: %v", err)
		}
		return nil
	})
}

// TestAnInterruptedRepairIsClosedAtTheNextStart: nobody runs it any more, so it must
// not read as running, and its notices can be repaired again.
func TestAnInterruptedRepairIsClosedAtTheNextStart(t *testing.T) {
	p := open(t, nil)
	p.begin("s", trace.Live)
	p.end(bad("s", 0))
	n := p.notices()[0]
	e := episode.Episode{ID: "e-000000000001", SessionID: "s", NoticeIDs: []string{n.ID}, AllowedTraces: n.FlaggedTraces, Attempts: 1, Status: episode.Running, CreatedAt: n.CreatedAt}
	if err := p.store.Update(t.Context(), func(tx *store.Tx) error { return tx.PutEpisode(e) }); err != nil {
		t.Fatal(err)
	}
	o := engine.Options{Config: p.cfg, Store: p.store}
	builtin(t)(p.cfg, &o)
	p.start(o)
	p.view(func(tx *store.Tx) error {
		got, _, err := tx.Episode(e.ID)
		if got.Status != episode.Cancelled || got.Result == nil || got.Result.ErrorCategory != "interrupted" {
			t.Errorf("episode: %+v", got)
		}
		return err
	})
	if s := p.settle("s"); s.Repair == nil || s.Repair.Status != episode.CandidateAdded {
		t.Errorf("not repaired again: %+v", s.Repair)
	}
}

func TestProtectACase(t *testing.T) {
	p := open(t, nil)
	p.begin("s", trace.Live)
	p.end(good("s", 0))
	p.end(good("s", 1))
	c, err := p.ProtectCase(t.Context(), "s", -1, false)
	if err != nil {
		t.Fatal(err)
	}
	if c.Kind != evidence.Win || c.TurnIndex != 1 || len(c.Input.Turns) != 2 || c.Baseline[score.ArgumentCorrectness] != 1 {
		t.Errorf("case: %+v", c)
	}
	if again, err := p.ProtectCase(t.Context(), "s", 1, false); err != nil || again.ID != c.ID {
		t.Errorf("protected again as %s, %v", again.ID, err)
	}
	for _, wrong := range []struct {
		session string
		turn    int
	}{{"nobody", 0}, {"s", 7}} {
		if _, err := p.ProtectCase(t.Context(), wrong.session, wrong.turn, false); err == nil {
			t.Errorf("protected %v", wrong)
		}
	}
}

func TestImportIsIdempotentAndKeepsStrangersApart(t *testing.T) {
	p := open(t, nil)
	load := func(file string, turns ...trace.Turn) *engine.Importer {
		im := p.Import(t.Context(), false)
		head := trace.Session{ID: "s", Source: "native", File: file}
		if err := im.Begin(head); err != nil {
			t.Fatal(err)
		}
		for _, x := range turns {
			if err := im.Turn(x); err != nil {
				t.Fatal(err)
			}
		}
		if err := im.End(head); err != nil {
			t.Fatal(err)
		}
		return im
	}
	if im := load("a.jsonl", good("s", 0), good("s", 1), good("s", 2)); im.New != 1 {
		t.Errorf("first import: %+v", im)
	}
	if im := load("a.jsonl", good("s", 0), good("s", 1), good("s", 2)); im.Unchanged != 1 {
		t.Errorf("same again: %+v", im)
	}
	if im := load("a.jsonl", good("s", 0), bad("s", 1)); im.Updated != 1 {
		t.Errorf("rewritten: %+v", im)
	}
	p.view(func(tx *store.Tx) error {
		turns, err := tx.Turns("s", 0, 0)
		if len(turns) != 2 {
			t.Errorf("%d turns are left of the rewritten recording, want 2", len(turns))
		}
		return err
	})
	im := load(filepath.Join("elsewhere", "b.jsonl"), good("s", 0))
	if im.New != 1 || im.IDs[0] == "s" {
		t.Errorf("a stranger with the same id: %+v", im.IDs)
	}
}

func TestSettleEndsWithItsContext(t *testing.T) {
	p := open(t, nil)
	p.begin("s", trace.Live)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	s, err := p.Settle(ctx, "s")
	if err != nil || s.Repair != nil {
		t.Errorf("%+v, %v", s, err)
	}
}
