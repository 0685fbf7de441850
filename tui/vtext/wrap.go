package vtext

import (
	"strings"

	"github.com/clipperhouse/uax29/v2/graphemes"
)

// Wrap breaks one line of text into rows of at most w cells. It breaks at spaces,
// which vanish there, and between wide cells, which need none (CJK text has no
// spaces); a word that alone is too wide is cut between its characters. Rows after
// the first begin with hang spaces. width measures one grapheme cluster in cells;
// text must be safe for a terminal and without line breaks.
func Wrap(text string, w, hang int, width func(string) int) []string {
	w = max(1, w)
	if hang >= w {
		hang = 0
	}
	if len(text) <= w && ascii(text) {
		return []string{text}
	}
	var (
		rows  []string
		lead  = "" // what the present row is indented by
		start = 0  // where it begins in text
		used  = 0  // its cells
		solid = 0  // width of the last cluster in it that is no space; 0: none yet
		end   = -1 // where it may end and the next may begin: the last place to break
		next  = 0
		after = 0 // its cells up to next
	)
	take := func(stop, from int) {
		rows = append(rows, lead+text[start:stop])
		lead, start, end, solid = strings.Repeat(" ", hang), from, -1, 0
	}
	for pos := 0; pos < len(text); {
		n, cells := 1, 1
		if c := text[pos]; c < 0x20 || c > 0x7e || pos+1 < len(text) && text[pos+1] >= 0x80 {
			g := graphemes.FromString(text[pos:])
			g.Next()
			n, cells = len(g.Value()), width(g.Value())
		} // else the fast way: an ASCII character that nothing combines with
		space := n == 1 && text[pos] == ' '
		switch {
		case space && solid > 0:
			if end < 0 || next != pos {
				end = pos
			}
			next, after = pos+1, used+1
		case !space && solid > 0 && text[pos-1] != ' ' && (cells > 1 || solid > 1):
			end, next, after = pos, pos, used
		}
		if used+cells > w && solid > 0 {
			switch {
			case space:
				for pos++; pos < len(text) && text[pos] == ' '; {
					pos++
				}
				take(end, pos)
				used = hang
				continue
			case end >= 0:
				rest := used - after
				take(end, next)
				used = hang + rest
				if rest > 0 {
					solid = 1
				}
			default:
				take(pos, pos)
				used = hang
			}
			if used+cells > w && solid > 0 { // an indented row has less room
				take(pos, pos)
				used = hang
			}
		}
		used += cells
		if !space {
			solid = max(1, cells)
		}
		pos += n
	}
	if start < len(text) || len(rows) == 0 {
		rows = append(rows, lead+strings.TrimRight(text[start:], " "))
	}
	return rows
}

func ascii(s string) bool {
	for i := range len(s) {
		if s[i] < 0x20 || s[i] > 0x7e {
			return false
		}
	}
	return true
}
