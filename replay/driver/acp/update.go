package acp

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"
)

// notification is the parameter of session/update. We read it with types of
// our own: those of the kit drop what they do not know, turn large integers
// into floats and lose updates of a new kind.
type notification struct {
	SessionID string          `json:"sessionId"`
	Update    json.RawMessage `json:"update"`
}

// update holds the fields of every kind we use.
type update struct {
	Kind       string          `json:"sessionUpdate"`
	Meta       json.RawMessage `json:"_meta"`
	Content    json.RawMessage `json:"content"` // a block, or the list of a tool call
	ToolCallID string          `json:"toolCallId"`
	Title      string          `json:"title"`
	ToolKind   string          `json:"kind"`
	Status     string          `json:"status"`
	RawInput   json.RawMessage `json:"rawInput"`
	RawOutput  json.RawMessage `json:"rawOutput"`
	Locations  []location      `json:"locations"`
	Entries    json.RawMessage `json:"entries"`
	Cost       *cost           `json:"cost"`
	Mode       string          `json:"currentModeId"`
}

type location struct {
	Path string `json:"path"`
}

type cost struct {
	Amount   float64 `json:"amount"`
	Currency string  `json:"currency"`
}

// block is a content block, or an element of a tool call's content.
type block struct {
	Type     string          `json:"type"`
	Text     string          `json:"text"`
	Data     string          `json:"data"`
	MimeType string          `json:"mimeType"`
	URI      string          `json:"uri"`
	Name     string          `json:"name"`
	Path     string          `json:"path"`
	Content  json.RawMessage `json:"content"`
	Resource *struct {
		URI  string `json:"uri"`
		Text string `json:"text"`
		Blob string `json:"blob"`
	} `json:"resource"`
	TerminalID string `json:"terminalId"`
}

// text renders a block; what is no text becomes a short descriptor, never its payload.
func (b block) text() string {
	switch b.Type {
	case "text":
		return b.Text
	case "image", "audio":
		return fmt.Sprintf("[%s %s, %d bytes encoded]", b.Type, b.MimeType, len(b.Data))
	case "resource_link":
		return fmt.Sprintf("[link %s]", b.URI)
	case "resource":
		if b.Resource == nil {
			return "[resource]"
		}
		if b.Resource.Text != "" {
			return b.Resource.Text
		}
		return fmt.Sprintf("[resource %s, %d bytes encoded]", b.Resource.URI, len(b.Resource.Blob))
	case "content":
		return blockText(b.Content)
	case "diff":
		return fmt.Sprintf("[diff of %s]", b.Path)
	case "terminal":
		return fmt.Sprintf("[terminal %s]", b.TerminalID)
	}
	return b.Text
}

func blockText(raw json.RawMessage) string {
	var b block
	if len(raw) == 0 || json.Unmarshal(raw, &b) != nil {
		return ""
	}
	return b.text()
}

// contentText joins the text of a tool call's content list.
func contentText(raw json.RawMessage) string {
	var list []block
	if isNull(raw) || json.Unmarshal(raw, &list) != nil {
		return ""
	}
	var parts []string
	for _, b := range list {
		if t := b.text(); t != "" {
			parts = append(parts, t)
		}
	}
	return strings.Join(parts, "\n")
}

// terminals are the ids of the terminals that a tool call's content shows.
func terminals(raw json.RawMessage) (ids []string) {
	var list []block
	if isNull(raw) || json.Unmarshal(raw, &list) != nil {
		return nil
	}
	for _, b := range list {
		if b.Type == "terminal" && b.TerminalID != "" {
			ids = append(ids, b.TerminalID)
		}
	}
	return ids
}

// valueText is a JSON value as span text: a string as itself, anything else as
// compact JSON with its numbers untouched.
func valueText(raw json.RawMessage) string {
	if isNull(raw) {
		return ""
	}
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s
	}
	var b bytes.Buffer
	if json.Compact(&b, raw) != nil {
		return string(raw)
	}
	return b.String()
}

func isNull(raw json.RawMessage) bool {
	return len(raw) == 0 || string(raw) == "null"
}

// metaString looks for a string under one of the names anywhere in a _meta
// object, at most three levels deep: vendors keep theirs in maps of their own.
func metaString(raw json.RawMessage, names ...string) string {
	if isNull(raw) {
		return ""
	}
	var m map[string]json.RawMessage
	if json.Unmarshal(raw, &m) != nil {
		return ""
	}
	return findString(m, names, 3)
}

func findString(m map[string]json.RawMessage, names []string, depth int) string {
	for _, n := range names {
		var s string
		if v, ok := m[n]; ok && json.Unmarshal(v, &s) == nil && s != "" {
			return s
		}
	}
	if depth <= 1 {
		return ""
	}
	best, bestKey := "", ""
	for k, v := range m { // the first key in order wins, whatever order the map has
		var sub map[string]json.RawMessage
		if json.Unmarshal(v, &sub) != nil {
			continue
		}
		if s := findString(sub, names, depth-1); s != "" && (bestKey == "" || k < bestKey) {
			best, bestKey = s, k
		}
	}
	return best
}

// cutText cuts s to at most n bytes at a character boundary.
func cutText(s string, n int) string {
	if len(s) <= n {
		return s
	}
	n = max(n, 0)
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

func oneLine(s string, n int) string {
	s = strings.Join(strings.Fields(s), " ")
	if len(s) > n {
		s = cutText(s, n) + "..."
	}
	return s
}
