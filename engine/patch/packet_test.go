package patch

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"vise/engine/guard"
	"vise/engine/patch/policy"
	"vise/engine/patch/risk"
	"vise/engine/patch/run"
)

func failedRun(t *testing.T) (run.Run, run.Loop) {
	t.Helper()
	sum, mode, size, one, two, code := strings.Repeat("a", 64), 0o644, int64(3), 1, 2, 1
	m, err := run.NewManifest("20270114T091500Z-5c0ffee5c0de", []run.Entry{{Path: "src/ü.go", ChangeType: run.Created, Decision: policy.Allow, ResultSHA256: &sum, ResultMode: &mode, Size: &size, Materialized: true}})
	if err != nil {
		t.Fatal(err)
	}
	r := run.Run{ID: m.RunID, Task: "round up", Status: run.Passed, BaseDigest: sum, PolicyDigest: sum, Policy: policy.Default(), Patch: &m, Future: risk.Future{Level: "low"},
		Proof: &run.Proof{Verdict: run.NotProven, Class: risk.Tests, Signature: "s", Reasons: []string{"tests exited 1"}, FailedTests: []string{"TestA"},
			Plan: run.Plan{Setup: [][]string{}, Build: [][]string{}, Tests: [][]string{{"go", "test"}}},
			Phases: []run.Phase{{Phase: run.Build, Passed: true}, {Phase: run.Tests, Command: []string{"go", "test"}, ReturnCode: &code, TestsPassed: &one, TestsTotal: &two, OutputSHA256: sum,
				Output: "token=ghp_0123456789abcdefghijklmnopqrstuvwxyzAB \x1b[31mred\x1b[0m " + strings.Repeat("x", 40<<10) + "the end"}}}}
	return r, run.Loop{RunID: r.ID, MaxAttempts: 3, MaxRuntime: time.Minute, Spent: 12 * time.Second, Attempts: []run.Attempt{{Attempt: 0}}}
}

