package style

import "github.com/clipperhouse/uax29/v2/graphemes"

// CutMiddle shortens a text to at most w cells by what is between its ends: ids and
// file names differ at their ends as often as at their beginnings.
func (s *Style) CutMiddle(text string, w int) string {
	left := s.Width(text)
	if left <= w {
		return text
	}
	tail, room := "", (w-s.Width(s.Glyphs.Ellipsis))/2
	for seg := graphemes.FromString(text); seg.Next(); {
		if left -= s.Width(seg.Value()); left <= room {
			tail = text[seg.End():]
			break
		}
	}
	return s.Cut(text, w-s.Width(tail)) + tail
}
