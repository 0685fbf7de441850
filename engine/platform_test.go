package engine_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"vise/engine"
	"vise/engine/config"
	"vise/engine/score/pandaprobe"
	"vise/engine/trace"
)

// platform is a program that knows one trace more of a session each time it is asked,
// finds nothing wrong, and notes the traces it has scored.
const platform = `#!/bin/sh
dir=${0%/*}
case "$1 $2 $3" in
"traces list "*)
	n=0
	test -e "$dir/n" && read n < "$dir/n"
	n=$((n+1))
	echo $n > "$dir/n"
	printf '['
	while [ $n -gt 0 ]; do printf '{"trace_id":"t%d"}' $n; n=$((n-1)); test $n -gt 0 && printf ','; done
	printf ']' ;;
"evals runs batch") echo "$7" >> "$dir/scored"; echo '{"run_id":"r"}' ;;
"evals runs scores")
	if test -e "$dir/down"; then exit 5; fi
	echo '[{"name":"task_completion","value":1,"status":"success"},{"name":"coherence","value":1,"status":"success"}]' ;;
esac
`

// TestTracesAreSeenOnceTheyAreScored: neither a restart nor a failed scoring makes a
// trace count twice, or never.
func TestTracesAreSeenOnceTheyAreScored(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "pandaprobe"), []byte(platform), 0o700); err != nil {
		t.Fatal(err)
	}
	connected := func(c *config.Config, o *engine.Options) {
		c.Evaluate.By, c.Gate.StartPeak = "pandaprobe", nil
		o.Platform = pandaprobe.New(pandaprobe.Options{Binary: filepath.Join(dir, "pandaprobe"), Env: []string{"PATH=" + os.Getenv("PATH")},
			Timeout: 20 * time.Second, PollMax: 1, Retries: 1, List: 50})
	}
	scored := func() string {
		raw, _ := os.ReadFile(filepath.Join(dir, "scored"))
		return strings.Join(strings.Fields(string(raw)), " ")
	}
	p := open(t, connected)
	p.begin("s", trace.Live)
	p.end(good("s", 0))
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	o := engine.Options{Config: p.cfg, Store: p.store}
	connected(p.cfg, &o)
	p.start(o)
	p.end(good("s", 1))
	if got := scored(); got != "t1 t2" {
		t.Fatalf("scored %q", got)
	}
	down := filepath.Join(dir, "down")
	if err := os.WriteFile(down, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if s := p.end(good("s", 2)); s.Outage == "" {
		t.Fatalf("settled %+v", s)
	}
	if err := os.Remove(down); err != nil {
		t.Fatal(err)
	}
	if s := p.settle("s"); !s.Evaluated {
		t.Fatalf("settled %+v", s)
	}
	// t3 was asked for in vain; with t4, which came meanwhile, it is asked for again.
	if got := scored(); got != "t1 t2 t3 t3,t4" {
		t.Errorf("scored %q", got)
	}
	if r := p.report("s", 2); r.Empty() || len(r.Scores) != 4 {
		t.Errorf("report %+v", r)
	}
}
