package sample_test

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"go.uber.org/goleak"

	"vise/engine/score"
	"vise/engine/score/local"
	"vise/engine/trace"
	"vise/replay/driver"
	"vise/replay/driver/acp"
	"vise/replay/format/native"
	"vise/replay/sample"
)

var update = flag.Bool("update", false, "record testdata/demo anew")

// TestMain lets the test binary be the agent.
func TestMain(m *testing.M) {
	if raw, ok := os.LookupEnv("TEST_SAMPLE_AGENT"); ok {
		var o sample.Options
		if err := json.Unmarshal([]byte(raw), &o); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(2)
		}
		if err := sample.Run(context.Background(), os.Stdin, os.Stdout, os.Stderr, o); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

// demo are the recorded sessions of the demo. Inputs differ in words from turn
// to turn: a user who repeats a request is a finding of its own.
var demo = []struct {
	id, title string
	fails     int // turn in which the refund fails, -1 = none
	inputs    []string
}{
	{"quiet-morning", "A quiet morning at the refund desk", -1, []string{
		"Has order A-1001 been delivered yet?",
		"The travel kettle, A-1005, came two weeks after the promised day. I ask for my money back.",
		"Splendid, thanks a lot!",
	}},
	{"torn-blanket", "A torn blanket and a cracked hose", 2, []string{
		"Where is order A-1002 right now?",
		"The wool blanket in A-1003 arrived torn, please pay back the money.",
		"My garden hose A-1004 is cracked all over. I want a refund.",
	}},
	{"long-queue", "A long queue at the refund desk", 3, []string{
		"Please tell the customer of A-1006 that we have not forgotten the wall clock.",
		"A-1007: which carrier brought it?",
		"Good. Anything new about A-1002?",
		"Someone got the wrong bread knife with A-1008, kindly reimburse the full price.",
	}},
}

// record plays one session through the driver, on a clock of its own.
func record(t *testing.T, id, title string, inputs []string) (trace.Session, []trace.Turn) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	now := time.Date(2026, 3, 16, 9, 0, 0, 0, time.UTC)
	clock := func() time.Time { now = now.Add(125 * time.Millisecond); return now }
	s, err := acp.Start(t.Context(), driver.Config{Command: []string{self}, Dir: t.TempDir(), SessionID: id, Now: clock,
		Env: driver.Environ(nil, map[string]string{"TEST_SAMPLE_AGENT": "{}", "GORACE": "atexit_sleep_ms=0"}, os.Environ())})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close(context.Background())
	var turns []trace.Turn
	for i, in := range inputs {
		turn, err := s.Prompt(t.Context(), i, in)
		if err != nil {
			t.Fatal(err)
		}
		turns = append(turns, turn)
	}
	head := trace.Session{ID: id, Origin: trace.Recorded, Source: "acp", Agent: s.Info().Name(), Title: title,
		TaskSummary: "Answer questions about orders and issue refunds at a toy refund desk.",
		ScopeHints:  []trace.ScopeHint{{Key: "refunds", Description: "Refunds at the refund desk.", Applicability: "topical"}},
		Started:     turns[0].Start, Ended: turns[len(turns)-1].End, Counts: trace.Count(turns)}
	return head, turns
}

// The recordings of the demo are what the agent does today: with -update they
// are written, without they are compared.
func TestDemoRecordings(t *testing.T) {
	for _, d := range demo {
		t.Run(d.id, func(t *testing.T) {
			head, turns := record(t, d.id, d.title, d.inputs)
			var b bytes.Buffer
			w := native.NewWriter(&b)
			if err := w.Session(head); err != nil {
				t.Fatal(err)
			}
			for _, turn := range turns {
				if err := w.Turn(turn); err != nil {
					t.Fatal(err)
				}
			}
			file := filepath.Join("..", "..", "testdata", "demo", d.id+".jsonl")
			if *update {
				if err := os.WriteFile(file, b.Bytes(), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			have, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(have, b.Bytes()) {
				t.Errorf("%s is not what the agent does; record it anew with: go test ./replay/sample -run TestDemoRecordings -update", file)
			}
			e := local.New(head, local.Options{})
			for i, turn := range turns {
				for _, s := range e.Turn(turn) {
					switch {
					case s.Value == nil:
					case i == d.fails && s.Metric != score.Coherence:
						if *s.Value >= 0.5 {
							t.Errorf("turn %d fails, but %s = %v", i, s.Metric, *s.Value)
						}
					case *s.Value < 0.85:
						t.Errorf("turn %d goes well, but %s = %v: %v", i, s.Metric, *s.Value, s.Reasons)
					}
				}
			}
			if d.fails < 0 {
				return
			}
			// The failure is a repeated, unchanged call that ends the work of the turn.
			var calls []trace.Span
			for _, s := range turns[d.fails].Spans {
				if s.Kind == trace.TOOL {
					calls = append(calls, s)
				}
			}
			n := len(calls)
			if n < 2 || calls[n-1].Name != "issue_refund" || calls[n-1].Error == "" || calls[n-2].Name != "issue_refund" || calls[n-2].Input != calls[n-1].Input {
				t.Errorf("calls of the failing turn: %+v", calls)
			}
		})
	}
}

func TestWrongOptions(t *testing.T) {
	for _, o := range []sample.Options{{Noise: -0.1}, {Noise: 1.5}, {Fault: "no-such-fault"}} {
		if err := sample.Run(t.Context(), new(bytes.Buffer), new(bytes.Buffer), new(bytes.Buffer), o); err == nil {
			t.Errorf("%+v was accepted", o)
		}
	}
}
