package calibrate

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
)

func TestReadLabels(t *testing.T) {
	got, err := ReadLabels(strings.NewReader("# ours\nfile\tsession\tlabel\tmistake_step\tnote\na/b.json\t0|task0\tfailure\t3\tx\n\nc.jsonl\t\tsuccess\r\n"))
	if err != nil || len(got) != 2 {
		t.Fatalf("%+v, %v", got, err)
	}
	if got[0] != (Label{3, "a/b.json", "0|task0", "failure", "3"}) || got[1] != (Label{5, "c.jsonl", "", "success", ""}) {
		t.Errorf("%+v", got)
	}
	for text, want := range map[string]string{
		"":                                  "empty",
		"file\tlabel\na\tb":                 `line 1: there is no column "session"`,
		"file\tsession\tlabel\na\tb\t":      "line 2: a label needs",
		"file\tsession\tlabel\n\t\tsuccess": "line 2: a label needs",
		"file\tsession\tlabel\n" + strings.Repeat("x", 70<<10): "line 2: longer than",
	} {
		if _, err := ReadLabels(strings.NewReader(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.40q: %v, want %q", text, err, want)
		}
	}
	for word, want := range map[string][2]bool{"success": {false, true}, "FAIL": {true, true}, "0": {true, true}, "partial": {}, "unknown": {}} {
		if failed, known := (Label{Label: word}).Failed(); failed != want[0] || known != want[1] {
			t.Errorf("%s: %v %v", word, failed, known)
		}
	}
}

// sessions makes n failed and n successful sessions per stratum whose risk differs by shift.
func sessions(r *rand.Rand, strata, n int, shift float64) (out []Sample) {
	for s := range strata {
		for i := range 2 * n {
			failed := i < n
			x := r.NormFloat64() + 10*float64(s) // strata lie far apart
			if failed {
				x += shift
			}
			out = append(out, Sample{Source: "s", Stratum: fmt.Sprint(s), Failed: failed, Risk: map[string]float64{"x": x, "noise": r.NormFloat64()}})
		}
	}
	return out
}

// TestAreaIsTheShareOfPairs: against counting every pair within a stratum.
func TestAreaIsTheShareOfPairs(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for range 20 {
		all := sessions(r, 3, 7, 0.5)
		for i := range all {
			all[i].Risk["x"] = math.Round(all[i].Risk["x"]*2) / 2 // ties
		}
		var wins, total float64
		for _, f := range all {
			for _, s := range all {
				if f.Failed && !s.Failed && f.Stratum == s.Stratum {
					total++
					switch {
					case f.Risk["x"] > s.Risk["x"]:
						wins++
					case f.Risk["x"] == s.Risk["x"]:
						wins += 0.5
					}
				}
			}
		}
		a := AreaOf(all, "x")
		if a.AUC == nil || math.Abs(*a.AUC-wins/total) > 1e-12 || a.Strata != 3 || a.N != 42 {
			t.Fatalf("%+v, want %v", a, wins/total)
		}
	}
}

// TestIntervalsCover: a 95 % interval holds the true AUC about 95 times in 100.
func TestIntervalsCover(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 2))
	const shift, runs = 0.7, 400
	truth := 0.5 * (1 + math.Erf(shift/2)) // of two unit normals
	held, none := 0, 0
	for range runs {
		all := sessions(r, 2, 20, shift)
		if a := AreaOf(all, "x"); *a.Low <= truth && truth <= *a.High {
			held++
		}
		if d := Compare(all, "x", "noise"); *d.Low <= truth-0.5 && truth-0.5 <= *d.High {
			none++
		}
	}
	for _, n := range []int{held, none} {
		if share := float64(n) / runs; share < 0.90 || share > 0.985 {
			t.Errorf("coverage %.3f", share)
		}
	}
}

