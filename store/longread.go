package store

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/json"
	"strconv"
	"strings"
	"unicode/utf8"

	"vise/engine/longtext"
	"vise/engine/trace"
)

// longTexts are the texts of a record over liftOver that stay in their blobs while the
// record is decoded. Like a stage's, their marks begin with a random text.
type longTexts struct {
	mark string
	sums map[string][32]byte // by mark
	left int                 // marks that nobody has met yet
	// bound > 0 cuts each of the texts to about so many bytes.
	bound int
}

// decodeLong is decode for records with texts of many megabytes: each is in memory once,
// as its string, or its first bound bytes only. texts hands every place in which such a
// text may stand to fn; a record that has one elsewhere is read whole.
func decodeLong[T any](snap snapshot, t *table[T], key, value []byte, bound int, texts func(v *T, fn func(*string))) (*T, error) {
	raw, err := expand(snap, value)
	if err != nil {
		return nil, err
	}
	l := &longTexts{bound: bound}
	raw, err = l.unspill(snap, raw)
	if err != nil {
		return nil, err
	}
	v, err := t.decodeRaw(key, raw)
	if err != nil || l.left == 0 {
		return v, err
	}
	texts(v, func(p *string) {
		sum, ok := l.sums[*p]
		if !ok || err != nil {
			return
		}
		l.left--
		*p, err = readText(snap, sum, l.bound)
	})
	if err == nil && l.left > 0 {
		return t.decode(snap, key, value)
	}
	return v, err
}

// unspill puts the blobs back in, marks in the place of the long ones.
func (l *longTexts) unspill(snap snapshot, raw []byte) ([]byte, error) {
	return replaceStrings(raw, func(s []byte) ([]byte, error) {
		sum, ok := parseRef(s)
		if !ok {
			return nil, nil
		}
		v, found, err := snap.get(blobKey(sum))
		if err != nil {
			return nil, err
		}
		if length, _, ok := parseBlobHeader(v); found && ok && length > liftOver {
			if l.mark == "" {
				l.mark, l.sums = "long-"+rand.Text()+"-", map[string][32]byte{}
			}
			mark := l.mark + strconv.Itoa(l.left)
			l.sums[mark] = sum
			l.left++
			return []byte(`"` + mark + `"`), nil
		}
		content, err := readBlob(snap, sum)
		if err != nil {
			return nil, err
		}
		out := append(make([]byte, 0, len(content)+2), '"')
		return append(append(out, content...), '"'), nil
	})
}

// readText returns the text that a blob spells. With a bound it reads no more chunks than
// it takes, cuts the text there at the end of a character, and leaves the digest
// unchecked.
func readText(snap snapshot, sum [32]byte, bound int) (string, error) {
	var b strings.Builder
	h := sha256.New()
	var rest []byte
	err := eachChunk(snap, sum, func(length uint64) {
		if bound <= 0 {
			b.Grow(int(length)) // escapes only ever shorten
		}
	}, func(chunk []byte) (more bool, err error) {
		h.Write(chunk)
		rest = append(rest, chunk...)
		n := longtext.Whole(rest)
		var s string
		quoted := append(append(make([]byte, 0, n+2), '"'), rest[:n]...)
		if err := json.Unmarshal(append(quoted, '"'), &s); err != nil {
			return false, damaged("blob %x: %v", sum[:6], err)
		}
		b.WriteString(s)
		rest = append(rest[:0], rest[n:]...)
		return bound <= 0 || b.Len() < bound, nil
	})
	if err != nil {
		return "", err
	}
	text := b.String()
	if bound > 0 {
		if len(text) > bound {
			for bound > 0 && !utf8.RuneStart(text[bound]) {
				bound--
			}
			text = text[:bound]
		}
		return text, nil
	}
	if len(rest) > 0 || [32]byte(h.Sum(nil)) != sum {
		return "", damaged("blob %x does not match its digest", sum[:6])
	}
	return text, nil
}

// eachText hands every text of a span that may be long to fn, those of its attributes
// too.
func eachText(s *trace.Span, fn func(*string)) {
	for _, p := range []*string{&s.Name, &s.Input, &s.Output, &s.Thought, &s.Error} {
		fn(p)
	}
	for k, v := range s.Attrs {
		s.Attrs[k] = eachValue(v, fn)
	}
}

func eachValue(v any, fn func(*string)) any {
	switch v := v.(type) {
	case string:
		fn(&v)
		return v
	case []any:
		for i := range v {
			v[i] = eachValue(v[i], fn)
		}
	case map[string]any:
		for k := range v {
			v[k] = eachValue(v[k], fn)
		}
	}
	return v
}

// decodeSpans decodes a chunk of spans; texts over liftOver are cut to bound bytes, 0 =
// not at all.
func decodeSpans(snap snapshot, key, value []byte, bound int) (*spanChunk, error) {
	return decodeLong(snap, spanChunks, key, value, bound, func(c *spanChunk, fn func(*string)) {
		for i := range c.Spans {
			eachText(&c.Spans[i], fn)
		}
	})
}

// decodeTurn decodes the record of a turn in the same way.
func decodeTurn(snap snapshot, key, value []byte, bound int) (*turnRecord, error) {
	return decodeLong(snap, turns, key, value, bound, func(r *turnRecord, fn func(*string)) {
		fn(&r.Input)
		fn(&r.TaskSummary)
	})
}
