package export

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"strings"

	"google.golang.org/protobuf/encoding/protojson"

	"vise/engine/guard"
	"vise/engine/longtext"
	"vise/engine/score"
	"vise/engine/trace"
)

// Turn writes one turn as a request in OTLP/JSON, a line: a file of such lines is what
// the file exporter of the OpenTelemetry collector writes. Unlike what is sent, it is
// whole: no text is cut, no span left out.
func Turn(w io.Writer, head trace.Session, t trace.Turn, r score.Report, red *guard.Redactor, version string) error {
	b := newBuilder(red, traceName(head, t))
	b.aside = &longtext.Aside{}
	b.room, b.maxText, b.maxSpans = math.MaxInt, math.MaxInt, math.MaxInt
	b.turn(head, t, r)
	raw, err := protojson.Marshal(b.data("vise-agent", version))
	if err != nil {
		return fmt.Errorf("export session %s turn %d: %w", head.ID, t.Index, err)
	}
	// Protobuf writes bytes as base64, OTLP/JSON wants its ids in hexadecimal
	// (OTLP specification, JSON protobuf encoding).
	var doc any
	dec := json.NewDecoder(strings.NewReader(string(raw)))
	dec.UseNumber()
	if err := dec.Decode(&doc); err != nil {
		return fmt.Errorf("export session %s turn %d: %w", head.ID, t.Index, err)
	}
	hexIDs(doc)
	if raw, err = json.Marshal(doc); err != nil {
		return fmt.Errorf("export session %s turn %d: %w", head.ID, t.Index, err)
	}
	return b.aside.Write(w, append(raw, '\n'))
}

// hexIDs rewrites the ids of spans in a decoded request.
func hexIDs(v any) {
	switch v := v.(type) {
	case map[string]any:
		for k, e := range v {
			text, ok := e.(string)
			if !ok || k != "traceId" && k != "spanId" && k != "parentSpanId" {
				hexIDs(e)
				continue
			}
			if raw, err := base64.StdEncoding.DecodeString(text); err == nil {
				v[k] = hex.EncodeToString(raw)
			}
		}
	case []any:
		for _, e := range v {
			hexIDs(e)
		}
	}
}
