package recording

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"vise/engine/trace"
)

// A broken text is ended behind the last value that is whole.
func TestMend(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{`{"a":[1,{"b":"c`, `{"a":[1,{}]}`},
		{`{"a":[1,{"b":"c"`, `{"a":[1,{"b":"c"}]}`},
		{`{"a":1,"b":2`, `{"a":1}`}, // 2 may have gone on
		{`{"a":1,"b":tru`, `{"a":1}`},
		{`{"a":1,"b"`, `{"a":1}`},
		{`{"a":1,"b":`, `{"a":1}`},
		{`{"a":1}, more`, `{"a":1}`},
		{`[{"a":1},{"b":[`, `[{"a":1},{"b":[]}]`},
		{`{"a":"x" "b":1}`, `{"a":"x"}`}, // broken in the middle
		{`{"a":NaN,"b":[-Infinity,"NaN \" Infinity"],"c`, `{"a":null,"b":[null,"NaN \" Infinity"]}`},
		{`{"a":"\ud800","b":1}`, `{"a":"\ud800","b":1}`},
		{`{`, `{}`},
		{``, ``},
		{`"text`, ``},
		{`nonsense`, ``},
	} {
		got := string(Mend([]byte(c.in)))
		if got != c.want || got != "" && !json.Valid([]byte(got)) {
			t.Errorf("Mend(%s) = %s, want %s", c.in, got, c.want)
		}
	}
}

// What is nested too deep to be read is cut there, and its place is told.
func TestTooDeep(t *testing.T) {
	deep := strings.Repeat(`{"a":[`, 20_000) + strings.Repeat("]}", 20_000)
	if mended := Mend([]byte(`{"first":1,"deep":` + deep + "}")); !json.Valid(mended) || !strings.HasPrefix(string(mended), `{"first":1,"deep":{"a":[`) {
		t.Errorf("mended: %.60s", mended)
	}
	for _, in := range []string{"{\"first\":1,\n\"deep\":" + deep + "}", "[{\"other\":1},\n{\"first\":1,\"deep\":" + deep + "}]"} {
		rec := NewRecorder(context.Background(), "f.json", "test", Options{}, nil)
		found := false
		if err := Values(strings.NewReader(in), rec, func(v Value) error {
			var any map[string]any
			if err := json.Unmarshal(v.Data, &any); err != nil {
				t.Errorf("what is handed out cannot be read: %v", err)
			}
			found = found || any["first"] == 1.0 && v.Cut
			return nil
		}); err != nil || !found {
			t.Errorf("%.30s: found %v, %v", in, found, err)
		}
		if d := rec.Summary().Damaged; len(d) != 1 || !strings.HasPrefix(d[0].Reason, "nested deeper than 10000 levels") || d[0].Line == 0 {
			t.Errorf("%.30s: damage %+v", in, d)
		}
	}
}

// Whichever way a file strings its values together, all of them are handed out,
// valid, with their place; what is lost is counted.
func TestValues(t *testing.T) {
	for _, c := range []struct {
		name, in, want string // index:line:offset data, "!" = cut
		damage         int
	}{
		{"one", `{"a":1}`, `0:1:0 {"a":1}`, 0},
		{"one, indented", "{\n \"a\": 1\n}\n", "0:1:0 {\n \"a\": 1\n}", 0},
		{"one, cut", "{\n \"a\": [1,\n 2", "0:1:0! {\n \"a\": [1]}", 1},
		{"one with rubbish behind", "{\"a\":1}\n]", `0:1:0 {"a":1}`, 1},
		{"array", `[{"a":1}, {"b":2}]`, `0:1:1 {"a":1}|1:1:10 {"b":2}`, 0},
		{"array, cut", "[{\"a\":1},\n{\"b\":2,\"c", `0:1:1 {"a":1}|1:2:10! {"b":2}`, 1},
		{"array, cut between", `[{"a":1},`, `0:1:1 {"a":1}`, 1},
		{"lines", "{\"a\":1}\n\n{\"b\":2}\n", `0:1:0 {"a":1}|1:3:9 {"b":2}`, 0},
		{"lines, the first cut", "{\"a\":1,\"x\n{\"b\":2}\n", `0:1:0! {"a":1}|1:2:10 {"b":2}`, 1},
		{"objects without line feeds", `{"a":1}{"b":2}`, `0:1:0 {"a":1}|1:1:7 {"b":2}`, 0},
		{"not a number", `[{"a":NaN}]`, `0:1:1 {"a":null}`, 0},
		{"invalid UTF-8", "{\"a\":\"\xff\"}", "0:1:0 {\"a\":\"\xff\"}", 1},
		{"empty", "", "", 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			rec := NewRecorder(context.Background(), "x", "test", Options{}, none{})
			var got []string
			if err := Values(strings.NewReader(c.in), rec, func(v Value) error {
				mark := ""
				if v.Cut {
					mark = "!"
				}
				got = append(got, fmt.Sprintf("%d:%d:%d%s %s", v.Index, v.Line, v.Offset, mark, v.Data))
				return nil
			}); err != nil {
				t.Fatal(err)
			}
			if s := strings.Join(got, "|"); s != c.want {
				t.Errorf("values %s, want %s", s, c.want)
			}
			if n := rec.Summary().DamagedTotal; n != c.damage {
				t.Errorf("%d damages, want %d: %+v", n, c.damage, rec.Summary().Damaged)
			}
		})
	}
}

