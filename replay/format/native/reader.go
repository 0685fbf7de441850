package native

import (
	"fmt"
	"io"

	"vise/engine/trace"
	"vise/replay/format/recording"
)

// Read reads a native file and hands its sessions to the recorder.
func Read(r io.Reader, rec *recording.Recorder) error {
	rd := &reader{rec: rec}
	if err := recording.Lines(r, rec, rd.record, rd.broken); err != nil {
		return err
	}
	return rd.endSession()
}

type reader struct {
	rec   *recording.Recorder
	id    string // of the open session, as the file spells it
	turns int
	turn  *trace.Turn
	seen  map[string]bool // span ids of the turn
}

func (r *reader) record(line recording.Record) error {
	var kind struct {
		Vise int    `json:"vise"`
		Type string `json:"type"`
	}
	if err := recording.Decode(line.Data, &kind); err != nil {
		return err
	}
	switch {
	case kind.Type == typeSession && kind.Vise > Version:
		return fmt.Errorf("read %s: line %d: written by a newer vise (format %d, this one reads %d): update vise",
			r.rec.Summary().Path, line.Line, kind.Vise, Version)
	case kind.Type == typeSession:
		return r.session(line)
	case kind.Type == typeTurn && r.rec.Open():
		var t turnLine
		if err := recording.DecodeExact(line.Data, &t); err != nil {
			return err
		}
		if t.SessionID != "" && t.SessionID != r.id {
			d := recording.Damage{Line: line.Line, Offset: line.Offset, Bytes: len(line.Data),
				Reason: fmt.Sprintf("a turn of session %q stands in session %q", r.rec.Short(t.SessionID, 80), r.rec.Short(r.id, 80))}
			r.rec.Damage(d)
			r.broken(d, line.Data)
			return nil
		}
		if err := r.endTurn(); err != nil {
			return err
		}
		if t.Index != 0 && t.Index != r.turns {
			r.rec.Note("line %d: turn index %d of session %s is out of order, read as %d", line.Line, t.Index, r.id, r.turns)
		}
		r.turns++
		t.Turn.Spans = nil
		r.turn, r.seen = &t.Turn, map[string]bool{}
		for _, s := range t.Spans {
			r.span(s)
		}
	case kind.Type == typeSpan && r.rec.Open():
		var s spanLine
		if err := recording.DecodeExact(line.Data, &s); err != nil {
			return err
		}
		r.open()
		r.span(s.Span)
	default:
		name := kind.Type
		if name == "" {
			name = "(no type)"
		}
		r.rec.Unknown(name)
		if !r.rec.Open() {
			r.rec.Note("line %d: %s before any session", line.Line, name)
			return nil
		}
		r.open()
		r.span(trace.Span{Kind: trace.CHAIN, Name: name, Output: r.rec.Opaque(line.Data), Attrs: map[string]any{"line": line.Line}})
	}
	return nil
}

func (r *reader) session(line recording.Record) error {
	var s sessionLine
	if err := recording.DecodeExact(line.Data, &s); err != nil {
		return err
	}
	if err := r.endSession(); err != nil {
		return err
	}
	r.id, r.turns = s.ID, 0
	if s.ID == "" {
		s.ID = fmt.Sprintf("native-line-%d", line.Line)
	} else if kept := recording.SafeID(s.ID); kept != s.ID {
		r.rec.Note("line %d: session id %q is kept as %s", line.Line, r.rec.Short(s.ID, 200), kept)
	}
	if s.Source == "" {
		s.Source = Name
	}
	return r.rec.Begin(s.Session)
}

// open makes sure that there is a turn for a span.
func (r *reader) open() {
	if r.turn == nil {
		r.turn, r.seen = &trace.Turn{Synthetic: true}, map[string]bool{}
		r.turns++
	}
}

// span adds a span to the open turn. An id that came before in the turn updates
// that span, as it does for a live trace.
func (r *reader) span(s trace.Span) {
	switch s.Kind {
	case trace.LLM, trace.TOOL, trace.AGENT, trace.CHAIN:
	default:
		r.rec.Unknown("span of kind " + string(s.Kind))
		s.Kind = trace.CHAIN
	}
	if s.ID == "" {
		s.ID = fmt.Sprintf("s%d", len(r.turn.Spans))
	}
	if r.seen[s.ID] {
		for i := range r.turn.Spans {
			if r.turn.Spans[i].ID == s.ID {
				r.turn.Spans[i] = s
			}
		}
		return
	}
	r.seen[s.ID] = true
	r.turn.Spans = append(r.turn.Spans, s)
}

func (r *reader) broken(d recording.Damage, data []byte) {
	if !r.rec.Open() {
		return
	}
	r.open()
	r.span(trace.Span{ID: fmt.Sprintf("damaged-%d-%d", d.Line, d.Offset), Kind: trace.CHAIN, Name: "damaged", Output: r.rec.Preview(data),
		Attrs: map[string]any{"line": d.Line, "offset": d.Offset, "bytes": d.Bytes, "reason": d.Reason}})
}

func (r *reader) endTurn() error {
	if r.turn == nil {
		return nil
	}
	t := *r.turn
	r.turn = nil
	return r.rec.Turn(t)
}

func (r *reader) endSession() error {
	if !r.rec.Open() {
		return nil
	}
	if err := r.endTurn(); err != nil {
		return err
	}
	return r.rec.End()
}
