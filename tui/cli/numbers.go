package cli

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// numbers writes named values in name order: "coherence 0.85 · task_completion 1.00".
func numbers(m map[string]float64, format string) string {
	if len(m) == 0 {
		return "none"
	}
	parts := make([]string, 0, len(m))
	for _, k := range slices.Sorted(maps.Keys(m)) {
		parts = append(parts, k+" "+fmt.Sprintf(format, m[k]))
	}
	return strings.Join(parts, " · ")
}
