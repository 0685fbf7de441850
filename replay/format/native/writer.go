package native

import (
	"encoding/json"
	"fmt"
	"io"

	"vise/engine/trace"
)

// Writer writes sessions in the native format.
type Writer struct{ enc *json.Encoder }

// NewWriter returns a writer on w. Each line is one Write.
func NewWriter(w io.Writer) *Writer {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	return &Writer{enc: enc}
}

// Session writes the head of a session; its turns follow.
func (w *Writer) Session(s trace.Session) error {
	if err := w.enc.Encode(sessionLine{Vise: Version, Type: typeSession, Session: s}); err != nil {
		return fmt.Errorf("native: write session %s: %w", s.ID, err)
	}
	return nil
}

// Turn writes a turn and its spans.
func (w *Writer) Turn(t trace.Turn) error {
	spans := t.Spans
	t.Spans = nil
	if err := w.enc.Encode(turnLine{Type: typeTurn, Turn: t}); err != nil {
		return fmt.Errorf("native: write session %s turn %d: %w", t.SessionID, t.Index, err)
	}
	for _, s := range spans {
		if err := w.enc.Encode(spanLine{Type: typeSpan, Span: s}); err != nil {
			return fmt.Errorf("native: write session %s turn %d span %s: %w", t.SessionID, t.Index, s.ID, err)
		}
	}
	return nil
}

// Write writes one whole session.
func Write(w io.Writer, s trace.Session, turns []trace.Turn) error {
	nw := NewWriter(w)
	if err := nw.Session(s); err != nil {
		return err
	}
	for _, t := range turns {
		if err := nw.Turn(t); err != nil {
			return err
		}
	}
	return nil
}
