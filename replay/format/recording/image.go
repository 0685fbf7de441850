package recording

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"io"
	"regexp"
	"strings"
)

// Binary describes a payload that is never kept: "[image image/png 70 bytes
// sha256:ab12cd34ef56]". Text that is not base64 is measured as it stands.
func Binary(kind, mime, data string) string {
	h := sha256.New()
	n, err := io.Copy(h, base64.NewDecoder(base64.StdEncoding, strings.NewReader(data)))
	if err != nil {
		h.Reset()
		m, _ := io.WriteString(h, data) // a hash never fails
		n = int64(m)
	}
	if mime == "" || len(mime) > 80 {
		mime = "unknown type"
	}
	return fmt.Sprintf("[%s %s %d bytes sha256:%s]", kind, mime, n, hex.EncodeToString(h.Sum(nil)[:6]))
}

// maxAddress is the longest address kept, in bytes: what common servers take
// (RFC 9110, section 4.1, asks for 8,000 octets at least).
const maxAddress = 8 << 10

// Address describes a payload that lies elsewhere: "[image https://host/a.png]". The
// address is kept whole or not at all, since the credentials in one are recognised
// later and half of one is not. A data URI is the payload itself.
func Address(kind, at string) string {
	if uri, ok := strings.CutPrefix(at, "data:"); ok {
		head, data, _ := strings.Cut(uri, ",")
		mime, _, _ := strings.Cut(head, ";")
		return Binary(kind, mime, data)
	}
	if len(at) > maxAddress {
		return Binary(kind, "", at)
	}
	return "[" + kind + " " + at + "]"
}

var dataURI = regexp.MustCompile(`data:([a-z]+/[A-Za-z0-9.+-]+);base64,([A-Za-z0-9+/]{64,}={0,2})`)

// Describe replaces the data URIs in a text by descriptions.
func Describe(s string) string {
	if !strings.Contains(s, ";base64,") {
		return s
	}
	return dataURI.ReplaceAllStringFunc(s, func(m string) string {
		g := dataURI.FindStringSubmatch(m)
		kind, _, _ := strings.Cut(g[1], "/")
		return Binary(kind, g[1], g[2])
	})
}
