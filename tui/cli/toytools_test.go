package cli_test

import (
	"context"
	"fmt"
	"os"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// toyTools is a tool server with one tool, which has an effect: a line in the file that
// is its argument. With a second one it ends over the call instead.
func toyTools() {
	s := mcp.NewServer(&mcp.Implementation{Name: "toy", Version: "1"}, nil)
	s.AddTool(&mcp.Tool{Name: "send_mail", InputSchema: map[string]any{"type": "object"}},
		func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			if len(os.Args) > 2 {
				fmt.Fprintln(os.Stderr, "Traceback: no outbox")
				os.Exit(3)
			}
			f, err := os.OpenFile(os.Args[1], os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
			if err != nil {
				return nil, err
			}
			defer f.Close()
			fmt.Fprintf(f, "%s\n", req.Params.Arguments)
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "sent"}}}, nil
		})
	_ = s.Run(context.Background(), &mcp.StdioTransport{})
}
