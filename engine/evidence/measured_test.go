package evidence_test

import (
	"maps"
	"math"
	"strings"
	"testing"

	"vise/engine/evidence"
)

func TestMeasureNoise(t *testing.T) {
	for _, c := range []struct {
		name   string
		groups [][]float64
		want   evidence.MetricNoise
	}{
		{"nothing", nil, evidence.MetricNoise{}},
		{"one value each", [][]float64{{0.2}, {0.8}}, evidence.MetricNoise{N: 2, Groups: 2, Mean: 0.5}},
		{"the same value again", [][]float64{{0.7, 0.7, 0.7}, {0.2, 0.2, 0.2}}, evidence.MetricNoise{N: 6, Groups: 2, Mean: 0.45}},
		// Deviations from the group's own mean: a hard and an easy turn are no noise.
		{"scatter within groups", [][]float64{{0.1, 0.3}, {0.7, 0.9}}, evidence.MetricNoise{N: 4, Groups: 2, Mean: 0.5, SD: math.Sqrt(0.02)}},
		{"flips", [][]float64{{0.4, 0.6, 0.6}}, evidence.MetricNoise{N: 3, Groups: 1, Mean: 1.6 / 3, SD: math.Sqrt(0.08 / 6), Flips: 2.0 / 3}},
	} {
		got := evidence.MeasureNoise("coherence", c.groups, 0.5)
		c.want.Metric = "coherence"
		if math.Abs(got.SD-c.want.SD) > 1e-9 || math.Abs(got.Mean-c.want.Mean) > 1e-9 || got.N != c.want.N || got.Groups != c.want.Groups || got.Flips != c.want.Flips {
			t.Errorf("%s: %+v, want %+v", c.name, got, c.want)
		}
	}
}

func TestReadingJudge(t *testing.T) {
	idle := func(v float64) *float64 { return &v }
	steady := &evidence.MetricNoise{N: 30, Groups: 10, Mean: 0.8}
	for _, c := range []struct {
		name string
		r    evidence.Reading
		why  string // "" = decides
	}{
		{"steady", evidence.Reading{Evaluator: steady, Idle: idle(0.2)}, ""},
		{"not tried on an idle agent", evidence.Reading{Evaluator: steady}, ""},
		{"flips", evidence.Reading{Evaluator: &evidence.MetricNoise{N: 30, Groups: 10, Mean: 0.8, Flips: 0.21}}, "disagree in 21 %"},
		{"idle scores as well", evidence.Reading{Evaluator: steady, Idle: idle(0.8)}, "does nothing scores 0.80"},
		{"no value", evidence.Reading{}, "no stored turn"},
	} {
		if got := c.r.Judge(); got.Decides != (c.why == "") || !strings.Contains(got.Why, c.why) {
			t.Errorf("%s: %v %q", c.name, got.Decides, got.Why)
		}
	}
}

func TestGateNoise(t *testing.T) {
	noise := func(metric string, sd float64, n int) evidence.Reading {
		return evidence.Reading{Metric: metric, Evaluator: &evidence.MetricNoise{N: n, Groups: 3, SD: sd}}
	}
	m := evidence.Measured{Readings: []evidence.Reading{noise("loud", 0.12, 30), noise("calm", 0.02, 30), noise("few", 0.12, 6)}}
	metrics := []string{"loud", "calm", "few", "unknown"}
	for mode, want := range map[string]map[string]float64{
		"seed":  {},
		"auto":  {"loud": 0.12},
		"noise": {"loud": 0.12, "calm": 0.02, "few": evidence.DefaultSD, "unknown": evidence.DefaultSD},
	} {
		if got := evidence.GateNoise(mode, metrics, m, 0.03); !maps.Equal(got, want) {
			t.Errorf("mode %s: %v, want %v", mode, got, want)
		}
	}
}
