package drive

import (
	"bytes"
	"encoding/json"
	"regexp"
	"strings"
)

// Answer is what an agent said at its end.
type Answer struct {
	Text      string // its last message
	SessionID string // of its own session, "" when it did not say, or not one that is Resumable
	// NeedsScope is what the agent asks of a person when it says that a correct
	// fix needs more than it may touch (see ScopeMark).
	NeedsScope string
}

// ScopeMark begins the line by which an agent asks for more scope; the prompt
// tells it so.
const ScopeMark = "VISE-NEEDS-SCOPE:"

var sessionID = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._:-]{0,127}$`)

// Resumable reports an id of a session that may become an argument: agents print
// what they like, and --dangerously-skip-permissions is no id.
func Resumable(id string) bool { return sessionID.MatchString(id) }

// maxAnswer bounds the kept text, in bytes.
const maxAnswer = 16 << 10

// Read finds the answer in an agent's standard output: the known fields of JSON
// and JSON Lines outputs (codex --json, claude and gemini --output-format json and
// stream-json, opencode and goose --format json), the text itself otherwise.
func Read(stdout []byte) Answer {
	var a Answer
	structured := false
	see := func(raw []byte) {
		var m map[string]any
		if json.Unmarshal(raw, &m) != nil {
			return
		}
		structured = true
		if id := first(m, "session_id", "sessionID", "sessionId", "thread_id"); Resumable(id) {
			a.SessionID = id
		}
		if text := message(m); text != "" {
			a.Text = text
		}
	}
	if trimmed := bytes.TrimSpace(stdout); len(trimmed) > 0 && trimmed[0] == '{' {
		see(trimmed)
	}
	if !structured {
		for line := range bytes.Lines(stdout) {
			if line = bytes.TrimSpace(line); len(line) > 0 && line[0] == '{' {
				see(line)
			}
		}
	}
	if a.Text == "" {
		a.Text = string(stdout)
	}
	a.Text = strings.TrimSpace(strings.ToValidUTF8(a.Text[max(0, len(a.Text)-maxAnswer):], "\uFFFD"))
	for line := range strings.Lines(a.Text) {
		// At the start of a line only: an agent may repeat the prompt, which names the mark.
		if what, ok := strings.CutPrefix(strings.TrimLeft(line, " \t>*`"), ScopeMark); ok {
			a.NeedsScope = strings.Trim(strings.TrimSpace(what), "*`")
			if a.NeedsScope == "" {
				a.NeedsScope = "it did not say what"
			}
		}
	}
	return a
}

// message is the text of one JSON object, when it is a message of the agent.
func message(m map[string]any) string {
	if text := first(m, "result", "response", "last_agent_message"); text != "" {
		return text
	}
	if item, ok := m["item"].(map[string]any); ok && (item["type"] == "agent_message" || item["type"] == "assistant_message") {
		return first(item, "text")
	}
	if part, ok := m["part"].(map[string]any); ok && part["type"] == "text" {
		return first(part, "text")
	}
	if msg, ok := m["message"].(map[string]any); ok && msg["role"] == "assistant" {
		list, _ := msg["content"].([]any)
		text := ""
		for _, c := range list {
			if part, ok := c.(map[string]any); ok && part["type"] == "text" {
				text = first(part, "text")
			}
		}
		return text
	}
	return ""
}

func first(m map[string]any, names ...string) string {
	for _, n := range names {
		if s, ok := m[n].(string); ok && s != "" {
			return s
		}
	}
	return ""
}
