package drive_test

import (
	"fmt"
	"strings"
	"testing"

	"vise/engine/patch/drive"
	"vise/engine/trace"
)

// What agents tell of their use is read from their output in whatever pieces it
// comes; one that tells nothing is unknown.
func TestMeter(t *testing.T) {
	said := func(u *trace.Usage) string {
		if u == nil {
			return "unknown"
		}
		s := fmt.Sprintf("%d in (%d cached), %d out", u.Input, u.Cached, u.Output)
		if u.CostUSD != nil {
			s += fmt.Sprintf(", $%.4f", *u.CostUSD)
		}
		return s
	}
	for name, c := range map[string]struct{ out, want string }{
		"plain": {"I fixed it, with few tokens.\n", "unknown"},
		"claude": {`{"type":"result","subtype":"success","result":"Done.","total_cost_usd":0.0421,"usage":{"input_tokens":10,"cache_creation_input_tokens":200,"cache_read_input_tokens":3000,"output_tokens":50}}`,
			"3210 in (3000 cached), 50 out, $0.0421"},
		"claude, a stream": {`{"type":"assistant","message":{"id":"m1","usage":{"input_tokens":5,"output_tokens":1}}}
{"type":"assistant","message":{"id":"m1","usage":{"input_tokens":5,"output_tokens":9}}}
{"type":"result","total_cost_usd":0.5,"usage":{"input_tokens":7,"output_tokens":20}}
`, "7 in (0 cached), 20 out, $0.5000"},
		"claude, cut off": {`{"type":"assistant","message":{"id":"m1","usage":{"input_tokens":5,"output_tokens":9}}}
{"type":"assistant","message":{"id":"m2","usage":{"input_tokens":6,"output_tokens":2}}}
{"type":"assis`, "11 in (0 cached), 11 out"},
		"codex": {`{"type":"turn.completed","usage":{"input_tokens":100,"cached_input_tokens":60,"output_tokens":5}}
{"type":"turn.completed","usage":{"input_tokens":6040,"cached_input_tokens":4992,"output_tokens":129}}
`, "6040 in (4992 cached), 129 out"},
		"gemini": {"{\n  \"response\": \"ok\",\n  \"stats\": {\n    \"models\": {\n      \"a\": {\"tokens\": {\"prompt\": 100, \"candidates\": 20, \"cached\": 30, \"thoughts\": 5, \"total\": 125}},\n      \"b\": {\"tokens\": {\"prompt\": 1, \"candidates\": 2}}\n    }\n  }\n}\n",
			"101 in (30 cached), 27 out"},
		"gemini, a stream": {`{"type":"result","status":"success","stats":{"total_tokens":30,"input_tokens":20,"output_tokens":10}}` + "\n", "20 in (0 cached), 10 out"},
		"opencode": {`{"type":"step_finish","sessionID":"s","part":{"type":"step-finish","cost":0.01,"tokens":{"input":10,"output":5,"reasoning":2,"cache":{"read":100,"write":7}}}}
{"type":"step_finish","sessionID":"s","part":{"type":"step-finish","cost":0.02,"tokens":{"input":1,"output":1,"reasoning":0,"cache":{"read":0,"write":0}}}}
`, "118 in (100 cached), 8 out, $0.0300"},
		"aider":       {"Tokens: 8.2k sent, 1,100 received. Cost: $0.04 message, $0.04 session.\nTokens: 2k sent, 10 received. Cost: $0.01 message, $0.05 session.\n", "10200 in (0 cached), 1110 out, $0.0500"},
		"a long line": {strings.Repeat("x", 2<<20) + "\n" + `{"type":"turn.completed","usage":{"input_tokens":1,"output_tokens":2}}` + "\n", "1 in (0 cached), 2 out"},
	} {
		for _, piece := range []int{len(c.out), 7} {
			var m drive.Meter
			if piece == 7 && len(c.out) > 1<<20 {
				continue
			}
			for at := 0; at < len(c.out); at += piece {
				if _, err := m.Write([]byte(c.out[at:min(at+piece, len(c.out))])); err != nil {
					t.Fatal(err)
				}
				m.Usage() // whoever watches disturbs nothing
			}
			if got := said(m.End([]byte(c.out))); got != c.want {
				t.Errorf("%s in pieces of %d: %s, want %s", name, piece, got, c.want)
			}
		}
	}
}
