package format

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"vise/replay/format/agentdojo"
	"vise/replay/format/atif"
	"vise/replay/format/claudecode"
	"vise/replay/format/codex"
	"vise/replay/format/cursor"
	"vise/replay/format/gemini"
	"vise/replay/format/inspectai"
	"vise/replay/format/managed"
	"vise/replay/format/native"
	"vise/replay/format/openai"
	"vise/replay/format/openhands"
	"vise/replay/format/otel"
	"vise/replay/format/recording"
	"vise/replay/format/sweagent"
	"vise/replay/format/tau"
	"vise/replay/format/whowhen"
)

// Bounds of looking at a file to tell its format.
const (
	maxProbe  = 200       // records looked at
	maxBytes  = 512 << 20 // bytes looked at
	maxMember = 4 << 10   // bytes of a member's value looked at
)

// Detect tells the format of a file by its content: names and extensions lie. The reader is left anywhere.
func Detect(r io.ReadSeeker) (string, error) {
	h := newHead(r)
	start, err := h.Peek(512)
	if err != nil && !errors.Is(err, io.EOF) {
		return "", err
	}
	switch {
	case len(start) == 0:
		return "", fmt.Errorf("the file is empty: %w", ErrUnrecognised)
	case bytes.HasPrefix(start, []byte("PK\x03\x04")):
		return inspectai.Name, nil
	case bytes.HasPrefix(start, []byte("version https://git-lfs")):
		return "", fmt.Errorf("a Git LFS pointer, not the file itself; fetch it with git lfs pull: %w", ErrUnrecognised)
	case bytes.HasPrefix(start, []byte("SQLite format 3")):
		return "", fmt.Errorf("an SQLite database: %w", ErrUnrecognised)
	}
	for _, p := range packed {
		if bytes.HasPrefix(start, []byte(p.magic)) {
			return "", fmt.Errorf("%s; %s first: %w", p.what, p.remedy, ErrUnrecognised)
		}
	}
	if binary, err := otel.IsProtobuf(r); err != nil {
		return "", err
	} else if binary {
		return otel.NameOTLP, nil
	}
	if err := h.rewind(); err != nil {
		return "", err
	}
	name, err := document(recording.NewScanner(h))
	if err != nil {
		return "", err
	}
	if name == "" {
		if err := h.rewind(); err != nil {
			return "", err
		}
		var records int
		name, records, err = lines(h)
		if err != nil {
			return "", err
		}
		if name == "" {
			return "", fmt.Errorf("recognised 0 of %d records, format or version unknown; formats that can be read: %s: %w",
				records, strings.Join(Formats(), ", "), ErrUnrecognised)
		}
	}
	return name, nil
}

// packed are data that may hold a session, but not as UTF-8 text, by their first bytes
// (RFC 1952, RFC 8878, the magic numbers of xz and bzip2, byte order marks, and what
// JSON looks like in UTF-16 without one).
var packed = []struct{ magic, what, remedy string }{
	{"\x1f\x8b", "gzip data", "unpack it with gunzip"},
	{"\x28\xb5\x2f\xfd", "zstd data", "unpack it with unzstd"},
	{"\xfd7zXZ\x00", "xz data", "unpack it with unxz"},
	{"BZh", "bzip2 data", "unpack it with bunzip2"},
	{"\xff\xfe", "text in UTF-16", "convert it with iconv -f UTF-16 -t UTF-8"},
	{"\xfe\xff", "text in UTF-16", "convert it with iconv -f UTF-16 -t UTF-8"},
	{"{\x00", "text in UTF-16", "convert it with iconv -f UTF-16LE -t UTF-8"},
	{"[\x00", "text in UTF-16", "convert it with iconv -f UTF-16LE -t UTF-8"},
	{"\x00{\x00", "text in UTF-16", "convert it with iconv -f UTF-16BE -t UTF-8"},
	{"\x00[\x00", "text in UTF-16", "convert it with iconv -f UTF-16BE -t UTF-8"},
}

// members are the keys of an object with the beginning of each value.
type members map[string]string

func (m members) has(keys ...string) bool {
	for _, k := range keys {
		if _, ok := m[k]; !ok {
			return false
		}
	}
	return true
}

// text returns the value of a key if it is a short text.
func (m members) text(key string) string {
	var s string
	if json.Unmarshal([]byte(m[key]), &s) != nil {
		return ""
	}
	return s
}

