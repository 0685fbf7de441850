package claudecode

import (
	"bytes"
	"encoding/json"
	"strings"
	"time"
	"unsafe"

	"vise/engine/trace"
	"vise/replay/format/recording"
)

// record is one line of the log, as far as it is interpreted.
type record struct {
	Type             string  `json:"type"`
	Subtype          string  `json:"subtype"`
	UUID             string  `json:"uuid"`
	ParentUUID       string  `json:"parentUuid"`
	SessionID        string  `json:"sessionId"`
	AgentID          string  `json:"agentId"`
	Timestamp        string  `json:"timestamp"`
	Version          string  `json:"version"`
	CWD              string  `json:"cwd"`
	GitBranch        string  `json:"gitBranch"`
	RequestID        string  `json:"requestId"`
	IsMeta           bool    `json:"isMeta"`
	IsSidechain      bool    `json:"isSidechain"`
	IsCompactSummary bool    `json:"isCompactSummary"`
	IsAPIError       bool    `json:"isApiErrorMessage"`
	Message          message `json:"message"`
	Result           result  `json:"toolUseResult"`
	Attachment       struct {
		Type   string `json:"type"`
		Prompt text   `json:"prompt"`
	} `json:"attachment"`
	// Calls and results as records of their own (version 1.9).
	Name    string          `json:"name"`
	Input   json.RawMessage `json:"input"`
	Output  text            `json:"output"`
	IsError bool            `json:"is_error"`
	// Titles.
	Summary     string `json:"summary"`
	CustomTitle string `json:"customTitle"`
	AITitle     string `json:"aiTitle"`

	at time.Time
}

// message is the message of a record. A value of another shape leaves shape false.
type message struct {
	shape   bool // it was an object
	ID      string
	Model   string
	Stop    string
	Usage   *usage
	Content content
}

func (m *message) UnmarshalJSON(b []byte) error {
	if len(b) == 0 || b[0] != '{' {
		return nil
	}
	var v struct {
		ID      string  `json:"id"`
		Model   string  `json:"model"`
		Stop    string  `json:"stop_reason"`
		Usage   *usage  `json:"usage"`
		Content content `json:"content"`
	}
	if err := recording.Decode(b, &v); err != nil {
		return err
	}
	*m = message{true, v.ID, v.Model, v.Stop, v.Usage, v.Content}
	return nil
}

// usage counts tokens. The prompt is what was sent in all, cached or not.
type usage struct {
	Input         int64 `json:"input_tokens"`
	Output        int64 `json:"output_tokens"`
	CacheCreation int64 `json:"cache_creation_input_tokens"`
	CacheRead     int64 `json:"cache_read_input_tokens"`
}

func (u usage) trace() trace.Usage {
	return trace.Usage{Input: u.Input + u.CacheCreation + u.CacheRead, Output: u.Output, Cached: u.CacheRead}
}

// content is a text or a list of blocks.
type content struct {
	known  bool // a text or a list
	list   bool
	text   string
	blocks []block
}

func (c *content) UnmarshalJSON(b []byte) error {
	switch {
	case len(b) == 0:
	case b[0] == '"':
		c.known = true
		return recording.Decode(b, &c.text)
	case b[0] == '[':
		c.known, c.list = true, true
		if len(b) > manyBlocks {
			return c.join(b)
		}
		return recording.Decode(b, &c.blocks)
	}
	return nil
}

// manyBlocks is the size of a list, in bytes, from which its texts are joined while
// it is read: decoded side by side first they would take the memory of it twice.
const manyBlocks = 1 << 20

// join reads a list of blocks one by one and makes texts that follow each other one.
func (c *content) join(b []byte) error {
	var run []byte // texts that follow each other
	bare := false
	flush := func() {
		if len(run) == 0 {
			return
		}
		text := block{Type: "text", bare: bare}
		if len(run) > cap(run)/2 {
			text.Text, run = unsafe.String(unsafe.SliceData(run), len(run)), nil
		} else {
			text.Text, run = string(run), run[:0]
		}
		c.blocks = append(c.blocks, text)
	}
	sc := recording.NewScanner(bytes.NewReader(b))
	err := sc.Elements(func() error {
		from := sc.Offset()
		if err := sc.Skip(); err != nil {
			return err
		}
		var one block
		if err := recording.Decode(b[from:sc.Offset()], &one); err != nil {
			return err
		}
		if one.Type != "text" || one.Text == "" {
			flush()
			c.blocks = append(c.blocks, one)
			return nil
		}
		if one.bare != bare {
			flush()
		}
		bare = one.bare
		if run == nil {
			run = make([]byte, 0, len(one.Text)+len(b)-int(sc.Offset()))
		}
		if len(run) > 0 {
			run = append(run, '\n')
		}
		run = append(run, one.Text...)
		return nil
	})
	flush()
	return err
}

