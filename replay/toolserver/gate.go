// Package toolserver stands between an agent and the tool servers (Model Context
// Protocol) that its developer has configured: each is offered to the agent under its
// own name, with its own tools. A call is answered with the result that the recording
// holds for the same server, tool and arguments, each result once; what it does not
// hold is refused, or goes to the server itself when calls are live.
package toolserver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"vise/engine/guard"
	"vise/engine/process"
	"vise/engine/trace"
	"vise/replay/driver"
	"vise/replay/loopback"
	"vise/replay/ruleserver"
)

// Bounds of a gate.
const (
	maxBody   = 4 << 20 // bytes of one message, of either side
	maxTools  = 512     // of one server
	maxSpans  = 10_000  // of one turn
	maxKept   = 1 << 20 // bytes of arguments, and of a result, in the trace
	callTime  = 5 * time.Minute
	startTime = 30 * time.Second
)

// Spec is one server: a command that speaks the protocol on its standard streams, or
// the address of one over HTTP.
type Spec struct {
	Name    string
	Command []string
	URL     string
}

// SpecOf reads a setting: one address, or a command.
func SpecOf(name string, words []string) Spec {
	if len(words) == 1 && (strings.HasPrefix(words[0], "http://") || strings.HasPrefix(words[0], "https://")) {
		return Spec{Name: name, URL: words[0]}
	}
	return Spec{Name: name, Command: words}
}

// Options of a gate.
type Options struct {
	Servers []Spec
	// Live passes calls on; else they are answered from Tape, which may be nil.
	Live bool
	Tape *driver.Tape
	// How a server that is a command is run: in which folder, with what environment,
	// held by which sandbox (nil: none). OnProcess is told of it.
	Dir       string
	Env       []string
	Sandbox   *process.Sandbox
	OnProcess func(process.Record)
	// OnSpan is told of every call, twice: when it comes and when it is answered.
	OnSpan func(turn int, s trace.Span)
	Now    func() time.Time
}

// Gate serves the tool servers of one run. Its goroutines and programs end with Close
// or with the context that Open was given.
type Gate struct {
	o      Options
	http   *loopback.Server
	token  string
	grants loopback.Tokens[struct{}]
	views  map[string]*mcp.Server
	lines  []*line
	stop   context.CancelFunc

	mu       sync.Mutex
	turn     int
	trace    string
	spans    []trace.Span
	made     int
	answered driver.Answered
	lost     error
}

// line is a connection to a server.
type line struct {
	name    string
	session *mcp.ClientSession
	proc    *process.Process
}

// Open starts the servers, learns their tools and offers them. Nothing is called. An
// error names the server; everything that was started has ended then. Without servers
// there is no gate: a nil one does nothing.
func Open(ctx context.Context, o Options) (*Gate, error) {
	if len(o.Servers) == 0 {
		return nil, nil
	}
	g := &Gate{o: o, views: map[string]*mcp.Server{}, answered: driver.Answered{}}
	ctx, g.stop = context.WithCancel(ctx)
	for _, spec := range o.Servers {
		if err := g.connect(ctx, spec); err != nil {
			g.Close(context.WithoutCancel(ctx))
			return nil, fmt.Errorf("tool server %s: %w", spec.Name, err)
		}
	}
	g.token = g.grants.Grant(struct{}{}, o.Now(), time.Time{})
	var err error
	if g.http, err = loopback.Start(ctx, "tool servers", g.handler(), time.Minute, callTime+time.Minute); err != nil {
		g.Close(context.WithoutCancel(ctx))
		return nil, err
	}
	return g, nil
}

