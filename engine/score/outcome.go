package score

import (
	"encoding/json"
	"math"
)

// Outcome turns what a developer's verifier returned into a score in [0,1]: a
// boolean is 1 or 0, a number is clamped. Anything else, and not-a-number, is no
// verdict: nil.
func Outcome(v any) *float64 {
	var f float64
	switch v := v.(type) {
	case bool:
		if v {
			f = 1
		}
	case float64:
		f = v
	case float32:
		f = float64(v)
	case int:
		f = float64(v)
	case int64:
		f = float64(v)
	case json.Number:
		n, err := v.Float64()
		if err != nil && !math.IsInf(n, 0) {
			return nil
		}
		f = n
	default:
		return nil
	}
	if math.IsNaN(f) {
		return nil
	}
	f = min(max(f, 0), 1)
	return &f
}
