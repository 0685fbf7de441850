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

// TestOddMessages: whatever a line says, the one after it is answered.
func TestOddMessages(t *testing.T) {
	for _, line := range []string{
		`{"jsonrpc":"2.0","id":{},"method":"ping"}`, `{"jsonrpc":"2.0","id":true,"method":"ping"}`, `{"jsonrpc":"2.0","id":1.5,"method":"ping"}`, `{"jsonrpc":"2.0","id":[1],"method":"ping"}`,
		`{"JSONRPC":"2.0","METHOD":"ping","id":7}`, `{"jsonrpc":"2.0","METHOD":"ping","id":7}`, `{"jsonrpc":"2.0","result":{}}`, `{"jsonrpc":"2.0","id":null,"result":{}}`,
		`{"jsonrpc":"2.0","id":7,"method":"ping","params":[1]}`, `{"jsonrpc":"2.0","id":7,"method":"ping","error":3}`, `{"jsonrpc":"2.0","id":7,"error":"x"}`,
		`{"jsonrpc":"2.0","id":7,"error":{}}`, `{"jsonrpc":"2.0","id":7,"result":{},"error":{"code":1,"message":"x"}}`, `{"jsonrpc":"2.0","id":7,"id":8,"method":"ping"}`,
		`{"jsonrpc":"2.0","id":7,"method":""}`, `{"jsonrpc":"2.0","method":"nothing/known"}`, `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":null}`, `{"jsonrpc":"2.0","id":7,"method":3}`,
		`{"jsonrpc":2,"id":7,"method":"ping"}`, `{"jsonrpc":"2.0","id":7,"result":{}}`, `{"jsonrpc":"2.0","id":7,"method":"ping"} {}`, `[{"jsonrpc":"2.0","id":7,"method":"ping"}]`,
		`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":{}}}`, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":[]}`,
		`{"jsonrpc":"2.0","id":99999999999999999999999,"method":"ping"}`, `{"jsonrpc":"2.0","id":7,"method":"initialize","params":{"protocolVersion":3}}`, "{\"jsonrpc\":\"2.0\",\"id\":\"\xff\",\"method\":\"ping\"}",
	} {
		var out bytes.Buffer
		in := strings.NewReader(line + "\n" + `{"jsonrpc":"2.0","id":99,"method":"ping"}` + "\n")
		err := ServeStdio(t.Context(), tools.New(rule.NewSet(nil, nil), tools.Options{}), in, &out)
		if err != nil || !strings.Contains(out.String(), `"id":99`) {
			t.Errorf("after %s: %v\n%s", line, err, out.String())
		}
	}
}