// block is one content block. A bare text in a list of blocks is a text block.
type block struct {
	Type      string          `json:"type"`
	Text      string          `json:"text"`
	Thinking  string          `json:"thinking"`
	ID        string          `json:"id"`
	Name      string          `json:"name"`
	Input     json.RawMessage `json:"input"`
	ToolUseID string          `json:"tool_use_id"`
	ToolName  string          `json:"tool_name"`
	Content   content         `json:"content"`
	IsError   bool            `json:"is_error"`
	Source    struct {
		MediaType string `json:"media_type"`
		Data      string `json:"data"`
		URL       string `json:"url"`
	} `json:"source"`
	From struct {
		Model string `json:"model"`
	} `json:"from"`
	To struct {
		Model string `json:"model"`
	} `json:"to"`
	bare bool
}

func (b *block) UnmarshalJSON(raw []byte) error {
	if len(raw) > 0 && raw[0] == '"' {
		b.Type, b.bare = "text", true
		return recording.Decode(raw, &b.Text)
	}
	if len(raw) == 0 || raw[0] != '{' {
		return nil
	}
	type plain block
	return recording.Decode(raw, (*plain)(b))
}

// String is what is kept of a block as text; payloads are described, not kept.
func (b block) String() string {
	switch b.Type {
	case "text":
		return b.Text
	case "image", "document":
		if b.Source.URL != "" {
			return recording.Address(b.Type, b.Source.URL)
		}
		return recording.Binary(b.Type, b.Source.MediaType, b.Source.Data)
	case "tool_reference":
		return "[tool " + b.ToolName + "]"
	}
	return b.Text
}

func (c content) String() string {
	if !c.list {
		return c.text
	}
	var parts []string
	for _, b := range c.blocks {
		if s := b.String(); s != "" {
			parts = append(parts, s)
		}
	}
	return strings.Join(parts, "\n")
}

// text is a text, or any other value in its JSON spelling.
type text string

func (t *text) UnmarshalJSON(b []byte) error {
	if len(b) > 0 && b[0] == '"' {
		return recording.Decode(b, (*string)(t))
	}
	if string(b) != "null" {
		*t = text(b)
	}
	return nil
}

// result is the structured result beside a tool_result block: an object, a list,
// or a text where the call failed.
type result struct {
	text    string
	agentID string
	totals  map[string]any // numbers and flags
}

func (r *result) UnmarshalJSON(b []byte) error {
	if len(b) == 0 {
		return nil
	}
	if b[0] == '"' {
		return recording.Decode(b, &r.text)
	}
	if b[0] != '{' {
		return nil
	}
	var v struct {
		AgentID     string       `json:"agentId"`
		Tokens      *json.Number `json:"totalTokens"`
		Uses        *json.Number `json:"totalToolUseCount"`
		Duration    *json.Number `json:"totalDurationMs"`
		Interrupted *bool        `json:"interrupted"`
		ExitCode    *json.Number `json:"exitCode"`
	}
	if err := recording.Decode(b, &v); err != nil {
		return err
	}
	r.agentID = v.AgentID
	r.totals = map[string]any{}
	for k, n := range map[string]*json.Number{"total_tokens": v.Tokens, "total_tool_uses": v.Uses, "total_duration_ms": v.Duration, "exit_code": v.ExitCode} {
		if n != nil {
			r.totals[k] = *n
		}
	}
	if v.Interrupted != nil && *v.Interrupted {
		r.totals["interrupted"] = true
	}
	return nil
}

func parseTime(s string) time.Time {
	t, err := time.Parse(time.RFC3339Nano, s)
	if err != nil {
		return time.Time{}
	}
	return t.UTC()
}
