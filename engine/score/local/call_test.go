package local

import (
	"strings"
	"testing"

	"vise/engine/trace"
)

func tool(name, args, out string) trace.Span {
	return trace.Span{ID: name, Kind: trace.TOOL, Name: name, Input: args, Output: out}
}

func TestFailure(t *testing.T) {
	for _, c := range []struct {
		out  string
		want bool
	}{
		{"", false},
		{"  \n", false},
		{"all good", false},
		{"exit code: 0\nerror.log", false}, // the status settles it
		{"exit code: 0\n" + strings.Repeat("x", 300) + "\nTraceback (most recent call last)", false},
		{"Process exited with code -1", true},
		{strings.Repeat("line\n", 200) + "<returncode>2</returncode>", true},
		{"*** ValueError: bad", true},
		{"__internal error", true},
		{"errorless", false},
		{"see the error below", false},
		{"Timed out", true},
		{"Permission denied", true},
		{`{"error": null}`, true}, // the head rule: the first word is an error
		{`{"rows": [], "error": null}`, false},
		{`{"n": 1, "error": "", "errors": [ ], "exception": { }}`, false},
		{`{"n": 1, "error": 0}`, false},
		{`{"n": 1, "error": 04}`, true},
		{`{"data": 1, "error" : {"code": 4}}`, true},
		{`{"n": 1, "error": nullable}`, false}, // begins like null: read as none
		{`{"n": 1, "error": `, false},
		{`{"success": false}`, true},
		{`{"ok":true,"status":"Failed"}`, true},
		{`{"status":"failing"}`, false},
		{strings.Repeat("x", 2000) + `{"error": "late"}`, false},
		{"x\nTraceback (most recent call last):\n y", true},
		{strings.Repeat("x", 5000) + "Traceback (most recent call last)", true},
		{"Traceback (most recent call last)" + strings.Repeat("x", 5000), true}, // at the head
		{strings.Repeat("x", 200) + "Traceback (most recent call last)" + strings.Repeat("x", 5000), false},
		{strings.Repeat("x", 200) + "Traceback (most recent call last)" + strings.Repeat("x", 3000), true}, // short enough to be read in full
		{"ok\nbash: foo: command not found", true},
		{"cat: x: No such file or directory", true},
	} {
		if got := failure(c.out); got != c.want {
			t.Errorf("failure(%.80q) = %t, want %t", c.out, got, c.want)
		}
	}
}

func TestCallFailed(t *testing.T) {
	flagged := tool("get_a", "{}", "fine")
	flagged.Error = "timeout"
	if c := newCall(&flagged); !c.failed || c.out != "fine\ntimeout" {
		t.Errorf("a flagged call: failed %t, out %q", c.failed, c.out)
	}
	flagged.Output = "timeout after 3 s"
	if c := newCall(&flagged); c.out != "timeout after 3 s" {
		t.Errorf("an error the output holds is told twice: %q", c.out)
	}
	done := tool("final_answer", `{"a":"x"}`, "Error: refused")
	if newCall(&done).failed {
		t.Error("a finish call failed")
	}
}

func TestChanges(t *testing.T) {
	for _, c := range []struct {
		name, args string
		want       bool
	}{
		{"get_user", `{}`, false},
		{"getUserDetails", `{}`, false},
		{"flight-search", `{}`, false},
		{"db.query", `{}`, false},
		{"cancel_order", `{}`, true},
		{"frobnicate", `{}`, true}, // unknown names count as changing
		{"getter", `{}`, true},
		{"bash", `{"command":"ls -la"}`, false},
		{"bash", `{"command":"cd /tmp && grep x y"}`, false},
		{"bash", `{"command":"cat a.txt"}`, false},
		{"bash", `{"command":"cat <<EOF\nx"}`, true},
		{"bash", `{"command":"cat a > b"}`, true},
		{"bash", `{"command":"git diff"}`, false},
		{"bash", `{"command":"git commit -m x"}`, true},
		{"bash", `{"command":"ls; rm x"}`, true},
		{"bash", `{"command":"ls\nrm x"}`, false}, // the first line decides unless a write is recognised at a start
		{"bash", `{"command":"make"}`, true},
		{"get_x", `{"code":"open('f','w')"}`, true},
		{"read", "ls -l", false}, // text that is not JSON is the command
		{"shell", `{"command":["bash","-lc","ls"]}`, true},
	} {
		s := tool(c.name, c.args, "")
		if got := newCall(&s).changes(); got != c.want {
			t.Errorf("%s %s: changes = %t, want %t", c.name, c.args, got, c.want)
		}
	}
}

