package export_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	common "go.opentelemetry.io/proto/otlp/common/v1"
	otlp "go.opentelemetry.io/proto/otlp/trace/v1"
	"go.uber.org/goleak"
	"google.golang.org/protobuf/proto"

	"vise/engine/episode"
	"vise/engine/event"
	"vise/engine/export"
	"vise/engine/score"
	"vise/engine/trace"
	"vise/store"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// receiver is a small OTLP/HTTP receiver.
type receiver struct {
	*httptest.Server
	mu     sync.Mutex
	got    []*otlp.ResourceSpans
	asked  int
	status func(asked int) int // nil = 200
	header http.Header
}

func receive(t *testing.T) *receiver {
	r := &receiver{}
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		body, _ := io.ReadAll(q.Body)
		r.mu.Lock()
		defer r.mu.Unlock()
		r.asked++
		r.header = q.Header
		if r.status != nil {
			if code := r.status(r.asked); code != http.StatusOK {
				w.WriteHeader(code)
				return
			}
		}
		var data otlp.TracesData
		if q.URL.Path != "/v1/traces" || q.Header.Get("Content-Type") != "application/x-protobuf" || proto.Unmarshal(body, &data) != nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		r.got = append(r.got, data.ResourceSpans...)
	}))
	t.Cleanup(r.Close)
	return r
}

// tree writes the spans of a trace, indented under their parents, in the order sent.
func tree(t *testing.T, rs *otlp.ResourceSpans) string {
	t.Helper()
	var b strings.Builder
	spans := rs.ScopeSpans[0].Spans
	var under func(parent string, depth int)
	n := 0
	under = func(parent string, depth int) {
		for _, s := range spans {
			if string(s.ParentSpanId) == parent {
				n++
				if len(s.TraceId) != 16 || len(s.SpanId) != 8 || s.StartTimeUnixNano == 0 || s.EndTimeUnixNano < s.StartTimeUnixNano {
					t.Errorf("span %q: ids or times: %v", s.Name, s)
				}
				fmt.Fprintf(&b, "%s%s %s\n", strings.Repeat("  ", depth), attr(s.Attributes, "openinference.span.kind"), s.Name)
				under(string(s.SpanId), depth+1)
			}
		}
	}
	under("", 0)
	if n != len(spans) {
		t.Errorf("%d of %d spans hang together", n, len(spans))
	}
	return b.String()
}

func attr(list []*common.KeyValue, key string) string {
	for _, kv := range list {
		if kv.Key == key {
			switch v := kv.Value.Value.(type) {
			case *common.AnyValue_StringValue:
				return v.StringValue
			default:
				return strings.TrimSpace(kv.Value.String()[strings.IndexByte(kv.Value.String(), ':')+1:])
			}
		}
	}
	return ""
}

func find(t *testing.T, rs *otlp.ResourceSpans, name string) *otlp.Span {
	t.Helper()
	i := slices.IndexFunc(rs.ScopeSpans[0].Spans, func(s *otlp.Span) bool { return s.Name == name })
	if i < 0 {
		t.Fatalf("no span %q", name)
	}
	return rs.ScopeSpans[0].Spans[i]
}

type desk struct {
	t     *testing.T
	store *store.Store
	bus   *event.Bus
}

func open(t *testing.T) *desk {
	t.Helper()
	d := &desk{t: t, bus: event.NewBus()}
	var err error
	if d.store, err = store.Open(t.Context(), store.Options{InMemory: true, Bus: d.bus}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.store.Close() })
	return d
}

func (d *desk) export(endpoint string, repairs bool) *export.Exporter {
	d.t.Helper()
	x, err := export.Start(export.Options{Endpoint: endpoint, Headers: map[string]string{"X-Key": "k"}, Repairs: repairs, Version: "test", Store: d.store, Bus: d.bus})
	if err != nil {
		d.t.Fatal(err)
	}
	return x
}

func (d *desk) update(fn func(tx *store.Tx) error) {
	d.t.Helper()
	if err := d.store.Update(d.t.Context(), fn); err != nil {
		d.t.Fatal(err)
	}
}

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

const secret = "sk-proj-abcdefghijklmnopqrstuvwxyz0123456789ABCD"

