package model

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"
	"time"
)

// The real llama-server of llama.cpp as a protocol peer: `.ci/run full` starts it
// with a bigram model of 3 MB made on the spot and names it in VISE_LLAMA_URL (up
// to and including /v1). The model cannot reason; what is proved is the wire:
// streaming, usage, tool calls, a cut by length, an error, a cancelled request.
func TestRealLlamaServer(t *testing.T) {
	url := os.Getenv("VISE_LLAMA_URL")
	if url == "" {
		t.Skip("VISE_LLAMA_URL is not set; .ci/run full starts a llama-server and sets it")
	}
	ledger := NewLedger(Budget{})
	c, err := New(Options{Model: "llamacpp/bigram", Providers: map[string]Provider{"llamacpp": {BaseURL: url}}, Ledger: ledger, Retries: -1, IdleTimeout: 20 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	ask := func(text string) []Message { return []Message{{Role: "user", Content: text}} }

	t.Run("text is streamed and counted", func(t *testing.T) {
		var pieces []string
		r, err := c.Chat(t.Context(), Request{Messages: ask("the agent"), MaxTokens: 24}, func(d Delta) {
			if d.Text != "" {
				pieces = append(pieces, d.Text)
			}
		})
		if err != nil {
			t.Fatal(err)
		}
		if len(pieces) < 2 || strings.Join(pieces, "") != r.Text {
			t.Errorf("streamed %q, assembled %q", pieces, r.Text)
		}
		if !r.UsageKnown || r.Usage.Input == 0 || r.Usage.Output == 0 || r.Usage.Output > 24 {
			t.Errorf("usage %+v (known: %v)", r.Usage, r.UsageKnown)
		}
		if r.Usage.CostUSD != nil {
			t.Errorf("a price of %v was invented for a model without one", *r.Usage.CostUSD)
		}
	})

	t.Run("a tool call is assembled", func(t *testing.T) {
		tool := Tool{Name: "lookup", Description: "Looks an order up.", Schema: json.RawMessage(`{"type":"object","properties":{"order":{"type":"string"}},"required":["order"]}`)}
		// The bigram model calls in some of its answers, and rambles in their arguments
		// until it is cut; only an answer that ended by itself must hold whole ones.
		cut := 0
		for range 60 {
			r, err := c.Chat(t.Context(), Request{Messages: ask("call the tool"), Tools: []Tool{tool}, MaxTokens: 1500}, nil)
			if err != nil && !errors.Is(err, ErrTruncated) {
				t.Fatal(err)
			}
			if r.Finish == "length" {
				cut++
				continue
			}
			for _, call := range r.Calls {
				if call.ID == "" || call.Name == "" || !json.Valid([]byte(call.Arguments)) {
					t.Errorf("call %+v", call)
				}
			}
			if len(r.Calls) > 0 {
				return
			}
		}
		t.Errorf("60 answers, %d of them cut by length, and no whole tool call", cut)
	})

	t.Run("a refusal is an error in one line", func(t *testing.T) {
		_, err := c.Chat(t.Context(), Request{Messages: ask(strings.Repeat("the agent reads the file ", 4000)), MaxTokens: 8}, nil)
		if err == nil || strings.Contains(err.Error(), "\n") {
			t.Errorf("a prompt beyond the context gave %v", err)
		}
	})

	t.Run("a cancelled request ends at once", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		begin := time.Time{}
		_, err := c.Chat(ctx, Request{Messages: ask("the agent"), MaxTokens: 4000}, func(Delta) {
			if begin.IsZero() {
				begin = time.Now()
				cancel()
			}
		})
		if err == nil {
			t.Skip("the answer was complete before it could be cancelled")
		}
		if d := time.Since(begin); d > 5*time.Second {
			t.Errorf("it took %s to end", d)
		}
	})
}
