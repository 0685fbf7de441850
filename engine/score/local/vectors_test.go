package local

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"vise/engine/internal/vectors"
	"vise/engine/score"
	"vise/engine/trace"
)

// vectorTurn is a turn as the vectors write it.
type vectorTurn struct {
	Input string `json:"input"`
	Spans []struct {
		Kind    trace.Kind `json:"kind"`
		Name    string     `json:"name"`
		Text    string     `json:"text"`
		Args    string     `json:"args"`
		Output  string     `json:"output"`
		Error   bool       `json:"error"`
		Pending bool       `json:"pending"`
	} `json:"spans"`
	Expect  map[string]*float64 `json:"expect"`
	Checks  [][2]any            `json:"checks"`
	Reasons map[string][]string `json:"reasons"`
}

func (v vectorTurn) turn() trace.Turn {
	t := trace.Turn{Input: v.Input, TraceID: "t"}
	for i, s := range v.Spans {
		span := trace.Span{ID: fmt.Sprint("s", i), Kind: s.Kind, Name: s.Name, Input: s.Args, Output: s.Output, Pending: s.Pending}
		if s.Kind == trace.LLM {
			span.Output = s.Text
		}
		if s.Error {
			span.Error = s.Output
		}
		t.Spans = append(t.Spans, span)
	}
	return t
}

// TestVectorsLocal compares values exactly, reasons by text, check ids and their
// counts in the order the checks fired.
func TestVectorsLocal(t *testing.T) {
	raw, err := os.ReadFile(filepath.Join(vectors.Dir(t), "local", "metrics.json"))
	if err != nil {
		t.Fatal(err)
	}
	var cases []struct {
		Name  string       `json:"name"`
		Tools []string     `json:"tools"`
		Turns []vectorTurn `json:"turns"`
	}
	vectors.Decode(t, raw, &cases)
	if len(cases) == 0 {
		t.Fatal("metrics.json holds no case")
	}
	for _, c := range cases {
		t.Run(c.Name, func(t *testing.T) {
			var s trace.Session
			for _, name := range c.Tools {
				s.Tools = append(s.Tools, trace.Tool{Name: name})
			}
			e, shadow := New(s, Options{}), New(s, Options{})
			for i, want := range c.Turns {
				values, reasons := map[string]*float64{}, map[string][]string{}
				var order []string
				for _, got := range e.Turn(want.turn()) {
					order = append(order, got.Metric)
					values[got.Metric] = got.Value
					if len(got.Reasons) > 0 {
						reasons[got.Metric] = slices.Sorted(slices.Values(got.Reasons))
					}
					for _, r := range want.Reasons[got.Metric] {
						if strings.HasPrefix(r, "fault: ") && !strings.HasPrefix(got.Reasons[0], "fault: ") {
							t.Errorf("turn %d: %s: the worst reason is not first: %q", i, got.Metric, got.Reasons)
						}
					}
				}
				if want := []string{score.TaskCompletion, score.Coherence, score.ToolCorrectness, score.ArgumentCorrectness, score.StepEfficiency}; !slices.Equal(order, want) {
					t.Errorf("turn %d: metrics in order %q, want %q", i, order, want)
				}
				if d := cmp.Diff(want.Expect, values); d != "" {
					t.Errorf("turn %d: values (-want +got)\n%s", i, d)
				}
				for m := range want.Reasons {
					slices.Sort(want.Reasons[m])
				}
				if d := cmp.Diff(want.Reasons, reasons); d != "" {
					t.Errorf("turn %d: reasons (-want +got)\n%s", i, d)
				}
				checks := "[]"
				for j, h := range shadow.read(want.turn()).hits {
					if j == 0 {
						checks = ""
					}
					checks += fmt.Sprintf("[%s %d]", h.check, h.n)
				}
				expected := "[]"
				for j, h := range want.Checks {
					if j == 0 {
						expected = ""
					}
					expected += fmt.Sprintf("[%v %v]", h[0], h[1])
				}
				if checks != expected {
					t.Errorf("turn %d: checks %s, want %s", i, checks, expected)
				}
			}
		})
	}
}
