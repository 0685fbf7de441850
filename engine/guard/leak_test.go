package guard_test

import (
	"encoding/json"
	"slices"
	"testing"

	"vise/engine/guard"
)

func TestLeak(t *testing.T) {
	limit := 0.9
	protected := []guard.Protected{
		{Name: "a rubric", Text: "Lower for certainty without support, and for doubt where the results are plain to everybody."},
		{Name: "an expected answer", Text: "Order A-1004", Whole: true},
		{Name: "a short answer", Text: "42", Whole: true},
		{Name: "a threshold", Number: &limit},
	}
	for text, want := range map[string]string{
		"Always pass reason_code when calling issue_refund.":                                    "",
		"Be LOWER for certainty — without support and for\ndoubt where the results seem clear.": "lower for certainty without support and for doubt where the results",
		"Lower the price for doubt where it is plain.":                                          "", // no eight words in a row
		"The right order is  order a 1004.":                                                     "order a 1004",
		"Orders such as A-10045 are fine.":                                                      "",
		"Wait 42 seconds.":                                                                      "",
		"Aim at a score of at least 0.90.":                                                      "0.90",
		"The verifier wants 90 % of it.":                                                        "90 %",
		"Give 90 % of the price back.":                                                          "", // no word of scoring
		"A score below 0.8 is bad.":                                                             "",
	} {
		got, name, found := guard.Leak(text, protected)
		if got != want || found != (want != "") || found && name == "" {
			t.Errorf("%q: %q of %q (%v), want %q", text, got, name, found, want)
		}
	}
}

func TestAnswersAreFoundAndTakenOut(t *testing.T) {
	var v any
	if err := json.Unmarshal([]byte(`{"state":"open","info":{"ground_truth":"Paris","n":1},"expectedActions":[{"name":"refund","amount":12.5}],"unexpected_stop":true}`), &v); err != nil {
		t.Fatal(err)
	}
	if got := guard.Answers(v, 10); !slices.Equal(got, []string{"12.5", "Paris", "refund"}) {
		t.Errorf("answers %q", got)
	}
	if got := guard.Answers(v, 1); len(got) != 1 {
		t.Errorf("bounded to one: %q", got)
	}
	rest, _ := json.Marshal(guard.WithoutAnswers(v))
	if string(rest) != `{"info":{"n":1},"state":"open","unexpected_stop":true}` {
		t.Errorf("without answers: %s", rest)
	}
}

func FuzzLeak(f *testing.F) {
	f.Add("a b c d e f g h i", "b c d e f g h i j", false)
	f.Add("90%", "", true)
	f.Fuzz(func(t *testing.T, text, source string, whole bool) {
		fragment, _, found := guard.Leak(text, []guard.Protected{{Name: "x", Text: source, Whole: whole}})
		if found != (fragment != "") {
			t.Errorf("%q in %q: %q %v", source, text, fragment, found)
		}
	})
}
