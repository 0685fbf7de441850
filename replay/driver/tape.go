package driver

import (
	"encoding/json"
	"strings"
	"sync"

	"vise/engine/trace"
)

// Names of the spans of requests that an agent makes of its client.
const (
	SpanRead    = "fs/read_text_file"
	SpanWrite   = "fs/write_text_file"
	SpanCommand = "terminal"
	// SpanTool began the name of a call of a tool server through us, "mcp server/tool", in
	// recordings of earlier versions: CHAIN spans.
	SpanTool = "mcp"
)

// Attributes of the TOOL span of a call of a tool server through us: the server and the
// server's own name for the tool. The span's name may be the agent's name for it.
const (
	AttrServer     = "tool_server"
	AttrServerTool = "server_tool"
	// AttrServerOK is true where the server did not fail and the span has an error all the
	// same: the agent's own.
	AttrServerOK = "server_ok"
)

// served is the tool that a span tells of as a call through us, "server/tool"; "" for any
// other span.
func served(s trace.Span) string {
	if name, ok := strings.CutPrefix(s.Name, SpanTool+" "); ok && s.Kind == trace.CHAIN {
		return name
	}
	server, _ := s.Attrs[AttrServer].(string)
	tool, _ := s.Attrs[AttrServerTool].(string)
	if s.Kind != trace.TOOL || server == "" || tool == "" || s.Attrs["answered_by"] == nil {
		return ""
	}
	return server + "/" + tool
}

// Reply is what a request was answered with in a recording.
type Reply struct {
	Output string
	Error  string // non-empty: the request failed
	// Of a command:
	Code   *int
	Signal string
}

// Tape answers requests from the spans of a recording: each answer once, to the very
// same request only. A request is its name and its arguments as canonical JSON, after
// the masking that the recording has gone through. It is safe for concurrent use.
type Tape struct {
	mask func(string) (string, int)

	mu sync.Mutex
	// replies wait by request; writes are the changes that the recording made.
	replies map[string][]taped
	writes  map[string]int
	calls   []*toolCall
	exact   bool // calls are those that went through us, and not the agent's own account
	left    int  // bytes of answers that are still kept
	// followed counts the recorded writes that the run has made, too; strayed is set
	// once it has changed what the recording did not.
	followed int
	strayed  bool
}

type taped struct {
	Reply
	writes int // made before it in the recording
}

// toolCall is a call of the recorded agent's own.
type toolCall struct {
	name, input string
	reply       Reply
	used        bool
}

// maxTape bounds the answers of a tape, in bytes; later ones are left out.
const maxTape = 64 << 20

// NewTape makes a tape of recorded turns; mask may be nil. A nil Tape holds nothing.
func NewTape(turns []trace.Turn, mask func(string) (string, int)) *Tape {
	t := &Tape{mask: mask, replies: map[string][]taped{}, writes: map[string]int{}, left: maxTape}
	writes := 0
	for _, turn := range turns {
		for _, s := range turn.Spans {
			reply := Reply{Output: s.Output, Error: s.Error}
			if t.left -= len(s.Output) + len(s.Input); t.left < 0 {
				return t
			}
			switch {
			case served(s) != "":
				if s.Attrs[AttrServerOK] == true {
					reply.Error = ""
				}
				if by := s.Attrs["answered_by"]; by != nil && by != ByNobody && s.Attrs["cut"] == nil {
					if !t.exact {
						t.exact, t.calls = true, nil
					}
					t.calls = append(t.calls, &toolCall{name: served(s), input: canonical(s.Input), reply: reply})
				}
			case s.Kind == trace.TOOL && !s.Pending:
				if !t.exact {
					t.calls = append(t.calls, &toolCall{name: s.Name, input: canonical(s.Input), reply: reply})
				}
				if line := toolLine(s.Input); line != "" {
					code := 0
					if s.Error != "" {
						code = 1
					}
					k := "line\x00" + line
					t.replies[k] = append(t.replies[k], taped{Reply{Output: s.Output, Code: &code}, writes})
				}
			case s.Kind != trace.CHAIN || s.Attrs["answered_by"] == nil || s.Attrs["answered_by"] == ByNobody || s.Attrs["cut"] != nil || s.Pending:
			case s.Name == SpanWrite:
				if s.Error == "" {
					t.writes[t.key(s.Name, s.Input)]++
					writes++
				}
			case s.Name == SpanRead || s.Name == SpanCommand:
				if code, ok := number(s.Attrs["exit_code"]); ok {
					reply.Code = &code
				}
				reply.Signal, _ = s.Attrs["signal"].(string)
				k := t.key(s.Name, s.Input)
				t.replies[k] = append(t.replies[k], taped{reply, writes})
			}
		}
	}
	return t
}

