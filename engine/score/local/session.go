package local

import "vise/engine/score"

// Summary condenses the scores of a session's turns, by metric; a metric no turn
// could score is missing. Mean is the trend to show, Min the verdict: a session
// is as good as its worst turn. Health is the mean over the metrics, nil if
// there is none.
type Summary struct {
	Mean, Min             map[string]float64
	MeanHealth, MinHealth *float64
}

// Summarize condenses the scores of turns as [Evaluator.Turn] returned them.
// Pending values are left out, never counted as zero.
func Summarize(turns [][]score.Score) Summary {
	s := Summary{Mean: map[string]float64{}, Min: map[string]float64{}}
	count := map[string]float64{}
	for _, turn := range turns {
		for _, sc := range turn {
			if sc.Value == nil {
				continue
			}
			if v, ok := s.Min[sc.Metric]; !ok || *sc.Value < v {
				s.Min[sc.Metric] = *sc.Value
			}
			s.Mean[sc.Metric] += *sc.Value
			count[sc.Metric]++
		}
	}
	for m := range s.Mean {
		s.Mean[m] /= count[m]
	}
	s.MeanHealth, s.MinHealth = health(s.Mean), health(s.Min)
	return s
}

// health averages in registry order, so that the sum does not depend on map
// order.
func health(values map[string]float64) *float64 {
	var sum, n float64
	for _, m := range metricNames {
		if v, ok := values[m]; ok {
			sum += v
			n++
		}
	}
	if n == 0 {
		return nil
	}
	h := sum / n
	return &h
}
