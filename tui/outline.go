package tui

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
)

// outlineMax bounds what is outlined: longer texts are shown as they are, cut.
const outlineMax = 64 << 10

// outline writes a JSON object as indented lines without quotes and braces, which
// is how a person reads arguments and results. Any other text is returned as it is.
func outline(text string) string {
	t := strings.TrimSpace(text)
	if len(t) > outlineMax || !strings.HasPrefix(t, "{") {
		return text
	}
	dec := json.NewDecoder(strings.NewReader(t))
	dec.UseNumber()
	var v map[string]any
	if dec.Decode(&v) != nil {
		return text
	}
	if _, err := dec.Token(); err != io.EOF {
		return text
	}
	var b strings.Builder
	outlineMap(&b, v, 0)
	return strings.TrimRight(b.String(), "\n")
}

func outlineMap(b *strings.Builder, m map[string]any, depth int) {
	for _, k := range slices.Sorted(maps.Keys(m)) {
		b.WriteString(strings.Repeat("  ", depth) + k + ": ")
		outlineValue(b, m[k], depth)
	}
}

// outlineDepth bounds the indentation; deeper values are written as JSON.
const outlineDepth = 12

func outlineValue(b *strings.Builder, v any, depth int) {
	if depth > outlineDepth {
		raw, _ := json.Marshal(v) // it came from JSON
		b.Write(append(raw, '\n'))
		return
	}
	switch x := v.(type) {
	case map[string]any:
		if len(x) == 0 {
			b.WriteString("none\n")
			return
		}
		b.WriteByte('\n')
		outlineMap(b, x, depth+1)
	case []any:
		if len(x) == 0 {
			b.WriteString("none\n")
			return
		}
		flat := make([]string, len(x))
		for i, y := range x {
			switch y.(type) {
			case map[string]any, []any:
				flat = nil
			}
			if flat == nil {
				break
			}
			flat[i] = fmt.Sprint(y)
		}
		if flat != nil {
			b.WriteString(strings.Join(flat, ", ") + "\n")
			return
		}
		b.WriteByte('\n')
		for _, y := range x {
			b.WriteString(strings.Repeat("  ", depth+1) + "- ")
			if m, ok := y.(map[string]any); ok {
				var in strings.Builder
				outlineMap(&in, m, depth+2)
				b.WriteString(strings.TrimLeft(in.String(), " "))
				continue
			}
			outlineValue(b, y, depth+1)
		}
	default:
		text := strings.ReplaceAll(fmt.Sprint(x), "\n", "\n"+strings.Repeat("  ", depth+1))
		b.WriteString(text + "\n")
	}
}