// one decides by the keys of a document that is one object, or of the first line
// of a file of lines.
var one = []struct {
	name  string
	match func(members) bool
}{
	{native.Name, func(m members) bool { return m.has("vise") && m.text("type") == "session" }},
	{tau.NameTau2, func(m members) bool { return m.has("simulations") && (m.has("tasks") || m.has("info")) }},
	{atif.Name, func(m members) bool { return strings.HasPrefix(m.text("schema_version"), "ATIF-") }},
	{sweagent.NameMini, func(m members) bool { return strings.HasPrefix(m.text("trajectory_format"), "mini-swe-agent") }},
	{sweagent.Name, func(m members) bool { return m.has("trajectory", "history") }},
	{otel.NameOTLP, func(m members) bool { return m.has("resourceSpans") }},
	{otel.NameTRAIL, func(m members) bool {
		return m.has("trace_id", "spans") && strings.Contains(m["spans"], `"span_name"`)
	}},
	{otel.NameSpans, func(m members) bool {
		return strings.HasPrefix(m["spans"], "[") && !m.has("type") && strings.Contains(m["spans"], `"span_id"`) || m.has("trace_id", "span_id") || m.has("context", "attributes", "parent_id")
	}},
	{otel.NameAgents, func(m members) bool {
		return strings.Contains(m["traces"], `"trace.span"`) || strings.Contains(m["traces"], `"object"`)
	}},
	{otel.NameLangfuse, func(m members) bool {
		return m.has("trace", "observations") || strings.HasPrefix(m["trace"], "{") && strings.Contains(m["trace"], `"observations"`)
	}},
	{otel.NameLangSmith, func(m members) bool {
		return strings.HasPrefix(m["post"], "[") || strings.HasPrefix(m["patch"], "[") || m.has("run_type", "dotted_order")
	}},
	{inspectai.Name, func(m members) bool { return m.has("eval", "version", "status") }},
	{whowhen.Name, func(m members) bool { return m.has("mistake_agent", "history") }},
	{gemini.Name, func(m members) bool {
		return m.has("sessionId") && (m.has("messages") || m.has("projectHash")) || strings.HasPrefix(m["history"], "[") && strings.Contains(m["history"], `"parts"`)
	}},
	{agentdojo.Name, func(m members) bool { return m.has("run_id", "messages", "evaluation") }},
	{openhands.Name, func(m members) bool {
		return m.has("history") && (m.has("instance_id") || m.has("issue") || m.has("question_id")) ||
			m.has("agent", "execution_status") || m.has("conversation_id") && (m.has("trigger") || m.has("selected_repository") || m.has("llm_model"))
	}},
	{codex.Name, func(m members) bool {
		switch m.text("type") {
		case "session_meta", "response_item", "event_msg", "turn_context", "compacted":
			return m.has("payload")
		}
		return false
	}},
	{codex.Name, func(m members) bool {
		t := m.text("type")
		return t == "thread.started" || t == "turn.started" || strings.HasPrefix(t, "item.")
	}},
	{codex.Name, func(m members) bool {
		t := m.text("type")
		return m.has("created_at") && (m.has("role") || t == "function_call" || t == "function_result")
	}},
	{claudecode.Name, claude},
	{cursor.Name, func(m members) bool { return m.has("role", "message") && !m.has("type") }},
	{openai.NameChat, func(m members) bool {
		return strings.HasPrefix(m["messages"], "[") || m.has("choices", "object") || strings.HasPrefix(m["request"], "{") && strings.Contains(m["request"], `"messages"`)
	}},
	{openai.NameResponses, func(m members) bool {
		return (strings.HasPrefix(m["input"], "[") || m.has("input", "response")) && !m.has("type") || strings.HasPrefix(m["items"], "[") || m.has("output") && m.text("object") == "response"
	}},
	{openhands.Name, func(m members) bool {
		return (m.has("action") || m.has("observation")) && m.has("source") || m.has("kind", "source", "id", "timestamp")
	}},
	// A chat message a line.
	{openai.NameChat, func(m members) bool {
		switch m.text("role") {
		case "system", "developer", "user", "assistant":
			return (m.has("content") || m.has("tool_calls")) && !m.has("type")
		}
		return false
	}},
}