func TestTooFewIsSaid(t *testing.T) {
	one := []Sample{{Stratum: "a", Failed: true, Risk: map[string]float64{"x": 1}}, {Stratum: "b", Risk: map[string]float64{"x": 0}}}
	if a := AreaOf(one, "x"); a.AUC != nil || a.N != 2 {
		t.Errorf("nothing can be compared: %+v", a)
	}
	one[1].Stratum = "a"
	if a := AreaOf(one, "x"); *a.AUC != 1 || a.Low != nil || ThresholdOf(one, "x") != nil {
		t.Errorf("%+v", a)
	}
	if a := AreaOf(one, "y"); a.AUC != nil || a.N != 0 {
		t.Errorf("%+v", a)
	}
	if d := Compare(one, "x", "y"); d.AUC != nil {
		t.Errorf("%+v", d)
	}
}

// TestNoExceptionIsNotCertainty: ten of ten is not sure to go on.
func TestNoExceptionIsNotCertainty(t *testing.T) {
	var all []Sample
	for i := range 20 {
		all = append(all, Sample{Failed: i >= 10, Risk: map[string]float64{"x": float64(i), "y": -float64(i)}})
	}
	if a := AreaOf(all, "x"); *a.AUC < 0.999 || *a.Low > 0.75 || *a.High < 0.999 {
		t.Errorf("%v, %v to %v", *a.AUC, *a.Low, *a.High)
	}
	if a := AreaOf(all, "y"); *a.AUC > 0.001 || *a.High < 0.25 {
		t.Errorf("%v, %v to %v", *a.AUC, *a.Low, *a.High)
	}
}

func TestThreshold(t *testing.T) {
	var all []Sample
	for i := range 20 { // failures 10..19 but for one, successes 0..9 but for two
		failed := i >= 10
		if i == 3 || i == 12 || i == 14 {
			failed = !failed
		}
		all = append(all, Sample{Failed: failed, Risk: map[string]float64{"x": float64(i)}})
	}
	got := ThresholdOf(all, "x")
	if got == nil || got.At != 10 || math.Abs(got.Sensitivity-8.0/9) > 1e-12 || math.Abs(got.Specificity-9.0/11) > 1e-12 || got.Low > 10 || got.High < 10 {
		t.Errorf("%+v", got)
	}
	if again := ThresholdOf(all, "x"); *again != *got {
		t.Errorf("the same sessions gave %+v and %+v", got, again)
	}
	for i := range all {
		all[i].Risk["flat"] = 1
	}
	if got := ThresholdOf(all, "flat"); got != nil {
		t.Errorf("nothing separates them: %+v", got)
	}
}

func TestPlace(t *testing.T) {
	guesses := Place([]Placed{
		{Steps: 4, Label: 1, Guesses: map[string][]int{"g": {1, 0, 2}}},
		{Steps: 10, Label: 5, Guesses: map[string][]int{"g": {6, 2, 5}}},
		{Steps: 2, Label: 0, Guesses: map[string][]int{}},
	}, []string{"g"})
	random, g := guesses[0], guesses[1]
	if g.N != 3 || math.Abs(g.Top1.Rate-1.0/3) > 1e-12 || math.Abs(g.Top3.Rate-2.0/3) > 1e-12 || math.Abs(g.Near1.Rate-2.0/3) > 1e-12 {
		t.Errorf("%+v", g)
	}
	if math.Abs(random.Top1.Rate-(0.25+0.1+0.5)/3) > 1e-12 || math.Abs(random.Top3.Rate-(0.75+0.3+1)/3) > 1e-12 || math.Abs(random.Near1.Rate-(0.75+0.3+1)/3) > 1e-12 {
		t.Errorf("%+v", random)
	}
	// Wilson's interval for 8 of 10, as tabulated.
	if s := share(8, 10); math.Abs(s.Low-0.490) > 0.001 || math.Abs(s.High-0.943) > 0.001 {
		t.Errorf("%+v", s)
	}
}

func BenchmarkAreaOf(b *testing.B) {
	all := sessions(rand.New(rand.NewPCG(3, 3)), 1, 5000, 0.5)
	b.ReportAllocs()
	for b.Loop() {
		AreaOf(all, "x")
	}
}
