package md

import "strings"

// Markdown gives "<" and "&" a meaning that hides text (HTML, comments) or makes
// characters that were not there (character references can spell ESC). Neither may
// happen to text whose reader must see what an agent sees, so both characters are
// rendered as private-use stand-ins of the same width and put back afterwards.
const (
	standLess = '\uf8f0'
	standAmp  = '\uf8f1'
)

var veiler = strings.NewReplacer("<", string(standLess), "&", string(standAmp), string(standLess), "\ufffd", string(standAmp), "\ufffd")

var unveiler = strings.NewReplacer(string(standLess), "<", string(standAmp), "&")

func veil(text string) string { return veiler.Replace(text) }

func unveil(text string) string { return unveiler.Replace(text) }
