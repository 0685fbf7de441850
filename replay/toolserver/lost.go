package toolserver

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"syscall"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"vise/replay/driver"
)

// exitTime is how long a server that has closed its output gets to end by itself, so
// that its own exit status is told and not the signal that we would send.
const exitTime = 5 * time.Second

// broken reports that a call failed because the server was not there to answer it, and
// not because it answered with an error.
func broken(err error) bool {
	var dial *net.OpError
	if errors.As(err, &dial) {
		return true
	}
	for _, gone := range []error{mcp.ErrConnectionClosed, io.EOF, io.ErrUnexpectedEOF, io.ErrClosedPipe, os.ErrClosed, syscall.EPIPE} {
		if errors.Is(err, gone) {
			return true
		}
	}
	return false
}

// lose notes that a server is gone, and says how it ended and what it last wrote. The
// first one that is lost is what the run tells.
func (g *Gate) lose(ctx context.Context, l *line, err error) error {
	if l.proc != nil {
		wait, over := context.WithTimeout(ctx, exitTime)
		_, _ = l.proc.Wait(wait)
		over()
		err = g.explain(ctx, l, err)
	}
	err = fmt.Errorf("tool server %s is gone: %w", l.name, err)
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.lost == nil {
		g.lost = err
	}
	return err
}

// Lost is the first call that found its server gone, nil while all answer. What such a
// turn did says nothing about the agent.
func (g *Gate) Lost() error {
	if g == nil {
		return nil
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.lost
}

// unknown keeps a call of a tool that the server does not have as a failed call of the
// turn. The protocol's own error answers it, as without us.
func (g *Gate) unknown(server string, tools map[string]bool) mcp.Middleware {
	return func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			call, ok := req.(*mcp.CallToolRequest)
			if !ok || call.Params == nil || tools[call.Params.Name] {
				return next(ctx, method, req)
			}
			input := string(call.Params.Arguments)
			if input == "" {
				input = "{}"
			}
			at := g.begin(server, bounded(call.Params.Name), input, callID(call.Params.Meta))
			result, err := next(ctx, method, req)
			if err != nil {
				g.end(at, driver.ByNobody, err.Error(), err)
			} else {
				g.end(at, driver.ByNobody, "", nil)
			}
			return result, err
		}
	}
}
