package engine_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"vise/engine"
	"vise/engine/config"
	"vise/engine/event"
	"vise/engine/model"
	"vise/engine/model/faults"
	"vise/engine/notice"
	"vise/engine/score"
	"vise/engine/score/judge"
	"vise/engine/trace"
	"vise/store"
)

// panel is a scripted judge: grades by metric, and when it is out.
type panel struct {
	mu     sync.Mutex
	grades map[string]string
	status int
	asked  []string // metrics of each question
	// vary, when set, gives the grades of the n-th question from what it was shown.
	vary func(n int, shown string) map[string]string
}

func (p *panel) set(grades map[string]string, status int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.grades, p.status = grades, status
}

func (p *panel) RoundTrip(r *http.Request) (*http.Response, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	var in struct {
		Messages []struct{ Content string } `json:"messages"`
	}
	if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
		return nil, err
	}
	if p.status != 0 {
		return &http.Response{StatusCode: p.status, Header: http.Header{}, Body: io.NopCloser(strings.NewReader("{}")), Request: r}, nil
	}
	var metrics, parts []string
	for _, m := range score.TraceMetrics {
		if strings.Contains(in.Messages[0].Content, "* "+m+":") {
			metrics = append(metrics, m)
			g := p.grades[m]
			if p.vary != nil {
				g = p.vary(len(p.asked), in.Messages[1].Content)[m]
			}
			if g == "" {
				g = "1"
			}
			parts = append(parts, fmt.Sprintf(`%q:{"score":%s,"reason":"because"}`, m, g))
		}
	}
	p.asked = append(p.asked, strings.Join(metrics, "+"))
	body := "data: " + faults.Text("{"+strings.Join(parts, ",")+"}") + "\n\ndata: " + faults.Finish("stop") +
		"\n\ndata: {\"choices\":[],\"usage\":{\"prompt_tokens\":100,\"completion_tokens\":10,\"total_tokens\":110}}\n\ndata: [DONE]\n\n"
	return &http.Response{StatusCode: 200, Header: http.Header{"Content-Type": {"text/event-stream"}}, Body: io.NopCloser(strings.NewReader(body)), Request: r}, nil
}

// judged makes the project score by a judge. Every grade is 1 unless the panel says so.
func judged(t *testing.T, p *panel, tokens int64) func(*config.Config, *engine.Options) {
	return func(c *config.Config, o *engine.Options) {
		o.Ledger = model.NewLedger(model.Budget{Tokens: tokens})
		m, err := model.New(model.Options{Model: "acme/grader", Retries: -1, Transport: p, Ledger: o.Ledger,
			Providers: map[string]model.Provider{"acme": {BaseURL: "http://judge.invalid/v1"}}})
		if err != nil {
			t.Fatal(err)
		}
		c.Evaluate.By, c.Gate.StartPeak = "judge", nil
		o.Judge = judge.New(m)
	}
}

func (p *project) skips() (out []event.Event) {
	p.t.Helper()
	p.view(func(tx *store.Tx) (err error) {
		out, err = tx.LastEvents(100, event.Skip)
		return err
	})
	return out
}

// TestTheJudgeObeysTheLadder: tier 1 of every turn, tier 2 once the gate fired, no
// alert of a first low grade, and its reasons in the notice.
func TestTheJudgeObeysTheLadder(t *testing.T) {
	x := &panel{}
	p := open(t, judged(t, x, 0))
	p.begin("s", trace.Live)
	p.end(bad("s", 0)) // the judge thinks well of it, and nobody else is asked
	x.set(map[string]string{score.TaskCompletion: "0.6", score.ArgumentCorrectness: "0.2"}, 0)
	p.end(good("s", 1))
	if want := []string{"task_completion+coherence", "task_completion+coherence", "tool_correctness+argument_correctness"}; !slices.Equal(x.asked, want) {
		t.Errorf("asked %q", x.asked)
	}
	n := p.notices()
	if len(n) != 1 || !slices.Equal(n[0].Signatures, []string{"breach:argument_correctness", "regression:task_completion"}) {
		t.Fatalf("notices: %+v", n)
	}
	for _, s := range p.report("s", 1).Scores {
		if !strings.HasPrefix(s.By, "judge/1 acme/grader prompt=") || s.Value == nil {
			t.Errorf("score %+v", s)
		}
	}
}

// TestAnUnscoredMetricIsNoInformation: it neither alerts nor counts as well done.
func TestAnUnscoredMetricIsNoInformation(t *testing.T) {
	x := &panel{grades: map[string]string{score.TaskCompletion: "7", score.Coherence: `"NaN"`}}
	p := open(t, judged(t, x, 0))
	p.begin("s", trace.Live)
	p.end(good("s", 0))
	r := p.report("s", 0)
	if !r.Empty() || len(r.Scores) != 2 || len(p.notices()) != 0 {
		t.Errorf("report %+v", r)
	}
	if s := p.skips(); len(s) != 2 || s[0].Data["what"] != "judge" {
		t.Errorf("journal %+v", s)
	}
}

