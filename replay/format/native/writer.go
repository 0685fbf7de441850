package native

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"

	"vise/engine/longtext"
	"vise/engine/trace"
)

// Writer writes sessions in the native format. A text of many megabytes is written
// piece by piece.
type Writer struct {
	w     io.Writer
	enc   *json.Encoder // into line
	line  bytes.Buffer
	aside longtext.Aside
}

// NewWriter returns a writer on w. Each line is one Write, but for those with long texts.
func NewWriter(w io.Writer) *Writer {
	nw := &Writer{w: w}
	nw.enc = json.NewEncoder(&nw.line)
	nw.enc.SetEscapeHTML(false)
	return nw
}

func (w *Writer) write(line any) error {
	w.line.Reset()
	if err := w.enc.Encode(line); err != nil {
		return err
	}
	return w.aside.Write(w.w, w.line.Bytes())
}

// Session writes the head of a session; its turns follow.
func (w *Writer) Session(s trace.Session) error {
	if err := w.write(sessionLine{Vise: Version, Type: typeSession, Session: s}); err != nil {
		return fmt.Errorf("native: write session %s: %w", s.ID, err)
	}
	return nil
}

// Turn writes a turn and its spans.
func (w *Writer) Turn(t trace.Turn) error {
	spans := t.Spans
	t.Spans = nil
	w.aside.Take(&t.Input)
	if err := w.write(turnLine{Type: typeTurn, Turn: t}); err != nil {
		return fmt.Errorf("native: write session %s turn %d: %w", t.SessionID, t.Index, err)
	}
	for _, s := range spans {
		w.aside.Take(&s.Input, &s.Output, &s.Thought, &s.Error)
		if err := w.write(spanLine{Type: typeSpan, Span: s}); err != nil {
			return fmt.Errorf("native: write session %s turn %d span %s: %w", t.SessionID, t.Index, s.ID, err)
		}
	}
	return nil
}
