package guard

import (
	"strings"
	"unicode/utf8"
)

// control characters of the escape-sequence grammar (ECMA-48, ECMA-35).
const (
	bel = 0x07
	can = 0x18
	sub = 0x1a
	esc = 0x1b
	st  = 0x9c // 8-bit string terminator
)

// stripper removes terminal escape sequences the way a terminal would consume
// them, so that no payload (title, link, clipboard) is left as visible residue.
type stripper struct {
	in  string
	out strings.Builder
	// noST and noBEL are set once no terminator follows any more: every further
	// string introducer is then known to be unterminated, which keeps the walk linear.
	noST, noBEL bool
}

// stripEscapes returns s without escape sequences, 7-bit and 8-bit forms, and
// without control characters other than LF and TAB. CRLF, CR runs before LF and
// lone CR become LF; NEL is a line end too. Invalid UTF-8 becomes U+FFFD.
//
// An unterminated control string loses its introducer only: the rest of the text
// is not swallowed, since nothing says where the string was meant to end.
func stripEscapes(s string) string {
	if plainText(s) {
		return s
	}
	p := &stripper{in: s}
	p.out.Grow(len(s))
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == esc:
			i = p.escape(i + n)
		case r == 0x9b:
			i = p.csi(i + n)
		case r == 0x90 || r == 0x98 || r == 0x9d || r == 0x9e || r == 0x9f:
			i = p.str(i+n, r == 0x9d)
		case r == '\r':
			i += n
			for i < len(s) && s[i] == '\r' {
				i++
			}
			if i < len(s) && s[i] == '\n' {
				i++
			}
			p.out.WriteByte('\n')
		default:
			p.char(r)
			i += n
		}
	}
	return p.out.String()
}

// plainText reports whether s holds nothing that stripEscapes would change.
func plainText(s string) bool {
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c < 0x20 && c != '\n' && c != '\t' || c == 0x7f || c >= 0x80 {
			return utf8Plain(s[i:])
		}
	}
	return true
}

func utf8Plain(s string) bool {
	for i, r := range s {
		if r < 0x20 && r != '\n' && r != '\t' || r >= 0x7f && r <= 0x9f {
			return false
		}
		if r == utf8.RuneError && !strings.HasPrefix(s[i:], "\uFFFD") {
			return false
		}
	}
	return true
}

// char writes a character that is not part of a sequence.
func (p *stripper) char(r rune) {
	switch {
	case r == '\n' || r == '\t' || r >= 0x20 && r < 0x7f || r >= 0xa0:
		p.out.WriteRune(r)
	case r == 0x85:
		p.out.WriteByte('\n')
	}
}

// escape consumes what follows an ESC and returns the position after it.
func (p *stripper) escape(i int) int {
	i = p.controls(i)
	if i >= len(p.in) {
		return i
	}
	c := p.in[i]
	switch {
	case c == '[':
		return p.csi(i + 1)
	case c == 'P' || c == 'X' || c == ']' || c == '^' || c == '_':
		return p.str(i+1, c == ']')
	case c >= 0x20 && c <= 0x2f: // nF: intermediates and one final byte
		for i < len(p.in) && p.in[i] >= 0x20 && p.in[i] <= 0x2f {
			i++
		}
		if i < len(p.in) && p.in[i] >= 0x30 && p.in[i] <= 0x7e {
			i++
		}
		return i
	case c >= 0x30 && c <= 0x7e: // Fp, Fe, Fs: two-byte sequences
		return i + 1
	}
	return i // ESC, CAN, SUB or text: only the ESC is dropped
}

// csi consumes parameters, intermediates and the final byte of a control
// sequence. Controls inside are executed by terminals, so line ends survive.
func (p *stripper) csi(i int) int {
	for {
		i = p.controls(i)
		if i >= len(p.in) || p.in[i] < 0x30 || p.in[i] > 0x3f {
			break
		}
		i++
	}
	for {
		i = p.controls(i)
		if i >= len(p.in) || p.in[i] < 0x20 || p.in[i] > 0x2f {
			break
		}
		i++
	}
	if i < len(p.in) && p.in[i] >= 0x40 && p.in[i] <= 0x7e {
		return i + 1
	}
	return i // malformed: what does not belong to it is text again
}

// controls passes over C0 controls inside a sequence, keeping LF and TAB. ESC,
// CAN and SUB end the sequence and are left to the caller.
func (p *stripper) controls(i int) int {
	for i < len(p.in) {
		switch c := p.in[i]; {
		case c == '\n' || c == '\t':
			p.out.WriteByte(c)
		case c == '\r':
			// A carriage return in front of a line feed adds nothing.
			if i+1 >= len(p.in) || p.in[i+1] != '\n' {
				p.out.WriteByte('\n')
			}
		case c == esc || c == can || c == sub || c >= 0x20 && c != 0x7f:
			return i
		}
		i++
	}
	return i
}

// str consumes a control string (DCS, SOS, OSC, PM, APC) up to its terminator:
// ST, or BEL for OSC, or CAN and SUB which cancel it.
func (p *stripper) str(i int, osc bool) int {
	if p.noST && (!osc || p.noBEL) {
		return i
	}
	for j := i; j < len(p.in); j++ {
		switch c := p.in[j]; {
		case c == can || c == sub:
			return j + 1
		case c == bel && osc:
			return j + 1
		case c == esc && j+1 < len(p.in) && p.in[j+1] == '\\':
			return j + 2
		case c == 0xc2 && j+1 < len(p.in) && p.in[j+1] == st:
			return j + 2
		}
	}
	p.noST = true
	if osc {
		p.noBEL = true
	}
	return i
}
