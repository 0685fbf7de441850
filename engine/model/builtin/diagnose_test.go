package builtin

import (
	"encoding/json"
	"strings"
	"testing"
)

// inspection writes a trace inspection of the given calls.
func inspection(t testing.TB, answer string, spans ...span) string {
	t.Helper()
	raw, err := json.Marshal(map[string]any{"ok": true, "answer": answer, "tool_spans": spans})
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

func call(name, args, result, failure string) span {
	return span{Name: name, Arguments: json.RawMessage(args), Result: result, Error: failure}
}

// TestBlamed has one row per wording of an argument error.
func TestBlamed(t *testing.T) {
	keys := []string{"amount", "flight_number", "order_id", "payment_id", "reservation_id"}
	tests := []struct {
		text  string
		class class
		name  string
	}{
		{"validation error: missing required argument 'reason_code'", missingArgument, "reason_code"},
		{"Error: missing required argument: reason_code", missingArgument, "reason_code"},
		{"reason_code is required", missingArgument, "reason_code"},
		{`{"error": "required property 'reason_code' not found"}`, missingArgument, "reason_code"},
		{"'reason_code' is a required property", missingArgument, "reason_code"},
		{"issue_refund() missing 1 required positional argument: 'reason_code'", missingArgument, "reason_code"},
		{"The required parameter `file_path` is missing", missingArgument, "file_path"},
		{"missing properties: 'reason_code', 'note'", missingArgument, "reason_code"},
		{"jsonschema: missing property 'reason_code'", missingArgument, "reason_code"},
		{"1 validation error for Refund\nreason_code\n  Field required [type=missing]", missingArgument, "reason_code"},
		{"field reason_code must be given: reason_code: field required", missingArgument, "reason_code"},
		{"You must provide a reason_code", missingArgument, "reason_code"},
		{"Parameter reason_code not provided", missingArgument, "reason_code"},
		{`[{"code":"invalid_type","path":["reason_code"],"message":"Required"}]`, missingArgument, "reason_code"},
		{"issue_refund() got an unexpected keyword argument 'reasons'", invalidArgument, "reasons"},
		{"Unknown parameter: colour", invalidArgument, "colour"},
		{"Additional properties are not allowed ('colour' was unexpected)", invalidArgument, "colour"},
		{"Invalid amount", invalidArgument, "amount"},
		{"Error: Line must be suspended to resume", invalidArgument, ""},
		{"Shipping is required before payment", "", ""},
		{"'colour' is required", missingArgument, "colour"},
		{"colourName must be one of red, green", invalidArgument, "colourName"},
		{"Error: amount must be positive", invalidArgument, "amount"},
		{"Error: invalid reservation id", invalidArgument, "reservation_id"},
		{"Error: reservation not found", invalidArgument, "reservation_id"},
		{"invalid value for parameter 'amount': -1", invalidArgument, "amount"},
		{"ValueError: could not convert", invalidArgument, ""},
		{"Internal server error", "", ""},
		{"Error: seats sold out", "", ""},
	}
	for _, tt := range tests {
		if class, name := blamed(tt.text, keys); class != tt.class || name != tt.name {
			t.Errorf("%q blames %q %q, want %q %q", tt.text, class, name, tt.class, tt.name)
		}
	}
}

func TestDiagnose(t *testing.T) {
	missing := call("issue_refund", `{"order_id":"A1"}`, "validation error: missing required argument 'reason_code'", "failed")
	ok := call("look_up_order", `{"order_id":"A1"}`, `{"status":"delivered"}`, "")
	tests := []struct {
		name   string
		answer string
		spans  []span
		want   finding
	}{
		{"missing argument, repeated unchanged", "I was not able to refund it.", []span{ok, missing, missing}, finding{missingArgument, "issue_refund", "reason_code", 2}},
		{"error only in the result", "Sorry.", []span{call("issue_refund", `{}`, "Error: missing required argument 'reason_code'", "")}, finding{missingArgument, "issue_refund", "reason_code", 1}},
		{"the unrepaired one counts", "", []span{call("a", `{}`, "", "x is required"), call("a", `{"x":1}`, "fine", ""), call("b", `{}`, "", "y is required")}, finding{missingArgument, "b", "y", 1}},
		{"unknown tool", "", []span{call("refund_it", `{}`, "", "Unknown tool: refund_it")}, finding{unknownTool, "refund_it", "", 1}},
		{"repeated failing call", "", []span{call("buy", `{"a":1,"b":2}`, "", "sold out"), call("buy", `{"b":2, "a":1}`, "", "sold out")}, finding{repeatedFailure, "buy", "", 2}},
		{"loop", "", []span{ok, ok, ok}, finding{loop, "look_up_order", "", 3}},
		{"ignored error", "Your refund is on its way.", []span{call("buy", `{}`, "", "sold out")}, finding{ignoredError, "buy", "", 1}},
		{"gave up after an error", "I am unable to help with that.", []span{call("buy", `{}`, "", "sold out")}, finding{gaveUp, "buy", "", 1}},
		{"gave up without trying", "I can't do that.", nil, finding{gaveUp, "", "", 1}},
		{"admitted error is no failure we know", "There was an error, please try later.", []span{call("buy", `{}`, "", "sold out")}, finding{}},
		{"all well", "Done.", []span{ok}, finding{}},
		{"our own tools are no evidence", "Done.", []span{call("vise_harness_rules_search", `{}`, "", "query is required")}, finding{}},
		{"arguments as text", "", []span{call("buy", `"{\"a\":1}"`, "", "sold out"), call("buy", `{"a":1}`, "", "sold out")}, finding{repeatedFailure, "buy", "", 2}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := diagnose(inspection(t, tt.answer, tt.spans...)); got != tt.want {
				t.Errorf("got %+v, want %+v", got, tt.want)
			}
		})
	}
	if got := diagnose(`not json`); got != (finding{}) {
		t.Errorf("got %+v", got)
	}
}

