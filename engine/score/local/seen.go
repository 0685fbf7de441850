package local

import "bytes"

const (
	seenRunes = 40_000   // what is kept of one text
	pageBytes = 64 << 10 // a page is sealed once it holds this much
	gramBits  = 18       // a page's filter has 1<<gramBits bits
	gramBytes = 4
)

// seen is everything the agent could have read so far: system prompt, user
// inputs, tool results and earlier answers, as normalised texts and as numbers.
//
// Texts lie in pages, a line feed between them (a normalised value holds none,
// so no match spans two texts). A sealed page carries a filter of its four-byte
// sequences: a value that was never seen costs a few bit tests per 64 KiB of
// history instead of a scan of it.
type seen struct {
	open    []byte
	sealed  []page
	numbers map[string]struct{}
}

type page struct {
	text  []byte
	grams *[1 << gramBits / 64]uint64
}

// add takes the first 40,000 characters of s.
func (c *seen) add(s string) {
	s = first(s, seenRunes)
	c.open = append(appendNorm(c.open, s), '\n')
	if len(c.open) >= pageBytes {
		c.sealed = append(c.sealed, seal(c.open))
		c.open = c.open[:0]
	}
	if c.numbers == nil {
		c.numbers = map[string]struct{}{}
	}
	eachNumber(s, func(n []byte) {
		if _, ok := c.numbers[string(n)]; !ok {
			c.numbers[string(n)] = struct{}{}
		}
	})
}

func seal(text []byte) page {
	p := page{text: bytes.Clone(text), grams: new([1 << gramBits / 64]uint64)}
	for i := 0; i+gramBytes <= len(text); i++ {
		h := gram(text[i:])
		p.grams[h/64] |= 1 << (h % 64)
	}
	return p
}

func gram(b []byte) uint32 {
	v := uint32(b[0]) | uint32(b[1])<<8 | uint32(b[2])<<16 | uint32(b[3])<<24
	return v * 2654435761 >> (32 - gramBits)
}

// has reports whether the normal form of value is part of a text.
func (c *seen) has(value string) bool {
	v := appendNorm(nil, value)
	if bytes.Contains(c.open, v) {
		return true
	}
	for i := len(c.sealed) - 1; i >= 0; i-- {
		if c.sealed[i].has(v) {
			return true
		}
	}
	return false
}

func (p page) has(v []byte) bool { return p.mayHold(v) && bytes.Contains(p.text, v) }

// mayHold is false only for what the page does not hold.
func (p page) mayHold(v []byte) bool {
	for i := 0; i+gramBytes <= len(v); i++ {
		if h := gram(v[i:]); p.grams[h/64]&(1<<(h%64)) == 0 {
			return false
		}
	}
	return true
}

func (c *seen) hasNumber(n []byte) bool {
	_, ok := c.numbers[string(n)]
	return ok
}
