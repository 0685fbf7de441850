package replay

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"sync"
	"time"

	"vise/engine/model"
	"vise/engine/model/cassette"
	"vise/engine/trace"
	"vise/replay/driver"
	"vise/replay/llmproxy"
)

// Models is how an agent's model calls are seen: through our proxy, on their way to
// a provider.
type Models struct {
	Proxy    *llmproxy.Server
	Upstream llmproxy.Upstream
	// Ledger books what they cost and bounds it; nil does not.
	Ledger *model.Ledger
	// Mask replaces credentials in what is kept; nil keeps all.
	Mask func(string) (string, int)
}

// wire is one run's line to its model.
type wire struct {
	models *Models
	token  string
	tape   *cassette.Tape
	onSpan func(turn int, s trace.Span)

	mu     sync.Mutex
	turn   int
	tracer *llmproxy.Tracer
	calls  []cassette.Exchange
	spent  error // the budget, when it ended the agent's calls
}

// lastWords is how long the end of the last answers of a turn is waited for.
const lastWords = 5 * time.Second

// open gives a run its line. places are the folders of the run, by name. A nil
// Models opens none: a nil wire sees nothing.
func (m *Models) open(tape *cassette.Tape, places map[string]string, onSpan func(int, trace.Span)) (*wire, error) {
	if m == nil {
		return nil, nil
	}
	w := &wire{models: m, tape: tape, onSpan: onSpan, tracer: &llmproxy.Tracer{}}
	token, err := m.Proxy.Grant(llmproxy.Run{
		Upstream: m.Upstream, Tape: tape, Ledger: m.Ledger,
		Matcher:    cassette.Matcher{Places: places, Mask: m.Mask},
		OnExchange: w.exchange,
		OnRefused: func(err error) {
			w.mu.Lock()
			defer w.mu.Unlock()
			if errors.Is(err, model.ErrBudget) {
				w.spent = err
			}
		},
	})
	w.token = token
	return w, err
}

func (w *wire) exchange(e cassette.Exchange) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.calls = append(w.calls, e)
	for _, s := range w.tracer.Add(e) {
		if w.onSpan != nil {
			w.onSpan(w.turn, s)
		}
	}
}

func (w *wire) env() map[string]string {
	if w == nil {
		return nil
	}
	return w.models.env(w.token)
}

// env is what makes a client library of the agent come to us. The names are those
// of the official libraries, the second is the older spelling.
func (m *Models) env(token string) map[string]string {
	return map[string]string{"OPENAI_BASE_URL": m.Proxy.URL(), "OPENAI_API_BASE": m.Proxy.URL(), "OPENAI_API_KEY": token}
}

// service is the proxy's address, for a sandbox.
func (w *wire) service() []string {
	if w == nil {
		return nil
	}
	u, err := url.Parse(w.models.Proxy.URL())
	if err != nil {
		return nil
	}
	return []string{u.Host}
}

// begin starts a turn.
func (w *wire) begin(turn int, traceID string) {
	if w == nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.turn = turn
	w.tracer.Turn(traceID)
}

// end returns a turn with what was seen of its model calls, and the calls. The error
// is a divergence: the agent asked what the recording does not hold.
func (w *wire) end(ctx context.Context, turn trace.Turn) (trace.Turn, []cassette.Exchange, error) {
	if w == nil {
		return turn, nil, nil
	}
	wait, stop := context.WithTimeout(context.WithoutCancel(ctx), lastWords)
	defer stop()
	_ = w.models.Proxy.Wait(wait, w.token) // an answer that still runs is cut with the turn
	w.mu.Lock()
	defer w.mu.Unlock()
	calls := w.calls
	w.calls = nil
	turn = join(turn, w.tracer.Spans())
	if w.spent != nil {
		return turn, calls, &driver.Error{Kind: driver.OverBudget, Op: fmt.Sprintf("prompt turn %d", turn.Index), Err: w.spent}
	}
	if w.tape == nil {
		return turn, calls, nil
	}
	misses := w.tape.Misses()
	if len(misses) == 0 {
		return turn, nil, nil // played back: the recording has them
	}
	m := misses[0]
	near := "the recording has nothing left for it"
	if m.Nearest > 0 {
		near = fmt.Sprintf("recorded call %d is nearest:\n%s", m.Nearest, strings.TrimRight(m.Diff, "\n"))
	}
	return turn, nil, &driver.Error{Kind: driver.Divergence, Op: fmt.Sprintf("prompt turn %d", turn.Index),
		Err: fmt.Errorf("the agent asked its model (%s %s) what was not recorded; %s", m.Method, m.Path, near)}
}

func (w *wire) close() {
	if w != nil {
		w.models.Proxy.Revoke(w.token)
	}
}
