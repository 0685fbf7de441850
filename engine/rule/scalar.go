package rule

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"

	"vise/engine/guard"
	"vise/engine/score"
)

// TextOf returns the text a tool argument stands for: text as it is, numbers and
// booleans as they are written, nil as "", anything else as JSON.
func TextOf(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case string:
		return v
	case bool:
		return strconv.FormatBool(v)
	case json.Number:
		if f, err := v.Float64(); err == nil && strings.ContainsAny(string(v), ".eE") {
			return floatText(f)
		}
		return string(v)
	case float64:
		if v == math.Trunc(v) && math.Abs(v) < 1e15 {
			return strconv.FormatInt(int64(v), 10)
		}
		return floatText(v)
	case int:
		return strconv.Itoa(v)
	case int64:
		return strconv.FormatInt(v, 10)
	}
	raw, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return string(raw)
}

// floatText writes a float with at least one decimal, in exponent form only when
// it is very large or very small.
func floatText(f float64) string {
	format := byte('f')
	if a := math.Abs(f); a != 0 && (a < 1e-4 || a >= 1e16) {
		format = 'e'
	}
	s := strconv.FormatFloat(f, format, -1, 64)
	if format == 'f' && !strings.Contains(s, ".") {
		s += ".0"
	}
	return s
}

// ParseMetric returns the metric a proposed rule is about: "" for nil and blank,
// one of the nine names, or an *Error of class ErrUnknownMetric.
func ParseMetric(v any) (string, error) {
	name := guard.Trim(TextOf(v))
	if name == "" || score.KnownMetric(name) {
		return name, nil
	}
	return "", refuse(ErrUnknownMetric, fmt.Sprintf("parse metric: %q is no metric; use one of %s or leave it out",
		guard.Line(name, 60), strings.Join(score.Metrics(), ", ")))
}
