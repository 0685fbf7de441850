package trace

import (
	"encoding/binary"
	"encoding/json"
	"hash"
	"slices"
)

// Digest adds a turn to a hash: as JSON but for its texts, which may be large and go
// in as they are, each after its length. An attribute that has no JSON is an error.
func (t Turn) Digest(h hash.Hash) error {
	texts := []string{t.Input}
	t.Input = ""
	t.Spans = slices.Clone(t.Spans)
	for i := range t.Spans {
		s := &t.Spans[i]
		texts = append(texts, s.Input, s.Output, s.Thought)
		s.Input, s.Output, s.Thought = "", "", ""
	}
	raw, err := json.Marshal(t)
	if err != nil {
		return err
	}
	h.Write(raw) // a hash never fails
	buf := make([]byte, 0, 32<<10)
	for _, s := range texts {
		buf = binary.BigEndian.AppendUint64(buf, uint64(len(s)))
		for len(s) > 0 {
			if len(buf) == cap(buf) {
				h.Write(buf)
				buf = buf[:0]
			}
			n := min(len(s), cap(buf)-len(buf))
			buf = append(buf, s[:n]...)
			s = s[n:]
		}
		if cap(buf)-len(buf) < 8 {
			h.Write(buf)
			buf = buf[:0]
		}
	}
	h.Write(buf)
	return nil
}
