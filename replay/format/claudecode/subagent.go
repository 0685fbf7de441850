package claudecode

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"vise/engine/trace"
	"vise/replay/format/recording"
)

// chain is one sub-agent: the AGENT span its records hang under.
type chain struct {
	id    string // of the AGENT span
	agent string // agent id, "" if unknown
	turn  *turn
	at    int // of the span in the turn
	named bool
}

// key names the chain in tables; the main conversation is "".
func (c *chain) key() string {
	if c == nil {
		return ""
	}
	return c.id
}

// chainOf returns the sub-agent a record belongs to, nil for the agent itself.
func (s *session) chainOf(r *record) *chain {
	if s.child != nil {
		return s.child
	}
	if !r.IsSidechain || s.side {
		return nil
	}
	for _, key := range []string{agentKey(r.AgentID), r.UUID, r.ParentUUID} {
		if c := s.chains[key]; c != nil && key != "" {
			if c.turn.done { // it goes on after its turn was handed on
				c = s.agent("", c.agent, r)
			}
			s.remember(r.UUID, c)
			return c
		}
	}
	prompt := ""
	if r.Type == "user" {
		prompt = r.Message.Content.String()
	}
	parent := s.launcher(prompt)
	c := s.agent(parent, r.AgentID, r)
	s.remember(r.UUID, c)
	return c
}

// agentKey keeps agent ids and record ids apart in one table.
func agentKey(id string) string {
	if id == "" {
		return ""
	}
	return "agent:" + id
}

func (s *session) remember(uuid string, c *chain) {
	if uuid == "" {
		return
	}
	if len(s.chains) > maxKnown {
		clear(s.chains)
	}
	s.chains[uuid] = c
}

// agent adds an AGENT span under a call.
func (s *session) agent(parent, agentID string, r *record) *chain {
	id := "agent-" + agentID
	if agentID == "" {
		id = "agent-" + r.UUID
	}
	attrs := map[string]any{}
	if agentID != "" {
		attrs["agent_id"] = s.rec.Short(agentID, 200)
	}
	at := s.add(trace.Span{ID: id, Parent: parent, Kind: trace.AGENT, Name: "sub-agent", Start: r.at, End: r.at, Attrs: attrs})
	c := &chain{id: s.cur.Spans[at].ID, agent: agentID, turn: s.cur, at: at}
	if agentID != "" {
		s.remember(agentKey(agentID), c)
	}
	return c
}

// agentPrompt sets what the sub-agent was asked; more texts are kept as spans.
func (s *session) agentPrompt(c *chain, prompt string) {
	if sp := &c.turn.Spans[c.at]; !c.named {
		sp.Input, c.named = c.turn.keep(prompt), true
		return
	}
	s.add(trace.Span{Kind: trace.CHAIN, Name: "prompt", Parent: c.id, Input: prompt})
}

// launcher returns the id of the call that launched a sub-agent: the waiting call
// with this prompt, else the last waiting one of a tool that launches agents.
func (s *session) launcher(prompt string) string {
	last := ""
	if s.cur == nil {
		return ""
	}
	for i := range s.cur.Spans {
		sp := &s.cur.Spans[i]
		if sp.Kind != trace.TOOL || !sp.Pending || !launches(sp.Name) {
			continue
		}
		last = sp.ID
		var args struct {
			Prompt string `json:"prompt"`
		}
		if prompt != "" && json.Unmarshal([]byte(sp.Input), &args) == nil && args.Prompt == prompt {
			return sp.ID
		}
	}
	return last
}

func launches(tool string) bool { return tool == "Task" || tool == "Agent" }

// launched handles the result of a call that ran a sub-agent. What is known of it
// goes to its AGENT span; its own file, if there is one, is read now.
func (s *session) launched(t *turn, at int, r *record) {
	call := t.Spans[at].ID
	c := s.chains[agentKey(r.Result.agentID)]
	if c != nil && c.turn.done {
		c = nil
	}
	for i := range t.Spans {
		if c == nil && t.Spans[i].Kind == trace.AGENT && t.Spans[i].Parent == call {
			c = &chain{id: t.Spans[i].ID, turn: t, at: i, named: true}
		}
	}
	if c == nil {
		c = s.agent(call, r.Result.agentID, r)
		c.turn.Spans[c.at].Start = t.Spans[at].Start
	}
	sp := &c.turn.Spans[c.at]
	sp.Output, sp.End = t.keep(t.Spans[at].Output), r.at
	if sp.Attrs == nil {
		sp.Attrs = map[string]any{}
	}
	for k, v := range r.Result.totals {
		sp.Attrs[k] = v
	}
	if path := s.files.take(r.Result.agentID); path != "" {
		s.failed = s.readAgent(c, path)
	}
}

