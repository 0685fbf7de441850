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

// The renderer counts one cell for the bar of a quote. With its gap it has two, and a
// line that seems to fit would be broken once more, outside of the bar. So the bars are
// stand-ins of one cell, too; they get their gap when they are put back.
const (
	standBar  = '\uf8f2'
	standPipe = '\uf8f3'
)

var veiler = strings.NewReplacer("<", string(standLess), "&", string(standAmp), string(standLess), "\ufffd", string(standAmp), "\ufffd",
	string(standBar), "\ufffd", string(standPipe), "\ufffd")

var unveiler = strings.NewReplacer(string(standLess), "<", string(standAmp), "&", string(standBar), "│ ", string(standPipe), "| ")

func veil(text string) string { return veiler.Replace(text) }

func unveil(text string) string { return unveiler.Replace(text) }