// connect reaches one server and makes its view.
func (g *Gate) connect(ctx context.Context, spec Spec) error {
	l := &line{name: spec.Name}
	g.lines = append(g.lines, l)
	var transport mcp.Transport
	if spec.URL != "" {
		transport = &mcp.StreamableClientTransport{Endpoint: spec.URL, DisableStandaloneSSE: true, MaxRetries: -1, HTTPClient: &http.Client{Transport: boundedAnswers{&http.Transport{DisableKeepAlives: true, ResponseHeaderTimeout: callTime}}}}
	} else {
		proc, err := process.Start(ctx, process.Spec{Command: spec.Command, Dir: g.o.Dir, Env: g.o.Env, Sandbox: g.o.Sandbox})
		if err != nil {
			return err
		}
		l.proc = proc
		if g.o.OnProcess != nil {
			g.o.OnProcess(proc.Record())
		}
		transport = &mcp.IOTransport{Reader: output{proc}, Writer: proc.Stdin(), MaxLineLength: maxBody}
	}
	began, over := context.WithTimeoutCause(ctx, startTime, errors.New("it did not answer in time"))
	defer over()
	client := mcp.NewClient(&mcp.Implementation{Name: "vise", Version: "1"}, &mcp.ClientOptions{Capabilities: &mcp.ClientCapabilities{}})
	session, err := client.Connect(began, transport, nil)
	if err != nil {
		return g.explain(began, l, err)
	}
	l.session = session
	instructions := ""
	if init := session.InitializeResult(); init != nil {
		instructions = init.Instructions
	}
	view := mcp.NewServer(&mcp.Implementation{Name: spec.Name, Version: "1"}, &mcp.ServerOptions{Instructions: instructions,
		Capabilities: &mcp.ServerCapabilities{Tools: &mcp.ToolCapabilities{}}})
	tools := map[string]bool{}
	view.AddReceivingMiddleware(g.unknown(spec.Name, tools))
	n := 0
	for tool, err := range session.Tools(began, nil) {
		if err != nil {
			return g.explain(began, l, err)
		}
		if n++; n > maxTools {
			return fmt.Errorf("it has more than %d tools", maxTools)
		}
		if err := ruleserver.PassOn(view, tool, func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return g.call(ctx, l, tool.Name, req.Params), nil
		}); err != nil {
			return err
		}
		tools[tool.Name] = true
	}
	g.views[spec.Name] = view
	return nil
}

// explain adds what is known of a program that does not answer as it should.
func (g *Gate) explain(ctx context.Context, l *line, err error) error {
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	if l.proc == nil {
		return err
	}
	exit := l.proc.Stop()
	tail, _ := guard.DefaultRedactor().Text(l.proc.Tail())
	if tail = strings.TrimSpace(tail); tail != "" {
		return fmt.Errorf("%w (%s; it last wrote: %s)", err, exit, tail[strings.LastIndexByte(tail, '\n')+1:])
	}
	return fmt.Errorf("%w (%s)", err, exit)
}

// output is the reading side of a program, which ends with it.
type output struct{ p *process.Process }

func (o output) Read(b []byte) (int, error) { return o.p.Stdout().Read(b) }
func (o output) Close() error               { return nil }

// Host is the address of the gate on the loopback interface, "" for none.
func (g *Gate) Host() string {
	if g == nil {
		return ""
	}
	return g.http.Host()
}

// Offered are the servers as an agent is told of them; self is our own program, the
// bridge for agents that know no MCP over HTTP.
func (g *Gate) Offered(self string) []driver.MCPServer {
	if g == nil {
		return nil
	}
	var out []driver.MCPServer
	for _, l := range g.lines {
		url := g.http.URL("/mcp/" + l.name)
		out = append(out, driver.MCPServer{Name: l.name, URL: url, Token: g.token,
			Command: []string{self, "mcp", "--url", url, "--token-env", "VISE_MCP_TOKEN"}, Env: []string{"VISE_MCP_TOKEN=" + g.token}})
	}
	return out
}

// handler lets those in who have the run's token.
func (g *Gate) handler() http.Handler {
	inner := mcp.NewStreamableHTTPHandler(func(r *http.Request) *mcp.Server {
		return g.views[strings.TrimPrefix(r.URL.Path, "/mcp/")]
	}, &mcp.StreamableHTTPOptions{Stateless: true, JSONResponse: true, MaxRequestBodyBytes: maxBody, PropagateRequestCancellation: true})
	return g.grants.Admit(g.o.Now, func(w http.ResponseWriter, r *http.Request, _ struct{}) {
		if g.views[strings.TrimPrefix(r.URL.Path, "/mcp/")] == nil {
			http.NotFound(w, r)
			return
		}
		inner.ServeHTTP(w, r)
	})
}

