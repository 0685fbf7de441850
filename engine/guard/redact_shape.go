package guard

import (
	"regexp"
	"strings"
)

// shape is one kind of credential that can be told by its text alone.
type shape struct {
	class    string
	literals []string // one of them is in every text that matches: the cheap test that comes first
	re       *regexp.Regexp
	ok       func(string) bool // further test of the masked part; nil = none
}

// The published token formats of the providers and forges that agents meet. A
// boundary in front keeps words such as "task-..." and "disk-..." whole.
var shapes = []shape{
	{"api-key", []string{"sk-"}, regexp.MustCompile(`\bsk-[A-Za-z0-9_-]{16,}`), hasDigit},
	{"api-key", []string{"k_live_", "k_test_"}, regexp.MustCompile(`\b[rs]k_(?:live|test)_[A-Za-z0-9]{16,}`), nil},
	{"api-key", []string{"AIza"}, regexp.MustCompile(`\bAIza[0-9A-Za-z_-]{35}`), nil},
	{"api-key", []string{"hf_"}, regexp.MustCompile(`\bhf_[A-Za-z0-9]{20,}`), hasDigit},
	{"api-key", []string{"gsk_"}, regexp.MustCompile(`\bgsk_[A-Za-z0-9]{20,}`), hasDigit},
	{"api-key", []string{"SG."}, regexp.MustCompile(`\bSG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}`), nil},
	{"aws-key", []string{"AKIA", "ASIA"}, regexp.MustCompile(`\b(?:AKIA|ASIA)[A-Z0-9]{16}\b`), nil},
	{"github-token", []string{"ghp_", "gho_", "ghu_", "ghs_", "ghr_"}, regexp.MustCompile(`\bgh[pousr]_[A-Za-z0-9]{20,}`), nil},
	{"github-token", []string{"github_pat_"}, regexp.MustCompile(`\bgithub_pat_[A-Za-z0-9_]{20,}`), nil},
	{"gitlab-token", []string{"glpat-"}, regexp.MustCompile(`\bglpat-[A-Za-z0-9_-]{16,}`), nil},
	{"npm-token", []string{"npm_"}, regexp.MustCompile(`\bnpm_[A-Za-z0-9]{30,}`), nil},
	{"slack-token", []string{"xox"}, regexp.MustCompile(`\bxox[abeoprs]-[A-Za-z0-9-]{10,}`), hasDigit},
	{"jwt", []string{"eyJ"}, regexp.MustCompile(`\beyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*`), nil},
	{"secret", []string{"earer", "EARER"}, regexp.MustCompile(`(?i)\bbearer[ \t]+([A-Za-z0-9._~+/-]{12,}=*)`), hasDigit},
	{"password", []string{"://"}, regexp.MustCompile(`[A-Za-z][A-Za-z0-9+.-]*://[^\s/:@"'<>\\]*:([^\s/@"'<>\\]+)@`), notVariable},
}

// classOf names a secret in its placeholder.
func classOf(secret string) string {
	if strings.Contains(secret, "PRIVATE KEY") {
		return "private-key"
	}
	for i := range shapes {
		p := &shapes[i]
		if p.class == "secret" || p.class == "password" {
			continue
		}
		if m := p.re.FindStringIndex(secret); m != nil && m[0] == 0 && m[1] == len(secret) {
			return p.class
		}
	}
	return "secret"
}

func hasDigit(s string) bool { return strings.ContainsAny(s, "0123456789") }

// notVariable tells a value from a place where a value goes: $NAME, ${NAME}, <name>, {name}, %NAME%.
func notVariable(s string) bool { return s != "" && !strings.ContainsAny(s[:1], "${<%*[(") }

var (
	keyHead = regexp.MustCompile(`-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----`)
	keyTail = regexp.MustCompile(`-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----`)
)

// maxKeyBlock is the longest private key block looked for, in bytes; a
// 16,384-bit RSA key takes 13 KB.
const maxKeyBlock = 64 << 10

// privateKeys masks private key blocks. A block that lost its end is masked as
// far as its text can be part of a key.
func (r *Redactor) privateKeys(s string) (string, int) {
	if !strings.Contains(s, "PRIVATE KEY") {
		return s, 0
	}
	var b strings.Builder
	n, last := 0, 0
	for last < len(s) {
		m := keyHead.FindStringIndex(s[last:])
		if m == nil {
			break
		}
		from, body := last+m[0], last+m[1]
		to := body
		if t := keyTail.FindStringIndex(s[body:min(len(s), body+maxKeyBlock)]); t != nil {
			to = body + t[1]
		} else {
			for to < len(s) && keyByte(s[to]) {
				to++
			}
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

func keyByte(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z' ||
		strings.IndexByte("+/=\\\n\r\t ", c) >= 0
}
