package evidence

import (
	"fmt"
	"strings"
	"testing"

	"vise/engine/trace"
)

func turnOf(index int, answer string, calls ...string) trace.Turn {
	t := trace.Turn{Index: index}
	for _, c := range calls {
		name, input, _ := strings.Cut(c, " ")
		s := trace.Span{Kind: trace.TOOL, Name: strings.TrimSuffix(name, "!"), Input: input}
		if strings.HasSuffix(name, "!") {
			s.Error = "failed"
		}
		t.Spans = append(t.Spans, s)
	}
	t.Spans = append(t.Spans, trace.Span{Kind: trace.LLM, Output: answer})
	return t
}

// One call more does not make all that follow differ.
func TestAlign(t *testing.T) {
	a := []trace.Turn{turnOf(0, "hello"), turnOf(1, "done", `look {"x":1,"y":2}`, `refund {"id":1}`, `say! {}`), turnOf(2, "bye")}
	b := []trace.Turn{turnOf(0, " hello "), turnOf(1, "all done", `plan {}`, `look {"y":2,"x":1}`, `rules_read {}`, `refund {"id":1,"why":"torn"}`, `say {}`)}
	rows := Align(a, b, func(tool string) bool { return tool == "rules_read" })
	var got []string
	for _, r := range rows {
		got = append(got, fmt.Sprintf("%d %d/%d %s", r.Turn, r.CallA, r.CallB, r.What))
	}
	want := "0 0/0 , 1 0/1 call, 1 1/2 , 1 2/3 arguments, 1 3/4 result, 1 0/0 answer, 2 0/0 answer"
	if s := strings.Join(got, ", "); s != want {
		t.Errorf("rows %s\nwant %s", s, want)
	}
	if at := FirstDifference(rows); at != 1 {
		t.Errorf("the first difference is row %d, want 1", at)
	}
	if at := FirstDifference(Align(a, a, nil)); at != -1 {
		t.Errorf("a run differs from itself in row %d", at)
	}
}

// However many calls a turn has, every one has its row once.
func TestAlignBounded(t *testing.T) {
	var x, y []string
	for i := range 2 * maxAligned {
		x = append(x, fmt.Sprintf("a%d {}", i))
		y = append(y, fmt.Sprintf("a%d {}", i+1))
	}
	seenA, seenB := map[int]int{}, map[int]int{}
	for _, r := range Align([]trace.Turn{turnOf(0, "", x...)}, []trace.Turn{turnOf(0, "", y...)}, nil) {
		seenA[r.CallA]++
		seenB[r.CallB]++
	}
	for i := 1; i <= len(x); i++ {
		if seenA[i] != 1 || seenB[i] != 1 {
			t.Fatalf("call %d has %d and %d rows", i, seenA[i], seenB[i])
		}
	}
}
