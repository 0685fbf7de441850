package replay

import (
	"context"
	"fmt"
	"io"
	"slices"
	"time"

	"vise/engine/guard"
	"vise/engine/trace"
	"vise/replay/otlp"
)

// telemetry is what one run's agent tells of itself over OpenTelemetry. A nil one
// hears nothing.
type telemetry struct {
	from    *otlp.Receiver
	token   string
	session string
	red     *guard.Redactor
	waits   bool // the agent lives on after a turn: its exporter may still hold spans back
}

func (r *Runner) listen(session string) *telemetry {
	if r.Telemetry == nil {
		return nil
	}
	return &telemetry{from: r.Telemetry, token: r.Telemetry.Grant(), session: session, red: r.Redactor, waits: r.Agent.Driver != "exec"}
}

func (t *telemetry) env() map[string]string {
	if t == nil {
		return nil
	}
	return t.from.Env(t.token, t.session)
}

// end returns a turn with the spans that the agent sent in it. Model calls that the
// proxy saw are not taken a second time.
func (t *telemetry) end(ctx context.Context, turn trace.Turn, log io.Writer) trace.Turn {
	if t == nil || !t.from.Heard(t.token) {
		return turn
	}
	if t.waits {
		select {
		case <-time.After(otlp.Delay):
		case <-ctx.Done():
		}
	}
	spans, dropped, err := t.from.Take(context.WithoutCancel(ctx), t.token, t.red)
	if err != nil {
		fmt.Fprintf(log, "vise: the agent's telemetry of turn %d cannot be read: %v\n", turn.Index, err)
	}
	if dropped > 0 {
		fmt.Fprintf(log, "vise: %d requests of telemetry in turn %d were too much and are not kept\n", dropped, turn.Index)
	}
	if slices.ContainsFunc(turn.Spans, func(s trace.Span) bool { return s.Attrs["exchange"] != nil }) {
		spans = slices.DeleteFunc(spans, func(s trace.Span) bool { return s.Kind == trace.LLM })
	}
	return join(turn, spans)
}

func (t *telemetry) close() {
	if t != nil {
		t.from.Revoke(t.token)
	}
}
