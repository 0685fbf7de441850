package model

import (
	"encoding/json"

	"vise/engine/trace"
)

// Roles of a message.
const (
	System    = "system"
	User      = "user"
	Assistant = "assistant"
	ToolRole  = "tool"
)

// Message is one message of a conversation.
type Message struct {
	Role    string
	Content string
	// Calls an assistant message made.
	Calls []Call
	// CallID is the call a tool message answers.
	CallID string
}

// Tool is one function the model may call.
type Tool struct {
	Name        string
	Description string
	// Schema is the JSON Schema of the arguments object.
	Schema json.RawMessage
}

// Call is one tool call, assembled. Arguments is the raw text the model wrote:
// it may not be JSON. "{}" stands for a provider that sent none at all.
type Call struct {
	ID        string
	Name      string
	Arguments string
}

// Request is one question to the model.
type Request struct {
	Messages []Message
	Tools    []Tool
	// MaxTokens bounds the output; 0 leaves it to the provider.
	MaxTokens   int
	Temperature *float64
	// ReasoningEffort as the provider names it; sent only where it is supported.
	ReasoningEffort string
	// Purpose books the cost: "repair" or "judge".
	Purpose string
}

// Reply is one whole answer.
type Reply struct {
	Text      string
	Reasoning string
	Refusal   string
	Calls     []Call
	// Finish is the provider's reason; "stop" with calls reads as "tool_calls".
	Finish string
	// Model is what the provider says answered.
	Model string
	Usage trace.Usage
	// Total is the provider's own sum of tokens, which need not be input plus output.
	Total int64
	// UsageKnown is false when the provider reported none; Usage is zero then.
	UsageKnown bool
	// Estimate is the number of output tokens guessed from the text, for budgets over silent providers.
	Estimate int64
	// Tries is the number of requests sent, 1 without a retry.
	Tries int
	// Notes are short diagnostics about what was put right, each once.
	Notes []string
}

// Delta is one visible piece of a streamed answer.
type Delta struct {
	Text      string `json:"text,omitempty"`
	Reasoning string `json:"reasoning,omitempty"`
	// Call is the position of the tool call this piece belongs to, -1 for none.
	Call int `json:"call"`
	// Name of that call, as far as known.
	Name      string `json:"name,omitempty"`
	Arguments string `json:"arguments,omitempty"`
}
