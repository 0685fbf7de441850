package engine_test

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"vise/engine"
	"vise/engine/score/calibrate"
	"vise/engine/trace"
)

// imported brings recordings in: failing ones hold a bad turn.
func (p *project) imported(file string, labels ...string) {
	p.t.Helper()
	im := p.Import(p.t.Context(), false)
	for i, label := range labels {
		id := fmt.Sprintf("%s-%d", file, i)
		head := trace.Session{ID: id, Source: strings.SplitN(file, "/", 2)[0], File: "/data/" + file, Label: label,
			Attrs: map[string]any{"id": fmt.Sprintf("task%d", i), "index": i}, Counts: trace.Counts{Turns: 2}}
		err := errors.Join(im.Begin(head), im.Turn(good(id, 0)))
		if label == "failure" {
			err = errors.Join(err, im.Turn(bad(id, 1)))
		} else {
			err = errors.Join(err, im.Turn(good(id, 1)))
		}
		if err = errors.Join(err, im.End(head)); err != nil {
			p.t.Fatal(err)
		}
	}
	if err := im.Finish(map[string]any{}); err != nil {
		p.t.Fatal(err)
	}
}

func signal(t *testing.T, g engine.CalibrationGroup, name string) engine.Signal {
	t.Helper()
	for _, s := range g.Signals {
		if s.Name == name {
			return s
		}
	}
	t.Fatalf("no signal %q in %+v", name, g)
	return engine.Signal{}
}

func near(a, b float64) bool { return math.Abs(a-b) < 1e-9 }

func TestCalibrate(t *testing.T) {
	p := open(t, nil)
	half := []string{"failure", "failure", "failure", "failure", "failure", "failure", "success", "success", "success", "success", "success", "success"}
	p.imported("tau/a.json", half...)
	p.imported("other/b.json", "failure")
	p.imported("other/c.json", "success")

	// The outcomes that the recordings carry themselves.
	got, err := engine.Calibrate(t.Context(), p.store, engine.CalibrateOptions{})
	if err != nil || got.Labels != 14 || got.Matched != 14 || len(got.LeftOut) != 0 || len(got.Groups) != 3 || got.EvaluatedBy != "local/1" {
		t.Fatalf("%+v, %v", got, err)
	}
	tau := got.Groups[2]
	if got.Groups[0].Source != "all" || tau.Source != "tau" || tau.Sessions != 12 || tau.Failures != 6 {
		t.Fatalf("%+v", got.Groups)
	}
	health, turns := signal(t, tau, "health min"), signal(t, tau, "turns")
	if !near(*health.Area.AUC, 1) || health.Threshold == nil || health.Threshold.At >= 1 || health.Threshold.Sensitivity != 1 || health.Threshold.Specificity != 1 {
		t.Errorf("health: %+v, threshold %+v", health.Area, health.Threshold)
	}
	if !near(*turns.Area.AUC, 0.5) || !turns.Trivial || turns.Threshold != nil {
		t.Errorf("turns: %+v", turns)
	}
	// Counting calls sees as much in such sessions, and that is said.
	if tau.Lead == nil || tau.Lead.Against != "calls" || !near(*tau.Lead.AUC, 0) {
		t.Errorf("lead: %+v", tau.Lead)
	}
	// One session each in two files: compared within their source, without an interval.
	if other := signal(t, got.Groups[1], "health min"); !near(*other.Area.AUC, 1) || other.Area.Low != nil || other.Threshold != nil {
		t.Errorf("other: %+v", other)
	}
	if _, err := engine.Calibrate(t.Context(), p.store, engine.CalibrateOptions{Stored: true}); err == nil || !strings.Contains(err.Error(), "vise replay --recorded --all") {
		t.Errorf("nothing is stored: %v", err)
	}
}

// TestCalibrateFindsSessions: by file and any of their names; what cannot be used is
// counted with the reason.
func TestCalibrateFindsSessions(t *testing.T) {
	p := open(t, nil)
	p.imported("tau/a.json", "", "", "", "")
	p.imported("tau/one.json", "")
	labels := []calibrate.Label{
		{File: "tau/a.json", Session: "0|task0", Label: "success"},
		{File: "a.json", Session: "1", Label: "failure", Step: "2"},
		{File: "/data/tau/a.json", Session: "task2", Label: "failure", Step: "span:tau/a.json-2.0.b|dfs:9"},
		{Session: "tau/a.json-3", Label: "partial", Step: "77"},
		{File: "tau/one.json", Session: "whatever", Label: "success"},
		{File: "tau/a.json", Session: "task0", Label: "success"},
		{File: "tau/a.json", Session: "nobody", Label: "success"},
		{File: "u/a.json", Session: "task0", Label: "success"},
		{Session: "nobody", Label: "success"},
	}
	got, err := engine.Calibrate(t.Context(), p.store, engine.CalibrateOptions{Labels: labels})
	if err != nil || got.Matched != 4 || got.Labels != 9 {
		t.Fatalf("%+v, %v", got, err)
	}
	for _, why := range []string{"session labelled already", "its file holds no such session", "its file is not imported", "no such session is imported",
		`label "partial" is neither success nor failure`, "labelled step is no step of the agent"} {
		if got.LeftOut[why] != 1 {
			t.Errorf("%s: %d", why, got.LeftOut[why])
		}
	}
	// Two labelled steps were found: by position (input, tool, answer) and by span.
	if len(got.Places) != 1 || got.Places[0].Guesses[0].N != 2 || got.Places[0].Guesses[1].Name != "suspects" || got.Places[0].Guesses[1].Top1.Rate != 1 {
		t.Errorf("places: %+v", got.Places)
	}
}
