package llmproxy

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"

	"vise/engine/model"
	"vise/engine/model/cassette"
	"vise/engine/trace"
)

// Purpose is what the ledger books an agent's model calls under.
const Purpose = "agent"

// What a request says of itself is believed up to here, so that a product fits: more
// is beyond every budget.
const maxOutput, maxChoices = 1 << 40, 1 << 20

// spending adds the key and reserves what a request may cost before it is sent;
// settle books what it did cost.
type spending struct {
	next http.RoundTripper
	run  *Run
}

// reserved carries a request's reservation to the end of its answer.
type reserved struct{}

type reservation struct {
	hold  *model.Reservation
	input int64 // tokens, estimated
	price *model.Price
	limit int64 // of the answer, that we add to the request; 0 = none
}

// asked carries who is told of the end of a question.
type asked struct{}

// came carries what is known of a request that is not passed on.
type came struct{}

type origin struct {
	header http.Header
	conn   string // the other side's address
}

// RoundTrip implements http.RoundTripper. model.ErrBudget says that nothing was sent.
func (s *spending) RoundTrip(req *http.Request) (resp *http.Response, err error) {
	if s.run.Upstream.Key != nil {
		key, err := s.run.Upstream.Key()
		if err != nil {
			return nil, fmt.Errorf("read the provider's key: %w", err)
		}
		if key != "" {
			req.Header.Set("Authorization", "Bearer "+key)
		}
	}
	if req.Body == nil || req.Method != http.MethodPost {
		return s.next.RoundTrip(req) // a list of models costs nothing
	}
	body, err := io.ReadAll(io.LimitReader(req.Body, cassette.MaxRequest+1))
	if err != nil {
		return nil, fmt.Errorf("read the agent's request: %w", err)
	}
	req.Body = io.NopCloser(bytes.NewReader(body))
	if s.run.OnQuestion != nil {
		from, _ := req.Context().Value(came{}).(origin)
		if q, ok := ReadQuestion(from.header, req.URL.Path, body); ok {
			q.Conn = from.conn
			tell := s.run.OnQuestion(q)
			var one sync.Once
			ended := func(e *cassette.Exchange, err error) { one.Do(func() { tell(e, err) }) }
			defer func() {
				if err != nil {
					ended(nil, err)
				}
			}()
			req = req.WithContext(context.WithValue(req.Context(), asked{}, ended))
		}
	}
	limits := readLimits(body) // what is not JSON has none
	r := reservation{input: tokens(len(body))}
	if s.run.Upstream.Price != nil {
		r.price = s.run.Upstream.Price(limits.model)
	}
	output, answers := limits.output, min(max(limits.answers, 1), maxChoices)
	if output <= 0 && asks(req.URL.Path) {
		r.input = tokens(len(body) + 32) // with the limit that is added
		if r.hold, r.limit, err = s.run.Ledger.ReserveOpen(Purpose, r.input, answers, r.price); err != nil {
			return nil, fmt.Errorf("%w (the request names no limit of its output)", err)
		}
	} else if r.hold, err = s.run.Ledger.Reserve(Purpose, r.input, min(output, maxOutput)*answers, r.price); err != nil {
		return nil, err
	}
	resp, err = s.next.RoundTrip(req.WithContext(context.WithValue(req.Context(), reserved{}, r)))
	if err != nil {
		r.hold.Release(0) // of a request that never came to an exchange; of others it is settled
	}
	return resp, err
}

// limiter adds to a request that names no limit of its output the one that the budget
// pays for, where a budget is set. It stands behind the recorder: what the agent asked is
// what is kept and matched.
type limiter struct {
	next http.RoundTripper
	// field is the name of the limit in a chat request for a model.
	field func(model string) string
}