// orphans reads the files of sub-agents that no result named: the parent was cut
// off, or never waited for them.
func (s *session) orphans() error {
	if s.child != nil || s.side {
		return nil
	}
	for _, f := range s.files.rest() {
		prompt := firstPrompt(f.path)
		c := s.agent(s.launcher(prompt), f.agent, &record{})
		if err := s.readAgent(c, f.path); err != nil {
			return err
		}
	}
	return nil
}

// readAgent reads the file of a sub-agent into the current turn. A file that cannot be
// read is noted; an error is one of the sink or of the context.
func (s *session) readAgent(c *chain, path string) error {
	file, err := recording.OpenPart(path)
	if err != nil {
		s.rec.Note("sub-agent file %s was not read: %v", filepath.Base(path), errors.Unwrap(err))
		return nil
	}
	defer file.Close()
	if kind := agentType(path); kind != "" {
		c.turn.Spans[c.at].Name = kind
	}
	outer := s.child
	s.child = c
	defer func() { s.child = outer }()
	before := s.rec.Summary().DamagedTotal
	part := &part{File: file}
	err = recording.Lines(part, s.rec, s.line, s.broken)
	if n := s.rec.Summary().DamagedTotal - before; n > 0 {
		s.rec.Note("%d of the damaged records are in sub-agent file %s", n, filepath.Base(path))
	}
	if part.err != nil {
		s.rec.Note("sub-agent file %s was read in part: %v", filepath.Base(path), part.err)
		return nil
	}
	return err
}

// part is a file that remembers why it could not be read on.
type part struct {
	*os.File
	err error
}

func (p *part) Read(b []byte) (int, error) {
	n, err := p.File.Read(b)
	if err != nil && !errors.Is(err, io.EOF) {
		p.err = err
	}
	return n, err
}

// maxMeta is the largest file about a sub-agent that is read, in bytes.
const maxMeta = 64 << 10

// agentType reads the kind of a sub-agent from the file beside its log.
func agentType(path string) string {
	file, err := recording.OpenPart(strings.TrimSuffix(path, ".jsonl") + ".meta.json")
	if err != nil {
		return ""
	}
	defer file.Close()
	raw, err := io.ReadAll(io.LimitReader(file, maxMeta+1))
	if err != nil || len(raw) > maxMeta {
		return ""
	}
	var meta struct {
		AgentType string `json:"agentType"`
	}
	if json.Unmarshal(raw, &meta) != nil {
		return ""
	}
	return meta.AgentType
}

// firstPrompt returns the first user text of a sub-agent's file, "" if its first
// megabyte holds none.
func firstPrompt(path string) string {
	file, err := recording.OpenPart(path)
	if err != nil {
		return ""
	}
	defer file.Close()
	head := make([]byte, 1<<20)
	n, err := file.Read(head)
	if err != nil {
		return ""
	}
	for line := range strings.Lines(string(head[:n])) {
		var r record
		if recording.Decode([]byte(line), &r) == nil && r.Type == "user" && !r.IsMeta {
			return r.Message.Content.String()
		}
	}
	return ""
}

// subagents are the files in <session>/subagents that were not read yet.
type subagents struct{ files []subagentFile }

type subagentFile struct{ agent, path string }

// Subagents returns the folder where the sub-agents of a session log are kept.
func Subagents(path string) string {
	return filepath.Join(strings.TrimSuffix(path, filepath.Ext(path)), "subagents")
}

func findSubagents(path string) *subagents {
	found, _ := filepath.Glob(filepath.Join(escapeGlob(Subagents(path)), "agent-*.jsonl"))
	slices.Sort(found)
	s := &subagents{}
	for _, f := range found[:min(len(found), maxSubagents)] {
		name := strings.TrimSuffix(strings.TrimPrefix(filepath.Base(f), "agent-"), ".jsonl")
		s.files = append(s.files, subagentFile{name, f})
	}
	return s
}

func escapeGlob(s string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(s)
}

func (s *subagents) take(agent string) string {
	for i, f := range s.files {
		if f.agent == agent {
			s.files = slices.Delete(s.files, i, i+1)
			return f.path
		}
	}
	return ""
}

func (s *subagents) rest() []subagentFile {
	f := s.files
	s.files = nil
	return f
}
