// Package native is vise's own format of recorded sessions: JSON Lines, written
// by "vise sessions export" and readable by "vise import" without loss.
//
// A file holds one session or several, each as a head line followed by its turns
// in order, each turn followed by its spans in order:
//
//	{"vise":1,"type":"session","id":"desk-1","source":"acp","agent":"...","system":"...","tools":[...]}
//	{"type":"turn","index":0,"input":"Refund order A-17, please.","stop_reason":"end_turn"}
//	{"type":"span","id":"m1","kind":"LLM","name":"model","output":"Let me look."}
//	{"type":"span","id":"c1","parent":"m1","kind":"TOOL","name":"look_up_order","input":"{\"order_id\":\"A-17\"}","output":"..."}
//	{"type":"turn","index":1,"input":"..."}
//
// The head line has the fields of trace.Session, a turn line those of trace.Turn
// without its spans, a span line those of trace.Span, under the same names and
// with the same defaults. "vise" is the version of the format and stands in every
// head line. On reading, session ids, indices, trace ids, counts and digests are
// computed anew, the origin becomes "recorded", and everything else is kept as it
// stands; index and counts may be left out by who writes such a file by hand. A
// turn line may also hold its spans itself, as "spans". A turn with "synthetic":
// true holds what came before any input.
//
// Lines of another type are kept as CHAIN spans of the turn they stand in.
package native

import "vise/engine/trace"

// Name of the format.
const Name = "native"

// Version of the format.
const Version = 1

// Line types.
const (
	typeSession = "session"
	typeTurn    = "turn"
	typeSpan    = "span"
)

type sessionLine struct {
	Vise int    `json:"vise"`
	Type string `json:"type"`
	trace.Session
}

type turnLine struct {
	Type string `json:"type"`
	trace.Turn
	// Spans shadows the field of the turn: spans have lines of their own.
	Spans []trace.Span `json:"spans,omitempty"`
}

type spanLine struct {
	Type string `json:"type"`
	trace.Span
}