// RoundTrip implements http.RoundTripper.
func (l limiter) RoundTrip(req *http.Request) (*http.Response, error) {
	r, ok := req.Context().Value(reserved{}).(reservation)
	if !ok || r.limit == 0 {
		return l.next.RoundTrip(req)
	}
	body, err := io.ReadAll(io.LimitReader(req.Body, cassette.MaxRequest+1))
	if err != nil {
		return nil, fmt.Errorf("read the agent's request: %w", err)
	}
	asked := readLimits(body)
	if asked.rest == nil {
		return nil, fmt.Errorf("%w: the agent's request is no JSON object, so its answer cannot be bounded", model.ErrBudget)
	}
	field := "max_tokens"
	switch {
	case strings.HasSuffix(req.URL.Path, "/responses"):
		field = "max_output_tokens"
	case strings.HasSuffix(req.URL.Path, "/chat/completions") && l.field != nil:
		field = l.field(asked.model)
	}
	body = fmt.Appendf(asked.rest, "%q:%d}", field, r.limit)
	req = req.Clone(req.Context())
	req.Body, req.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	req.Header.Del("Content-Length")
	return l.next.RoundTrip(req)
}

// limits are what a request says of its answer.
type limits struct {
	model   string
	output  int64 // tokens of an answer; 0: none is named, or not so that every server reads the same
	answers int64 // asked for at once, each as long as the limit
	// rest is the object without the limits of its output, up to where another field can
	// be written: "{" or with a comma at its end. nil: the request is no JSON object.
	rest []byte
}

// readLimits reads a request by its very bytes. A limit that is null, no whole number above
// zero, or there twice is none: servers differ in what they make of it.
func readLimits(body []byte) (l limits) {
	dec := json.NewDecoder(bytes.NewReader(body))
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		return limits{}
	}
	seen, unsure := map[string]bool{}, false
	rest := append(make([]byte, 0, len(body)+64), '{')
	for dec.More() {
		key, err := dec.Token()
		name, ok := key.(string)
		if err != nil || !ok {
			return limits{}
		}
		var value json.RawMessage
		if err := dec.Decode(&value); err != nil {
			return limits{}
		}
		switch name {
		case "max_tokens", "max_completion_tokens", "max_output_tokens":
			var n int64
			unsure = unsure || seen[name] || json.Unmarshal(value, &n) != nil || n <= 0
			l.output, seen[name] = max(l.output, n), true
			continue
		case "model":
			_ = json.Unmarshal(value, &l.model)
		case "n":
			var n int64
			_ = json.Unmarshal(value, &n)
			l.answers = max(l.answers, n)
		}
		quoted, err := json.Marshal(name)
		if err != nil {
			return limits{}
		}
		rest = append(append(append(append(rest, quoted...), ':'), value...), ',')
	}
	if t, err := dec.Token(); err != nil || t != json.Delim('}') {
		return limits{}
	}
	if unsure {
		l.output = 0
	}
	l.rest = rest
	return l
}

// limitOf is the limit that was added to a request, 0 for none.
func limitOf(ctx context.Context) int64 {
	r, _ := ctx.Value(reserved{}).(reservation)
	return r.limit
}

// settle books an exchange that has ended.
func settle(ctx context.Context, e cassette.Exchange) {
	r, ok := ctx.Value(reserved{}).(reservation)
	if !ok {
		return
	}
	if e.Status < 200 || e.Status >= 300 {
		r.hold.Release(0)
		return
	}
	a := read(e)
	if !a.usageKnown {
		a.usage = trace.Usage{Input: r.input}
		if asks(e.Path) { // the numbers of an embedding are no tokens
			a.usage.Output = tokens(len(e.Body))
		}
	}
	if r.price != nil && a.usage.CostUSD == nil {
		cost := r.price.Cost(a.usage)
		a.usage.CostUSD = &cost
	}
	r.hold.Settle(a.usage, a.usageKnown, 0)
}

// asks reports the path of a question that is answered by a text: an embedding has none.
func asks(path string) bool {
	return strings.HasSuffix(path, "/chat/completions") || strings.HasSuffix(path, "/responses") || strings.HasSuffix(path, "/completions")
}

// tokens guesses from bytes: four bytes are about one token of English or JSON.
func tokens(bytes int) int64 { return int64(bytes+3) / 4 }
