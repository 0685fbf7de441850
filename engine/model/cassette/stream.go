package cassette

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
)

// maskStream masks an answer that came as an event stream. A model says a secret in many
// pieces, none of which looks like one, and whoever reads the stream puts them together
// again: so what is masked is the text that the pieces make, and where something in it
// was, the first piece holds all of it and the others are empty. masked is 0 when the
// body is as it was.
func maskStream(body []byte, mask func(string) (string, int)) (out []byte, masked int) {
	said := map[string]*strings.Builder{}
	eachEvent(body, func(line, data []byte) []byte {
		walkPieces(decoded(data), "", false, func(place, piece string) string {
			b := said[place]
			if b == nil {
				b = &strings.Builder{}
				said[place] = b
			}
			b.WriteString(piece)
			return piece
		})
		return line
	})
	whole := map[string]string{}
	for place, b := range said {
		if text, n := mask(b.String()); n > 0 {
			whole[place], masked = text, masked+n
		}
	}
	out = eachEvent(body, func(line, data []byte) []byte {
		text := string(data)
		if event := decoded(data); event != nil && len(whole) > 0 {
			changed := false
			event = walkPieces(event, "", false, func(place, piece string) string {
				text, is := whole[place]
				if !is {
					return piece
				}
				changed = true
				whole[place] = ""
				return text
			})
			// The probabilities of tokens spell the text a second time.
			if withoutLogprobs(event) || changed {
				var b bytes.Buffer
				enc := json.NewEncoder(&b)
				enc.SetEscapeHTML(false)
				if enc.Encode(event) == nil {
					text = string(bytes.TrimSpace(b.Bytes()))
				}
			}
		}
		text, n := mask(text)
		if masked += n; text == string(data) {
			return line
		}
		at := bytes.LastIndex(line, data) // only blanks follow it
		return append(append(bytes.Clone(line[:at]), text...), line[at+len(data):]...)
	})
	if masked == 0 {
		return body, 0
	}
	return out, masked
}

// eachEvent hands every line of a stream to fn, with the data that it carries (the whole
// line for one that carries none), and returns the lines that fn gave.
func eachEvent(body []byte, fn func(line, data []byte) []byte) []byte {
	out := make([]byte, 0, len(body))
	for line := range bytes.Lines(body) {
		data := bytes.TrimSpace(line)
		if d, ok := bytes.CutPrefix(data, []byte("data:")); ok {
			data = bytes.TrimSpace(d)
		}
		if len(data) == 0 {
			out = append(out, line...)
			continue
		}
		out = append(out, fn(line, data)...)
	}
	return out
}

// decoded is the object that an event carries, nil for another one.
func decoded(data []byte) any {
	if data[0] != '{' {
		return nil
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	var v map[string]any
	if dec.Decode(&v) != nil {
		return nil
	}
	return v
}

// walkPieces hands every piece of a text in an event to fn, with the place that is the
// same in all events whose pieces make one text, and puts what fn returns there. Pieces
// are the texts under a "delta" (chat completions, responses, messages) and the "text" of
// a choice (completions).
func walkPieces(v any, place string, piece bool, fn func(place, piece string) string) any {
	switch x := v.(type) {
	case map[string]any:
		for _, k := range [...]string{"type", "index", "output_index", "content_index", "summary_index", "item_id"} {
			if id, ok := x[k]; ok {
				place += fmt.Sprintf(" %s=%v", k, id)
			}
		}
		for k, inner := range x {
			switch k {
			case "type", "id", "role", "name", "item_id", "logprobs":
				continue
			}
			x[k] = walkPieces(inner, place+"."+k, piece || k == "delta" || k == "text" && strings.HasPrefix(place, ".choices"), fn)
		}
	case []any:
		for i := range x {
			at := ""
			if m, ok := x[i].(map[string]any); !ok || m["index"] == nil {
				at = fmt.Sprintf("[%d]", i)
			}
			x[i] = walkPieces(x[i], place+at, piece, fn)
		}
	case string:
		if piece {
			return fn(place, x)
		}
	}
	return v
}

// withoutLogprobs takes the probabilities of tokens out of an event and reports whether
// there were any.
func withoutLogprobs(v any) (found bool) {
	switch x := v.(type) {
	case map[string]any:
		if x["logprobs"] != nil {
			x["logprobs"], found = nil, true
		}
		for _, inner := range x {
			found = withoutLogprobs(inner) || found
		}
	case []any:
		for _, inner := range x {
			found = withoutLogprobs(inner) || found
		}
	}
	return found
}
