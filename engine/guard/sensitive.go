package guard

import (
	"strings"
	"unicode"
)

// credentialEnds are the ends of key names that hold a credential. The first six
// are those of the PandaProbe harness, whose rule is a plain suffix test; the
// rest are names seen in the wild that it misses.
var credentialEnds = []string{
	"apikey", "authorization", "credential", "password", "secret", "token",
	"apikeys", "apikeyid", "accesskey", "accesskeyid", "authorizationheader", "authheader", "credentials",
	"passwd", "passphrase", "passwords", "passwordhash", "secrets", "secretkey", "secretaccesskey",
	"privatekey", "signingkey", "encryptionkey", "sshkey", "accountkey", "masterkey", "sharedkey", "cookie", "cookies", "bearer",
	"accesstokens", "apitokens", "authtokens", "bearertokens", "refreshtokens", "sessiontokens",
}

// credentialNames are names that hold a credential only when they stand alone.
var credentialNames = map[string]bool{
	"auth": true, "basicauth": true, "httpauth": true, "proxyauth": true, "xauth": true, "jwt": true,
	"userpwd": true, "dbpwd": true, "connectionstring": true,
}

// harmlessTokens are the words before "token" that make it a position or a
// symbol instead of a credential.
var harmlessTokens = map[string]bool{
	"page": true, "next": true, "nextpage": true, "prev": true, "previous": true, "continuation": true,
	"pagination": true, "cursor": true, "sync": true, "nextsync": true, "start": true, "end": true, "stop": true,
	"first": true, "last": true, "per": true, "eos": true, "bos": true, "pad": true, "unk": true, "mask": true,
	"sep": true, "cls": true, "special": true,
}

// SensitiveKey reports whether a mapping key names a credential, whatever its
// spelling: case, separators and trailing digits do not matter.
func SensitiveKey(key string) bool {
	flat := strings.TrimRight(squash(Fold(key)), "0123456789")
	if flat == "" {
		return false
	}
	if credentialNames[flat] {
		return true
	}
	for _, end := range credentialEnds {
		if strings.HasSuffix(flat, end) {
			return end != "token" || !harmlessToken(key, flat)
		}
	}
	return false
}

// squash deletes everything outside a-z and 0-9.
func squash(s string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			return r
		}
		return -1
	}, s)
}

// harmlessToken reports whether the word before a final "token" makes the key harmless.
func harmlessToken(key, flat string) bool {
	if harmlessTokens[strings.TrimSuffix(flat, "token")] {
		return true
	}
	words := keyWords(key)
	if len(words) < 2 || words[len(words)-1] != "token" {
		return false
	}
	return harmlessTokens[words[len(words)-2]]
}

// keyWords splits a key at separators and at the humps of camel case.
func keyWords(key string) []string {
	var words []string
	var word []rune
	flush := func() {
		if len(word) > 0 {
			words = append(words, Fold(string(word)))
			word = word[:0]
		}
	}
	lower := false
	for _, r := range key {
		switch {
		case !unicode.IsLetter(r) && !unicode.IsDigit(r):
			flush()
		case unicode.IsUpper(r) && lower:
			flush()
			fallthrough
		default:
			word = append(word, r)
		}
		lower = unicode.IsLower(r)
	}
	flush()
	return words
}