// turn stores a scored turn of a session.
func (d *desk) turn(session string, origin trace.Origin, i int) {
	d.t.Helper()
	at := func(s int) time.Time { return noon.Add(time.Duration(s) * time.Second) }
	t := trace.Turn{SessionID: session, Index: i, TraceID: fmt.Sprintf("%s.%d", session, i), Input: "Refund my kettle, my key is " + secret, StopReason: "end_turn",
		Start: at(0), End: at(9), Usage: trace.Usage{Input: 120, Output: 8}, Spans: []trace.Span{
			{ID: "a", Kind: trace.LLM, Name: "some-model", Output: "I will look.", Start: at(1), End: at(2), Usage: trace.Usage{Input: 60, Output: 4}},
			{ID: "b", Kind: trace.TOOL, Name: "issue_refund", Input: `{"order":"1","token":"` + secret + `"}`, Output: "missing reason_code", Error: "missing reason_code", Start: at(3), End: at(4)},
			{ID: "c", Kind: trace.AGENT, Name: "helper"},
			{ID: "d", Parent: "c", Kind: trace.TOOL, Name: "look_up", Pending: true},
			{ID: "e", Kind: trace.LLM, Name: "some-model", Output: "It is \xff refunded."},
		}}
	staged, err := d.store.StageTurn(d.t.Context(), t)
	if err != nil {
		d.t.Fatal(err)
	}
	v := 0.27
	d.update(func(tx *store.Tx) error {
		if err := tx.PutSession(trace.Session{ID: session, Origin: origin, Agent: "desk 1.0", Started: noon}); err != nil {
			return err
		}
		if err := tx.PutTurn(staged); err != nil {
			return err
		}
		if err := tx.PutReport(score.Report{SessionID: session, TurnIndex: i, Scores: []score.Score{
			{Metric: score.ArgumentCorrectness, Value: &v, Threshold: 0.5, Reasons: []string{"fault: reason_code is missing"}}, {Metric: score.Coherence}}}); err != nil {
			return err
		}
		return tx.Emit(event.Event{Type: event.TurnScored, SessionID: session, TurnIndex: event.Turn(i)})
	})
}

// TestATurnIsExported with its steps, its scores and its usage; recordings are not, and
// no credential leaves.
func TestATurnIsExported(t *testing.T) {
	d, r := open(t), receive(t)
	x := d.export(r.URL, false)
	d.turn("recorded", trace.Recorded, 0)
	d.turn("live", trace.Live, 0)
	if s := x.Close(); s != (export.Stats{Sent: 1}) {
		t.Fatalf("%+v", s)
	}
	rs := r.got[0]
	const want = `AGENT invoke_agent desk 1.0
  LLM chat some-model
  TOOL execute_tool issue_refund
  AGENT invoke_agent helper
    TOOL execute_tool look_up
  LLM chat some-model
`
	if got := tree(t, rs); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	root, tool := find(t, rs, "invoke_agent desk 1.0"), find(t, rs, "execute_tool issue_refund")
	for key, want := range map[string]string{"gen_ai.operation.name": "invoke_agent", "gen_ai.conversation.id": "live", "session.id": "live",
		"gen_ai.usage.input_tokens": "120", "vise.stop_reason": "end_turn", "vise.trace_id": "live.0", "vise.link": "vise://session/live/turn/0"} {
		if got := attr(root.Attributes, key); got != want {
			t.Errorf("%s is %q, want %q", key, got, want)
		}
	}
	if got := attr(root.Attributes, "gen_ai.output.messages"); got != "[{\"role\":\"assistant\",\"parts\":[{\"type\":\"text\",\"content\":\"It is \uFFFD refunded.\"}]}]" {
		t.Errorf("output: %s", got)
	}
	if tool.Status.Code != otlp.Status_STATUS_CODE_ERROR || attr(tool.Attributes, "gen_ai.tool.name") != "issue_refund" || tool.StartTimeUnixNano != uint64(noon.Add(3*time.Second).UnixNano()) {
		t.Errorf("tool: %v", tool)
	}
	if len(root.Events) != 1 || attr(root.Events[0].Attributes, "gen_ai.evaluation.name") != score.ArgumentCorrectness ||
		attr(root.Events[0].Attributes, "gen_ai.evaluation.score.value") != "0.27" || attr(root.Events[0].Attributes, "gen_ai.evaluation.score.label") != "fail" {
		t.Errorf("scores: %v", root.Events)
	}
	if attr(rs.Resource.Attributes, "service.name") != "vise-agent" || r.header.Get("X-Key") != "k" {
		t.Errorf("resource %v, headers %v", rs.Resource, r.header)
	}
	if all := fmt.Sprint(r.got); strings.Contains(all, secret) {
		t.Error("a credential left")
	}
}

// repair stores a finished run of the repair agent.
func (d *desk) repair() {
	d.t.Helper()
	at := func(s int) time.Time { return noon.Add(time.Duration(s) * time.Second) }
	result := &episode.Result{EpisodeID: "e-1", Status: episode.CandidateAdded, CandidateRuleIDs: []string{"r-1"}, Model: "builtin/heuristic",
		Started: at(0), Ended: at(9), Usage: trace.Usage{Input: 50, Output: 9}}
	steps := []episode.Step{
		{EpisodeID: "e-1", Attempt: 1, Turn: 1, Started: at(0), Ended: at(1), Text: "of another attempt"},
		{EpisodeID: "e-1", Attempt: 2, Turn: 1, Started: at(0), Ended: at(1), Text: "I read.", Messages: []episode.Message{{Role: "system", Content: "key " + secret}},
			Calls: []episode.Call{{ID: "1", Name: "harness_notice_read", Arguments: `{"id":"n-1"}`, OK: true, Ran: true, Result: json.RawMessage(`{"ok":true}`)},
				{ID: "2", Name: "harness_trace_inspect", Arguments: `{`, OK: false, Ran: true, Result: json.RawMessage(`{"ok":false}`)}}},
		{EpisodeID: "e-1", Attempt: 2, Turn: 2, Started: at(2), Ended: at(3), Messages: []episode.Message{{Role: "tool", ToolCallID: "1", Content: `{"ok":true}`}},
			Calls: []episode.Call{{ID: "3", Name: "harness_rule_add", OK: true, Ran: true}, {ID: "4", Name: "harness_notice_resolve"}}},
	}
	d.update(func(tx *store.Tx) error {
		for _, s := range steps {
			if err := tx.PutStep(s); err != nil {
				return err
			}
		}
		if err := tx.PutEpisode(episode.Episode{ID: "e-1", SessionID: "s", TurnIndex: 2, NoticeIDs: []string{"n-1"}, Attempts: 2, Status: episode.CandidateAdded, Result: result}); err != nil {
			return err
		}
		return tx.Emit(event.Event{Type: event.RepairCompleted, SessionID: "s", EpisodeID: "e-1", Data: map[string]any{"attempt": 2}})
	})
}