// The packet is what the shipped schema says, the same bytes every time, bounded,
// A run without evidence about its later effects, null or missing, has a packet all the same.
func TestD15MissingFutureIsNoCrash(t *testing.T) {
	r, l := failedRun(t)
	raw, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	var m map[string]any
	if err := json.Unmarshal(raw, &m); err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(){"null": func() { m["future_blast_radius"] = nil }, "missing": func() { delete(m, "future_blast_radius") }} {
		change()
		raw, err := json.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		var back run.Run
		if err := json.Unmarshal(raw, &back); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		p, err := newPacket(back, l, "", guard.DefaultRedactor())
		if err != nil || p.Risk.Future != 0 || p.RunID != r.ID {
			t.Errorf("%s: %+v, %v", name, p.Risk, err)
		}
		if _, err := p.Encode(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// without secrets and control sequences (D28).
func TestD28PacketHoldsWhatARepairNeeds(t *testing.T) {
	r, l := failedRun(t)
	encode := func() []byte {
		p, err := newPacket(r, l, strings.Repeat("+line\n", 50_000), guard.DefaultRedactor())
		if err != nil {
			t.Fatal(err)
		}
		raw, err := p.Encode()
		if err != nil {
			t.Fatal(err)
		}
		return raw
	}
	raw := encode()
	if !bytes.Equal(raw, encode()) {
		t.Error("two packets of one failure differ")
	}
	c := jsonschema.NewCompiler()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(PacketSchema))
	if err != nil {
		t.Fatal(err)
	}
	if err := c.AddResource("packet.json", doc); err != nil {
		t.Fatal(err)
	}
	schema, err := c.Compile("packet.json")
	if err != nil {
		t.Fatal(err)
	}
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	if err := schema.Validate(v); err != nil {
		t.Errorf("the packet is not what its schema says: %v", err)
	}
	v.(map[string]any)["surprise"] = true
	if schema.Validate(v) == nil {
		t.Error("the schema lets an unknown field pass")
	}
	text := string(raw)
	for _, bad := range []string{"ghp_0123456789", `\u001b`, "ü"} {
		if strings.Contains(text, bad) {
			t.Errorf("the packet holds %q", bad)
		}
	}
	for _, good := range []string{"TestA", "the end", "round up", `"tests: 1/2 passed"`, `"seconds": 40`, `"repairs": 2`, "bytes left out"} {
		if !strings.Contains(text, good) {
			t.Errorf("the packet lacks %q", good)
		}
	}
	if len(raw) > 200<<10 {
		t.Errorf("the packet has %d bytes", len(raw))
	}
}

func TestReaderOfPacketV1(t *testing.T) {
	v1 := `{"schema_version":1,"run_id":"run-00000001","attempt":2,"failed_phases":[{"phase":"tests","returncode":1,"output_sha256":null,"tests_passed":1,"tests_total":2}],
		"failed_tests":["tests: 1/2 passed"],"changed_files":[{"path":"a","change_type":"modified","decision":"allow"}],"policy":{"version":2},"allowed_scope":["src/**"],
		"risk":{"immediate_blast_radius":1,"future_blast_radius":2,"future_level":"low"},"reasons":["tests exited 1"],"patch_digest":"p","base_digest":"b"}`
	p, err := DecodePacket("old", []byte(v1))
	if err != nil || p.Attempt != 2 || p.FailedPhases[0].Phase != "tests" || p.AllowedScope[0] != "src/**" || p.Task != "" {
		t.Errorf("%+v, %v", p, err)
	}
	for _, bad := range []string{`{"schema_version":3,"run_id":"r","attempt":1}`, `{"schema_version":2}`, `[]`} {
		if _, err := DecodePacket("bad", []byte(bad)); err == nil {
			t.Errorf("%s was read", bad)
		}
	}
}

func FuzzDecodePacket(f *testing.F) {
	f.Add([]byte(`{"schema_version":1,"run_id":"run-00000001","attempt":2}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		if p, err := DecodePacket("fuzz", raw); err == nil {
			if _, err := p.Encode(); err != nil {
				t.Error(err)
			}
		}
	})
}

func TestReadTests(t *testing.T) {
	for name, c := range map[string]struct {
		out, failed   string
		passed, total int // -1 = not said
	}{
		"go":       {"--- FAIL: TestA (0.00s)\n    --- FAIL: TestA/x (0.00s)\n--- PASS: TestB (0s)\nFAIL\tpkg\t0.1s\n", "TestA,TestA/x", 1, 2},
		"go quiet": {"--- FAIL: TestA (0.00s)\nFAIL\nok  \tpkg\t0.1s\n", "TestA", -1, -1},
		"go build": {"# pkg\nx.go:1:1: syntax error\nFAIL\tpkg [build failed]\n", "pkg", -1, -1},
		"pytest":   {"FAILED tests/test_a.py::test_x - assert 1 == 2\n=== 1 failed, 4 passed in 0.1s ===\n", "tests/test_a.py::test_x", 4, 5},
		"unittest": {"FAIL: test_add (test_calc.T.test_add)\n----\nRan 3 tests in 0.001s\n\nFAILED (failures=1)\n", "test_add (test_calc.T.test_add)", 2, 3},
		"cargo":    {"test a::b ... FAILED\ntest result: FAILED. 2 passed; 1 failed; 0 ignored\n\ntest result: ok. 4 passed; 0 failed; 0 ignored\n", "a::b", 6, 7},
		"tap":      {"ok 1 - a\nnot ok 2 - b works\n# pass 1\n# fail 1\n", "b works", 1, 2},
		"nothing":  {"all fine\n", "", -1, -1},
	} {
		r := ReadTests(c.out)
		passed, total := -1, -1
		if r.Passed != nil {
			passed, total = *r.Passed, *r.Total
		}
		if got := strings.Join(r.Failed, ","); got != c.failed || passed != c.passed || total != c.total {
			t.Errorf("%s: failed %q, %d of %d; want %q, %d of %d", name, got, passed, total, c.failed, c.passed, c.total)
		}
	}
	if a, b := signature("tests", nil, "panic: at 0xdeadbeef in /tmp/x1/a.go:12"), signature("tests", nil, "panic: at 0xcafe in /tmp/y2/a.go:99"); a != b {
		t.Error("addresses and paths change the signature")
	}
	if signature("tests", []string{"A"}, "") == signature("tests", []string{"B"}, "") {
		t.Error("different failing tests have one signature")
	}
}

func TestClassify(t *testing.T) {
	code := func(n int) *int { return &n }
	for output, want := range map[string]risk.Class{"npm error package.json and package-lock.json are not in sync": risk.BuildFailed, "npm error code EAI_AGAIN\ngetaddrinfo EAI_AGAIN": risk.Environment} {
		if got := classify(run.Phase{Phase: run.Setup, ReturnCode: code(1), Output: output}, true); got != want {
			t.Errorf("a setup that reads a lockfile of the patch: %q is %s, want %s", output, got, want)
		}
	}
	for want, f := range map[risk.Class]run.Phase{
		risk.BuildFailed: {Phase: run.Build, ReturnCode: code(1), Output: "x.go:1: undefined: y"},
		risk.Tests:       {Phase: run.Tests, ReturnCode: code(1), Output: "--- FAIL: TestA"},
		risk.Timeout:     {Phase: run.Tests, Detail: "was ended after 1s"},
	} {
		if got := classify(f, false); got != want {
			t.Errorf("%+v is %s, want %s", f, got, want)
		}
	}
	if got := classify(run.Phase{Phase: run.Tests, Detail: "was ended: it wrote more than 128 MB"}, false); got != risk.Timeout {
		t.Errorf("a test that writes without end is %s", got) // it need not be proven again
	}
	for _, f := range []run.Phase{
		{Phase: run.Tests, ReturnCode: code(127), Output: "x"},
		{Phase: run.Setup, ReturnCode: code(1)},
		{Phase: run.Tests, ReturnCode: code(2), Output: "nosuchcc x.c\nmake: nosuchcc: No such file or directory\nmake: *** [Makefile:2: test] Error 127\n"},
		{Phase: run.Tests, ReturnCode: code(1), Output: "> x@1.0.0 test\n> nosuch\n\nsh: 1: nosuch: not found\nnpm error Lifecycle script failed\n"},
		{Phase: run.Tests, ReturnCode: code(1), Output: "/usr/bin/python3: No module named pytest"},
		{Phase: run.Build, ReturnCode: code(2), Output: "make: gcc: No such file or directory"},
		{Phase: run.Build, Detail: "could not be started: executable file not found"},
	} {
		if got := classify(f, false); got != risk.Environment {
			t.Errorf("%+v is %s", f, got)
		}
	}
}
