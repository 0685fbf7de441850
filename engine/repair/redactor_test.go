package repair

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"vise/engine/episode"
	"vise/engine/guard"
	"vise/engine/notice"
	"vise/engine/trace"
)

// What the project calls a secret (redact.extra) reaches no repair model: neither with
// the assignment, nor with a notice, nor with a trace of the platform, nor with what a
// person changes in a fork.
func TestProjectsOwnSecrets(t *testing.T) {
	red, err := guard.NewRedactor(guard.RedactOptions{Keys: true, Values: true, Extra: []string{`tok-[0-9]+`}})
	if err != nil {
		t.Fatal(err)
	}
	const secret = "tok-12345"
	n := notice.Notice{ID: "n-1", SessionID: "s", Summary: "failed with " + secret, TaskSummary: secret, Metrics: []notice.Metric{{Name: "m", Reasons: []string{secret}}}}
	as := BuildAssignment(Input{Episode: episode.Episode{ID: "e", SessionID: "s", NoticeIDs: []string{"n-1"}}, Notices: []notice.Notice{n},
		Turn: trace.Turn{EndState: json.RawMessage(`{"a":["` + secret + `"]}`), TaskSummary: secret}, DomainPolicy: secret, Redactor: red})
	if raw, _ := json.Marshal(as); strings.Contains(string(raw), secret) || !strings.Contains(string(raw), "[redacted:") {
		t.Errorf("assignment: %s", raw)
	}
	a := &Agent{Store: memory(t, time.Now), Config: defaultConfig(), Redactor: red, Remote: func(context.Context, string) RemoteTrace {
		return RemoteTrace{Trace: map[string]any{"input": secret}, Errs: [3]error{1: errors.New("down: " + secret)}}
	}}
	r := a.newRun(episode.Episode{}, episode.Assignment{AllowedTraces: []string{"t-9"}})
	r.deadline = time.Now().Add(time.Hour)
	r.tools = &toolset{agent: a, run: r}
	if raw := string(r.tools.traceInspect(t.Context(), map[string]any{"trace_id": "t-9"}).encode()); strings.Contains(raw, secret) || strings.Count(raw, "[redacted:") != 2 {
		t.Errorf("trace of the platform: %s", raw)
	}
	text := "say " + secret
	b, err := NewBranch(stored(), time.Time{}, Change{Turn: 1, Text: &text, Redactor: red})
	if err != nil {
		t.Fatal(err)
	}
	if raw, _ := json.Marshal(b.Lines); strings.Contains(string(raw), secret) {
		t.Errorf("changed message: %s", raw)
	}
}
