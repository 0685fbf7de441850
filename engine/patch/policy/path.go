package policy

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// ErrPath tells that a path cannot name a file of the project.
var ErrPath = errors.New("invalid path")

// Normal returns a project path in its one form: relative, with slashes. A
// backslash counts as a slash. Refused with ErrPath are the empty path, absolute
// ones, a drive prefix, NUL, and any component that is empty, "." or "..".
func Normal(path string) (string, error) {
	s := strings.ReplaceAll(path, `\`, "/")
	bad := s == "" || strings.ContainsRune(s, 0) || s[0] == '/' || len(s) >= 2 && s[1] == ':' && letter(s[0])
	for part := range strings.SplitSeq(s, "/") {
		bad = bad || part == "" || part == "." || part == ".."
	}
	if bad {
		return "", fmt.Errorf("%w: %q", ErrPath, path)
	}
	return s, nil
}

func letter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }

// Match reports whether a normal path matches a glob. Both are split at slashes;
// "**" as a whole segment stands for any number of segments, any other segment
// matches one by *, ?, [set] and [!set], case counting. An empty segment in the
// pattern matches nothing.
func Match(pattern, path string) bool {
	parts := strings.Split(pattern, "/")
	for _, p := range parts {
		if p == "" {
			return false
		}
	}
	return segments(parts, strings.Split(path, "/"))
}

// segments matches in time proportional to the product of the lengths: only the
// last "**" is ever tried again.
func segments(pat, path []string) bool {
	p, s, star, mark := 0, 0, -1, 0
	for s < len(path) {
		switch {
		case p < len(pat) && pat[p] == "**":
			star, mark = p, s
			p++
		case p < len(pat) && segment(pat[p], path[s]):
			p++
			s++
		case star >= 0:
			mark++
			p, s = star+1, mark
		default:
			return false
		}
	}
	for p < len(pat) && pat[p] == "**" {
		p++
	}
	return p == len(pat)
}

// segment matches one segment; like segments it tries only the last star again.
func segment(pat, text string) bool {
	p, s, star, mark := 0, 0, -1, 0
	for s < len(text) {
		r, n := decode(text[s:])
		if p < len(pat) {
			if pat[p] == '*' {
				star, mark = p, s
				p++
				continue
			}
			if w, ok := one(pat[p:], r); ok {
				p += w
				s += n
				continue
			}
		}
		if star < 0 {
			return false
		}
		_, n = decode(text[mark:])
		mark += n
		p, s = star+1, mark
	}
	for p < len(pat) && pat[p] == '*' {
		p++
	}
	return p == len(pat)
}

// decode reads a character. A byte that is no text is a character of its own that
// equals only itself: file names may hold any.
func decode(s string) (rune, int) {
	r, n := utf8.DecodeRuneInString(s)
	if r == utf8.RuneError && n == 1 {
		return utf8.MaxRune + 1 + rune(s[0]), 1
	}
	return r, n
}

func runes(s string) (out []rune) {
	for s != "" {
		r, n := decode(s)
		out = append(out, r)
		s = s[n:]
	}
	return out
}

// one matches a character with the head of a pattern and returns how long that
// head is. A "[" that is never closed stands for itself.
func one(pat string, r rune) (width int, ok bool) {
	switch pat[0] {
	case '?':
		return 1, true
	case '[':
		body := 1
		if body < len(pat) && pat[body] == '!' {
			body++
		}
		end := body + 1 // a "]" right at the start is a member of the set
		for end < len(pat) && pat[end] != ']' {
			end++
		}
		if end >= len(pat) {
			return 1, r == '['
		}
		in := inSet(runes(pat[body:end]), r)
		return end + 1, in != (pat[1] == '!')
	}
	want, n := decode(pat)
	return n, want == r
}

// unclosed reports a glob with a set that has no end in its own segment. Match
// takes such a "[" for itself, as the reference does; nobody means that.
func unclosed(glob string) bool {
	for part := range strings.SplitSeq(glob, "/") {
		for i := 0; i < len(part); i++ {
			if part[i] != '[' {
				continue
			}
			body := strings.TrimPrefix(part[i+1:], "!")
			if body == "" {
				return true
			}
			end := strings.IndexByte(body[1:], ']') // a "]" right at the start is a member of the set
			if end < 0 {
				return true
			}
			i = len(part) - len(body) + end + 1
		}
	}
	return false
}

func inSet(set []rune, r rune) bool {
	for i := 0; i < len(set); i++ {
		if i+2 < len(set) && set[i+1] == '-' {
			if set[i] <= r && r <= set[i+2] {
				return true
			}
			i += 2
			continue
		}
		if set[i] == r {
			return true
		}
	}
	return false
}