// TestAnUnscoredTurnIsNoRecovery: a session that alerted is not well again because
// the judge had nothing to say of the next turn.
func TestAnUnscoredTurnIsNoRecovery(t *testing.T) {
	x := &panel{}
	p := open(t, judged(t, x, 0))
	p.begin("s", trace.Live)
	p.end(good("s", 0))
	x.set(map[string]string{score.TaskCompletion: "0.1"}, 0)
	p.end(good("s", 1))
	x.set(map[string]string{score.TaskCompletion: "7", score.Coherence: "7"}, 0)
	p.end(good("s", 2))
	if len(p.notices()) != 1 || p.count(event.Recovery) != 0 {
		t.Fatalf("%d notices, %d recoveries", len(p.notices()), p.count(event.Recovery))
	}
	x.set(nil, 0)
	p.end(good("s", 3))
	if p.count(event.Recovery) != 1 {
		t.Error("grades that speak of it are a recovery")
	}
}

// TestAnOutageLosesNoTurn: a turn that the judge could not be asked about waits; it
// is told once and scored, in order, when the judge is back. Nothing recovers, and
// the agent's run goes on.
func TestAnOutageLosesNoTurn(t *testing.T) {
	x := &panel{}
	p := open(t, judged(t, x, 0))
	p.begin("s", trace.Live)
	p.end(good("s", 0))
	x.set(map[string]string{score.TaskCompletion: "0.1"}, 503)
	for i := 1; i < 4; i++ {
		s := p.end(good("s", i))
		if s.Evaluated || !strings.Contains(s.Outage, "turn 1 of session s") {
			t.Fatalf("settled: %+v", s)
		}
	}
	if s := p.skips(); len(s) != 1 || p.count(event.Recovery) != 0 || len(p.notices()) != 0 {
		t.Errorf("journal %+v", s)
	}
	x.set(map[string]string{score.TaskCompletion: "0.1"}, 0)
	if s := p.settle("s"); !s.Evaluated || s.Outage != "" {
		t.Errorf("settled: %+v", s)
	}
	for i := range 4 {
		if r := p.report("s", i); r.Empty() {
			t.Errorf("turn %d: %+v", i, r)
		}
	}
	if n := p.notices(); len(n) != 1 || n[0].TurnIndex != 1 || n[0].Severity != notice.Trend {
		t.Errorf("notices: %+v", n)
	}
	// A recording says so at once.
	x.set(nil, 401)
	im := p.Import(t.Context(), false)
	head := trace.Session{ID: "r", Source: "native", File: "r.jsonl"}
	for _, err := range []error{im.Begin(head), im.Turn(good("r", 0)), im.End(head), im.Finish(map[string]any{})} {
		if err != nil {
			t.Fatal(err)
		}
	}
	if _, err := p.ReplayRecorded(t.Context(), head); err == nil || !strings.Contains(err.Error(), "key") {
		t.Errorf("recorded: %v", err)
	}
}

// TestASpentBudgetStopsTheJudge: it is told, once, and no turn is scored as if it were fine.
func TestASpentBudgetStopsTheJudge(t *testing.T) {
	x := &panel{}
	p := open(t, judged(t, x, 6000))
	p.begin("s", trace.Live)
	used := good("s", 0)
	used.Usage = trace.Usage{Input: 5000} // the agent's own
	p.end(used)
	p.end(good("s", 1))
	if r := p.report("s", 1); !r.Empty() || len(x.asked) > 0 {
		t.Errorf("report %+v, asked %v", r, x.asked)
	}
	if n := p.count(event.BudgetStopped); n != 1 {
		t.Errorf("%d events", n)
	}
}

// TestAnotherJudgeStartsTheGateAnew: its grades are not compared with those of before.
func TestAnotherJudgeStartsTheGateAnew(t *testing.T) {
	p := open(t, nil)
	p.begin("s", trace.Live)
	p.end(good("s", 0))
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	x := &panel{grades: map[string]string{score.TaskCompletion: "0.7"}}
	o := engine.Options{Config: p.cfg, Store: p.store}
	judged(t, x, 0)(p.cfg, &o)
	p.start(o)
	p.end(good("s", 1))
	if n := p.notices(); len(n) != 0 {
		t.Errorf("0.70 of a judge is no fall below 1.00 of the offline evaluator: %+v", n)
	}
}
