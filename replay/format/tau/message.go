package tau

import (
	"strings"

	"vise/replay/format/chat"
)

// message is one message of a conversation, in the shape of either format.
type message struct {
	chat.Message
	Requestor string         `json:"requestor"` // tau2: who called a tool
	Errors    []chat.Content `json:"errors"`
	Raw       struct {
		Model string `json:"model"`
	} `json:"raw_data"`
}

// result is what a tool message says, and whether it says that the call failed:
// by the recording's flag, or by beginning with "Error", which is how both
// environments report a failed call.
func (m *message) result() (text string, failed bool) {
	text = m.Content.Text
	failed = m.Error.Set || strings.HasPrefix(text, "Error")
	if m.Error.Message != "" {
		text = strings.TrimSpace(text + "\n" + m.Error.Message)
	}
	return text, failed
}
