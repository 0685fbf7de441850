package tui

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"vise/engine/trace"
)

func span(id, parent string) trace.Span {
	return trace.Span{ID: id, Parent: parent, Kind: trace.TOOL, Name: id}
}

func TestTree(t *testing.T) {
	for _, c := range []struct {
		name   string
		spans  []trace.Span
		folded string
		want   string
	}{
		{"order", []trace.Span{span("a", ""), span("b", "a"), span("c", ""), span("d", "a"), span("e", "b")}, "", "a0 b1 e2 d1 c0"},
		{"folded", []trace.Span{span("a", ""), span("b", "a"), span("c", "b"), span("d", "")}, "a", "a0 d0"},
		{"a parent that is not there", []trace.Span{span("a", "x"), span("b", "a")}, "", "a0 b1"},
		{"a parent that comes later", []trace.Span{span("b", "a"), span("a", "")}, "", "a0 b1"},
		{"a ring", []trace.Span{span("a", "b"), span("b", "a"), span("c", "a")}, "", "a0 b0 c0"},
		{"its own parent", []trace.Span{span("a", "a")}, "", "a0"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var got []string
			for _, r := range tree(c.spans, map[string]bool{c.folded: true}) {
				got = append(got, fmt.Sprint(r.ID, r.depth))
			}
			if s := strings.Join(got, " "); s != c.want {
				t.Errorf("got %s, want %s", s, c.want)
			}
		})
	}
}

// Whatever parents say, every span is there once.
func TestTreeKeepsAll(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, 12).Draw(t, "n")
		spans := make([]trace.Span, n)
		for i := range spans {
			spans[i] = span(fmt.Sprint(i), fmt.Sprint(rapid.IntRange(-1, n).Draw(t, "parent")))
		}
		seen := map[string]int{}
		for _, r := range tree(spans, nil) {
			seen[r.ID]++
		}
		for _, s := range spans {
			if seen[s.ID] != 1 {
				t.Fatalf("span %s is there %d times in %+v", s.ID, seen[s.ID], spans)
			}
		}
	})
}

func TestAlign(t *testing.T) {
	step := func(name, input string) trace.Span { return trace.Span{Kind: trace.TOOL, Name: name, Input: input} }
	was := []trace.Span{step("look", "1"), step("refund", "a"), step("refund", "a"), step("tell", "x")}
	now := []trace.Span{step("look", "1"), step("rules", "q"), step("refund", "b"), step("tell", "x")}
	var got []string
	for _, p := range align(was, now) {
		name := func(s *trace.Span) string {
			if s == nil {
				return "-"
			}
			return s.Name
		}
		got = append(got, fmt.Sprintf("%s/%s %v", name(p.a), name(p.b), p.same))
	}
	want := "look/look true, -/rules false, refund/refund false, refund/- false, tell/tell true"
	if s := strings.Join(got, ", "); s != want {
		t.Errorf("got  %s\nwant %s", s, want)
	}
	if n := len(align(make([]trace.Span, alignLimit+1), now)); n != alignLimit+1 {
		t.Errorf("a long run has %d rows, want %d", n, alignLimit+1)
	}
}

func TestShellWord(t *testing.T) {
	for in, want := range map[string]string{"torn-blanket": "torn-blanket", "": "''", "a b": "'a b'", "it's": `'it'\''s'`, "$(rm)": "'$(rm)'"} {
		if got := shellWord(in); got != want {
			t.Errorf("shellWord(%q) = %s, want %s", in, got, want)
		}
	}
}

func TestScoreText(t *testing.T) {
	for v, want := range map[float64]string{0: ".00", 0.264: ".26", 0.995: "1.00", 0.994: ".99", 1: "1.00"} {
		if got := scoreText(&v); got != want {
			t.Errorf("scoreText(%v) = %s, want %s", v, got, want)
		}
	}
	if scoreText(nil) != "–" {
		t.Error("no score is not zero")
	}
}