// call answers one call of a tool.
func (g *Gate) call(ctx context.Context, l *line, tool string, asked *mcp.CallToolParamsRaw) *mcp.CallToolResult {
	input := string(asked.Arguments)
	if input == "" {
		input = "{}"
	}
	at := g.begin(l.name, tool, input, callID(asked.Meta))
	if !g.o.Live {
		got, ok := g.o.Tape.Call(l.name, tool, input)
		if !ok {
			text := "vise: this call is not recorded, and tool servers are not called in a replay; agent.effects = \"live\" calls them"
			g.end(at, driver.ByNobody, text, errors.New(text))
			return failed(text)
		}
		result := played(got)
		g.end(at, driver.ByRecording, got.Output, resultError(result))
		return result
	}
	ctx, stop := context.WithTimeout(ctx, callTime)
	defer stop()
	arguments := asked.Arguments
	if len(arguments) == 0 { // as null they would be sent, and strict servers refuse that
		arguments = json.RawMessage("{}")
	}
	result, err := l.session.CallTool(ctx, &mcp.CallToolParams{Name: tool, Arguments: arguments})
	if err != nil && broken(err) {
		err = g.lose(ctx, l, err)
		g.end(at, driver.ByNobody, err.Error(), err) // no answer: a replay must not give it as one
		return failed(err.Error())
	}
	if err != nil {
		g.end(at, driver.ByServer, err.Error(), err)
		return failed(err.Error())
	}
	g.end(at, driver.ByServer, written(result), resultError(result))
	return result
}

func failed(text string) *mcp.CallToolResult {
	return &mcp.CallToolResult{IsError: true, Content: []mcp.Content{&mcp.TextContent{Text: text}}}
}

// Begin says which turn calls belong to from now on.
func (g *Gate) Begin(turn int, traceID string) {
	if g == nil {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.turn, g.trace, g.spans, g.made = turn, traceID, nil, 0
}

// Spans are the calls of the turn so far, in their order.
func (g *Gate) Spans() []trace.Span {
	if g == nil {
		return nil
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	return append([]trace.Span(nil), g.spans...)
}

// Answered counts the calls of the run by who answered.
func (g *Gate) Answered() driver.Answered {
	if g == nil {
		return nil
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	out := driver.Answered{}
	for k, n := range g.answered {
		out[k] = n
	}
	return out
}

// place is a call in the trace.
type place struct {
	turn, index int // index is -1 when the turn holds no more
}

// callID is the name that the agent itself gives to a call, where it says so beside the
// call: Claude Code writes "claudecode/toolUseId" into its _meta.
func callID(meta mcp.Meta) string {
	for key, v := range meta {
		switch name := key[strings.LastIndexByte(key, '/')+1:]; strings.ToLower(strings.ReplaceAll(name, "_", "")) {
		case "tooluseid", "toolcallid", "callid":
			if id, ok := v.(string); ok && len(id) <= 256 {
				return id
			}
		}
	}
	return ""
}

func (g *Gate) begin(server, tool, input, id string) place {
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.spans) >= maxSpans {
		return place{g.turn, -1}
	}
	g.made++
	s := trace.Span{ID: fmt.Sprintf("%s.t%d", g.trace, g.made), Kind: trace.TOOL, Name: tool, Input: bounded(input), Start: g.o.Now(), Pending: true,
		Attrs: map[string]any{"source": "toolserver", driver.AttrServer: server, driver.AttrServerTool: tool}}
	if id != "" {
		s.Attrs["call_id"] = id
	}
	if len(s.Input) < len(input) {
		s.Attrs["cut"] = true
	}
	g.spans = append(g.spans, s)
	g.tell(s)
	return place{g.turn, len(g.spans) - 1}
}

func (g *Gate) end(at place, by, output string, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.answered[by]++
	if at.index < 0 || at.turn != g.turn || at.index >= len(g.spans) {
		return // its turn is over
	}
	s := g.spans[at.index]
	attrs := map[string]any{"answered_by": by}
	for k, v := range s.Attrs {
		attrs[k] = v
	}
	s.Output, s.End, s.Pending, s.Attrs = bounded(output), g.o.Now(), false, attrs
	if len(s.Output) < len(output) {
		attrs["cut"] = true
	}
	if err != nil {
		s.Error = bounded(err.Error())
	}
	g.spans[at.index] = s
	g.tell(s)
}

func (g *Gate) tell(s trace.Span) {
	if g.o.OnSpan != nil {
		g.o.OnSpan(g.turn, s)
	}
}

// Close ends the gate and the servers that were started for it.
func (g *Gate) Close(ctx context.Context) {
	if g == nil {
		return
	}
	if g.http != nil {
		g.http.Close(ctx)
	}
	for _, l := range g.lines {
		if l.proc != nil {
			l.proc.Stop() // first: a session that is closed waits for the other end
		}
		if l.session != nil {
			l.session.Close()
		}
	}
	g.stop()
}
