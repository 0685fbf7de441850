package tools

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"

	"vise/engine/guard"
	"vise/engine/rule"
)

// Bounds of a search: the reference's default and range of limit, and our own cap
// of the query in code points.
const (
	defaultLimit = 10
	maxLimit     = 50
	maxQuery     = 2000
)

func missing(name, what string) *rule.Error {
	return &rule.Error{Class: rule.ErrMissingArgument, Message: fmt.Sprintf("the argument %s is required: %s", name, what)}
}

// limit reads a number of results as models write it: a whole number, a number
// (cut toward zero), or a whole number as text. Anything else is the default.
// The result is within 1 and 50.
func limit(v any) int {
	n := float64(defaultLimit)
	switch v := v.(type) {
	case int:
		n = float64(v)
	case int64:
		n = float64(v)
	case float64:
		n = v
	case json.Number:
		if f, err := v.Float64(); err == nil || math.IsInf(f, 0) { // out of range is infinite, which the range cuts
			n = f
		}
	case string:
		if f, ok := wholeText(guard.Trim(v)); ok {
			n = f
		}
	}
	if math.IsNaN(n) {
		n = defaultLimit
	}
	return int(math.Trunc(min(max(n, 1), maxLimit)))
}

// wholeText reads digits with an optional sign, of any length.
func wholeText(s string) (float64, bool) {
	digits := strings.TrimPrefix(strings.TrimPrefix(s, "-"), "+")
	if digits == "" || len(s)-len(digits) > 1 || strings.Trim(digits, "0123456789") != "" {
		return 0, false
	}
	f, _ := strconv.ParseFloat(s, 64) // out of range is infinite, which the range cuts
	return f, true
}
