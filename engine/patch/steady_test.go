package patch

import (
	"bytes"
	"testing"

	"vise/engine/guard"
	"vise/engine/patch/run"
)

// What a runner tells of itself is taken out, and what a test says is left.
func TestSteady(t *testing.T) {
	for in, want := range map[string]string{
		"Ran 2 tests in 0.020s\n\nOK\n":                                                                          "Ran 2 tests in #s\n\nOK\n",
		"=== 1 failed, 2 passed in 0.12s ===":                                                                    "=== 1 failed, 2 passed in #s ===",
		"--- FAIL: TestWait (0.03s)\n    x_test.go:5: waited 3s, want 5s\nFAIL\tx\t0.034s\n":                     "--- FAIL: TestWait (#s)\n    x_test.go:5: waited 3s, want 5s\nFAIL\tx\t#s\n",
		"test result: FAILED. 1 passed; 1 failed; finished in 0.00s":                                             "test result: FAILED. 1 passed; 1 failed; finished in #s",
		"✖ rounds up (1.234ms)\nℹ duration_ms 51.3\n":                                                            "✖ rounds up #ms\nℹ duration_ms #\n",
		"File \"/home/a b/.vise/patch/runs/20270114T091500Z-5c0ffee5c0de/proof/project/src/x.py\", line 3":       "File \"./src/x.py\", line 3",
		"/p/.vise/patch/runs/20270114T091500Z-5c0ffee5c0de/proof/project/x.go:3: undefined: y":                   "./x.go:3: undefined: y",
		"in /p/.vise/patch/runs/20270114T091500Z-5c0ffee5c0de/proof/tmp/a":                                       "in $TMPDIR/a",
		"panic\ngoroutine 18 [running]:\nx.F(0xc000012345)\n\t/src/x.go:9 +0x1d\n<x.A object at 0x7f00aa11bb22>": "panic\ngoroutine # [running]:\nx.F(0x#)\n\t/src/x.go:9 +0x1d\n<x.A object at 0x#>",
	} {
		if got := steady(in); got != want {
			t.Errorf("steady(%q) = %q, want %q", in, got, want)
		}
	}
}

// Two proofs of one failure give the same packet, byte by byte.
func TestPacketsOfTwoProofsAreEqual(t *testing.T) {
	packet := func(sum, id, took string) []byte {
		r, l := failedRun(t)
		f := &r.Proof.Phases[1]
		f.OutputSHA256, f.Output = run.Sum([]byte(sum)), "/p/runs/"+id+"/proof/project/x_test.go:3: wrong\nRan 2 tests in "+took+"\n"
		r.Proof.Reasons = []string{"could not be started: /p/runs/" + id + "/proof/project/tool"}
		p, err := newPacket(r, l, "", guard.DefaultRedactor())
		if err != nil {
			t.Fatal(err)
		}
		raw, err := p.Encode()
		if err != nil {
			t.Fatal(err)
		}
		return raw
	}
	one := packet("a", "20270114T091500Z-5c0ffee5c0de", "0.020s")
	if two := packet("b", "20270114T091501Z-5c0ffee5c0df", "0.021s"); !bytes.Equal(one, two) {
		t.Errorf("%s\n%s", one, two)
	}
	if bytes.Equal(one, packet("a", "x", "0.020s\nand more")) {
		t.Error("another output gives the same packet")
	}
}
