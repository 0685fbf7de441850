package export

import (
	"strings"
	"testing"
	"time"

	"vise/engine/guard"
	"vise/engine/trace"
)

// A credential in what names a session (its label, its agent) leaves as little as one in a text.
func TestLabelsAreMasked(t *testing.T) {
	red, err := guard.NewRedactor(guard.RedactOptions{Keys: true, Values: true, Extra: []string{`tok-[0-9]+`}})
	if err != nil {
		t.Fatal(err)
	}
	b := newBuilder(red, "t")
	s := b.span("", "x", nil, trace.AGENT, time.Time{}, time.Time{})
	b.label(s, "vise.label", "password=hunter22")
	b.label(s, "gen_ai.agent.name", "desk tok-123")
	b.label(s, "session.id", "s-1")
	if text := s.String(); strings.Contains(text, "hunter22") || strings.Contains(text, "tok-123") || strings.Count(text, "[redacted:") != 2 || !strings.Contains(text, "s-1") {
		t.Errorf("%s", text)
	}
}