// claude tells a record of Claude Code; side records without a message come first
// in many files.
func claude(m members) bool {
	switch m.text("type") {
	case "user", "assistant", "system", "attachment", "progress":
		return m.has("message") || m.has("sessionId") || m.has("uuid") || m.has("attachment")
	case "summary":
		return m.has("leafUuid") || m.has("summary")
	case "file-history-snapshot":
		return m.has("snapshot") || m.has("messageId")
	case "queue-operation", "permission-mode", "mode", "custom-title", "ai-title", "agent-name", "last-prompt", "tool_use", "tool_result":
		return m.has("sessionId")
	}
	return false
}

// weak formats are told by members that others have too: the whole object is
// looked at before it counts as one of them.
var weak = map[string]bool{claudecode.Name: true, openai.NameChat: true, openai.NameResponses: true}

func decide(m members) string {
	for _, o := range one {
		if o.match(m) {
			return o.name
		}
	}
	return ""
}

// document decides by the first value of a file. It follows an object only as far
// as its keys leave open what it is.
func document(sc *recording.Scanner) (string, error) {
	c, err := sc.Peek()
	if err != nil {
		return "", nil // where it breaks off it is damage; the lines may tell
	}
	if c == '[' {
		name := array(sc)
		if name == claudecode.Name || name == codex.Name || name == cursor.Name || name == native.Name {
			return "", fmt.Errorf("a JSON array of %s records, which stand one a line; write it so with jq -c '.[]': %w", name, ErrUnrecognised)
		}
		return name, nil
	}
	if c != '{' {
		return "", nil
	}
	m, _ := probe(sc, func(m members) bool {
		name := decide(m)
		return name != "" && !weak[name]
	})
	return decide(m), nil
}

var errDecided = errors.New("decided")

// probe collects the members of an object until enough says that they decide. A
// broken object gives what it has up to there.
func probe(sc *recording.Scanner, enough func(members) bool) (members, error) {
	m := members{}
	err := sc.Members(func(key string) error {
		if sc.Offset() > maxBytes || len(m) > maxProbe {
			return errDecided
		}
		c, err := sc.Peek()
		if err != nil {
			return err
		}
		m[key] = string(c) // known by its kind even if it never ends
		if enough != nil && c != '"' && enough(m) {
			return errDecided
		}
		raw, _, err := sc.Value(maxMember)
		if err != nil {
			return err
		}
		m[key] = string(raw)
		if enough != nil && enough(m) {
			return errDecided
		}
		return nil
	})
	return m, err
}

// array decides by the first element.
func array(sc *recording.Scanner) (name string) {
	done := errors.New("first element seen")
	// Only the first element matters; an array that breaks off in it is as good.
	_ = sc.Elements(func() error {
		c, err := sc.Peek()
		if err != nil {
			return err
		}
		if c != '{' {
			raw, _, err := sc.Value(maxMember)
			if err == nil && bytes.HasPrefix(raw, []byte(`"client.`)) {
				name = managed.Name
			}
			return done
		}
		m, _ := probe(sc, func(m members) bool { return m.has("traj") && m.has("reward") })
		switch {
		case m.has("traj") && (m.has("reward") || m.has("task_id")):
			name = tau.NameTau
		case m.has("conversations", "episode"):
			name = atif.NameSFT
		case m.has("trace_id", "span_id"):
			name = otel.NameSpans
		case m.has("action") || m.has("observation"):
			name = openhands.Name
		case m.has("role"):
			// The first version of mini-swe-agent writes bare messages; its system
			// prompt tells.
			name = openai.NameChat
			if strings.Contains(m["content"], "mswea_bash_command") || strings.Contains(m["content"], "COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT") || strings.Contains(m["content"], "MINI_SWE_AGENT_FINAL_OUTPUT") {
				name = sweagent.NameMini
			}
		case m.has("call_id", "type"):
			name = openai.NameResponses
		default:
			name = decide(m)
		}
		return done
	})
	return name
}

// lines decides by the first records of a file of lines; some need more than the
// first, and the first may be damaged.
func lines(h *head) (name string, records int, err error) {
	size := 0
	for records < maxProbe && size < maxBytes {
		line, rerr := h.line()
		size += len(line)
		if len(bytes.Trim(line, " \t\r\n\x00")) > 0 {
			records++
		}
		if i := bytes.IndexByte(line, '{'); i >= 0 {
			m, perr := probe(recording.NewScanner(bytes.NewReader(line[i:])), nil)
			if perr == nil || len(m) > 1 {
				if n := decide(m); n != "" {
					return n, records, nil
				}
			}
		}
		if errors.Is(rerr, io.EOF) {
			break
		}
		if rerr != nil {
			return "", records, rerr
		}
	}
	return "", records, nil
}
