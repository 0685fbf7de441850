package guard

import "sync"

// literals finds in one pass which shapes a text may hold: searching for each of
// their literals took two thirds of the time of an import.
type literals struct {
	pairs [1 << 16]uint8 // by the first two bytes of a literal: index into lists, 0 = none
	lists [][]literal
}

type literal struct {
	text  string
	shape uint64 // its bit
}

// Bits of present that stand for no shape of the table.
const (
	holdsKeyBlock = 1 << 63
	holdsAddress  = 1 << 62
)

var shapeLiterals = sync.OnceValue(func() *literals {
	l := &literals{lists: make([][]literal, 1)}
	for i, s := range shapes {
		for _, lit := range s.literals {
			l.add(lit, 1<<i)
		}
	}
	l.add("PRIVATE KEY", holdsKeyBlock)
	l.add("://", holdsAddress)
	return l
})

func (l *literals) add(text string, shape uint64) {
	at := &l.pairs[uint16(text[0])<<8|uint16(text[1])]
	if *at == 0 {
		*at = uint8(len(l.lists))
		l.lists = append(l.lists, nil)
	}
	l.lists[*at] = append(l.lists[*at], literal{text, shape})
}

// present returns the bits of the shapes of which a literal stands in a text: bit i
// for shapes[i].
func present(s string) (found uint64) {
	l := shapeLiterals()
	for i := 1; i < len(s); i++ {
		at := l.pairs[uint16(s[i-1])<<8|uint16(s[i])]
		if at == 0 {
			continue
		}
		rest := s[i-1:]
		for _, lit := range l.lists[at] {
			if found&lit.shape == 0 && len(rest) >= len(lit.text) && rest[:len(lit.text)] == lit.text {
				found |= lit.shape
			}
		}
	}
	return found
}
