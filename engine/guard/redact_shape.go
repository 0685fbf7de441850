package guard

import (
	"strings"

	"vise/engine/pattern"
)

// shape is one kind of credential that can be told by its text alone.
type shape struct {
	class    string
	literals []string // one of them is in every text that matches: the cheap test that comes first
	re       *pattern.Pattern
	ok       func(string) bool // further test of the masked part; nil = none
}

// The published token formats of the providers and forges that agents meet. A
// boundary in front keeps words such as "task-..." and "disk-..." whole.
var shapes = []shape{
	{"api-key", []string{"sk-"}, pattern.New(`\bsk-[A-Za-z0-9_-]{16,}`), hasDigit},
	{"api-key", []string{"k_live_", "k_test_"}, pattern.New(`\b[rs]k_(?:live|test)_[A-Za-z0-9]{16,}`), nil},
	{"api-key", []string{"AIza"}, pattern.New(`\bAIza[0-9A-Za-z_-]{35}`), nil},
	{"api-key", []string{"hf_"}, pattern.New(`\bhf_[A-Za-z0-9]{20,}`), hasDigit},
	{"api-key", []string{"hf_"}, pattern.New(`\bhf_[A-Za-z0-9]{34}\b`), nil}, // of full length: letters alone are enough
	{"api-key", []string{"SK"}, pattern.New(`\bSK[0-9a-f]{32}\b`), nil},      // Twilio
	{"api-key", []string{"gsk_"}, pattern.New(`\bgsk_[A-Za-z0-9]{20,}`), hasDigit},
	{"api-key", []string{"SG."}, pattern.New(`\bSG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}`), nil},
	{"aws-key", []string{"AKIA", "ASIA"}, pattern.New(`\b(?:AKIA|ASIA)[A-Z0-9]{16}\b`), nil},
	{"github-token", []string{"ghp_", "gho_", "ghu_", "ghs_", "ghr_"}, pattern.New(`\bgh[pousr]_[A-Za-z0-9]{20,}`), nil},
	{"github-token", []string{"github_pat_"}, pattern.New(`\bgithub_pat_[A-Za-z0-9_]{20,}`), nil},
	{"gitlab-token", []string{"glpat-"}, pattern.New(`\bglpat-[A-Za-z0-9_-]{16,}`), nil},
	{"api-key", []string{"xai-"}, pattern.New(`\bxai-[A-Za-z0-9]{20,}`), hasDigit},
	{"api-key", []string{"pplx-", "csk-", "nvapi-"}, pattern.New(`\b(?:pplx|csk|nvapi)-[A-Za-z0-9_-]{20,}`), hasDigit},
	{"api-key", []string{"r8_", "lsv2_", "sbp_", "dop_v1_", "lin_api_", "figd_", "shpat_", "whsec_"}, pattern.New(`\b(?:r8|lsv2_pt|lsv2_sk|sbp|dop_v1|lin_api|figd|shpat|whsec)_[A-Za-z0-9_-]{20,}`), hasDigit},
	{"api-key", []string{"dapi"}, pattern.New(`\bdapi[0-9a-f]{32}\b`), nil},
	{"api-key", []string{"pypi-AgE"}, pattern.New(`\bpypi-AgE[A-Za-z0-9_-]{40,}`), nil},
	{"oauth-token", []string{"ya29.", "GOCSPX-"}, pattern.New(`\b(?:ya29\.[A-Za-z0-9_-]{20,}|GOCSPX-[A-Za-z0-9_-]{20,})`), nil},
	{"vault-token", []string{"hvs."}, pattern.New(`\bhvs\.[A-Za-z0-9_-]{20,}`), nil},
	{"bot-token", []string{":AA"}, pattern.New(`\b[0-9]{8,10}:AA[A-Za-z0-9_-]{33}\b`), nil},
	{"webhook", []string{"hooks.slack.com/services/"}, pattern.New(`hooks\.slack\.com/services/([A-Za-z0-9/]{20,})`), nil},
	{"age-key", []string{"AGE-SECRET-KEY-1"}, pattern.New(`\bAGE-SECRET-KEY-1[A-Z0-9]{50,}`), nil},
	{"npm-token", []string{"npm_"}, pattern.New(`\bnpm_[A-Za-z0-9]{30,}`), nil},
	{"slack-token", []string{"xox"}, pattern.New(`\bxox[abeoprs]-[A-Za-z0-9-]{10,}`), hasDigit},
	{"jwt", []string{"eyJ"}, pattern.New(`\beyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*`), nil},
	{"secret", []string{"earer", "EARER"}, pattern.New(`(?i)\bbearer[ \t]+([A-Za-z0-9._~+/-]{12,}=*)`), hasDigit},
	// Signed addresses: shared access signatures of Azure, presigned requests of AWS.
	{"secret", []string{"sig=", "Signature="}, pattern.New(`[?&](?:sig|X-Amz-Signature)=([A-Za-z0-9%/+=_-]{20,})`), hasDigit},
	// The passwords of connection strings, of .netrc and of command lines, where no = or : tells them.
	{"secret", []string{"Pwd=", "PWD=", "pwd="}, pattern.New(`(?i);[ \t]*pwd=([^;\s"'\\]{3,})`), notVariable},
	{"secret", []string{"machine "}, pattern.New(`\bmachine[ \t]+\S+\s+login[ \t]+\S+\s+password[ \t]+(\S{3,})`), notVariable},
	{"secret", []string{"--"}, pattern.New(`--[a-z-]{0,30}(?:password|passwd|token|secret|api-?key)[ \t]+["']?([^\s"'\\$<{(\[-][^\s"'\\]{5,})`), hasDigit},
	{"secret", []string{"mysql", "mariadb"}, pattern.New(`\b(?:mysql|mariadb)[a-z-]{0,20}[ \t](?:[^\n|;&]{0,500}?[ \t])?-p["']?([^\s"'\\]{3,})`), notPort},
	// The secret half of an AWS key has no shape of its own but its 40 characters of base64.
	{"secret", []string{"aws", "AWS", "Aws"}, pattern.New(`(?i)\baws[a-z_-]{0,30}["']?[ \t]{0,4}[:=][ \t]{0,4}["']?([A-Za-z0-9/+]{40})(?:[^A-Za-z0-9/+=]|$)`), mixed},
	{"secret", []string{"curl "}, pattern.New(`\bcurl [^\n|;&]{0,500}?(?:-u|--user)[ =]?["']?[^\s:"'\\]{1,100}:([^\s"'\\]{3,})`), notVariable},
}

