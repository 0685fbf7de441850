package trace

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
)

// Fingerprint is a digest (32 hex digits) of what an agent did in turns: inputs, what the
// model said, names, arguments and results of the calls, errors, stop reasons and end
// states, in order. Ids, times, usage and thoughts are no part of it: two runs of an agent
// that repeats itself have the same one. No turns, no fingerprint ("").
func Fingerprint(turns []Turn) string {
	if len(turns) == 0 {
		return ""
	}
	var all [][]any
	for _, t := range turns {
		row := []any{t.Input, t.StopReason, string(t.EndState)}
		for _, s := range t.Spans {
			said := ""
			if s.Kind == TOOL {
				said = s.Input // that of a model call is the history, with its ids
			}
			row = append(row, s.Kind, s.Name, said, s.Output, s.Error, s.Pending)
		}
		all = append(all, row)
	}
	raw, err := json.Marshal(all)
	if err != nil {
		panic(fmt.Sprintf("trace: fingerprint: %v", err)) // texts and flags
	}
	sum := sha256.Sum256(raw)
	return hex.EncodeToString(sum[:16])
}
