package llmproxy

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"vise/engine/model"
	"vise/engine/model/cassette"
)

// talker is a provider that writes as much as it may: 50,000 tokens where nothing holds it.
func talker(t *testing.T) (url string, asked func() []string) {
	t.Helper()
	var mu sync.Mutex
	var bodies []string
	up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		mu.Lock()
		bodies = append(bodies, string(body))
		mu.Unlock()
		var q struct {
			Max       int64 `json:"max_tokens"`
			Completed int64 `json:"max_completion_tokens"`
			Output    int64 `json:"max_output_tokens"`
			N         int64 `json:"n"`
		}
		if err := json.Unmarshal(body, &q); err != nil || int64(len(body)) != r.ContentLength {
			t.Errorf("%v, length %d: %s", err, r.ContentLength, body)
		}
		wrote := int64(50_000)
		if limit := max(q.Max, q.Completed, q.Output); limit > 0 {
			wrote = limit
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"model":"m","choices":[{"message":{"role":"assistant","content":"so"},"finish_reason":"length"}],"usage":{"prompt_tokens":%[1]d,"completion_tokens":%[2]d,"input_tokens":%[1]d,"output_tokens":%[2]d}}`,
			(len(body)+3)/4, wrote*max(q.N, 1))
	}))
	t.Cleanup(up.Close)
	return up.URL, func() []string {
		mu.Lock()
		defer mu.Unlock()
		return slices.Clone(bodies)
	}
}

// However much a provider writes, and whether questions come one by one or at once, no
// cap is passed, the budget is used, and what the agent asked is what is recorded.
func TestCapsHold(t *testing.T) {
	price := func(string) *model.Price { return &model.Price{Input: 1, Output: 2} }
	const question = `{"model":"m","messages":[{"role":"user","content":"write"}],"max_tokens":null}`
	for _, c := range []struct {
		name   string
		budget model.Budget
		path   string
		field  string
		body   string
		atOnce int
	}{
		{"dollars", model.Budget{USD: 0.05}, "/chat/completions", "max_tokens", question, 1},
		{"tokens", model.Budget{Tokens: 30_000}, "/chat/completions", "max_completion_tokens", question, 1},
		{"at once", model.Budget{USD: 0.05}, "/chat/completions", "max_tokens", question, 8},
		{"several answers", model.Budget{Tokens: 30_000}, "/chat/completions", "max_tokens", `{"model":"m","n":4}`, 1},
		{"responses", model.Budget{Tokens: 30_000}, "/responses", "max_output_tokens", `{}`, 1},
		{"an old model", model.Budget{Tokens: 30_000}, "/completions", "max_tokens", `{"prompt":"x"}`, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			url, asked := talker(t)
			s := start(t)
			ledger := model.NewLedger(c.budget)
			var recorded []cassette.Exchange
			token, err := s.Grant(Run{Upstream: Upstream{BaseURL: url, Price: price, OutputField: func(string) string { return c.field }}, Ledger: ledger,
				OnExchange: func(e cassette.Exchange) { recorded = append(recorded, e) }})
			if err != nil {
				t.Fatal(err)
			}
			ask := func() int {
				req, _ := http.NewRequestWithContext(t.Context(), "POST", s.URL()+c.path, strings.NewReader(c.body))
				req.Header.Set("Authorization", "Bearer "+token)
				resp, err := http.DefaultClient.Do(req)
				if err != nil {
					t.Error(err)
					return 0
				}
				defer resp.Body.Close()
				_, _ = io.Copy(io.Discard, resp.Body)
				return resp.StatusCode
			}
			for rounds, refused := 0, 0; refused == 0; rounds++ {
				if rounds == 1000 {
					t.Fatalf("never refused: %+v", ledger.Total())
				}
				var all sync.WaitGroup
				var mu sync.Mutex
				for range c.atOnce {
					all.Go(func() {
						code := ask()
						mu.Lock()
						defer mu.Unlock()
						if code == http.StatusPaymentRequired {
							refused++
						} else if code != http.StatusOK {
							refused++
							t.Errorf("status %d", code)
						}
					})
				}
				all.Wait()
			}
			if err := s.Wait(t.Context(), token); err != nil {
				t.Fatal(err)
			}
			got := ledger.Total()
			if limit := c.budget.USD; limit > 0 && (got.USD > limit || c.atOnce == 1 && got.USD < limit*0.9) {
				t.Errorf("$%.4f of $%.4f is spent", got.USD, limit)
			}
			if limit := c.budget.Tokens; limit > 0 && (got.Input+got.Output > limit || got.Input+got.Output < limit*9/10) {
				t.Errorf("%d of %d tokens are spent", got.Input+got.Output, limit)
			}
			for _, body := range asked() {
				if !strings.Contains(body, `"`+c.field+`":`) {
					t.Errorf("%s has no limit", body)
				}
			}
			if len(recorded) == 0 {
				t.Fatal("nothing is recorded")
			}
			for _, e := range recorded {
				if e.Limit <= 0 || strings.Contains(string(e.Request), fmt.Sprint(e.Limit)) {
					t.Errorf("limit %d, recorded as %s", e.Limit, e.Request)
				}
			}
		})
	}
}

// Without a budget a request passes byte for byte.
func TestNoCapNoLimit(t *testing.T) {
	url, asked := talker(t)
	s := start(t)
	token, err := s.Grant(Run{Upstream: Upstream{BaseURL: url}, Ledger: model.NewLedger(model.Budget{})})
	if err != nil {
		t.Fatal(err)
	}
	const body = `{ "model":"m" }`
	req, _ := http.NewRequestWithContext(t.Context(), "POST", s.URL()+"/chat/completions", strings.NewReader(body))
	req.Header.Set("Authorization", "Bearer "+token)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if got := asked(); len(got) != 1 || got[0] != body {
		t.Errorf("asked %q", got)
	}
}

// A limit counts when every server reads it the same way; any other is taken out before the
// one that holds is added.
func TestReadLimits(t *testing.T) {
	for body, want := range map[string]struct {
		output int64
		rest   string
	}{
		`{"model":"m","max_tokens":5}`:                            {5, `{"model":"m",`},
		`{"max_completion_tokens": 7, "stop": ["}"]}`:             {7, `{"stop":["}"],`},
		`{"max_tokens":null,"n":2}`:                               {0, `{"n":2,`},
		`{"max_tokens":0}`:                                        {0, `{`},
		`{"max_tokens":-5}`:                                       {0, `{`},
		`{"max_tokens":"many"}`:                                   {0, `{`},
		`{"max_tokens":5,"x":{"max_tokens":9},"max_tokens":null}`: {0, `{"x":{"max_tokens":9},`},
		`{"max_tokens":5,"max_output_tokens":null}`:               {0, `{`},
		`{"MAX_TOKENS":5}`:                                        {0, `{"MAX_TOKENS":5,`},
		`[1]`:                                                     {0, ""}, `{"a":`: {0, ""}, ``: {0, ""},
	} {
		l := readLimits([]byte(body))
		if l.output != want.output || string(l.rest) != want.rest {
			t.Errorf("%s: limit %d, rest %s; want %d, %s", body, l.output, l.rest, want.output, want.rest)
		}
	}
	if l := readLimits([]byte(`{"n":1,"model":"a","n":8}`)); l.answers != 8 || l.model != "a" {
		t.Errorf("answers %d of %q", l.answers, l.model)
	}
}
