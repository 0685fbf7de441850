// Package claudecode reads the session logs of Claude Code: JSON Lines, one
// record per message or, since version 2.0, per content block.
//
// A turn is a text of the user: not the result of a tool, not an injected
// record (isMeta), not the summary that follows a compaction, not the prompt of
// a sub-agent. Lines that share a message id are one response of the model. File
// order and tool ids decide what belongs together; the parent links form a graph
// in which parallel calls are siblings, so walking it would lose results.
//
// Sub-agents appear as AGENT spans under the call that launched them, whichever
// of the three ways they were recorded in: as side-chain records in the same
// file, as a file of their own in <session>/subagents, or only as the totals in
// the result of the call.
package claudecode

import (
	"fmt"
	"io"
	"path/filepath"
	"regexp"
	"strings"

	"vise/engine/trace"
	"vise/replay/format/recording"
)

// Name of the format.
const Name = "claude-code"

// Bounds of one session.
const (
	maxHeld      = 4         // finished turns that wait for the result of a call
	maxTurnBytes = 256 << 20 // text kept of one turn
	maxKnown     = 200_000   // message ids and chain members remembered
	maxSubagents = 1000      // files of sub-agents read
)

// Read reads one session log. path names the file: sub-agents are looked for beside it.
func Read(r io.Reader, path string, rec *recording.Recorder) error {
	s := newSession(path, rec)
	if err := recording.Lines(r, rec, s.line, s.broken); err != nil {
		return err
	}
	return s.end()
}

// session is the state of reading one log.
type session struct {
	rec  *recording.Recorder
	path string
	// side is set when the log is that of a sub-agent: its prompts are the turns.
	side    bool
	started bool
	version string
	title   title

	cur    *turn   // the turn being built
	held   []*turn // finished turns that wait for results, oldest first
	turns  int
	ids    map[string]int    // span ids given, to make them unique
	models map[string]bool   // message ids whose span has left cur
	prompt map[string]int    // parent of a user text → turn index, to see rewinds
	aside  map[string]int    // side records not kept, by type
	chains map[string]*chain // of sub-agents, by agent id and by record uuid
	files  *subagents
	child  *chain // set while a sub-agent's own file is read
	late   int
	failed error // while a sub-agent's file was read
	seen   recording.Seen
}

func newSession(path string, rec *recording.Recorder) *session {
	return &session{rec: rec, path: path,
		side: filepath.Base(filepath.Dir(path)) == "subagents" || agentFile.MatchString(filepath.Base(path)),
		ids:  map[string]int{}, models: map[string]bool{}, prompt: map[string]int{},
		aside: map[string]int{}, chains: map[string]*chain{}, files: findSubagents(path)}
}

// agentFile matches the log of a sub-agent by its name: agent-<hex>.jsonl.
var agentFile = regexp.MustCompile(`^agent-[0-9a-f]{6,}\.`)

// title is the best name seen so far; a higher rank wins, then the later one.
type title struct {
	rank int
	text string
}

func (t *title) offer(rank int, text string) {
	if text != "" && rank >= t.rank {
		t.rank, t.text = rank, text
	}
}

// line takes one record of the file.
func (s *session) line(l recording.Record) error {
	var r record
	if err := recording.Decode(l.Data, &r); err != nil {
		return err
	}
	if s.again(&r, l) {
		return nil
	}
	r.at = parseTime(r.Timestamp)
	if r.Version != "" && s.child == nil {
		s.version = r.Version
	}
	if err := s.begin(&r); err != nil {
		return err
	}
	if err := s.record(&r, l); err != nil {
		return err
	}
	return s.failed
}

// again reports a record that was taken before, with the same uuid or time and the
// same text: versions and editors that give two different records one uuid exist.
func (s *session) again(r *record, l recording.Record) bool {
	return (r.UUID != "" || r.Timestamp != "") && s.seen.Again(l.Data)
}

// begin opens the session at its first message: that is the record whose session
// id counts, since what comes before may belong to another one.
func (s *session) begin(r *record) error {
	if s.started || s.child != nil || r.Type != "user" && r.Type != "assistant" {
		return nil
	}
	return s.open(r)
}

func (s *session) open(r *record) error {
	s.started = true
	stem := strings.TrimSuffix(filepath.Base(s.path), filepath.Ext(s.path))
	head := trace.Session{ID: r.SessionID, Source: Name, Agent: "claude-code", Attrs: map[string]any{}}
	if head.ID == "" {
		head.ID = stem
	}
	if s.side && !strings.Contains(head.ID, stem) {
		head.ID += "-" + stem
	}
	if s.version != "" {
		head.Agent += " " + s.version
	}
	for k, v := range map[string]string{"session_id": r.SessionID, "cwd": r.CWD, "git_branch": r.GitBranch, "agent_id": r.AgentID} {
		if v != "" {
			head.Attrs[k] = s.rec.Short(v, 500)
		}
	}
	head.Started = r.at
	return s.rec.Begin(head)
}

// end finishes the session: sub-agents nobody asked for, open turns, the head.
func (s *session) end() error {
	if err := s.orphans(); err != nil {
		return err
	}
	if s.cur != nil && !s.started {
		if err := s.open(&record{}); err != nil { // records, but no message
			return err
		}
	}
	if !s.started {
		return nil
	}
	if s.cur != nil {
		s.held = append(s.held, s.cur)
		s.cur = nil
	}
	for _, t := range s.held {
		if err := s.rec.Turn(t.finish()); err != nil {
			return err
		}
	}
	head := s.rec.Head()
	if s.version != "" {
		head.Agent = "claude-code " + s.version
	}
	if s.title.text != "" {
		head.Title = recording.FirstWords(s.rec.Mask(s.title.text))
	}
	s.rec.Aside(s.aside)
	if s.late > 0 {
		s.rec.Note("%d tool results came after their turn was over; they are kept as late_result", s.late)
	}
	s.seen.Note(s.rec)
	return s.rec.End()
}

// broken keeps what is legible of a damaged part where it stood.
func (s *session) broken(d recording.Damage, data []byte) {
	s.add(trace.Span{Kind: trace.CHAIN, Name: "damaged", Output: s.rec.Preview(data), Attrs: map[string]any{
		"line": d.Line, "offset": d.Offset, "bytes": d.Bytes, "reason": d.Reason}})
}

// opaque keeps a record that is not interpreted, bounded.
func (s *session) opaque(name string, r *record, l recording.Record) {
	span := trace.Span{Kind: trace.CHAIN, Name: name, Output: s.rec.Opaque(l.Data), Start: r.at, End: r.at,
		Attrs: map[string]any{"line": l.Line}}
	if c := s.chainOf(r); c != nil {
		span.Parent = c.id
	}
	s.add(span)
}

// uniqueID gives a span an id that no other span of the session has.
func (s *session) uniqueID(id, fallback string) string {
	if id == "" || len(id) > 200 {
		id = fallback
	}
	if len(s.ids) > 5*maxKnown {
		clear(s.ids) // ids this far apart may meet again
	}
	s.ids[id]++
	if n := s.ids[id]; n > 1 {
		return s.uniqueID(fmt.Sprintf("%s#%d", id, n), fallback)
	}
	return id
}
