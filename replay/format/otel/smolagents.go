package otel

import (
	"bytes"
	"encoding/json"
	"strings"

	"vise/replay/format/recording"
)

// unwrap takes the arguments of a call out of the envelope in which smolagents
// records them, {"args": [...], "kwargs": {...}, "sanitize_inputs_outputs": ...}.
// Positional arguments get the names of the tool's parameters, in their order;
// where there are none, the envelope stays.
func unwrap(input, parameters string) string {
	if !strings.Contains(input, `"sanitize_inputs_outputs"`) {
		return input
	}
	var e struct {
		Args     []json.RawMessage `json:"args"`
		Kwargs   json.RawMessage   `json:"kwargs"`
		Sanitize json.RawMessage   `json:"sanitize_inputs_outputs"`
	}
	if recording.Decode([]byte(input), &e) != nil || e.Sanitize == nil || len(e.Kwargs) == 0 || e.Kwargs[0] != '{' {
		return input
	}
	if len(e.Args) == 0 {
		return string(e.Kwargs)
	}
	names := keys(parameters)
	if len(names) < len(e.Args) {
		return input
	}
	var out bytes.Buffer
	out.WriteByte('{')
	for i, a := range e.Args {
		if i > 0 {
			out.WriteString(", ")
		}
		out.WriteString(quoted(names[i]) + ": ")
		out.Write(a)
	}
	if rest := bytes.TrimSpace(e.Kwargs[1 : len(e.Kwargs)-1]); len(rest) > 0 {
		out.WriteString(", ")
		out.Write(rest)
	}
	out.WriteByte('}')
	return out.String()
}

// keys are the names of an object's members in their order.
func keys(object string) []string {
	var out []string
	sc := recording.NewScanner(strings.NewReader(object))
	err := sc.Members(func(key string) error {
		out = append(out, key)
		return sc.Skip()
	})
	if err != nil {
		return nil
	}
	return out
}
