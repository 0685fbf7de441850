package guard

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math/bits"
	"strings"

	"vise/engine/pattern"
)

// RedactOptions says what a Redactor looks for.
type RedactOptions struct {
	// Keys masks values that stand under a credential's name (see SensitiveKey),
	// in structured values and as name=value in text.
	Keys bool
	// Values masks texts that have the shape of a credential, wherever they stand.
	Values bool
	// Extra are regular expressions of the project (RE2). What the first group
	// captures is masked, or the whole match when there is no group.
	Extra []string
	// Salt keys the hash in the placeholders. A project that keeps its salt
	// private makes placeholders useless for guessing weak secrets; nil is a
	// fixed salt, so that equal recordings give equal digests everywhere.
	Salt []byte
}

// Redactor replaces credentials by placeholders such as
// "[redacted:api-key:3f2a9c]". The same secret always becomes the same
// placeholder, so that recordings still match each other; identifiers that only
// look random (tool call ids, UUIDs, trace ids, digests) are left alone. A
// Redactor is pure, idempotent and safe for concurrent use.
type Redactor struct {
	keys, values bool
	unnamed      bool // names of members say nothing
	extra        []*pattern.Pattern
	salt         []byte
	tally        map[string]int // of what was masked, by class; nil = not counted
}

// Tally returns a redactor that masks the same and counts into a map what it masks,
// by class: api-key, jwt, private-key, secret and so on. Unlike others it is for one
// goroutine at a time.
func (r *Redactor) Tally(into map[string]int) *Redactor {
	c := *r
	c.tally = into
	return &c
}

// maxPasses bounds how often a text is scanned again after something was masked
// in it. A pass ends at the first rule that hits, so a text takes as many as it has
// kinds of credential, and every pass leaves less to mask. The built-in rules are
// some sixty, and most texts settle in two or three passes.
const maxPasses = 256

// NewRedactor returns a redactor; an invalid expression in Extra is an error that quotes it.
func NewRedactor(o RedactOptions) (*Redactor, error) {
	r := &Redactor{keys: o.Keys, values: o.Values, salt: o.Salt}
	if len(r.salt) == 0 {
		r.salt = []byte("vise/redact/1")
	}
	for _, e := range o.Extra {
		re, err := pattern.Compile(e)
		if err != nil {
			return nil, fmt.Errorf("redact: extra expression %q: %w; write it in RE2 syntax", e, err)
		}
		r.extra = append(r.extra, re)
	}
	return r, nil
}

// DefaultRedactor masks by key and by value, with nothing extra.
func DefaultRedactor() *Redactor {
	r, _ := NewRedactor(RedactOptions{Keys: true, Values: true})
	return r
}

// Text masks the credentials in a text and returns how many it masked.
func (r *Redactor) Text(s string) (string, int) {
	if !r.values && !r.keys && len(r.extra) == 0 {
		return s, 0
	}
	if len(s) > 2*window && len(r.extra) == 0 { // an expression of the project may reach over any line end
		return r.long(s)
	}
	return r.settle(s)
}

// settle masks until nothing is left to mask. What is still not settled after
// maxPasses (an expression of the project that finds something in whatever is left)
// is masked whole: nothing goes out because the counting ended.
func (r *Redactor) settle(s string) (string, int) {
	total := 0
	for range maxPasses {
		out, n := r.pass(s)
		if n == 0 {
			return s, total
		}
		s, total = out, total+n
	}
	if _, n := r.pass(s); n == 0 {
		return s, total
	}
	return r.mask(s), total + 1
}

// pass masks once. Placeholders are cut out first: they are never masked again
// and never lend their characters to a match.
func (r *Redactor) pass(s string) (string, int) {
	if !strings.Contains(s, placeholderHead) {
		return r.segment(s)
	}
	var b strings.Builder
	n, last := 0, 0
	for _, m := range placeholder.FindAllStringIndex(s, -1) {
		seg, k := r.segment(s[last:m[0]])
		b.WriteString(seg)
		b.WriteString(s[m[0]:m[1]])
		n, last = n+k, m[1]
	}
	seg, k := r.segment(s[last:])
	if n+k == 0 {
		return s, 0
	}
	b.WriteString(seg)
	return b.String(), n + k
}

// segment masks a text without placeholders. It stops after the first rule that
// matched: what it leaves has placeholders, so the next pass goes on with it.
func (r *Redactor) segment(s string) (string, int) {
	if s == "" {
		return s, 0
	}
	if r.values {
		found := present(s)
		for left := found &^ (holdsAddress | holdsKeyBlock); left != 0; left &= left - 1 {
			p := &shapes[bits.TrailingZeros64(left)]
			if out, n := r.replace(p.re, s, p.ok); n > 0 {
				return out, n
			}
		}
		if found&holdsAddress != 0 {
			if out, n := r.addressPasswords(s); n > 0 {
				return out, n
			}
		}
		if out, n := r.botTokens(s); n > 0 {
			return out, n
		}
		if found&holdsKeyBlock != 0 {
			if out, n := r.privateKeys(s); n > 0 {
				return out, n
			}
		}
	}
	if r.keys {
		if out, n := r.pairs(s); n > 0 {
			return out, n
		}
	}
	for _, re := range r.extra {
		if out, n := r.replace(re, s, nil); n > 0 {
			return out, n
		}
	}
	return s, 0
}

// replace masks the first group of every match, or the match when it has none.
func (r *Redactor) replace(re *pattern.Pattern, s string, ok func(string) bool) (string, int) {
	var b strings.Builder
	n, last := 0, 0
	for _, m := range re.FindAllStringSubmatchIndex(s, -1) {
		from, to := m[0], m[1]
		if len(m) > 3 && m[2] >= 0 {
			from, to = m[2], m[3]
		}
		if from == to || from < last || ok != nil && !ok(s[from:to]) {
			continue
		}
		b.WriteString(s[last:from])
		b.WriteString(r.mask(s[from:to]))
		n, last = n+1, to
	}
	if n == 0 {
		return s, 0
	}
	b.WriteString(s[last:])
	return b.String(), n
}

const placeholderHead = "[redacted:"

var placeholder = pattern.New(`\[redacted:[a-z-]{1,20}:[0-9a-f]{6}\]`)

// mask returns the placeholder of a secret. Class and hash depend on the secret
// alone, not on the rule that found it.
func (r *Redactor) mask(secret string) string {
	h := hmac.New(sha256.New, r.salt)
	h.Write([]byte(secret))
	class := classOf(secret)
	if r.tally != nil {
		r.tally[class]++
	}
	return placeholderHead + class + ":" + hex.EncodeToString(h.Sum(nil)[:3]) + "]"
}

// isPlaceholder reports whether a value holds nothing but placeholders and, in
// front of them, an authentication scheme.
func isPlaceholder(s string) bool {
	_, rest := splitScheme(s)
	return strings.HasPrefix(rest, placeholderHead) && placeholder.ReplaceAllString(rest, "") == ""
}
