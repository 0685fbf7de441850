package cli

import (
	"context"
	"fmt"
	"net/url"
	"strings"
	"time"

	"vise/engine/config"
	"vise/engine/event"
	"vise/engine/export"
	"vise/engine/guard"
	"vise/store"
)

// headersVariable is the variable of the OpenTelemetry specification for the headers of
// an exporter, an API key above all: NAME=VALUE, comma-separated, values URL-encoded.
const headersVariable = "OTEL_EXPORTER_OTLP_HEADERS"

// startExport begins to export traces where export.otlp_endpoint is set; else it
// creates nothing. The returned function ends it.
func (a *app) startExport(cfg *config.Config, st *store.Store, bus *event.Bus) (stop func(), err error) {
	if cfg.Export.OTLPEndpoint == "" {
		return func() {}, nil
	}
	headers, err := exportHeaders(a.getenv(headersVariable))
	if err != nil {
		return nil, err
	}
	red, err := guard.NewRedactor(guard.RedactOptions{Keys: cfg.Redact.Keys, Values: cfg.Redact.Values, Extra: cfg.Redact.Extra})
	if err != nil {
		return nil, err
	}
	x, err := export.Start(export.Options{Endpoint: cfg.Export.OTLPEndpoint, Headers: headers, Repairs: cfg.Repair.Trace,
		Version: version(), Store: st, Bus: bus, Redactor: red, Log: a.log})
	if err != nil {
		return nil, err
	}
	return func() { x.Close() }, nil
}

func exportHeaders(list string) (map[string]string, error) {
	headers := map[string]string{}
	for pair := range strings.SplitSeq(list, ",") {
		name, value, ok := strings.Cut(pair, "=")
		if name = strings.TrimSpace(name); name == "" && !ok {
			continue
		}
		value, err := url.PathUnescape(strings.TrimSpace(value))
		if !ok || name == "" || err != nil || strings.ContainsAny(name+value, "\r\n") {
			return nil, fmt.Errorf("%s: it holds NAME=VALUE pairs, comma-separated, values URL-encoded; one of them is not of that form", headersVariable)
		}
		headers[name] = value
	}
	return headers, nil
}

// examineExport asks the receiver of traces to take an empty request.
func (a *app) examineExport(ctx context.Context, cfg *config.Config) check {
	headers, err := exportHeaders(a.getenv(headersVariable))
	if err != nil {
		return check{"export", "failed", err.Error()}
	}
	ctx, stop := context.WithTimeout(ctx, 5*time.Second)
	defer stop()
	if err := export.Probe(ctx, cfg.Export.OTLPEndpoint, headers); err != nil {
		return check{"export", "warning", "runs go on without: " + err.Error()}
	}
	what := "live turns"
	if cfg.Repair.Trace {
		what += " and repairs"
	}
	return check{"export", "ok", cfg.Export.OTLPEndpoint + " takes the traces of " + what}
}
