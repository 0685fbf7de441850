package recording

import "crypto/sha256"

// maxSeen bounds the records that a Seen remembers, 16 bytes each.
const maxSeen = 200_000

// Seen tells the records that stand in a log more than once: a log that was
// appended to itself, or written twice line by line. The zero value is ready.
type Seen struct {
	ids  map[[16]byte]struct{}
	last [16]byte
	some bool
	// Dropped is how often Again and Twice have said yes.
	Dropped int
}

// Again reports whether the text of a record, one that carries its id or its time,
// was asked about before.
func (s *Seen) Again(text []byte) bool {
	k := mark(text)
	if _, ok := s.ids[k]; ok {
		s.Dropped++
		return true
	}
	if s.ids == nil || len(s.ids) >= maxSeen {
		s.ids = map[[16]byte]struct{}{}
	}
	s.ids[k] = struct{}{}
	return false
}

// Twice reports whether a text is the one that it was asked about last. It is for
// records without id and time, of which a later one may well say the same.
func (s *Seen) Twice(text []byte) bool {
	k := mark(text)
	if s.some && s.last == k {
		s.Dropped++
		return true
	}
	s.last, s.some = k, true
	return false
}

// Note tells in the summary how many records were left out.
func (s *Seen) Note(rec *Recorder) {
	if s.Dropped > 0 {
		rec.Note("records that the file holds more than once, counted once: %d repeats left out", s.Dropped)
	}
}

func mark(b []byte) [16]byte {
	sum := sha256.Sum256(b)
	return [16]byte(sum[:16])
}
