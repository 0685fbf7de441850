package replay

import (
	"strings"
	"testing"
	"time"

	"vise/engine/trace"
)

const token = "ghp_Zq83hT5vLw0aBcDeFgHiJkLmNoPq4711abcd"

// No part of a secret is ever told, however the text grows, and at the end the text is
// what Payload makes of it.
func TestLiveSpansAreMasked(t *testing.T) {
	text := "I could not refund with " + token + " so I stop.\nOPENAI_API_KEY=sk-proj-q7Zk2Lw9Xc4Vb8Nm1Qz5Rt6Yu3 is set.\nNächstes: " + token
	want, n := newLiveMask(nil).by.Payload(text)
	if n != 3 {
		t.Fatalf("%d masked", n)
	}
	for _, kind := range []trace.Kind{trace.LLM, trace.TOOL} {
		for _, step := range []int{1, 3, 7, 1000} {
			m := newLiveMask(nil)
			for i := 0; i < len(text); i += step {
				// A tool's first text is taken to be whole: it must be told in whole words.
				if kind == trace.TOOL && i == 0 && step < 1000 {
					i = strings.Index(text, "ghp_") - step
				}
				s := m.span(2, trace.Span{ID: "s", Kind: kind, Output: text[:min(len(text), i+step)], Thought: text[:min(len(text), i+step)]})
				for _, part := range []string{"ghp_Zq8", "Zq83h", "q7Zk2", "711abcd"} {
					if kind == trace.LLM && strings.Contains(s.Output, part) || strings.Contains(s.Thought, part) {
						t.Fatalf("%s by %d: %q is told in %q", kind, step, part, s.Output)
					}
				}
			}
			if s := m.span(2, trace.Span{ID: "s", Kind: kind, Output: text, Thought: text, End: time.Now()}); s.Output != want || s.Thought != want {
				t.Errorf("%s by %d: at the end %q", kind, step, s.Output)
			}
		}
	}
	// What is said at once is told whole, and an attribute and an error are masked, too.
	m := newLiveMask(nil)
	s := m.span(0, trace.Span{ID: "t", Kind: trace.TOOL, Output: "ok", Error: token, Input: `{"password":"hunter2hunter2"}`, Attrs: map[string]any{"title": token}})
	if s.Output != "ok" || strings.Contains(s.Error+s.Input+s.Attrs["title"].(string), "Zq83") || strings.Contains(s.Input, "hunter2") {
		t.Errorf("%+v", s)
	}
	// A text that is replaced by another begins anew.
	if s := m.span(0, trace.Span{ID: "t", Kind: trace.TOOL, Output: "then " + token}); strings.Contains(s.Output, "Zq83") || !strings.HasPrefix(s.Output, "then [redacted") {
		t.Errorf("%q", s.Output)
	}
}

// A stream costs what it has, not its square.
func BenchmarkLiveMask(b *testing.B) {
	line := strings.Repeat("some words of an answer ", 4) + "\n"
	b.ReportAllocs()
	for b.Loop() {
		m := newLiveMask(nil)
		text := ""
		for range 2_000 {
			text += line
			m.span(0, trace.Span{ID: "s", Kind: trace.LLM, Output: text})
		}
	}
}
