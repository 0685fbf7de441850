package ruleserver

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"vise/engine/rule/tools"
)

// ServeStdio serves the toolset to one client over a pair of streams, one JSON-RPC
// message a line, until the client closes its side (nil) or the context ends. If in
// can be closed it is closed then, which is what ends the reading of it.
func ServeStdio(ctx context.Context, set *tools.Toolset, in io.Reader, out io.Writer) error {
	return serve(ctx, newServer(set, false), in, out)
}

func serve(ctx context.Context, s *mcp.Server, in io.Reader, out io.Writer) error {
	both := &shared{w: out}
	err := s.Run(ctx, draining{&mcp.IOTransport{Reader: withoutJunk(closable(in), both), Writer: keepOpen{both}, MaxLineLength: maxBody + 1}})
	switch {
	case err == nil, errors.Is(err, io.EOF), ctx.Err() != nil:
		return nil
	}
	return fmt.Errorf("serve rules on stdio: %w", err)
}

func closable(r io.Reader) io.ReadCloser {
	if c, ok := r.(io.ReadCloser); ok {
		return c
	}
	return io.NopCloser(r)
}

// keepOpen leaves the output to its owner.
type keepOpen struct{ io.Writer }

func (keepOpen) Close() error { return nil }

// connectTimeout bounds how long a bridge waits for its server.
const connectTimeout = 10 * time.Second

// Bridge lets an agent that knows no MCP over HTTP reach a run's rule server: it
// serves on the streams what the server at url shows to the token, and forwards each
// call. It ends as ServeStdio does.
func Bridge(ctx context.Context, url, token string, in io.Reader, out io.Writer) error {
	transport := &http.Transport{MaxIdleConns: 4, IdleConnTimeout: time.Minute, ResponseHeaderTimeout: time.Minute}
	defer transport.CloseIdleConnections()
	client := mcp.NewClient(implementation(), &mcp.ClientOptions{Capabilities: &mcp.ClientCapabilities{}})
	remote, listed, err := connect(ctx, client, &mcp.StreamableClientTransport{Endpoint: url, DisableStandaloneSSE: true, MaxRetries: -1,
		HTTPClient: &http.Client{Transport: bearer{token, transport}}})
	if err != nil {
		return fmt.Errorf("bridge to rule server %s: %w; the address and the token are those of one run and end with it", url, err)
	}
	defer remote.Close()

	instructions := ""
	if init := remote.InitializeResult(); init != nil {
		instructions = init.Instructions
	}
	s := mcp.NewServer(implementation(), serverOptions(instructions))
	for _, tool := range listed.Tools {
		if err := PassOn(s, tool, func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return remote.CallTool(ctx, &mcp.CallToolParams{Name: tool.Name, Arguments: req.Params.Arguments})
		}); err != nil {
			return fmt.Errorf("bridge to %s: %w", url, err)
		}
	}
	return serve(ctx, s, in, out)
}

// connect opens a session and lists its tools. The time limit is that of connecting:
// the session itself is detached from it and lives until it is closed.
func connect(ctx context.Context, client *mcp.Client, t mcp.Transport) (*mcp.ClientSession, *mcp.ListToolsResult, error) {
	ctx, stop := context.WithTimeout(ctx, connectTimeout)
	defer stop()
	session, err := client.Connect(ctx, t, nil)
	if err != nil {
		return nil, nil, err
	}
	listed, err := session.ListTools(ctx, nil)
	if err != nil {
		session.Close()
		return nil, nil, err
	}
	return session, listed, nil
}

// bearer adds the token to each request.
type bearer struct {
	token string
	next  http.RoundTripper
}

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+b.token)
	return b.next.RoundTrip(r)
}
