package sample

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os/exec"
	"regexp"
	"strings"
	"time"

	acp "github.com/coder/acp-go-sdk"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const (
	connectTimeout = 10 * time.Second
	maxScopes      = 3 // documents read after one search
)

// connect opens one tool server the client told us of.
func (a *agent) connect(ctx context.Context, s acp.McpServer) (*mcp.ClientSession, error) {
	client := mcp.NewClient(&mcp.Implementation{Name: Name, Version: Version}, nil)
	var transport mcp.Transport
	switch {
	case s.Http != nil:
		transport = &mcp.StreamableClientTransport{Endpoint: s.Http.Url, DisableStandaloneSSE: true, MaxRetries: -1,
			HTTPClient: &http.Client{Transport: headers{s.Http.Headers}}}
	case s.Stdio != nil:
		cmd := exec.Command(s.Stdio.Command, s.Stdio.Args...)
		cmd.Env = append([]string{}, a.o.Environ...)
		for _, e := range s.Stdio.Env {
			cmd.Env = append(cmd.Env, e.Name+"="+e.Value)
		}
		transport = &mcp.CommandTransport{Command: cmd, TerminateDuration: time.Second}
	default:
		return nil, errors.New("connect to tool server: neither http nor stdio")
	}
	// The connection outlives the request; only the handshake is bounded.
	type result struct {
		s   *mcp.ClientSession
		err error
	}
	life, end := context.WithCancel(context.WithoutCancel(ctx))
	got := make(chan result, 1)
	go func() {
		s, err := client.Connect(life, transport, nil)
		got <- result{s, err}
	}()
	select {
	case r := <-got:
		if r.err != nil {
			end()
			return nil, fmt.Errorf("connect to tool server: %w", r.err)
		}
		go func() { // ends with the connection, which hangUp closes
			r.s.Wait()
			end()
		}()
		return r.s, nil
	case <-time.After(connectTimeout):
	case <-ctx.Done():
	}
	end()
	if r := <-got; r.s != nil {
		r.s.Close()
	}
	return nil, errors.New("connect to tool server: no answer in time")
}

type headers struct{ list []acp.HttpHeader }

func (h headers) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	for _, x := range h.list {
		r.Header.Set(x.Name, x.Value)
	}
	return http.DefaultTransport.RoundTrip(r)
}

// consult searches the rules for a tool and reports whether one of those found
// names the argument. It opens a scope's document only where a hit shows no
// more than the beginning of its rule.
func (t *playing) consult(ctx context.Context, tool, argument string) bool {
	names := word(argument)
	var scopes []string
	for _, hit := range hits(t.rules(ctx, "harness_rules_search", map[string]any{"query": tool})) {
		if score, ok := hit["score"].(float64); ok && score <= 0 {
			continue // listed because there was room, not because it matches
		}
		text, scope := hit.text()
		if names.MatchString(text) {
			return true
		}
		if strings.HasSuffix(text, "…") && scope != "" && len(scopes) < maxScopes {
			scopes = append(scopes, scope)
		}
	}
	for _, scope := range scopes {
		doc := t.rules(ctx, "harness_rules_read", map[string]any{"scope": scope})
		doc = strings.ReplaceAll(doc, `\n`, "\n") // it may come as a JSON string
		for line := range strings.Lines(doc) {    // a rule is one line of it
			line, _, _ = strings.Cut(line, " *Why:* ") // the reason may name anything
			if word(tool).MatchString(line) && names.MatchString(line) {
				return true
			}
		}
	}
	return false
}

// word matches a name as a whole word.
func word(name string) *regexp.Regexp {
	return regexp.MustCompile(`(?i)\b` + regexp.QuoteMeta(name) + `\b`)
}

// rules calls one of the rule tools on the first server that has it, shows the
// call to the client, and returns the result's text.
func (t *playing) rules(ctx context.Context, tool string, args map[string]any) string {
	for _, s := range t.c.servers {
		id := t.open(ctx, tool, tool, args)
		r, err := s.CallTool(ctx, &mcp.CallToolParams{Name: tool, Arguments: args})
		if err != nil {
			t.finish(ctx, id, err.Error(), err)
			continue
		}
		var b strings.Builder
		for _, c := range r.Content {
			if text, ok := c.(*mcp.TextContent); ok {
				b.WriteString(text.Text)
			}
		}
		if r.IsError {
			t.finish(ctx, id, b.String(), errors.New("refused"))
			continue
		}
		if r.StructuredContent != nil {
			t.finish(ctx, id, r.StructuredContent, nil)
		} else {
			t.finish(ctx, id, b.String(), nil)
		}
		return b.String()
	}
	return ""
}

// hit is one found rule, whatever else the server says about it.
type hit map[string]any

func (h hit) text() (text, scope string) {
	scope, _ = h["scope"].(string)
	for _, k := range []string{"rule", "snippet", "text"} {
		if s, ok := h[k].(string); ok && s != "" {
			return s, scope
		}
	}
	return "", scope
}

// hits finds the rules in a search result: objects with a scope, at any depth.
func hits(result string) []hit {
	var v any
	if json.Unmarshal([]byte(result), &v) != nil {
		return nil
	}
	var out []hit
	var walk func(v any)
	walk = func(v any) {
		switch v := v.(type) {
		case map[string]any:
			if text, scope := hit(v).text(); text != "" && scope != "" {
				out = append(out, v)
				return
			}
			for _, k := range []string{"results", "hits", "rules", "data"} {
				walk(v[k])
			}
		case []any:
			for _, x := range v {
				walk(x)
			}
		}
	}
	walk(v)
	return out
}
