package ruleserver

import (
	"bytes"
	"strings"
	"testing"

	"vise/engine/rule"
	"vise/engine/rule/tools"
)

// TestJunkIsAnsweredAndPassedOver: a line that is no message costs nothing but an
// error; what follows is served.
func TestJunkIsAnsweredAndPassedOver(t *testing.T) {
	in := strings.NewReader(strings.Join([]string{
		`junk`, `[]`, `{"id":9}`, ``, `42`,
		`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`,
		`{"jsonrpc":"2.0","method":"notifications/initialized"}`,
		`{"half":`,
		`{"jsonrpc":"2.0","id":2,"method":"tools/list"}`,
	}, "\n") + "\n")
	var out bytes.Buffer
	if err := ServeStdio(t.Context(), tools.New(rule.NewSet(nil, nil), tools.Options{}), in, &out); err != nil {
		t.Fatal(err)
	}
	got := out.String()
	if n := strings.Count(got, `"code":-32700`); n != 2 {
		t.Errorf("%d parse errors, want 2:\n%s", n, got)
	}
	if n := strings.Count(got, `"code":-32600`); n != 3 {
		t.Errorf("%d invalid requests, want 3:\n%s", n, got)
	}
	if !strings.Contains(got, `"id":2`) || !strings.Contains(got, tools.RulesSearch) {
		t.Errorf("the list was not answered:\n%s", got)
	}
}
