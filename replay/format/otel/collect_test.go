package otel

import (
	"context"
	"strings"
	"testing"

	"vise/engine/trace"
	"vise/replay/format/recording"
)

// kept counts the spans of the sessions it is told, and which of them are cut.
type kept struct {
	spans []int
	cut   []bool
}

func (k *kept) Begin(trace.Session) error { k.spans = append(k.spans, 0); return nil }
func (k *kept) Turn(t trace.Turn) error   { k.spans[len(k.spans)-1] += len(t.Spans); return nil }
func (k *kept) End(s trace.Session) error {
	k.cut = append(k.cut, s.Attrs["cut"] == true)
	return nil
}

// A trace that is larger than what may be held becomes several sessions, each bounded
// and all but the last marked as cut. No span is lost.
func TestOneLargeTrace(t *testing.T) {
	k := &kept{}
	c := newCollector(recording.NewRecorder(context.Background(), "trace.json", NameOTLP, recording.Options{}, k), NameOTLP)
	c.max = 10_000
	const spans = 25
	for i := range spans {
		if err := c.add(&span{trace: "t", id: strings.Repeat("a", i+1), size: 1000}); err != nil {
			t.Fatal(err)
		}
		if c.bytes > c.max {
			t.Fatalf("%d bytes are held", c.bytes)
		}
	}
	if err := c.end(); err != nil {
		t.Fatal(err)
	}
	total := 0
	for i, n := range k.spans {
		total += n
		if k.cut[i] != (i < len(k.spans)-1) {
			t.Errorf("session %d of %d: cut %v", i, len(k.spans), k.cut[i])
		}
	}
	if total != spans || len(k.spans) != 3 {
		t.Errorf("%d spans in %d sessions", total, len(k.spans))
	}
}
