package judge

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"vise/engine/model"
	"vise/engine/model/faults"
	"vise/engine/score"
	"vise/engine/trace"
)

// The tests of this file are named after rows of testdata/publicbugs.txt: faults that
// users of other programs reported, made anew on ours.

// grades asks a judge that always gives this answer for one metric, once.
func grades(t *testing.T, text, finish string) (value *float64, faults string) {
	t.Helper()
	g, err := serve(t, func(question) (string, string, int) { return text, finish, 0 }).Grade(t.Context(), ask(score.TaskCompletion))
	if err != nil {
		t.Fatal(err)
	}
	return g.Scores[0].Value, strings.Join(g.Faults, " ")
}

// What a reasoning model thinks aloud is no answer, and thinking without an end holds none.
func TestB29BracesInThinking(t *testing.T) {
	const draft, answer = `maybe {"task_completion":{"score":0,"reason":"draft"}} hm`, `{"task_completion":{"score":0.8,"reason":"done"}}`
	for _, text := range []string{"<think>" + draft + "</think>" + answer, "```json\n" + answer + "\n```", "<think>" + draft + "</think>\n```json\n" + answer + "\n```"} {
		if v, fault := grades(t, text, "stop"); v == nil || *v != 0.8 {
			t.Errorf("%s: %v, %q", text, v, fault)
		}
	}
	for _, text := range []string{"<think>" + draft, "<think>" + draft + answer, "\n<think>\nno braces at all"} {
		if v, fault := grades(t, text, "stop"); v != nil || !strings.Contains(fault, "thinking that never ends") {
			t.Errorf("%s: %v, %q", text, v, fault)
		}
	}
}

// What is not exactly a grade is unscored, each for a reason of its own; nothing is
// bent into the range, and no digit of an error text is a score.
func TestB31ScoresOutOfRange(t *testing.T) {
	seen := map[string]bool{}
	for text, why := range map[string]string{
		`{"task_completion":{"score":90}}`:    "90 is not in [0,1]",
		`[ERROR] upstream 503`:                "no JSON object",
		`{"task_completion":{"score":"NaN"}}`: `"NaN" is no number`,
		`{"task_completion":{"score":-0.2}}`:  "-0.2 is not in [0,1]",
	} {
		v, fault := grades(t, text, "stop")
		if v != nil || !strings.Contains(fault, why) || seen[fault] {
			t.Errorf("%s: %v, %q, want %q", text, v, fault, why)
		}
		seen[fault] = true
	}
}

// A judge that spends its whole output on hidden reasoning says nothing: it is asked once
// more with more room, within the budget, and then the metric is unscored.
func TestB32BudgetSpentOnReasoning(t *testing.T) {
	var mu sync.Mutex
	var limits []float64
	b := serve(t, func(q question) (string, string, int) {
		mu.Lock()
		defer mu.Unlock()
		limits = append(limits, q.MaxTokens)
		return "", "length", 0
	})
	g, err := b.Grade(t.Context(), ask(score.TaskCompletion))
	if err != nil || g.Scores[0].Value != nil || len(limits) != 2 || limits[1] <= limits[0] || len(g.Faults) != 1 || !strings.Contains(g.Faults[0], "did not fit") {
		t.Errorf("%+v, %v, limits %v", g, err, limits)
	}
	if e := b.ledger.Entries(); len(e) != 1 || e[0].Calls != 2 {
		t.Errorf("both questions are paid for: %+v", e)
	}
	// No room in the budget for the larger limit: it is not asked.
	b = serve(t, func(question) (string, string, int) { return "", "length", 0 })
	b.ledger.Add("agent", trace.Usage{Input: 98_000})
	if g, err := b.Grade(t.Context(), ask(score.TaskCompletion)); model.KindOf(err) != model.KindBudget || len(b.asked) > 1 {
		t.Errorf("beyond the budget: %+v, %v after %d questions", g, err, len(b.asked))
	}
}

// Repetitions are questions of their own: a cache on the way answers none of them with
// what it has stored for another.
func TestB33RepeatsAreNotCached(t *testing.T) {
	var mu sync.Mutex
	cache := map[string]string{}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		mu.Lock()
		defer mu.Unlock()
		answer, hit := cache[string(body)]
		if !hit {
			answer = fmt.Sprintf(`{"task_completion":{"score":0.%d}}`, 5+len(cache))
			cache[string(body)] = answer
		}
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprintf(w, "data: %s\n\ndata: %s\n\ndata: [DONE]\n\n", faults.Text(answer), faults.Finish("stop"))
	}))
	t.Cleanup(srv.Close)
	m, err := model.New(model.Options{Model: "acme/grader", Retries: -1, Providers: map[string]model.Provider{"acme": {BaseURL: srv.URL}}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(m.Close)
	q := ask(score.TaskCompletion)
	q.Votes = 5
	g, err := New(m).Grade(t.Context(), q)
	if err != nil || len(cache) != 5 || len(g.Scores[0].Votes) != 5 {
		t.Fatalf("%d questions upstream, %+v, %v", len(cache), g, err)
	}
	distinct := map[float64]bool{}
	for _, v := range g.Scores[0].Votes {
		distinct[v] = true
	}
	if len(distinct) != 5 {
		t.Errorf("votes %v", g.Scores[0].Votes)
	}
}