// addressPasswords masks the passwords in addresses: scheme://name:password@host. It
// looks at the addresses by hand, since nearly every text has some.
func (r *Redactor) addressPasswords(s string) (string, int) {
	var b strings.Builder
	n, last := 0, 0
	for i := strings.Index(s, "://"); i >= 0; {
		at := i + len("://")
		for at < len(s) && addressByte(s[at]) && s[at] != ':' && s[at] != '@' {
			at++
		}
		from, to := at+1, at+1
		for to < len(s) && s[at] == ':' && addressByte(s[to]) && s[to] != '@' {
			to++
		}
		if at < len(s) && s[at] == ':' && to > from && to < len(s) && s[to] == '@' && i > 0 && nameByte(s[i-1]) && notVariable(s[from:to]) {
			b.WriteString(s[last:from])
			b.WriteString(r.mask(s[from:to]))
			n, last = n+1, to
		}
		next := strings.Index(s[i+1:], "://")
		if next < 0 {
			break
		}
		i += 1 + next
	}
	if n == 0 {
		return s, 0
	}
	b.WriteString(s[last:])
	return b.String(), n
}

// addressByte reports bytes of the user part of an address.
func addressByte(c byte) bool { return c > ' ' && strings.IndexByte("/\"'<>\\", c) < 0 }

// classOf names a secret in its placeholder.
func classOf(secret string) string {
	if strings.Contains(secret, "PRIVATE KEY") {
		return "private-key"
	}
	for i := range shapes {
		p := &shapes[i]
		if p.class == "secret" {
			continue
		}
		if m := p.re.FindStringIndex(secret); m != nil && m[0] == 0 && m[1] == len(secret) {
			return p.class
		}
	}
	return "secret"
}

func hasDigit(s string) bool { return strings.ContainsAny(s, "0123456789") }

// mixed tells random base64 from digests in hexadecimal and from words.
func mixed(s string) bool {
	return hasDigit(s) && strings.ToLower(s) != s && strings.ToUpper(s) != s
}

// notPort tells the password after -p from the published port of a container, and
// from a variable.
func notPort(s string) bool { return notVariable(s) && strings.Trim(s, "0123456789:.") != "" }

// notVariable tells a value from a place where a value goes: $NAME, ${NAME}, <name>, {name}, %NAME%.
func notVariable(s string) bool { return s != "" && !strings.ContainsAny(s[:1], "${<%*[(") }

var (
	keyHead = pattern.New(`-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----`)
	keyTail = pattern.New(`-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----`)
)

// maxKeyBlock is the longest private key block looked for, in bytes; a
// 16,384-bit RSA key takes 13 KB.
const maxKeyBlock = 64 << 10

// privateKeys masks private key blocks. A block that lost its end is masked as
// far as its text can be part of a key.
func (r *Redactor) privateKeys(s string) (string, int) {
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
