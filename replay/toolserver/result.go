package toolserver

import (
	"encoding/json"
	"errors"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"vise/replay/driver"
)

// written is a result in the trace: its text when that is all there is, else the
// whole result as JSON, so that it can be given again.
func written(r *mcp.CallToolResult) string {
	if len(r.Content) == 1 && r.StructuredContent == nil {
		if text, ok := r.Content[0].(*mcp.TextContent); ok {
			return text.Text
		}
	}
	b, err := json.Marshal(r)
	if err != nil {
		return "" // results come from JSON
	}
	return string(b)
}

// played is a recorded result: the whole one where it was kept as such, else a text.
func played(got driver.Reply) *mcp.CallToolResult {
	if strings.HasPrefix(got.Output, `{"content":`) || strings.HasPrefix(got.Output, `{"_meta":`) {
		var whole mcp.CallToolResult
		if json.Unmarshal([]byte(got.Output), &whole) == nil && len(whole.Content) > 0 {
			return &whole
		}
	}
	text := got.Output
	if text == "" {
		text = got.Error
	}
	return &mcp.CallToolResult{IsError: got.Error != "", Content: []mcp.Content{&mcp.TextContent{Text: text}}}
}

// resultError is what a failed result says, nil for a good one.
func resultError(r *mcp.CallToolResult) error {
	if !r.IsError {
		return nil
	}
	if text := strings.TrimSpace(written(r)); text != "" {
		return errors.New(text)
	}
	return errors.New("the tool failed")
}

func bounded(s string) string {
	if len(s) <= maxKept {
		return s
	}
	return strings.ToValidUTF8(s[:maxKept], "")
}
