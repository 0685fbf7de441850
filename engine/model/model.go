// Package model is the one client for language models: an OpenAI-compatible
// chat, always streamed, assembled here, with what servers really send put right
// on the way in.
//
// A model id is "provider/model". What differs between providers is the
// http.RoundTripper under the client: the network, the built-in repairer
// (package builtin) or scripted faults (package faults). Nothing here has a
// default model: a model that costs money is never chosen for anyone.
package model

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"vise/engine/model/builtin"
)

// BuiltinProvider is the provider that answers in process, free of charge and without a network.
const BuiltinProvider = "builtin"

// Limits of the client. They bound memory and time, not what a model may say.
const (
	defaultRetries = 2
	defaultIdle    = 60 * time.Second
	maxRetries     = 10
	retryBase      = 500 * time.Millisecond
	retryCap       = 20 * time.Second
	retryMost      = 5 * time.Minute // a provider that asks for more than this is not asked again
	maxStreamBytes = 64 << 20
	maxLineBytes   = 8 << 20
	maxErrorBytes  = 64 << 10
)

// Options say which model is asked and how.
type Options struct {
	// Model is "provider/model", for example "openai/gpt-4.1" or "builtin/heuristic".
	Model string
	// Providers by name. The provider "builtin" needs no entry.
	Providers map[string]Provider
	// Transport replaces the transport of the provider (a seam for tests); nil takes the provider's own.
	Transport http.RoundTripper
	// Retries after the first try, before the first byte of an answer only.
	// 0 takes the default of 2, a negative number means none.
	Retries int
	// IdleTimeout ends a stream that sends nothing, not even a keep-alive, for so
	// long; 0 takes the default of 60 s.
	IdleTimeout time.Duration
	// Ledger counts and bounds what is spent; nil counts nothing.
	Ledger *Ledger
	// Now is the clock that dates in Retry-After are read by; nil takes time.Now.
	Now func() time.Time
}

// Provider is one OpenAI-compatible endpoint.
type Provider struct {
	// BaseURL up to, not including, "/chat/completions".
	BaseURL string
	// Key returns the API key; nil or "" sends none. It is asked once and kept after its first success.
	Key func() (string, error)
	// Reasoning says that the endpoint understands reasoning_effort; it is sent only then.
	Reasoning bool
	// Price per token, nil when unknown. Unknown is never zero.
	Price *Price
}

// Price is US dollars per million tokens.
type Price struct {
	Input  float64
	Output float64
	// Cached is the price of input served from the provider's cache; nil = as Input.
	Cached *float64
}

// Client asks one model. It is safe for concurrent use.
type Client struct {
	options  Options
	provider string
	model    string
	endpoint Provider
	base     http.RoundTripper
	// jitter in [0,1) spreads retries; tests fix it.
	jitter func() float64

	mu  sync.Mutex
	key string
	has bool
}

// New returns a client for options.Model. Errors name the setting to change.
func New(o Options) (*Client, error) {
	provider, name, ok := strings.Cut(o.Model, "/")
	if o.Model == "" {
		return nil, fmt.Errorf("model: no model is set: give one as provider/model, for example %s/heuristic (free, in process)", BuiltinProvider)
	}
	if !ok || provider == "" || name == "" {
		return nil, fmt.Errorf("model: %q is not of the form provider/model", o.Model)
	}
	c := &Client{options: o, provider: provider, model: name, jitter: rand.Float64}
	switch {
	case o.Retries == 0:
		c.options.Retries = defaultRetries
	case o.Retries < 0:
		c.options.Retries = 0
	}
	c.options.Retries = min(c.options.Retries, maxRetries)
	if o.IdleTimeout <= 0 {
		c.options.IdleTimeout = defaultIdle
	}
	if o.Now == nil {
		c.options.Now = time.Now
	}
	if provider == BuiltinProvider {
		if !slices.Contains(builtin.Models(), name) {
			return nil, fmt.Errorf("model: %q is not a built-in model (there are: %s)", o.Model, strings.Join(builtin.Models(), ", "))
		}
		// The host is never resolved: the transport answers in process.
		c.endpoint = Provider{BaseURL: "http://builtin.invalid/v1", Price: &Price{}}
		c.base = builtin.New(builtin.Options{})
	} else {
		endpoint, found := o.Providers[provider]
		if !found {
			known := append(slices.Sorted(maps.Keys(o.Providers)), BuiltinProvider)
			return nil, fmt.Errorf("model: provider %q of %q is unknown (known: %s): add [providers.%s] with its base_url", provider, o.Model, strings.Join(known, ", "), provider)
		}
		if endpoint.BaseURL == "" {
			return nil, fmt.Errorf("model: provider %q has no base_url: set providers.%s.base_url", provider, provider)
		}
		c.endpoint = endpoint
		c.base = network()
	}
	if o.Transport != nil {
		c.base = o.Transport
	}
	return c, nil
}

// Name is the model id as configured, "provider/model".
func (c *Client) Name() string { return c.provider + "/" + c.model }

// Close drops idle connections.
func (c *Client) Close() {
	if t, ok := c.base.(interface{ CloseIdleConnections() }); ok {
		t.CloseIdleConnections()
	}
}

// secret returns the key of the provider, asked for once.
func (c *Client) secret() (string, error) {
	if c.endpoint.Key == nil {
		return "", nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.has {
		return c.key, nil
	}
	key, err := c.endpoint.Key()
	if err != nil {
		return "", fmt.Errorf("model: key of provider %q: %w", c.provider, err)
	}
	c.key, c.has = strings.TrimSpace(key), true
	return c.key, nil
}

// network is the transport of a real provider: a client of its own, so that
// closing it touches nobody else's connections. It has no timeout for the whole
// answer (streams last); the idle watchdog and the context bound it.
func network() http.RoundTripper {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.MaxIdleConnsPerHost = 4
	t.ResponseHeaderTimeout = 5 * time.Minute
	return t
}
