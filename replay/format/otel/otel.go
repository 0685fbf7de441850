// Package otel reads traces: OTLP as JSON or protobuf, one request or many; lists
// of spans as exporters in memory dump them; the span trees of the TRAIL data
// set; and the trace exports of the OpenAI Agents SDK.
//
// Roles, inputs, outputs and usage are read by the GenAI semantic conventions of
// OpenTelemetry (opentelemetry.io/docs/specs/semconv/gen-ai), by OpenInference's,
// and by those of AWS, Traceloop, Langfuse and the Google ADK where they differ. A
// span that follows none of them is a CHAIN span with its attributes. Traces that
// name the same conversation are the turns of one session; any other trace is a
// session of one turn. An error is a span status, on whatever span it stands.
package otel

import (
	"fmt"
	"io"

	"vise/replay/format/recording"
)

// Names of the formats.
const (
	NameOTLP   = "otlp"
	NameSpans  = "spans"
	NameTRAIL  = "trail"
	NameAgents = "openai-agents"
)

// ReadOTLP reads OTLP traces, JSON or protobuf.
func ReadOTLP(r io.ReadSeeker, path string, rec *recording.Recorder) error {
	c := newCollector(rec, NameOTLP)
	c.named = recording.Stem(path)
	binary, err := IsProtobuf(r)
	if err != nil {
		return fmt.Errorf("read %s: %w", path, err)
	}
	if binary {
		if err := c.protobuf(r); err != nil {
			return err
		}
		return c.end()
	}
	if err := recording.Values(r, rec, c.request); err != nil {
		return err
	}
	return c.end()
}

// ReadSpans reads a list of spans.
func ReadSpans(r io.ReadSeeker, path string, rec *recording.Recorder) error {
	c := newCollector(rec, NameSpans)
	c.named = recording.Stem(path)
	if err := recording.Values(r, rec, c.listed); err != nil {
		return err
	}
	return c.end()
}

// ReadTRAIL reads a span tree.
func ReadTRAIL(r io.ReadSeeker, path string, rec *recording.Recorder) error {
	c := newCollector(rec, NameTRAIL)
	c.asIs, c.named = true, recording.Stem(path)
	if err := recording.Values(r, rec, c.tree); err != nil {
		return err
	}
	return c.end()
}

// ReadAgents reads an export of the OpenAI Agents SDK.
func ReadAgents(r io.ReadSeeker, path string, rec *recording.Recorder) error {
	c := newCollector(rec, NameAgents)
	c.named = recording.Stem(path)
	if err := recording.Values(r, rec, c.agents); err != nil {
		return err
	}
	return c.end()
}
