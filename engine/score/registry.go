package score

import "slices"

// DefaultThreshold is the threshold of a metric without one of its own;
// OutcomeThreshold that of OutcomeCorrect. (PandaProbe Harness 0.9.)
const (
	DefaultThreshold = 0.5
	OutcomeThreshold = 0.9
)

// Metrics returns the nine metric names in registry order.
func Metrics() []string { return append(slices.Clone(TraceMetrics), OutcomeCorrect) }

// KnownMetric reports whether name is one of the nine metrics.
func KnownMetric(name string) bool { return name == OutcomeCorrect || TraceMetric(name) }

// TraceMetric reports whether an evaluator can be asked for the metric.
func TraceMetric(name string) bool { return slices.Contains(TraceMetrics, name) }
