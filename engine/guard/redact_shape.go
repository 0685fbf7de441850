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
	// Model and agent services, and services that agents are given keys of.
	{"api-key", []string{"fw_", "tgp_v1_", "pcsk_", "e2b_", "jina_", "apify_api_", "napi_"}, pattern.New(`\b(?:fw_[A-Za-z0-9]{20,}|tgp_v1_[A-Za-z0-9_-]{20,}|pcsk_[A-Za-z0-9_-]{20,}|e2b_[0-9a-f]{20,}|jina_[A-Za-z0-9_-]{40,}|apify_api_[A-Za-z0-9]{20,}|napi_[a-z0-9]{20,})`), hasDigit},
	{"api-key", []string{"ntn_", "glsa_", "glc_", "nfp_", "rnd_", "rubygems_", "CCIPAT_", "sgp_", "pscale_", "sntrys_", "sntryu_", "shpss_", "shpca_", "shppa_"}, pattern.New(`\b(?:ntn|glsa|glc|nfp|rnd|rubygems|CCIPAT|sgp|pscale_(?:tkn|oauth|pw)|sntrys|sntryu|shpss|shpca|shppa)_[A-Za-z0-9][A-Za-z0-9_=+/-]{20,}`), hasDigit},
	{"api-key", []string{"tvly-", "pul-", "NRAK-", "PMAK-", "HRKU-", "sq0atp-", "sq0csp-"}, pattern.New(`\b(?:tvly-[A-Za-z0-9-]{20,}|pul-[0-9a-f]{40}|NRAK-[A-Z0-9]{20,}|PMAK-[0-9a-f]{20,}-[0-9a-f]{20,}|HRKU-[A-Za-z0-9_-]{20,}|sq0(?:atp|csp)-[A-Za-z0-9_-]{20,})`), hasDigit},
	{"api-key", []string{"ATATT3x", "ATCTT3x", "ATBB"}, pattern.New(`\b(?:AT[AC]TT3x[A-Za-z0-9_=.-]{20,}|ATBB[A-Za-z0-9]{28,})`), hasDigit},
	{"api-key", []string{"tskey-"}, pattern.New(`\btskey-[a-z]{3,12}-[A-Za-z0-9-]{10,}`), nil},
	{"api-key", []string{"dckr_pat_", "dckr_oat_"}, pattern.New(`\bdckr_[po]at_[A-Za-z0-9_-]{16,}`), nil},
	{"api-key", []string{"dp."}, pattern.New(`\bdp\.(?:pt|st|ct|sa|scim|audit)\.[A-Za-z0-9._-]{20,}`), hasDigit},
	{"api-key", []string{".atlasv1."}, pattern.New(`\b[A-Za-z0-9]{6,20}\.atlasv1\.[A-Za-z0-9_-]{20,}`), nil},
	{"gitlab-token", []string{"glrt-", "gldt-", "glptt-", "glcbt-"}, pattern.New(`\bgl(?:rt|dt|ptt|cbt)-[A-Za-z0-9_-]{16,}`), nil},
	{"api-key", []string{"dapi"}, pattern.New(`\bdapi[0-9a-f]{32}\b`), nil},
	{"api-key", []string{"pypi-AgE"}, pattern.New(`\bpypi-AgE[A-Za-z0-9_-]{40,}`), nil},
	{"oauth-token", []string{"ya29.", "GOCSPX-"}, pattern.New(`\b(?:ya29\.[A-Za-z0-9_-]{20,}|GOCSPX-[A-Za-z0-9_-]{20,})`), nil},
	{"vault-token", []string{"hvs.", "hvb."}, pattern.New(`\bhv[sb]\.[A-Za-z0-9_-]{20,}`), nil},
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
	{"secret", []string{"sshpass"}, pattern.New(`\bsshpass[ \t]+(?:-v[ \t]+)?-p[ \t]*["']?([^\s"'\\]{3,})`), notVariable},
	// The secret half of an AWS key has no shape of its own but its 40 characters of base64.
	{"secret", []string{"aws", "AWS", "Aws"}, pattern.New(`(?i)\baws[a-z_-]{0,30}["']?[ \t]{0,4}[:=][ \t]{0,4}["']?([A-Za-z0-9/+]{40})(?:[^A-Za-z0-9/+=]|$)`), mixed},
	{"secret", []string{"curl "}, pattern.New(`\bcurl [^\n|;&]{0,500}?(?:-u|--user)[ =]?["']?[^\s:"'\\]{1,100}:([^\s"'\\]{3,})`), notVariable},
}

// addressPasswords masks the passwords in addresses: scheme://name:password@host, and
// the tokens that stand there alone: scheme://token@host. It looks at the addresses by
// hand, since nearly every text has some.
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
		if from := i + len("://"); at < len(s) && s[at] == '@' && i > 0 && nameByte(s[i-1]) && isToken(s[from:at]) {
			b.WriteString(s[last:from])
			b.WriteString(r.mask(s[from:at]))
			n, last = n+1, at
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

// isToken tells a token from the name of a person or a service: it is long, of letters
// and digits, and has some digits.
func isToken(s string) bool {
	digits := 0
	for i := range len(s) {
		switch {
		case s[i] >= '0' && s[i] <= '9':
			digits++
		case !tokenByte(s[i]):
			return false
		}
	}
	return len(s) >= 20 && digits >= 3
}

// tokenByte reports bytes of base64 for addresses.
func tokenByte(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z' || c == '_' || c == '-'
}

// botTokens masks the tokens of Discord's bots: the number of the account in base64,
// six characters of time, a signature, with dots between. No literal is in all of them,
// so they are looked for from the two dots.
func (r *Redactor) botTokens(s string) (string, int) {
	const stamp, shortest = 6, 27
	var b strings.Builder
	n, last := 0, 0
	for i := strings.IndexByte(s, '.'); i >= 0; {
		if end := i + 1 + stamp; end < len(s) && s[end] == '.' && tokenBytes(s[i+1:end]) == stamp {
			from := i
			for from > last && tokenByte(s[from-1]) {
				from--
			}
			to := end + 1 + tokenBytes(s[end+1:])
			if id := s[from:i]; len(id) >= 23 && len(id) <= 28 && strings.IndexByte("MNO", id[0]) >= 0 && to-end > shortest && mixed(s[from:to]) {
				b.WriteString(s[last:from])
				b.WriteString(r.mask(s[from:to]))
				n, last = n+1, to
			}
		}
		next := strings.IndexByte(s[i+1:], '.')
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

// tokenBytes is how many bytes of base64 a text begins with.
func tokenBytes(s string) int {
	n := 0
	for n < len(s) && tokenByte(s[n]) {
		n++
	}
	return n
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
