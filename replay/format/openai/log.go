package openai

import (
	"crypto/sha256"
	"fmt"

	"vise/engine/trace"
	"vise/replay/format/chat"
	"vise/replay/format/recording"
)

// hold keeps a request that a later one may go on with, and lets go of the one
// that it goes on with itself.
func (f *file) hold(e *exchange) error {
	var h [32]byte
	var before *exchange
	if e.Previous != "" {
		if before = f.open[sha256.Sum256([]byte("response "+e.Previous))]; before != nil {
			// Only what is new was sent.
			e.Items = append(append(before.Items[:len(before.Items):len(before.Items)], before.Response.Output...), e.Items...)
			e.size += before.size
		}
	}
	for _, raw := range e.Messages {
		var m chat.Message
		_ = recording.Decode(raw, &m) // valid JSON
		sum := sha256.New()
		sum.Write(h[:])
		fmt.Fprintf(sum, "%s\x00%s\x00%s\x00", m.Role, m.Content.Text, m.Answers())
		for _, c := range m.Calls {
			name, args := c.Target()
			fmt.Fprintf(sum, "%s\x00%s\x00", name, args)
		}
		sum.Sum(h[:0])
		if found := f.open[h]; found != nil {
			before = found
		}
	}
	if before != nil {
		e.index = before.index
		if e.steps = before.steps; e.steps == nil {
			e.steps = map[int]trace.Span{}
		}
		if len(before.Messages) > 0 {
			e.steps[len(before.Messages)] = before.answered()
		}
		if e.Instructions.Text == "" {
			e.Instructions = before.Instructions
		}
		f.drop(before)
	}
	if len(e.Messages) > 0 {
		e.keys = append(e.keys, h)
	}
	if e.Response.ID != "" {
		e.keys = append(e.keys, sha256.Sum256([]byte("response "+e.Response.ID)))
	}
	for _, k := range e.keys {
		if other := f.open[k]; other != nil && other != e {
			if err := f.release(other); err != nil { // the same request again: another sample
				return err
			}
		}
		f.open[k] = e
	}
	f.order = append(f.order, e)
	f.bytes += e.size
	for len(f.order) > maxOpen || f.bytes > maxBytes && len(f.order) > 1 {
		if err := f.release(f.order[0]); err != nil {
			return err
		}
	}
	return nil
}

// drop forgets a held exchange.
func (f *file) drop(e *exchange) {
	for _, k := range e.keys {
		if f.open[k] == e {
			delete(f.open, k)
		}
	}
	for i := range f.order {
		if f.order[i] == e {
			f.order = append(f.order[:i], f.order[i+1:]...)
			f.bytes -= e.size
			break
		}
	}
}

// release writes a held exchange out: nothing goes on with it.
func (f *file) release(e *exchange) error {
	f.drop(e)
	return f.write(e)
}
