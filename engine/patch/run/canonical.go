package run

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"unicode/utf16"
)

// Canonical returns a value as canonical JSON: keys by code point, no spaces,
// everything outside ASCII as a \u escape, nothing escaped that need not be. Equal
// values give equal bytes in every language that follows the same rule.
func Canonical(v any) ([]byte, error) {
	raw, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("canonical JSON: %w", err)
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var tree any
	if err := dec.Decode(&tree); err != nil {
		return nil, fmt.Errorf("canonical JSON: %w", err)
	}
	var b bytes.Buffer
	canonical(&b, tree)
	return b.Bytes(), nil
}

// Digest returns the SHA-256 of a value's canonical JSON in hex.
func Digest(v any) (string, error) {
	raw, err := Canonical(v)
	if err != nil {
		return "", err
	}
	return Sum(raw), nil
}

// Sum returns the SHA-256 of bytes in hex.
func Sum(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

func canonical(b *bytes.Buffer, v any) {
	switch v := v.(type) {
	case nil:
		b.WriteString("null")
	case bool:
		fmt.Fprint(b, v)
	case json.Number:
		b.WriteString(v.String())
	case string:
		canonicalText(b, v)
	case []any:
		b.WriteByte('[')
		for i, x := range v {
			if i > 0 {
				b.WriteByte(',')
			}
			canonical(b, x)
		}
		b.WriteByte(']')
	case map[string]any:
		b.WriteByte('{')
		for i, k := range slices.Sorted(maps.Keys(v)) {
			if i > 0 {
				b.WriteByte(',')
			}
			canonicalText(b, k)
			b.WriteByte(':')
			canonical(b, v[k])
		}
		b.WriteByte('}')
	}
}

var shortEscapes = map[rune]string{'"': `\"`, '\\': `\\`, '\b': `\b`, '\f': `\f`, '\n': `\n`, '\r': `\r`, '\t': `\t`}

func canonicalText(b *bytes.Buffer, s string) {
	b.WriteByte('"')
	for _, r := range s {
		switch short, ok := shortEscapes[r]; {
		case ok:
			b.WriteString(short)
		case r < 0x20 || r >= 0x7f && r <= 0xffff:
			fmt.Fprintf(b, `\u%04x`, r)
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			fmt.Fprintf(b, `\u%04x\u%04x`, high, low)
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
}
