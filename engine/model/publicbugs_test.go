package model

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"

	"vise/engine/model/faults"
)

// The tests of this file are named after rows of testdata/publicbugs.txt: faults that
// users of other programs reported, made anew on ours.

// Pieces of parallel calls without an index belong to the call whose id they carry.
func TestB19CallsWithoutIndex(t *testing.T) {
	piece := func(index, id, name, args string) string {
		return fmt.Sprintf(`{"choices":[{"delta":{"tool_calls":[{%s"id":"%s","function":{"name":"%s","arguments":"%s"}}]}}]}`, index, id, name, args)
	}
	for name, index := range map[string]string{"none": "", "null": `"index":null,`} {
		t.Run(name, func(t *testing.T) {
			c, _ := scripted(t, Options{}, faults.Step{Lines: []string{
				piece(index, "a", "read", `{\"path\":`), piece(index, "b", "grep", `{\"q\":`), piece(index, "a", "", `\"x\"}`), piece(index, "b", "", `\"y\"}`),
				faults.Finish("tool_calls"), "[DONE]"}})
			if r, err := ask(t, c); err != nil || calls(r) != `a:read({"path":"x"}) b:grep({"q":"y"})` {
				t.Errorf("%s, %v", calls(r), err)
			}
		})
	}
}

// Whole calls that all carry the index 0 are told apart by their ids.
func TestB20CallsUnderOneIndex(t *testing.T) {
	c, _ := scripted(t, Options{}, faults.Step{Lines: []string{faults.Call("0", "a", "read", `{"n":1}`), faults.Call("0", "b", "grep", `{"n":2}`),
		faults.Call("0", "c", "bash", `{"n":3}`), faults.Finish("tool_calls"), "[DONE]"}})
	if r, err := ask(t, c); err != nil || calls(r) != `a:read({"n":1}) b:grep({"n":2}) c:bash({"n":3})` {
		t.Errorf("%s, %v", calls(r), err)
	}
}

// An answer with calls that ends with "stop" is one with calls; it is noted once.
func TestB23StopWithCalls(t *testing.T) {
	c, _ := scripted(t, Options{}, faults.Step{Lines: []string{faults.Call("0", "a", "read", `{}`), faults.Finish("stop"), "[DONE]"}})
	r, err := ask(t, c)
	if err != nil || calls(r) != "a:read({})" || r.Finish != "tool_calls" || strings.Count(strings.Join(r.Notes, "\n"), "finished with stop") != 1 {
		t.Errorf("%s, finish %q, notes %q, %v", calls(r), r.Finish, r.Notes, err)
	}
}

// A stream that breaks off in a call has no call, however whole the beginning looks; its
// text is kept. (That the repair agent asks again once and then fails is
// TestServerCutStreamExecutesNothing of package repair.)
func TestB25CutInACall(t *testing.T) {
	for _, arguments := range []string{`{"path":"/ho`, `{"path":"/"}`} {
		for _, cut := range []bool{true, false} {
			c, _ := scripted(t, Options{}, faults.Step{Lines: []string{faults.Text("I look"), faults.Call("0", "a", "rm", arguments)}, Cut: cut})
			r, err := ask(t, c)
			if !errors.Is(err, ErrTruncated) || len(r.Calls) != 0 || r.Text != "I look" {
				t.Errorf("%s: %s, text %q, %v", arguments, calls(r), r.Text, err)
			}
		}
	}
}

// An error in the middle of a stream that began with status 200 is the provider's error,
// not an empty answer.
func TestB26ErrorInTheStream(t *testing.T) {
	for _, line := range []string{`{"error":{"message":"upstream is overloaded","code":503}}`, `{"id":"x","choices":[],"error":{"message":"upstream is overloaded"}}`} {
		for _, end := range [][]string{{"[DONE]"}, nil} {
			c, _ := scripted(t, Options{Retries: -1}, faults.Step{Lines: append([]string{faults.Text("a"), faults.Text("b"), line}, end...)})
			r, err := ask(t, c)
			if err == nil || KindOf(err) != KindServer || !strings.Contains(err.Error(), "upstream is overloaded") || r.Text != "ab" {
				t.Errorf("%s %v: %+v, %v", line, end, r, err)
			}
		}
	}
}

// The last piece holds the usage and no choice.
func TestB27UsageWithoutChoices(t *testing.T) {
	ledger := NewLedger(Budget{})
	c, _ := scripted(t, Options{Ledger: ledger}, faults.Step{Lines: []string{faults.Text("ok"), faults.Finish("stop"), usageLine, "[DONE]"}})
	r, err := ask(t, c)
	if err != nil || r.Text != "ok" || r.Usage.Input != 10 || r.Usage.Output != 5 {
		t.Fatalf("%+v, %v", r, err)
	}
	if got := ledger.Total(); got.Calls != 1 || got.Input != 10 || got.Output != 5 {
		t.Errorf("booked %+v", got)
	}
}

// Whatever shape the body of an error has, it is one short line with the status; what may
// pass by itself is tried again, up to a bound, and what cannot is not.
func TestB28ErrorBodies(t *testing.T) {
	for body, says := range map[string]string{
		`[{"error":{"message":"x marks it"}}]`: "x marks it", `{"error":"bare text"}`: "bare text", `{"detail":"in detail"}`: "in detail",
		"<html><head><title>502</title></head><body><h1>Bad Gateway</h1>" + strings.Repeat("<p>long</p>", 10_000): "Bad Gateway", "": "no text",
	} {
		for status, tries := range map[int]int{400: 1, 429: 3, 502: 3} {
			synctest.Test(t, func(t *testing.T) {
				step := faults.Step{Status: status, Body: body}
				c, script := scripted(t, Options{}, step, step, step, step)
				_, err := ask(t, c)
				if err == nil || len(script.Requests()) != tries {
					t.Fatalf("%d %.40q: %d requests, %v", status, body, len(script.Requests()), err)
				}
				if s := err.Error(); !strings.Contains(s, says) || !strings.Contains(s, fmt.Sprint(status)) || strings.Contains(s, "\n") || len([]rune(s)) > 450 {
					t.Errorf("%d %.40q: %q", status, body, s)
				}
			})
		}
	}
	// A connection that breaks before an answer is tried again as well.
	synctest.Test(t, func(t *testing.T) {
		c, script := scripted(t, Options{}, faults.Step{Err: io.ErrUnexpectedEOF}, faults.Step{Lines: []string{faults.Text("ok"), faults.Finish("stop"), "[DONE]"}})
		if r, err := ask(t, c); err != nil || r.Text != "ok" || len(script.Requests()) != 2 {
			t.Errorf("%+v, %v after %d requests", r, err, len(script.Requests()))
		}
	})
}
