package tools

import (
	"encoding/json"
	"maps"
)

// maxMessage bounds the message of a refusal, in code points.
const maxMessage = 400

// Result is the answer of one call.
type Result struct {
	OK bool
	// Error is the class of a refusal (see package rule) and Message says it to
	// the caller.
	Error   string
	Message string
	// Data is the answer by tool:
	//
	//	harness_rules_read    scope, path, document, active, provisional (ids shown), omitted
	//	harness_rules_search  hits: id, scope, status, score, snippet
	//	harness_rules_list    document, scopes: scope, path, description, active, provisional; omitted
	//	harness_rule_status   id, scope, status, applicability, lifecycle (null without a trial)
	Data map[string]any
	// Hits are the ids of the rules in the answer, in its order.
	Hits []string
}

// Map returns the answer as one flat object: ok, then error and message or the data.
func (r Result) Map() map[string]any {
	m := map[string]any{"ok": r.OK}
	if !r.OK {
		m["error"], m["message"] = r.Error, r.Message
	}
	maps.Copy(m, r.Data)
	return m
}

// MarshalJSON encodes Map.
func (r Result) MarshalJSON() ([]byte, error) { return json.Marshal(r.Map()) }

// Text is what a model gets to read: the document itself where the answer is one,
// otherwise JSON.
func (r Result) Text() string {
	if doc, ok := r.Data["document"].(string); ok && r.OK {
		return doc
	}
	raw, err := json.Marshal(r)
	if err != nil {
		return `{"ok":false,"error":"` + ErrInternal + `"}`
	}
	return string(raw)
}