func TestProposal(t *testing.T) {
	for c := range metrics {
		for _, vague := range []bool{false, true} {
			f := finding{class: c, tool: "mcp__desk__issue_refund", argument: "reason_code", times: 2}
			p := f.proposal(vague)
			raw, err := json.Marshal(p)
			if err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(p["rule"].(string), "issue_refund") {
				t.Errorf("%s: the rule does not name the tool: %v", c, p["rule"])
			}
			if vague && strings.Contains(string(raw), "reason_code") {
				t.Errorf("%s: the vague rule names the argument: %s", c, raw)
			}
			if c == missingArgument && !vague && !strings.Contains(p["rule"].(string), "reason_code") {
				t.Errorf("%s: the rule does not name the argument", c)
			}
			if !strings.Contains(p["rationale"].(string), "no language model") || p["scope"] != "issue_refund" {
				t.Errorf("%s: %s", c, raw)
			}
		}
	}
}

func TestMetricPrefersWhatAlerts(t *testing.T) {
	f := finding{class: missingArgument}
	for want, alerting := range map[string][]string{
		"argument_correctness": {"task_completion", "argument_correctness"}, "tool_correctness": {"task_completion", "tool_correctness"}, "task_completion": {"task_completion"},
	} {
		if got := f.metric(alerting); got != want {
			t.Errorf("metric of %v = %s, want %s", alerting, got, want)
		}
	}
	if got := f.metric(nil); got != "argument_correctness" {
		t.Errorf("got %s", got)
	}
}

func FuzzDiagnose(f *testing.F) {
	f.Add("missing required argument 'x'", `{"a":1}`, "I give up")
	f.Add(`{"error":"`, `[`, "")
	f.Fuzz(func(t *testing.T, failure, args, answer string) {
		if !json.Valid([]byte(args)) {
			args = `{}`
		}
		found := diagnose(inspection(t, answer, call("t", args, "", failure)))
		if found.class == "" {
			return
		}
		if _, ok := metrics[found.class]; !ok {
			t.Fatalf("class %q has no metric", found.class)
		}
		if strings.ContainsAny(found.argument, "\n\x1b ") && !strings.Contains(args, found.argument) {
			t.Fatalf("argument %q is no name", found.argument)
		}
	})
}

// TestMethodIsNoTool: a payment method that is not found is no unknown tool.
func TestMethodIsNoTool(t *testing.T) {
	f := diagnose(inspection(t, "", call("book", `{"payment_id":"certificate_7"}`, "Error: payment method certificate_7 not found", "")))
	if f.class == unknownTool {
		t.Errorf("got %+v", f)
	}
	f = diagnose(inspection(t, "", call("book", `{}`, "Error: tool book not found", "")))
	if f.class != unknownTool {
		t.Errorf("got %+v, want unknown tool", f)
	}
}
