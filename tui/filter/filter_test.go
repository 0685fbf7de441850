package filter_test

import (
	"fmt"
	"strings"
	"testing"

	"vise/tui/filter"
)

var spec = filter.Spec{
	Words:   map[string][]string{"status": {"fail", "ok", "alert"}, "tool": nil, "agent": nil},
	Numbers: []string{"score", "turns"}, Slow: []string{"tool"},
}

type row struct {
	text, status string
	tools        []string
	score        float64 // < 0 = none
	turns        int
}

func (r row) Text() string { return r.text }
func (r row) Is(key, value string) bool {
	if key == "tool" {
		return strings.Contains(strings.Join(r.tools, " "), value)
	}
	return key == "status" && r.status == value
}
func (r row) Number(key string) (float64, bool) {
	if key == "score" {
		return r.score, r.score >= 0
	}
	return float64(r.turns), true
}

// The manual of the language.
func TestFilter(t *testing.T) {
	rows := []row{
		{"torn blanket", "fail", []string{"search", "issue_refund"}, 0.31, 4},
		{"quiet morning", "ok", []string{"search"}, 0.92, 3},
		{"long queue", "alert", nil, -1, 12},
	}
	for query, want := range map[string]string{
		"": "torn blanket, quiet morning, long queue", "status:fail": "torn blanket", "!status:fail": "quiet morning, long queue",
		"status:fail|ok": "torn blanket, quiet morning", "score<0.6": "torn blanket", "score>=.92": "quiet morning", "!score<0.6": "quiet morning, long queue",
		"turns=12": "long queue", "turns!=12": "torn blanket, quiet morning", "turns:3": "quiet morning", "MORN": "quiet morning", `"torn bl"`: "torn blanket",
		`!"torn bl" !queue`: "quiet morning", "tool:search score<0.6": "torn blanket", "!tool:search": "long queue", `tool:"issue_refund"`: "torn blanket",
		`"status:fail"`: "", "12:30": "", "/tmp/x=1": "", "status=ok": "quiet morning",
	} {
		e, err := filter.Parse(query, spec)
		if err != nil {
			t.Errorf("%q: %v", query, err)
			continue
		}
		var got []string
		for _, r := range rows {
			if e.Match(r) && e.MatchSlow(r) {
				got = append(got, r.text)
			}
		}
		if strings.Join(got, ", ") != want {
			t.Errorf("%q lets %q through, want %q", query, got, want)
		}
	}
	for query, want := range map[string]string{
		"status:bad": "status is one of fail, ok, alert", "score<x": `"x" is no number`, "score<nan": "no number", "speed<3": "there is no speed here; keys are agent:, status:, tool:, score<, turns<",
		"status<3": "write status:VALUE", `"open`: "not closed", `tool:"open`: "not closed", "status:": "is one of", "!": "stands before", "tool:": "tool:NAME", "score<": "a number follows", "score:": "a number follows", strings.Repeat("x", 501): "longer than",
	} {
		if _, err := filter.Parse(query, spec); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", query, err, want)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{`status:fail score<0.6 tool:search "free text" !x`, `!"a" b:`, "a<=1e9", "::=<", "\rj=", "!\tx", "\t!\ta\t!\t"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		e, err := filter.Parse(s, spec)
		if err == nil {
			e.Match(row{text: s})
			if again, err := filter.Parse(e.String(), spec); err != nil || again.String() != e.String() {
				t.Fatalf("%q does not read back: %v", e, err)
			}
		}
	})
}

// 100,000 rows; the budget is 50 ms.
func BenchmarkFilter100k(b *testing.B) {
	b.ReportAllocs()
	rows := make([]row, 100_000)
	for i := range rows {
		rows[i] = row{fmt.Sprintf("session %d torn blanket and a cracked hose", i), []string{"fail", "ok"}[i%2], nil, float64(i%100) / 100, i % 40}
	}
	e, err := filter.Parse(`status:fail score<0.6 "cracked hose" !turns>30 !morning`, spec)
	if err != nil {
		b.Fatal(err)
	}
	n := 0
	for b.Loop() {
		n = 0
		for i := range rows {
			if e.Match(&rows[i]) {
				n++
			}
		}
	}
	b.ReportMetric(float64(n), "matches")
}
