package ruleserver

import (
	"context"
	"encoding/json"
	"log/slog"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"vise/engine/rule"
	"vise/engine/rule/tools"
)

// implementation is how the server introduces itself.
func implementation() *mcp.Implementation {
	return &mcp.Implementation{Name: "vise-rules", Title: "vise operating rules", Version: "1"}
}

// serverOptions advertise tools and nothing else. The list of tools is the same for
// every token, but no cache between us and an agent may assume so.
func serverOptions(instructions string) *mcp.ServerOptions {
	return &mcp.ServerOptions{
		Instructions: instructions,
		Capabilities: &mcp.ServerCapabilities{Tools: &mcp.ToolCapabilities{}},
		Logger:       slog.New(slog.DiscardHandler),
		SetCacheable: func(_ context.Context, _ mcp.Request, c *mcp.Cacheable) { c.TTLMs, c.CacheScope = 0, "private" },
	}
}

// newServer is an MCP server with exactly the four tools over one toolset.
func newServer(set *tools.Toolset, silent bool) *mcp.Server {
	instructions := tools.Preamble
	if silent {
		instructions = ""
	}
	s := mcp.NewServer(implementation(), serverOptions(instructions))
	for _, d := range tools.Definitions() {
		s.AddTool(&mcp.Tool{Name: d.Name, Description: d.Description, InputSchema: d.Schema, Annotations: readOnly()},
			func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				return answer(set, d.Name, req.Params.Arguments), nil
			})
	}
	return s
}

func readOnly() *mcp.ToolAnnotations {
	no := false
	return &mcp.ToolAnnotations{ReadOnlyHint: true, IdempotentHint: true, DestructiveHint: &no, OpenWorldHint: &no}
}

// answer calls a tool. Arguments are taken as models write them: the toolset decides
// what they mean, so that a limit given as text is not refused here.
func answer(set *tools.Toolset, name string, raw json.RawMessage) *mcp.CallToolResult {
	var args map[string]any
	if len(raw) > 0 && json.Unmarshal(raw, &args) != nil {
		return result(tools.Result{Error: rule.ErrMissingArgument, Message: "the arguments must be a JSON object"})
	}
	return result(set.Call(name, args))
}

func result(r tools.Result) *mcp.CallToolResult {
	return &mcp.CallToolResult{IsError: !r.OK, Content: []mcp.Content{&mcp.TextContent{Text: r.Text()}}}
}
