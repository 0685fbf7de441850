package model

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"math"
	"net/http"
	"strings"

	openai "github.com/sashabaranov/go-openai"

	"vise/engine/trace"
)

// Chat asks the model and returns its whole answer; onDelta (nil allowed) sees
// each visible piece as it comes, on the calling goroutine.
//
// The error is an *Error. With ErrTruncated the reply holds what had come, for
// viewing only: nothing of it may be executed, and its calls are taken out. With
// every other error the reply holds the partial text and the tries.
func (c *Client) Chat(ctx context.Context, q Request, onDelta func(Delta)) (Reply, error) {
	if onDelta == nil {
		onDelta = func(Delta) {}
	}
	key, err := c.secret()
	if err != nil {
		return Reply{}, &Error{Kind: KindAuth, Model: c.Name(), Message: clean(err.Error(), ""), Err: errors.New(clean(err.Error(), ""))}
	}
	request := c.request(q)
	body, err := json.Marshal(request)
	if err != nil {
		return Reply{}, &Error{Kind: KindRequest, Model: c.Name(), Message: clean(err.Error(), key), Err: err}
	}
	input := estimate(len(body))
	hold, err := c.options.Ledger.Reserve(q.Purpose, input, int64(q.MaxTokens), c.endpoint.Price)
	if err != nil {
		return Reply{}, &Error{Kind: KindBudget, Model: c.Name(), Message: err.Error(), Err: ErrBudget}
	}
	reply, started, err := c.stream(ctx, request, key, onDelta)
	retries := max(0, reply.Tries-1)
	if !started {
		hold.Release(retries)
		return reply, err
	}
	c.price(&reply)
	booked := reply.Usage
	if !reply.UsageKnown {
		booked = trace.Usage{Input: input, Output: reply.Estimate}
		if p := c.endpoint.Price; p != nil {
			cost := p.Cost(booked)
			booked.CostUSD = &cost
		}
	}
	hold.Settle(booked, reply.UsageKnown, retries)
	return reply, err
}

// stream sends the request; started is true once any part of an answer came.
func (c *Client) stream(ctx context.Context, request openai.ChatCompletionRequest, key string, onDelta func(Delta)) (reply Reply, started bool, err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	tries := 0
	cfg := openai.DefaultConfig(key)
	cfg.BaseURL = strings.TrimRight(c.endpoint.BaseURL, "/")
	// The normaliser takes every empty message out; the limit must not be what ends a stream.
	cfg.EmptyMessagesLimit = math.MaxInt32
	cfg.HTTPClient = &retrier{
		next:    normaliser{watchdog{next: c.base, idle: c.options.IdleTimeout, cancel: cancel}},
		retries: c.options.Retries, now: c.options.Now, jitter: c.jitter,
		tried: func() { tries++ },
	}
	fail := func(a *assembler, err error) (Reply, bool, error) {
		var r Reply
		if a != nil {
			r, _ = a.result()
			r.Calls = nil // an incomplete answer is never executed
		}
		r.Tries = tries
		return r, a != nil, c.failure(ctx, err, key, tries)
	}
	s, err := openai.NewClientWithConfig(cfg).CreateChatCompletionStream(ctx, request)
	if err != nil {
		return fail(nil, err)
	}
	defer s.Close()
	a := newAssembler()
	for {
		raw, err := s.RecvRaw()
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			break
		}
		if err == nil {
			err = a.add(raw, onDelta)
		}
		if err != nil {
			if ctx.Err() == nil && isCut(err) {
				break
			}
			return fail(a, err)
		}
	}
	reply, complete := a.result()
	if !complete || ctx.Err() != nil {
		return fail(a, ErrTruncated)
	}
	reply.Tries = tries
	return reply, true, nil
}

// isCut reports a connection that broke in mid stream.
func isCut(err error) bool {
	var e *Error
	return !errors.As(err, &e)
}

// request translates to the client library, around its traps: an empty tool
// result, empty arguments and temperature 0 would be left out, and models it
// knows by name are refused over max_tokens and temperature.
func (c *Client) request(q Request) openai.ChatCompletionRequest {
	r := openai.ChatCompletionRequest{
		Model:         c.model,
		StreamOptions: &openai.StreamOptions{IncludeUsage: true},
	}
	fixed := reasoningSeries(c.model)
	if OutputField(c.provider, c.model) == "max_completion_tokens" {
		r.MaxCompletionTokens = q.MaxTokens
	} else {
		//lint:ignore SA1019 most compatible servers know only the older name
		r.MaxTokens = q.MaxTokens
	}
	if q.Temperature != nil && !fixed {
		r.Temperature = float32(*q.Temperature)
		if r.Temperature == 0 {
			r.Temperature = math.SmallestNonzeroFloat32
		}
	}
	if c.endpoint.Reasoning {
		r.ReasoningEffort = q.ReasoningEffort
	}
	for _, m := range q.Messages {
		x := openai.ChatCompletionMessage{Role: m.Role, Content: m.Content, ToolCallID: m.CallID}
		if m.Role == ToolRole && x.Content == "" {
			x.Content = "{}"
		}
		for _, call := range m.Calls {
			args := call.Arguments
			if args == "" {
				args = "{}"
			}
			x.ToolCalls = append(x.ToolCalls, openai.ToolCall{ID: call.ID, Type: openai.ToolTypeFunction,
				Function: openai.FunctionCall{Name: call.Name, Arguments: args}})
		}
		r.Messages = append(r.Messages, x)
	}
	for _, t := range q.Tools {
		r.Tools = append(r.Tools, openai.Tool{Type: openai.ToolTypeFunction,
			Function: &openai.FunctionDefinition{Name: t.Name, Description: t.Description, Parameters: t.Schema}})
	}
	return r
}

// OutputField is the field of a chat request that bounds the answer: OpenAI itself, and
// its newer models wherever they are served, know the newer name; most compatible servers
// know only the older one.
func OutputField(provider, model string) string {
	if provider == "openai" || reasoningSeries(model[strings.LastIndexByte(model, '/')+1:]) {
		return "max_completion_tokens"
	}
	return "max_tokens"
}

// reasoningSeries names the models whose endpoint fixes the temperature and
// knows max_completion_tokens only.
func reasoningSeries(model string) bool {
	for _, prefix := range []string{"o1", "o3", "o4", "gpt-5", "gpt-6"} {
		if strings.HasPrefix(model, prefix) {
			return true
		}
	}
	return false
}

// price adds the cost when the provider did not report one and the price is known.
func (c *Client) price(r *Reply) {
	if !r.UsageKnown || r.Usage.CostUSD != nil || c.endpoint.Price == nil {
		return
	}
	cost := c.endpoint.Price.Cost(r.Usage)
	r.Usage.CostUSD = &cost
}

var _ http.RoundTripper = normaliser{}