// TestARepairIsOneTrace of the documented shape, in a session of its own.
func TestARepairIsOneTrace(t *testing.T) {
	d, r := open(t), receive(t)
	x := d.export(r.URL+"/v1/traces", true)
	d.repair()
	if s := x.Close(); s != (export.Stats{Sent: 1}) {
		t.Fatalf("%+v", s)
	}
	const want = `CHAIN harness
  AGENT repair-agent
    LLM chat builtin/heuristic
  AGENT tools
    TOOL execute_tool harness_notice_read
    TOOL execute_tool harness_trace_inspect
  AGENT repair-agent
    LLM chat builtin/heuristic
  AGENT tools
    TOOL execute_tool harness_rule_add
`
	if got := tree(t, r.got[0]); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	root := find(t, r.got[0], "harness")
	if attr(root.Attributes, "session.id") != "repair-s-e-1" || attr(root.Attributes, "vise.link") != "vise://episode/e-1" || attr(root.Attributes, "vise.status") != "candidate_added" || attr(r.got[0].Resource.Attributes, "service.name") != "vise-repair" {
		t.Errorf("root: %v", root)
	}
	if bad := find(t, r.got[0], "execute_tool harness_trace_inspect"); bad.Status.Code != otlp.Status_STATUS_CODE_ERROR {
		t.Errorf("a refused call: %v", bad.Status)
	}
	if all := fmt.Sprint(r.got); strings.Contains(all, secret) || strings.Contains(all, "another attempt") {
		t.Error("something left that must not")
	}

	// Without repair.trace there is none.
	x = d.export(r.URL, false)
	d.repair()
	if s := x.Close(); s != (export.Stats{}) {
		t.Errorf("without repair.trace: %+v", s)
	}
}

// TestAReceiverThatFailsDisturbsNothing: it is told once, and at the end with counts.
func TestAReceiverThatFailsDisturbsNothing(t *testing.T) {
	d, r := open(t), receive(t)
	r.status = func(int) int { return http.StatusUnauthorized }
	sub := d.bus.Subscribe(1000)
	defer sub.Close()
	x := d.export(r.URL, false)
	for i := range 3 {
		d.turn("live", trace.Live, i)
	}
	if s := x.Close(); s.Sent != 0 || s.Failed != 3 || !strings.Contains(s.Error, "401") {
		t.Errorf("%+v", s)
	}
	batch, _ := sub.TryNext()
	told := 0
	for _, e := range batch.Events {
		if e.Type == event.ExportFailed {
			told++
		}
	}
	if told != 2 {
		t.Errorf("told %d times", told)
	}
	if err := export.Probe(t.Context(), r.URL, nil); err == nil || !strings.Contains(err.Error(), "401") {
		t.Errorf("probe: %v", err)
	}
	r.status = nil
	if err := export.Probe(t.Context(), r.URL, nil); err != nil {
		t.Errorf("probe: %v", err)
	}
	if _, err := export.Start(export.Options{Endpoint: "nowhere", Store: d.store, Bus: d.bus}); err == nil {
		t.Error("started without an address")
	}
}

// TestAFailureThatPassesIsTriedAgain, and more than the queue holds is dropped and counted.
func TestAFailureThatPassesIsTriedAgain(t *testing.T) {
	d, r := open(t), receive(t)
	hold := make(chan struct{})
	r.status = func(asked int) int {
		if asked == 1 {
			<-hold
			return http.StatusServiceUnavailable
		}
		return http.StatusOK
	}
	x := d.export(r.URL, false)
	d.turn("live", trace.Live, 0)
	const more = 400
	for i := range more {
		d.bus.Publish(event.Event{Type: event.TurnScored, SessionID: "live", TurnIndex: event.Turn(0)})
		if i%50 == 0 {
			runtime.Gosched()
		}
	}
	for deadline := time.Now().Add(time.Minute); x.Stats().Dropped == 0 && time.Now().Before(deadline); {
		time.Sleep(time.Millisecond)
	}
	close(hold)
	if s := x.Close(); s.Failed != 0 || s.Dropped == 0 || s.Sent == 0 || s.Sent+s.Dropped != more+1 {
		t.Errorf("%+v", s)
	}
}
