package guard

import "strings"

// pairs masks the values of name=value and name: value where the name is that of
// a credential. In code and prose most such pairs hold no secret (token: string,
// password = read()), so how much a value must look like one depends on how it
// is written:
//
//	name=value       three characters or more, not a variable, not a call
//	name: "value"    any quoted text without blanks, four characters or more
//	name = value     with blanks, or after a colon: six or more, with a digit
func (r *Redactor) pairs(s string) (string, int) {
	var b strings.Builder
	n, last := 0, 0
	for i := 0; i < len(s); i++ {
		if c := s[i]; c != '=' && c != ':' {
			continue
		}
		name, ok := nameBefore(s, i)
		if !ok || !sensitiveKey(name) {
			continue
		}
		from, to, found := valueAfter(s, i, name)
		if !found || from < last {
			continue
		}
		b.WriteString(s[last:from])
		b.WriteString(r.mask(s[from:to]))
		n, last = n+1, to
		i = to - 1
	}
	if n == 0 {
		return s, 0
	}
	b.WriteString(s[last:])
	return b.String(), n
}

// sensitiveKey is SensitiveKey with a cheap test in front: most names are plain
// and end in nothing that the names of credentials end in.
func sensitiveKey(key string) bool {
	var buf [maxName]byte
	n := 0
	for i := 0; i < len(key); i++ {
		c := key[i]
		switch {
		case c >= 0x80 || n == len(buf):
			return SensitiveKey(key)
		case c >= 'A' && c <= 'Z':
			c += 'a' - 'A'
			fallthrough
		case c >= 'a' && c <= 'z' || c >= '0' && c <= '9':
			buf[n] = c
			n++
		}
	}
	for n > 0 && buf[n-1] >= '0' && buf[n-1] <= '9' {
		n--
	}
	flat := buf[:n]
	if credentialNames[string(flat)] {
		return SensitiveKey(key)
	}
	for _, end := range credentialEnds {
		if k := n - len(end); k >= 0 && buf[n-1] == end[len(end)-1] && string(flat[k:]) == end {
			return SensitiveKey(key)
		}
	}
	return false
}

// longest name looked at, in bytes
const maxName = 64

// nameBefore returns the identifier in front of the separator at i; it may be
// quoted (also with escaped quotes) and followed by one blank.
func nameBefore(s string, i int) (string, bool) {
	end := i
	if end > 0 && s[end-1] == ' ' {
		end--
	}
	if end > 0 && (s[end-1] == '"' || s[end-1] == '\'') {
		end--
		if end > 0 && s[end-1] == '\\' {
			end--
		}
	}
	start := end
	for start > 0 && end-start < maxName && nameByte(s[start-1]) {
		start--
	}
	return s[start:end], end-start >= 3
}

func nameByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '-'
}

// valueAfter returns the bounds of the secret of a name after the separator at i.
func valueAfter(s string, i int, name string) (from, to int, ok bool) {
	p := i + 1
	for p < len(s) && p-i <= 4 && (s[p] == ' ' || s[p] == '\t') {
		p++
	}
	blank := p > i+1
	if p < len(s) && (s[p] == '=' || s[p] == ':') { // ==, :=, ::
		return 0, 0, false
	}
	quoted := false
	if p < len(s) && s[p] == '\\' && p+1 < len(s) && s[p+1] == '"' {
		p += 2
		quoted = true
	} else if p < len(s) && (s[p] == '"' || s[p] == '\'') {
		p++
		quoted = true
	}
	scheme, _ := splitScheme(s[p:])
	p += len(scheme)
	q := p
	for q < len(s) && valueByte(s[q]) {
		q++
	}
	v := s[p:q]
	if q < len(s) && (s[q] == '(' || s[q] == '[' && !strings.HasPrefix(s[q:], placeholderHead)) || !notVariable(v) || plainWord(strings.TrimRight(v, ".:!?")) ||
		!quoted && handedOn(v, name) {
		return 0, 0, false
	}
	switch {
	case scheme != "" && len(v) >= 8, quoted && len(v) >= 4, !quoted && !blank && s[i] == '=' && len(v) >= 3:
		return p, q, true
	case !quoted && len(v) >= 6 && hasDigit(v) && !strings.Contains(v, "://"):
		return p, q, true
	}
	return 0, 0, false
}

// handedOn reports a value that is code which hands a variable on: token=token,
// token=ctx.token, token = token3.
func handedOn(v, name string) bool {
	v = strings.TrimRight(v, "0123456789")
	return v == name || strings.HasSuffix(v, "."+name)
}

func valueByte(c byte) bool {
	return c > ' ' && c != 0x7f && strings.IndexByte("\"'`,;&<>(){}[]|\\", c) < 0
}

// plainWord reports values that say that there is no secret.
func plainWord(v string) bool {
	switch strings.ToLower(v) {
	case "true", "false", "null", "none", "nil", "undefined", "string", "str", "int", "bool", "number", "object", "any", "text", "required", "optional", "redacted":
		return true
	}
	return false
}

// splitScheme cuts the scheme of an Authorization header off its credential.
func splitScheme(s string) (scheme, rest string) {
	for _, name := range [...]string{"bearer ", "basic ", "token "} {
		if len(s) > len(name) && strings.EqualFold(s[:len(name)], name) {
			return s[:len(name)], s[len(name):]
		}
	}
	return "", s
}
