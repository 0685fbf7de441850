package guard

import (
	"regexp"
	"strings"
)

// credentialMarks are the parts of an upper-cased variable name that make its
// value a credential.
var credentialMarks = []string{
	"API_KEY", "APIKEY", "SECRET", "TOKEN", "PASSWORD", "PASSWD", "CREDENTIAL", "ACCESS_KEY", "PRIVATE",
	"AUTHORIZATION", "COOKIE", "DATABASE_URL",
}

// credentialWords are credentials only as a whole word of the name.
var credentialWords = map[string]bool{"PASS": true, "AUTH": true, "PWD": true, "DSN": true}

// harmlessVariables contain a mark and hold no credential.
var harmlessVariables = map[string]bool{
	"GOPRIVATE": true, "TOKENIZERS_PARALLELISM": true, "PWD": true, "OLDPWD": true,
}

// credentialAddress is an address with a password in it, or with anything before the
// @ of a web address: a token stands there as well as a name.
var credentialAddress = regexp.MustCompile(`(?i)\bhttps?://[^/@\s,|]+@|\b[a-z][a-z0-9+.-]*://[^/@\s:]*:[^/@\s]+@`)

// ScrubEnv returns the part of env that a command named binary may see. Dropped
// are variables whose name is credential-shaped, those of the platform
// (PANDAPROBE_), loader variables (LD_, DYLD_) which would run foreign code in the
// child, and variables whose value is an address with a password in it. passthrough restores variables for exactly one binary name.
func ScrubEnv(env map[string]string, binary string, passthrough map[string][]string) map[string]string {
	out := make(map[string]string, len(env))
	for name, value := range env {
		if !credentialVariable(name) && !credentialAddress.MatchString(value) {
			out[name] = value
		}
	}
	for _, name := range passthrough[binary] {
		if value, ok := env[name]; ok {
			out[name] = value
		}
	}
	return out
}

func credentialVariable(name string) bool {
	up := strings.ToUpper(name)
	if harmlessVariables[up] {
		return false
	}
	for _, prefix := range []string{"PANDAPROBE_", "LD_", "DYLD_"} {
		if strings.HasPrefix(up, prefix) {
			return true
		}
	}
	for _, mark := range credentialMarks {
		if strings.Contains(up, mark) {
			return true
		}
	}
	for word := range strings.SplitSeq(up, "_") {
		if credentialWords[word] {
			return true
		}
	}
	return false
}