// keep is a sink of turns.
type keep struct{ turns []trace.Turn }

func (k *keep) Begin(trace.Session) error { return nil }
func (k *keep) End(trace.Session) error   { return nil }
func (k *keep) Turn(t trace.Turn) error {
	k.turns = append(k.turns, t)
	return nil
}

// A turn is handed on as soon as the next one begins, unless a call of it waits.
// Results find the oldest call of their key, also in a turn before.
func TestConversation(t *testing.T) {
	k := &keep{}
	rec := NewRecorder(context.Background(), "x", "test", Options{}, k)
	if err := rec.Begin(trace.Session{ID: "s"}); err != nil {
		t.Fatal(err)
	}
	c := NewConversation(rec)
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	c.Step(trace.Span{Output: "Hello"}) // the greeting belongs to the first input
	must(c.Input("one", c.Turn().Start))
	c.Step(trace.Span{ID: "m"})
	first := c.Call("id", trace.Span{Name: "a"})
	second := c.Call("id", trace.Span{Name: "b"})
	must(c.Input("two", c.Turn().Start))
	if len(k.turns) != 0 {
		t.Fatal("a turn whose calls wait was handed on")
	}
	c.Answer("id", Result{Output: "A"})
	c.Answer("id", Result{Output: "B", Failed: true})
	if first.Span().Output != "A" || second.Span().Error != "B" || second.Span().ID != "id#2" || first.Span().Parent != "m" {
		t.Errorf("%+v, %+v", first.Span(), second.Span())
	}
	c.Answer("id", Result{Output: "C", Failed: true}) // answers nothing
	must(c.Input("three", c.Turn().Start))
	if len(k.turns) != 2 || first.Span() != nil {
		t.Fatalf("%d turns were handed on", len(k.turns))
	}
	for i := range 2 * maxHeldTurns { // a call nobody answers holds nothing up for ever
		c.Call("lost", trace.Span{Name: "x"})
		must(c.Input(fmt.Sprint("more ", i), c.Turn().Start))
	}
	if n := len(c.held); n > maxHeldTurns {
		t.Errorf("%d turns are held", n)
	}
	must(c.End())
	must(rec.End())
	if n := len(k.turns); n != 3+2*maxHeldTurns || k.turns[0].Input != "one" || k.turns[0].Synthetic || len(k.turns[0].Spans) != 4 {
		t.Errorf("%d turns, the first %+v", n, k.turns[0])
	}
	if s := k.turns[1].Spans[0]; s.Name != "orphan_result" || s.Kind != trace.CHAIN || s.Error != "C" {
		t.Errorf("orphan %+v", s)
	}
	if rec.Summary().Calls != 2+2*maxHeldTurns || rec.Summary().Errors != 1 {
		t.Errorf("%+v", rec.Summary())
	}
}

func TestStem(t *testing.T) {
	for in, want := range map[string]string{"a/b.traj.json": "b", "x.jsonl": "x", "2026-01-01.eval": "2026-01-01", ".json": ".json", "plain": "plain"} {
		if got := Stem(in); got != want {
			t.Errorf("Stem(%s) = %s, want %s", in, got, want)
		}
	}
}
