package engine_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"vise/engine"
	"vise/engine/config"
	"vise/engine/event"
	"vise/engine/evidence"
	"vise/engine/score"
	"vise/engine/score/verifier"
	"vise/engine/trace"
	"vise/store"
)

// verified gives the project a verifier written in shell.
func verified(t *testing.T, script string) func(*config.Config, *engine.Options) {
	return func(_ *config.Config, o *engine.Options) {
		v, err := verifier.New(verifier.Options{Command: []string{"sh", "-c", script}, Env: []string{"PATH=" + os.Getenv("PATH")}, Timeout: 20 * time.Second})
		if err != nil {
			t.Fatal(err)
		}
		o.Verifier = v
	}
}

func (p *project) report(session string, turn int) (r score.Report) {
	p.t.Helper()
	p.view(func(tx *store.Tx) (err error) {
		r, _, err = tx.Report(session, turn)
		return err
	})
	return r
}

// TestTheOutcomeComesLastAndBreaches: a turn in which nothing looks wrong but that
// missed its aim is a breach, with its trace for the repair to look into.
func TestTheOutcomeComesLastAndBreaches(t *testing.T) {
	p := open(t, verified(t, `grep -q '"turn_index":0' && echo true || echo 0.4`))
	p.begin("s", trace.Live)
	p.end(good("s", 0))
	if n := p.notices(); len(n) != 0 {
		t.Fatalf("after a turn that reached its aim: %+v", n)
	}
	p.end(good("s", 1))
	n := p.notices()
	if len(n) != 1 || !slices.Equal(n[0].Signatures, []string{"breach:outcome_correct"}) || !slices.Equal(n[0].FlaggedTraces, []string{"s.1"}) {
		t.Fatalf("notices: %+v", n)
	}
	// Tier 1, then the outcome; it opens no tier. What is only shown comes behind.
	var tiers []int
	for _, s := range p.report("s", 1).Scores {
		tiers = append(tiers, s.Tier)
	}
	if !slices.Equal(tiers, []int{1, 1, 0, 3, 3, 3}) {
		t.Errorf("tiers %v", tiers)
	}
	p.view(func(tx *store.Tx) error {
		cases, err := tx.Cases(evidence.Failure)
		if err != nil || len(cases) != 1 || cases[0].Baseline[score.OutcomeCorrect] != 0.4 || !strings.HasPrefix(cases[0].BaselineBy[score.OutcomeCorrect], "verifier/1 ") {
			t.Errorf("cases: %+v, %v", cases, err)
		}
		return nil
	})
}

// TestABrokenVerifierIsNoVerdict: NaN is neither 1 nor 0; the reason is journalled
// and the other scores stand.
func TestABrokenVerifierIsNoVerdict(t *testing.T) {
	p := open(t, verified(t, `echo NaN`))
	p.begin("s", trace.Live)
	p.end(good("s", 0))
	r := p.report("s", 0)
	if len(r.Scores) != 5 || slices.ContainsFunc(r.Scores, func(s score.Score) bool { return s.Metric == score.OutcomeCorrect }) {
		t.Errorf("scores: %+v", r.Scores)
	}
	var e []event.Event
	p.view(func(tx *store.Tx) (err error) {
		e, err = tx.LastEvents(10, event.Skip)
		return err
	})
	if len(e) != 1 || e[0].Data["what"] != "verifier" || !strings.Contains(e[0].Data["reason"].(string), "NaN") || e[0].SessionID != "s" {
		t.Errorf("journal: %+v", e)
	}
}

// TestWhatAVerifierSaysIsMasked: the journal quotes its last line, and no key in it.
func TestWhatAVerifierSaysIsMasked(t *testing.T) {
	p := open(t, verified(t, `echo "refused: ghp_0123456789abcdef0123456789abcdef0123" >&2; exit 3`))
	p.begin("s", trace.Live)
	p.end(good("s", 0))
	p.view(func(tx *store.Tx) error {
		e, err := tx.LastEvents(10, event.Skip)
		if len(e) != 1 || !strings.Contains(e[0].Data["reason"].(string), "refused") || strings.Contains(e[0].Data["reason"].(string), "ghp_0123") {
			t.Errorf("journal: %+v", e)
		}
		return err
	})
}

// TestAVerdictThatWasCutOffIsAskedForAgain: closing while the verifier runs marks
// nothing as seen.
func TestAVerdictThatWasCutOffIsAskedForAgain(t *testing.T) {
	gate := filepath.Join(t.TempDir(), "open")
	p := open(t, verified(t, `while ! test -e `+gate+`; do sleep 0.05; done; echo true`))
	p.begin("s", trace.Live)
	if err := p.EndTurn(t.Context(), good("s", 0)); err != nil {
		t.Fatal(err)
	}
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	if r := p.report("s", 0); len(r.Scores) != 0 {
		t.Fatalf("scored without a verdict: %+v", r)
	}
	if err := os.WriteFile(gate, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	o := engine.Options{Config: p.cfg, Store: p.store}
	verified(t, "echo true")(p.cfg, &o)
	p.start(o)
	p.settle("s")
	if r := p.report("s", 0); len(r.Baseline()) == 0 || r.Baseline()[score.OutcomeCorrect] != 1 {
		t.Errorf("after the restart: %+v", r)
	}
}

// TestNoiseIsMeasuredOfTheWholeIdentity: what is measured with a verifier is found
// again by those who decide with it, and not by those without.
func TestNoiseIsMeasuredOfTheWholeIdentity(t *testing.T) {
	p := open(t, verified(t, "echo 1"))
	p.begin("s", trace.Live)
	p.end(good("s", 0))
	m, err := p.MeasureNoise(t.Context(), engine.NoiseOptions{Turns: 2, Repeats: 2})
	if err != nil || !strings.HasPrefix(m.EvaluatedBy, "local/1; verifier/1 ") {
		t.Fatalf("%+v, %v", m, err)
	}
	if r, ok := m.Reading(score.OutcomeCorrect); !ok || r.Evaluator == nil || r.Evaluator.N == 0 {
		t.Errorf("outcome: %+v", r)
	}
}
