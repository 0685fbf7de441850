package ruleserver

import (
	"context"
	"encoding/json"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// scripted is a connection whose client sends some messages and closes its side.
type scripted struct {
	mcp.Connection
	in []jsonrpc.Message
}

func (s *scripted) Read(context.Context) (jsonrpc.Message, error) {
	if len(s.in) == 0 {
		return nil, io.EOF
	}
	m := s.in[0]
	s.in = s.in[1:]
	return m, nil
}

func (*scripted) Write(context.Context, jsonrpc.Message) error { return nil }

// The end of the input is kept back until all is answered, but not for what the
// client has cancelled: that gets no answer.
func TestDrainWaitsForWhatIsAsked(t *testing.T) {
	id := func(v any) jsonrpc.ID {
		id, err := jsonrpc.MakeID(v)
		if err != nil {
			t.Fatal(err)
		}
		return id
	}
	call := func(v any) jsonrpc.Message { return &jsonrpc.Request{ID: id(v), Method: "tools/call"} }
	cancel := func(v any) jsonrpc.Message {
		raw, _ := json.Marshal(map[string]any{"requestId": v})
		return &jsonrpc.Request{Method: "notifications/cancelled", Params: raw}
	}
	for _, c := range []struct {
		name     string
		in       []jsonrpc.Message
		answered []any
		want     time.Duration
	}{
		{"nothing was asked", nil, nil, 0},
		{"all is answered", []jsonrpc.Message{call(1.0), call("b")}, []any{1.0, "b"}, time.Second},
		{"one is cancelled", []jsonrpc.Message{call(1.0), call("b"), cancel(1.0)}, []any{"b"}, time.Second},
		{"all are cancelled", []jsonrpc.Message{call(1.0), cancel(1.0), cancel(7.0)}, nil, 0},
		{"one is never answered", []jsonrpc.Message{call(1.0), call("b")}, []any{"b"}, drainTimeout},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				under := &scripted{in: c.in}
				conn, err := draining{fixed{under}}.Connect(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				go func() {
					time.Sleep(time.Second)
					for _, v := range c.answered {
						_ = conn.Write(t.Context(), &jsonrpc.Response{ID: id(v)})
					}
				}()
				start := time.Now()
				for err == nil {
					_, err = conn.Read(t.Context())
				}
				if took := time.Since(start); took != c.want {
					t.Errorf("the end came after %v, not %v", took, c.want)
				}
				synctest.Wait()
				time.Sleep(2 * time.Second) // the answering goroutine ends
			})
		})
	}
}

type fixed struct{ c mcp.Connection }

func (f fixed) Connect(context.Context) (mcp.Connection, error) { return f.c, nil }
