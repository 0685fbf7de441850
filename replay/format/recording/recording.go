// Package recording is what the readers of all session formats share: the sink
// they fill, the summary they leave, lines and elements that survive damage, and
// the Recorder through which every session passes on its way out, so that
// redaction, identifiers and counts are the same whatever the format.
package recording

import (
	"errors"
	"fmt"

	"vise/engine/guard"
	"vise/engine/trace"
)

// Sink takes sessions as they are read, one turn at a time and in order. An
// error of the sink ends the reading of the file.
type Sink interface {
	// Begin opens a session: its head without counts. The ID is set, safe for
	// keys and unique within the file.
	Begin(trace.Session) error
	// Turn takes the next turn of the open session.
	Turn(trace.Turn) error
	// End closes the session with its final head.
	End(trace.Session) error
}

// Options say how a file is read.
type Options struct {
	// Format is the name of a format, "" to detect it by content.
	Format string
	// Strict makes damage an error (ErrDamaged) once the file has been read;
	// what could be read has gone to the sink all the same.
	Strict bool
	// Redactor masks every text before it reaches the sink; nil masks by key
	// and by value.
	Redactor *guard.Redactor
}

// Errors of reading, for errors.Is.
var (
	// ErrUnrecognised: the file holds no session of a known format.
	ErrUnrecognised = errors.New("not a recorded session that can be read")
	// ErrDamaged: strict reading met damage.
	ErrDamaged = errors.New("damaged records")
)

// Bounds of a summary and of what is kept of things that have no place of their own.
const (
	MaxDamage  = 1000      // damages listed per file; all are counted
	MaxNotes   = 100       // notes per file
	MaxUnknown = 200       // distinct unknown record types counted by name
	MaxOpaque  = 4 << 10   // bytes kept of a record that could not be interpreted
	MaxID      = 128       // characters of a session id
	MaxRecord  = 256 << 20 // bytes of one record; a longer one is damage
)

// Damage is a part of a file that could not be read in full.
type Damage struct {
	// Line is 1-based, Offset the byte offset of the damaged part, Bytes its length.
	Line   int    `json:"line"`
	Offset int64  `json:"offset"`
	Bytes  int    `json:"bytes"`
	Reason string `json:"reason"`
}

// Summary says what one file held.
type Summary struct {
	Path     string `json:"path"`
	Format   string `json:"format"`
	Sessions int    `json:"sessions"`
	Turns    int    `json:"turns"`
	Steps    int    `json:"steps"`
	Calls    int    `json:"calls"`
	Errors   int    `json:"errors"`
	// Records read in full: lines, or simulations of a results file.
	Records int `json:"records"`
	// Unknown counts, by type, the records that were kept but not interpreted.
	Unknown map[string]int `json:"unknown,omitempty"`
	// Damaged lists the first MaxDamage damages; DamagedTotal counts all.
	Damaged      []Damage `json:"damaged,omitempty"`
	DamagedTotal int      `json:"damaged_total,omitempty"`
	// Masked counts the credentials replaced by placeholders.
	// MaskedAs counts them by class: api-key, jwt, private-key, secret and so on.
	Masked   int            `json:"masked"`
	MaskedAs map[string]int `json:"masked_as,omitempty"`
	// Notes say what else a person should know, bounded.
	Notes []string `json:"notes,omitempty"`
}

func (s *Summary) damage(d Damage) {
	s.DamagedTotal++
	if len(s.Damaged) < MaxDamage {
		s.Damaged = append(s.Damaged, d)
	}
}

func (s *Summary) unknown(kind string) {
	if s.Unknown == nil {
		s.Unknown = map[string]int{}
	}
	if _, ok := s.Unknown[kind]; !ok && len(s.Unknown) >= MaxUnknown {
		kind = "(others)"
	}
	s.Unknown[kind]++
}

// unknowns is how many records of unknown types were counted.
func (s *Summary) unknowns() (n int) {
	for _, k := range s.Unknown {
		n += k
	}
	return n
}

func (s *Summary) note(format string, args ...any) {
	if len(s.Notes) < MaxNotes {
		s.Notes = append(s.Notes, fmt.Sprintf(format, args...))
	}
}