func TestFinish(t *testing.T) {
	for _, c := range []struct {
		name, args string
		want       bool
	}{
		{"final_answer", `{}`, true},
		{"FinalAnswerTool", `{}`, true},
		{"submit_report", `{}`, true},
		{"task_completed", `{}`, true},
		{"transfer_to_human_agents", `{}`, true},
		{"escalate", `{}`, true},
		{"exit", `{}`, true},
		{"exit_code_of", `{}`, false},
		{"undone", `{}`, false},
		{"bash", `{"command":"echo COMPLETE_TASK_NOW"}`, true},
		{"bash", `{"command":" submit "}`, true},
		{"bash", `{"command":"git submit"}`, false},
	} {
		s := tool(c.name, c.args, "")
		if got := newCall(&s).finish; got != c.want {
			t.Errorf("%s %s: finish = %t, want %t", c.name, c.args, got, c.want)
		}
	}
}

func TestIDLike(t *testing.T) {
	for s, want := range map[string]bool{
		"W123456": true, "#1234": true, "a@b.c1": true, " ABC12 ": true, "INV-77": true, "x_1:2": true,
		"12345": false, "ABCDE": false, "A1": false, "AB 12": false, "2024-05-01": false, "10:30pm": false,
		"1-2T3": false, "2024-05-01T10:00:00Z": false, "é1234": false, "éa123": true,
		"a" + strings.Repeat("1", 59): true, "a" + strings.Repeat("1", 60): false,
	} {
		if got := idLike(s); got != want {
			t.Errorf("idLike(%q) = %t, want %t", s, got, want)
		}
	}
}

func TestWeak(t *testing.T) {
	for out, want := range map[string]bool{
		"": true, "[ ]": true, "NULL": true, "''": true, "0": false,
		"No flights on that day": true, "user not found": true,
		"not found " + strings.Repeat("x", 400): false,
	} {
		s := tool("get_x", "{}", out)
		if got := newCall(&s).weak(); got != want {
			t.Errorf("weak(%.40q) = %t, want %t", out, got, want)
		}
	}
	pending := tool("get_x", "{}", "")
	pending.Pending = true
	if newCall(&pending).weak() {
		t.Error("an unanswered call found nothing")
	}
}

func TestSignature(t *testing.T) {
	sig := func(name, args string) any { s := tool(name, args, ""); return newCall(&s).signature() }
	for _, c := range []struct {
		a, b string
		same bool
	}{
		{`{"a":1,"b":[2]}`, `{ "b": [2], "a": 1 }`, true},
		{`{"a":1.50}`, `{"a":1.5}`, true},
		{`{"a":1}`, `{"a":1.0}`, false},
		{`{"a":"1"}`, `{"a":1}`, false},
		{`{"a":12345678901234567890}`, `{"a":12345678901234567891}`, false},
		{`{"a":1,"a":2}`, `{"a":2}`, true},
		{``, `{}`, true},
		{`ls`, `ls `, false},
		{`null`, `{}`, false},
	} {
		if same := sig("x", c.a) == sig("x", c.b); same != c.same {
			t.Errorf("%s and %s: same = %t", c.a, c.b, same)
		}
	}
	if sig("x", "{}") == sig("y", "{}") {
		t.Error("the name does not count")
	}
}

func TestOurs(t *testing.T) {
	for name, want := range map[string]bool{
		"harness_rules_read": true, "vise_harness_rules_search": true, "mcp__vise__harness_rules_read": true,
		"harness_rule_status": true, "vise.harness_rules_list": true, "harness_rule": false,
		"myharness_rules_read": false, "harness_rule_status_page": false, "read": false,
	} {
		s := tool(name, "", "")
		if got := ours(&s); got != want {
			t.Errorf("ours(%s) = %t, want %t", name, got, want)
		}
	}
}

func TestPromises(t *testing.T) {
	for s, want := range map[string]bool{
		"i will look now": true, "let me check": true, "i\x02ll go": true, "please hold": true,
		"i will need your id": false, "let me help you": false, "i will be happy to": false,
		"i will help. i will look": true, "nothing": false, "william": false,
	} {
		if got := promises(s); got != want {
			t.Errorf("promises(%q) = %t, want %t", s, got, want)
		}
	}
}