// Take returns the next recorded reply to a request, while the run is where the
// recording was: it has made the writes that came before, and no others.
func (t *Tape) Take(name, input string) (Reply, bool) {
	if t == nil {
		return Reply{}, false
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	k := t.key(name, input)
	if len(t.replies[k]) == 0 && name == SpanCommand {
		k = "line\x00" + commandLine(t.masked(input))
	}
	queue := t.replies[k]
	for len(queue) > 0 && queue[0].writes < t.followed {
		queue = queue[1:] // of a state that the run has left behind
	}
	if t.strayed || len(queue) == 0 || queue[0].writes != t.followed {
		return Reply{}, false
	}
	t.replies[k] = queue[1:]
	return queue[0].Reply, true
}

// Wrote notes a write of the run.
func (t *Tape) Wrote(input string) {
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	k := t.key(SpanWrite, input)
	if t.writes[k] == 0 {
		t.strayed = true
		return
	}
	t.writes[k]--
	t.followed++
}

// Strayed notes that the run did what the recording may not have done.
func (t *Tape) Strayed() {
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.strayed = true
}

// Call returns the next recorded result of a tool of a server. Agents name such a
// tool by both, each in its own way: mcp__server__tool, server_tool, server.tool, or
// by the tool alone. The order of different calls is free; equal ones are used up.
func (t *Tape) Call(server, tool, input string) (Reply, bool) {
	if t == nil {
		return Reply{}, false
	}
	input = canonical(t.masked(input))
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, c := range t.calls {
		if !c.used && c.input == input && (t.exact && c.name == server+"/"+tool || !t.exact && NamesTool(c.name, server, tool)) {
			c.used = true
			return c.reply, true
		}
	}
	return Reply{}, false
}

// toolLine is the command line in the arguments of a recorded agent's own shell tool;
// "" for any other tool.
func toolLine(input string) string {
	var args map[string]json.RawMessage
	if json.Unmarshal([]byte(input), &args) != nil {
		return ""
	}
	for _, name := range []string{"command", "cmd"} {
		var line string
		var words []string
		switch raw := args[name]; {
		case raw == nil:
		case json.Unmarshal(raw, &line) == nil:
			return strings.TrimSpace(line)
		case json.Unmarshal(raw, &words) == nil:
			return lineOf(words)
		}
	}
	return ""
}

// commandLine is the command line of a request for a command at the top of the workspace.
func commandLine(input string) string {
	var c struct {
		Command string
		Args    []string
		Cwd     string
	}
	if json.Unmarshal([]byte(input), &c) != nil || c.Cwd != "" {
		return ""
	}
	return lineOf(append([]string{c.Command}, c.Args...))
}

// lineOf is the line that a list of words stands for: what a shell is given, else all.
func lineOf(words []string) string {
	if len(words) == 3 && (strings.HasSuffix(words[0], "sh")) && (words[1] == "-c" || words[1] == "-lc") {
		return strings.TrimSpace(words[2])
	}
	return strings.TrimSpace(strings.Join(words, " "))
}

// NamesTool reports whether an agent's name for a tool means that of the server.
func NamesTool(name, server, tool string) bool {
	if name == tool {
		return true
	}
	prefix, ok := strings.CutSuffix(name, tool)
	if !ok {
		return false
	}
	prefix = strings.TrimPrefix(prefix, "mcp__")
	return strings.TrimRight(prefix, "_./:-") == server && len(prefix) > len(server)
}

func (t *Tape) key(name, input string) string { return name + "\x00" + canonical(t.masked(input)) }

func (t *Tape) masked(s string) string {
	if t.mask == nil {
		return s
	}
	s, _ = t.mask(s)
	return s
}

// canonical is JSON text with sorted keys and no blanks, its numbers untouched; what
// is not JSON stays. No arguments and an empty object are the same.
func canonical(s string) string {
	if strings.TrimSpace(s) == "" {
		return "{}"
	}
	d := json.NewDecoder(strings.NewReader(s))
	d.UseNumber()
	var v any
	if d.Decode(&v) != nil || d.More() {
		return s
	}
	b, err := json.Marshal(v)
	if err != nil {
		return s
	}
	return string(b)
}

// number reads a whole number as it comes out of a store or straight from a run.
func number(v any) (int, bool) {
	switch n := v.(type) {
	case int:
		return n, true
	case float64:
		return int(n), true
	case json.Number:
		i, err := n.Int64()
		return int(i), err == nil
	}
	return 0, false
}
