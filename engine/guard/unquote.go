package guard

import (
	"unicode/utf16"
	"unicode/utf8"
)

// Unquote decodes a JSON string, quotes included, as encoding/json does: what is no
// UTF-8 and half surrogate pairs become U+FFFD. It makes one copy, of the length of
// the literal, whatever it holds: a text of 80 MB costs 80 MB. A literal that is not
// valid gives what can be read of it.
func Unquote(lit []byte) string {
	if len(lit) < 2 {
		return ""
	}
	in := lit[1 : len(lit)-1]
	out := make([]byte, 0, len(in))
	for i := 0; i < len(in); {
		from := i
		for i < len(in) && in[i] != '\\' && in[i] < utf8.RuneSelf {
			i++
		}
		out = append(out, in[from:i]...)
		if i == len(in) {
			break
		}
		if in[i] != '\\' {
			r, n := utf8.DecodeRune(in[i:])
			out = utf8.AppendRune(out, r)
			i += n
			continue
		}
		if i+1 == len(in) {
			break
		}
		c := in[i+1]
		i += 2
		switch c {
		case 'b':
			c = '\b'
		case 'f':
			c = '\f'
		case 'n':
			c = '\n'
		case 'r':
			c = '\r'
		case 't':
			c = '\t'
		case 'u':
			r := hex4(in[i:])
			i = min(i+4, len(in))
			if utf16.IsSurrogate(r) {
				low := rune(-1)
				if i+1 < len(in) && in[i] == '\\' && in[i+1] == 'u' {
					low = hex4(in[i+2:])
				}
				if r = utf16.DecodeRune(r, low); r != utf8.RuneError {
					i += 6
				}
			}
			out = utf8.AppendRune(out, r)
			continue
		}
		out = append(out, c)
	}
	return textOf(out)
}

// hex4 reads four hexadecimal digits; -1 when they are none.
func hex4(b []byte) rune {
	if len(b) < 4 {
		return -1
	}
	var r rune
	for _, c := range b[:4] {
		switch {
		case c >= '0' && c <= '9':
			c -= '0'
		case c >= 'a' && c <= 'f':
			c -= 'a' - 10
		case c >= 'A' && c <= 'F':
			c -= 'A' - 10
		default:
			return -1
		}
		r = r<<4 | rune(c)
	}
	return r
}
