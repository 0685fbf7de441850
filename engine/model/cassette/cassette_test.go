package cassette

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// recorded sends bodies through a recorder to a server that answers with their
// number, and returns the recording and what came back.
func recorded(t *testing.T, m Matcher, bodies ...string) ([]Exchange, []string) {
	t.Helper()
	n := 0
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n++
		w.Header().Set("Content-Type", "text/event-stream")
		for _, piece := range []string{"data: answer ", fmt.Sprint(n), "\n\n"} {
			io.WriteString(w, piece)
			w.(http.Flusher).Flush()
		}
	}))
	t.Cleanup(srv.Close)
	var got []Exchange
	r := &Recorder{Next: srv.Client().Transport, Matcher: m, Now: time.Now, OnExchange: func(_ context.Context, e Exchange) { got = append(got, e) }}
	var answers []string
	for _, b := range bodies {
		answers = append(answers, ask(t, r, srv.URL+"/v1/chat/completions", b))
	}
	return got, answers
}

func ask(t *testing.T, rt http.RoundTripper, url, body string) string {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), "POST", url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	resp, err := rt.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// line is an exchange as it is kept.
func line(t *testing.T, e Exchange) []byte {
	t.Helper()
	text, err := e.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// A round trip through the line keeps every byte, text or not.
func TestLine(t *testing.T) {
	want := []Exchange{
		{Seq: 1, Key: "k", Method: "POST", Path: "/v1/x", Request: []byte(`{"a":"<b>"}`), Status: 200, Body: []byte("data: ü\n\n"), Parts: [][2]int64{{5, 7}, {0, 3}}, Started: time.Unix(1, 0).UTC()},
		{Seq: 2, Key: "k", Method: "POST", Path: "/v1/x", Status: 200, Body: []byte{0xff, 0, 1}, Cut: true, Started: time.Unix(2, 0).UTC()},
		{Seq: 3, Key: "j", Method: "POST", Path: "/v1/x", Error: "connection refused", Started: time.Unix(3, 0).UTC()},
	}
	var got []Exchange
	for _, e := range want {
		var again Exchange
		if err := again.UnmarshalJSON(line(t, e)); err != nil {
			t.Fatal(err)
		}
		got = append(got, again)
	}
	if fmt.Sprintf("%+v", got) != fmt.Sprintf("%+v", want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

// A streamed answer that was recorded as an empty text would make every later run
// pass and check nothing.
func TestB41EmptyBodyIsAnError(t *testing.T) {
	empty := `{"schema":"vise.exchange/1","seq":1,"key":"k","method":"POST","path":"/p","status":200}`
	if err := new(Exchange).UnmarshalJSON([]byte(empty)); !errors.Is(err, ErrEmpty) || !strings.Contains(err.Error(), "exchange 1") {
		t.Errorf("got %v", err)
	}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {}))
	defer srv.Close()
	var got Exchange
	r := &Recorder{Next: srv.Client().Transport, Now: time.Now, OnExchange: func(_ context.Context, e Exchange) { got = e }}
	ask(t, r, srv.URL, "{}")
	if got.Error == "" {
		t.Error("an empty answer was recorded without a word")
	}
	// And one that streams has its chunks and its text.
	rec, answers := recorded(t, Matcher{}, `{"q":1}`)
	if len(rec) != 1 || string(rec[0].Body) != answers[0] || len(rec[0].Parts) == 0 {
		t.Errorf("recorded %+v of %q", rec, answers)
	}
	p := &Player{Tape: NewTape(rec), Now: time.Now}
	if again := ask(t, p, "http://nowhere.invalid/v1/chat/completions", `{"q":1}`); again != answers[0] {
		t.Errorf("played %q, recorded %q", again, answers[0])
	}
}

// Two different requests in the other order get their own answers; equal ones get
// theirs one after the other; then there are none left.
func TestB40OrderDoesNotMatter(t *testing.T) {
	rec, answers := recorded(t, Matcher{}, `{"read":"a"}`, `{"read":"b"}`, `{"read":"a"}`)
	tape := NewTape(rec)
	p := &Player{Tape: tape, Now: time.Now}
	var got []string
	for _, b := range []string{`{"read":"b"}`, `{"read":"a"}`, `{ "read" : "a" }`} {
		got = append(got, ask(t, p, "http://x.invalid/v1/chat/completions", b))
	}
	if want := []string{answers[1], answers[0], answers[2]}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if left, reordered := tape.Left(); left != 0 || reordered != 1 {
		t.Errorf("%d left, %d reordered", left, reordered)
	}
	if again := ask(t, p, "http://x.invalid/v1/chat/completions", `{"read":"a"}`); !strings.Contains(again, "replay_miss") {
		t.Errorf("a third answer to a: %s", again)
	}
}

// In parallel too.
func TestParallel(t *testing.T) {
	var bodies []string
	for i := range 50 {
		bodies = append(bodies, fmt.Sprintf(`{"n":%d}`, i/2))
	}
	rec, _ := recorded(t, Matcher{}, bodies...)
	p := &Player{Tape: NewTape(rec), Now: time.Now}
	var wg sync.WaitGroup
	var mu sync.Mutex
	seen := map[string]int{}
	for _, b := range bodies {
		wg.Go(func() {
			got := ask(t, p, "http://x.invalid/v1/chat/completions", b)
			mu.Lock()
			seen[got]++
			mu.Unlock()
		})
	}
	wg.Wait()
	if len(seen) != len(bodies) || len(p.Tape.Misses()) > 0 {
		t.Errorf("%d different answers of %d, misses %v", len(seen), len(bodies), p.Tape.Misses())
	}
}

// A request that was not recorded gets no answer of another one, and says what differs.
func TestMissShowsTheDifference(t *testing.T) {
	rec, _ := recorded(t, Matcher{}, `{"messages":[{"role":"user","content":"refund A-1003"}]}`)
	tape := NewTape(rec)
	p := &Player{Tape: tape, Now: time.Now}
	got := ask(t, p, "http://x.invalid/v1/chat/completions", `{"messages":[{"role":"user","content":"refund A-1004"}]}`)
	if strings.Contains(got, "answer") {
		t.Fatalf("it was answered: %s", got)
	}
	misses := tape.Misses()
	if len(misses) != 1 || misses[0].Nearest != 1 || !strings.Contains(misses[0].Diff, `-   "content": "refund A-1003"`) || !strings.Contains(misses[0].Diff, `+   "content": "refund A-1004"`) {
		t.Errorf("misses %+v", misses)
	}
}

// What changes from run to run does not decide; what is asked does.
func TestKey(t *testing.T) {
	key := func(m Matcher, body string) string {
		c, _ := m.Canonical([]byte(body))
		return Key("POST", "/v1/chat/completions", c)
	}
	one := Matcher{Places: map[string]string{"workspace": "/srv/run-1", "home": "/srv"}}
	two := Matcher{Places: map[string]string{"workspace": "/elsewhere/run-2", "home": "/elsewhere"}}
	for _, c := range []struct {
		name string
		a, b string
		same bool
	}{
		{"order of keys", `{"model":"m","x":1}`, `{"x":1,"model":"m"}`, true},
		{"who asks", `{"model":"m","user":"ann","metadata":{"run":1}}`, `{"model":"m","user":"bob"}`, true},
		{"the workspace", `{"c":"ls /srv/run-1/src"}`, `{"c":"ls /elsewhere/run-2/src"}`, true},
		{"a folder beside it", `{"c":"ls /srv/notes"}`, `{"c":"ls /elsewhere/notes"}`, true},
		{"a temporary folder", `{"c":"/tmp/tmpab12/out.txt"}`, `{"c":"/tmp/tmpzz99/out.txt"}`, true},
		{"a file in it", `{"c":"/tmp/tmpab12/out.txt"}`, `{"c":"/tmp/tmpab12/err.txt"}`, false},
		{"today in a system prompt", `{"messages":[{"role":"system","content":"Today is Monday, November 30, 2026."}]}`, `{"messages":[{"role":"system","content":"Today is Tuesday, December 1, 2026."}]}`, true},
		{"an ISO date in the instructions", `{"instructions":"now: 2026-11-30T10:00:00Z"}`, `{"instructions":"now: 2026-12-01T11:22:33Z"}`, true},
		{"a date that the user asks about", `{"messages":[{"role":"user","content":"flights on 2026-11-30"}]}`, `{"messages":[{"role":"user","content":"flights on 2026-12-01"}]}`, false},
		{"an identifier", `{"id":"6f9619ff-8b86-d011-b42d-00c04fc964ff"}`, `{"id":"6f9619ff-8b86-d011-b42d-00c04fc964fe"}`, false},
		{"the model", `{"model":"a"}`, `{"model":"b"}`, false},
		{"a long number", `{"seed":9007199254740993}`, `{"seed":9007199254740992}`, false},
		{"the order of messages", `{"m":["a","b"]}`, `{"m":["b","a"]}`, false},
		{"not JSON", `x=1`, `x=2`, false},
	} {
		if got := key(one, c.a) == key(two, c.b); got != c.same {
			t.Errorf("%s: same is %v, want %v", c.name, got, c.same)
		}
	}
}

// A secret is in no part of the recording, and the request is found again with it.
func TestB43SecretsAreMaskedAndStillMatch(t *testing.T) {
	mask := func(s string) (string, int) {
		return strings.ReplaceAll(s, "hunter2", "[redacted]"), strings.Count(s, "hunter2")
	}
	body := `{"messages":[{"role":"tool","tool_call_id":"call_hq3","content":"password hunter2"}]}`
	rec, answers := recorded(t, Matcher{Mask: mask}, body)
	if kept := string(line(t, rec[0])); strings.Contains(kept, "hunter2") || !strings.Contains(kept, "call_hq3") || rec[0].Masked != 1 {
		t.Errorf("recording: %s", kept)
	}
	p := &Player{Tape: NewTape(rec), Matcher: Matcher{Mask: mask}, Now: time.Now}
	if got := ask(t, p, "http://x.invalid/v1/chat/completions", body); got != answers[0] {
		t.Errorf("played %q", got)
	}
}

// Pauses are kept on demand, and a broken stream breaks again.
func TestPaceAndCut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := Exchange{Seq: 1, Key: Key("POST", "/p", []byte("{}")), Method: "POST", Path: "/p", Status: 200, Body: []byte("abcd"), Parts: [][2]int64{{100, 1}, {200, 3}}, Cut: true}
		for pace, want := range map[float64]time.Duration{0: 0, 1: 300 * time.Millisecond, 2: 600 * time.Millisecond} {
			p := &Player{Tape: NewTape([]Exchange{e}), Pace: pace, Now: time.Now}
			req, _ := http.NewRequestWithContext(t.Context(), "POST", "http://x.invalid/p", strings.NewReader("{}"))
			begin := time.Now()
			resp, err := p.RoundTrip(req)
			if err != nil {
				t.Fatal(err)
			}
			text, err := io.ReadAll(resp.Body)
			if string(text) != "abcd" || !errors.Is(err, io.ErrUnexpectedEOF) || time.Since(begin) != want {
				t.Errorf("pace %v: %q, %v after %v", pace, text, err, time.Since(begin))
			}
		}
	})
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte(`{"schema":"vise.exchange/1","seq":1,"key":"k","method":"POST","path":"/p","status":200,"body":"abc","parts":[[1,1],[0,2]]}`))
	f.Add([]byte(`{"schema":"vise.exchange/1","key":"k","parts":[[-1,5]]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		var exchanges []Exchange
		for text := range bytes.Lines(data) {
			var e Exchange
			if json.Unmarshal(text, &e) != nil {
				return
			}
			exchanges = append(exchanges, e)
		}
		tape := NewTape(exchanges)
		for _, e := range exchanges {
			p := &Player{Tape: tape, Now: time.Now}
			b := playing{ctx: t.Context(), p: p, e: e}
			if len(b.e.Parts) == 0 && len(b.e.Body) > 0 {
				b.e.Parts = [][2]int64{{0, int64(len(b.e.Body))}}
			}
			got, _ := io.ReadAll(&b)
			if !bytes.Equal(got, e.Body) {
				t.Errorf("played %q, recorded %q", got, e.Body)
			}
		}
	})
}

// A recording of a version that knew fewer forms of what changes goes on answering: its
// requests are read again, in their order, and only what was not asked for yet.
func TestTapeOfAnEarlierVersion(t *testing.T) {
	request := func(date string) []byte {
		return []byte(`{"messages":[{"role":"system","content":"Today is ` + date + `."},{"role":"user","content":"hi"}]}`)
	}
	var kept []Exchange
	for i, body := range []string{"one", "two"} {
		old := request("2026-11-30") // kept as it came
		kept = append(kept, Exchange{Seq: i + 1, Key: Key("POST", "/p", old), Method: "POST", Path: "/p", Request: old, Status: 200, Body: []byte(body)})
	}
	tape := NewTape(kept)
	for _, want := range []string{"one", "two"} {
		asked, _ := Matcher{}.Canonical(request("2026-12-01"))
		e, miss := tape.Take("POST", "/p", asked)
		if miss != nil || string(e.Body) != want {
			t.Fatalf("want %s, got %+v %+v", want, e, miss)
		}
	}
	asked, _ := Matcher{}.Canonical(request("2026-12-01"))
	if _, miss := tape.Take("POST", "/p", asked); miss == nil {
		t.Error("an answer was handed out twice")
	}
	if left, _ := tape.Left(); left != 0 {
		t.Errorf("%d left", left)
	}
}

// Today is told in many ways and places; what the user asks about a date stays.
func TestDatesOfToday(t *testing.T) {
	same := func(role, a, b string) {
		t.Helper()
		body := func(text string) []byte {
			raw, _ := json.Marshal(map[string]any{"messages": []any{map[string]any{"role": role, "content": text}}})
			return raw
		}
		x, _ := Matcher{}.Canonical(body(a))
		y, _ := Matcher{}.Canonical(body(b))
		if string(x) != string(y) {
			t.Errorf("%s:\n%s\n%s", role, x, y)
		}
		again, _ := Matcher{}.Canonical(x)
		if string(again) != string(x) {
			t.Errorf("%s is not stable: %s", x, again)
		}
	}
	for _, c := range [][2]string{
		{"2026-11-30", "2026-12-01"}, {"30 November 2026", "1 December 2026"}, {"30.11.2026", "1.12.2026"},
		{"Mon Nov 30 21:28:01 UTC 2026", "Tue Dec  1 08:00:59 UTC 2026"}, {"Mon, 30 Nov 2026 21:00:00 GMT", "Tue, 1 Dec 2026 07:30:00 GMT"},
		{"November 30th, 2026", "December 1st, 2026"}, {"11/30/2026", "12/1/2026"},
		{"Monday, 2026-11-30 10:11", "Tuesday, 2026-12-01 9:05"}, {"2026-11-30 (Monday)", "2026-12-01 (Tuesday)"},
		{"11/30/2026, 10:11:12 PM", "12/1/2026, 9:05:00 AM"}, {"Monday, November 30, 2026 at 10:11 PM", "Tuesday, December 1, 2026 at 9:05 AM"},
		{"1796072881", "1796123456"}, {"1796072881.25", "1796123456.5"}, {"10:11", "9:05"},
	} {
		same("system", "It is "+c[0]+".", "It is "+c[1]+".")
		same("user", "<system-reminder>\nToday's date is "+c[0]+".\n</system-reminder>\nGo on", "<system-reminder>\nToday's date is "+c[1]+".\n</system-reminder>\nGo on")
		same("user", "<environment_context>\n<date>"+c[0]+"</date>\n</environment_context>", "<environment_context>\n<date>"+c[1]+"</date>\n</environment_context>")
		same("user", "Now: "+c[0]+"\nGo on", "Now: "+c[1]+"\nGo on")
		same("user", "Context.\nThe current date is "+c[0]+". Go on", "Context.\nThe current date is "+c[1]+". Go on")
	}
	// What an earlier version left of a date reads as one.
	for _, c := range [][2]string{{"Mon Nov 30 <date> UTC 2026", "Tue Dec  1 08:00:59 UTC 2026"}, {"Mon, 30 Nov 2026 <date> GMT", "Tue, 1 Dec 2026 07:30:00 GMT"}, {"<date>, <date>", "12/1/2026, 9:05:00 AM"}, {"Monday, <date>", "Tuesday, 2026-12-01"}} {
		same("system", "It is "+c[0]+".", "It is "+c[1]+".")
	}
	x, _ := Matcher{}.Canonical([]byte(`{"messages":[{"role":"user","content":"Was A-1 sent on 2026-11-30?"}]}`))
	if !strings.Contains(string(x), "2026-11-30") {
		t.Errorf("a date of the user's question is lost: %s", x)
	}
}

// An exchange is told before its last bytes are: the next question may follow at once.
func TestExchangeIsToldFirst(t *testing.T) {
	const body = "data: {}\n\ndata: [DONE]\n\n"
	told := 0
	count := func(context.Context, Exchange) { told++ }
	live := &Recorder{Next: transport(func(*http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: 200, Header: http.Header{"Content-Type": {"text/event-stream"}}, Body: io.NopCloser(strings.NewReader(body))}, nil
	}), OnExchange: count, Now: time.Now}
	asked, _ := Matcher{}.Canonical([]byte(`{}`))
	played := &Player{Tape: NewTape([]Exchange{{Seq: 1, Key: Key("POST", "/p", asked), Method: "POST", Path: "/p", Status: 200, Body: []byte(body)}}), OnExchange: count, Now: time.Now}
	for i, next := range []http.RoundTripper{live, played} {
		req, _ := http.NewRequestWithContext(t.Context(), "POST", "http://x/p", strings.NewReader(`{}`))
		resp, err := next.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		got := make([]byte, len(body))
		if _, err := io.ReadFull(resp.Body, got); err != nil || string(got) != body || told != i+1 {
			t.Errorf("%q, %v, told %d times", got, err, told)
		}
		if resp.Body.Close(); told != i+1 {
			t.Errorf("told %d times", told)
		}
	}
}

type transport func(*http.Request) (*http.Response, error)

func (f transport) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }
