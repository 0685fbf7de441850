package patch

import "regexp"

// What differs between two proofs of one failure: where the workspace lies, how long
// a runner says that something took, addresses, numbers of goroutines. Only the
// places where runners print a time are named: a time in a test's own message may be
// what it is about.
var steadied = []struct {
	re *regexp.Regexp
	to string
}{
	{regexp.MustCompile(`(["'])/[^"'\n]*/runs/[^\s/]+/proof/(?:base/)?project\b`), "${1}."}, // with spaces
	{regexp.MustCompile(`(?:/[^\s:"'()/]+)*/runs/[^\s/]+/proof/(?:base/)?project\b`), "."},
	{regexp.MustCompile(`(?:/[^\s:"'()/]+)*/runs/[^\s/]+/proof/(?:base/)?tmp\b`), "$$TMPDIR"},
	{regexp.MustCompile(`(?m)^(Ran \d+ tests? in )[\d.]+s`), "${1}#s"},                                                          // unittest
	{regexp.MustCompile(`\b((?:passed|failed|errors?|skipped|deselected|xfailed|xpassed|warnings?|ran) in )[\d.]+s`), "${1}#s"}, // pytest
	{regexp.MustCompile(`(?m)^(\s*--- (?:PASS|FAIL|SKIP): .*)\([\d.]+s\)`), "${1}(#s)"},                                         // go test
	{regexp.MustCompile(`(?m)^((?:ok|FAIL)\s+\S+\s+)[\d.]+s`), "${1}#s"},
	{regexp.MustCompile(`("(?:Elapsed|duration_ms)":\s*)[\d.e-]+`), "${1}0"},
	{regexp.MustCompile(`("Time":\s*)"[^"]*"`), `${1}""`},
	{regexp.MustCompile(`\b(finished in |target\(s\) in )[\d.]+s`), "${1}#s"},                              // cargo
	{regexp.MustCompile(`\b(duration_ms:? )[\d.]+`), "${1}#"},                                              // TAP, node --test
	{regexp.MustCompile(`(?m)^(\s*[✔✖✓×√▶].*?\s)\(?[\d.]+ ?m?s\)?$`), "${1}#ms"},                           // node --test, mocha, jest, vitest
	{regexp.MustCompile(`(?m)^(\s*\d+ (?:passing|failing|pending) )\([\d.]+m?s\)`), "${1}(#ms)"},           // mocha
	{regexp.MustCompile(`(?m)^(\s*(?:Time|Duration|Start at):?\s+)\d.*$`), "${1}#"},                        // jest, vitest
	{regexp.MustCompile(`((?:Time elapsed|Total time|Finished at): +)\d[^\s,]*(?: m?s(?:ec)?)?`), "${1}#"}, // maven
	{regexp.MustCompile(`\b0x[0-9a-fA-F]{7,}\b`), "0x#"},
	{regexp.MustCompile(`\bgoroutine \d+\b`), "goroutine #"},
}

// steady is an output without what differs between two proofs of one failure.
func steady(s string) string {
	for _, x := range steadied {
		s = x.re.ReplaceAllString(s, x.to)
	}
	return s
}
