package risk

import (
	"regexp"
	"strings"
)

// code is a text of a program without its comments (but for Go's build marks), so
// that a check that was commented out is gone. It knows strings only as far as it must; lines are kept.
func code(text, ext string) string {
	hash := strings.Contains(" .py .rb .exs .ex .sh .yaml .yml .toml ", " "+ext+" ")
	quotes := "\"'`"
	switch ext {
	case ".rs", ".clj", ".ml": // there ' begins a lifetime, or a quote
		quotes = "\""
	case ".php":
		hash = true
	}
	var b strings.Builder
	blank := func(s string) { b.WriteString(strings.Repeat("\n", strings.Count(s, "\n"))) }
	for i := 0; i < len(text); {
		rest := text[i:]
		switch {
		case ext == ".py" && (strings.HasPrefix(rest, `"""`) || strings.HasPrefix(rest, "'''")):
			n := len(rest)
			if k := strings.Index(rest[3:], rest[:3]); k >= 0 {
				n = k + 6
			}
			if line := b.String(); strings.TrimSpace(line[strings.LastIndexByte(line, '\n')+1:]) == "" {
				blank(rest[:n]) // a text that stands alone does nothing
			} else {
				b.WriteString(rest[:n])
			}
			i += n
		case strings.HasPrefix(rest, "//go:build "): // a mark, not a comment
			b.WriteString("//")
			i += 2
		case hash && rest[0] == '#', !hash && strings.HasPrefix(rest, "//"), ext == ".php" && strings.HasPrefix(rest, "//"):
			n := strings.IndexByte(rest, '\n')
			if n < 0 {
				n = len(rest)
			}
			i += n
		case (!hash || ext == ".php") && strings.HasPrefix(rest, "/*"):
			n := len(rest)
			if k := strings.Index(rest[2:], "*/"); k >= 0 {
				n = k + 4
			}
			blank(rest[:n])
			i += n
		case strings.IndexByte(quotes, rest[0]) >= 0:
			n := stringEnd(rest)
			b.WriteString(rest[:n])
			i += n
		default:
			b.WriteByte(rest[0])
			i++
		}
	}
	return b.String()
}

// stringEnd is the length of the string that s begins with. One of simple quotes
// ends with its line at the latest.
func stringEnd(s string) int {
	for i := 1; i < len(s); i++ {
		switch {
		case s[i] == '\\':
			i++
		case s[i] == s[0]:
			return i + 1
		case s[i] == '\n' && s[0] != '`':
			return i
		}
	}
	return len(s)
}

// wayOut is what ends a test early, or keeps a part of it from running.
var wayOut = regexp.MustCompile(`(?m)(?:^|[{;:])[ \t]*return[ \t]*;?[ \t]*(?:$|\})|\bos\.(?:Exit|_exit)\(|\bsys\.exit\(|\bprocess\.exit\(|\bstd::process::exit\(|` +
	`\bif[ \t]*\(?[ \t]*(?:false|False|0)\b|\bwhile[ \t]*\(?[ \t]*(?:false|False)\b|\brecover\(\)|\bcatch\b|(?m)^[ \t]*except\b|\bcontextlib\.suppress\(`)

// bodies are the texts of the tests by name, each up to the next one; of two with
// one name the first counts.
func bodies(text string, name *regexp.Regexp) map[string]string {
	out := map[string]string{}
	at := name.FindAllStringSubmatchIndex(text, -1)
	for i, m := range at {
		end := len(text)
		if i+1 < len(at) {
			end = at[i+1][0]
		}
		key := strings.TrimSpace(text[m[0]:m[1]])
		if m[2] >= 0 {
			key = text[m[2]:m[3]]
		}
		if out[key] == "" {
			out[key] = text[m[1]:end]
		}
	}
	return out
}
