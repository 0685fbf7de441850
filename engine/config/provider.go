package config

import (
	"slices"
	"strings"
)

// Provider is one OpenAI-compatible endpoint.
type Provider struct {
	BaseURL string
	// Key refers to the API key; empty = none is sent.
	Key Secret
	// Reasoning is whether the endpoint accepts a reasoning effort. It is sent nowhere else.
	Reasoning bool
	// Prices by model name; "*" is for models not named. A price that is not
	// here is unknown, never zero.
	Prices map[string]Price
}

// Price is in US dollars per million tokens. Cached input costs Input when Cached is nil.
type Price struct {
	Input  float64
	Output float64
	Cached *float64
}

// Price returns what a model costs; ok is false when that is unknown.
func (p Provider) Price(model string) (Price, bool) {
	if price, ok := p.Prices[model]; ok {
		return price, true
	}
	price, ok := p.Prices["*"]
	return price, ok
}

// Builtin is the provider that answers in this process, without a network.
const Builtin = "builtin"

// builtinProviders are known by name. Each speaks the OpenAI chat protocol at
// the address its own documentation gives. Local servers need no key.
var builtinProviders = map[string]Provider{
	"openai":     {BaseURL: "https://api.openai.com/v1", Key: "env:OPENAI_API_KEY", Reasoning: true},
	"openrouter": {BaseURL: "https://openrouter.ai/api/v1", Key: "env:OPENROUTER_API_KEY", Reasoning: true},
	"groq":       {BaseURL: "https://api.groq.com/openai/v1", Key: "env:GROQ_API_KEY", Reasoning: true},
	"gemini":     {BaseURL: "https://generativelanguage.googleapis.com/v1beta/openai", Key: "env:GEMINI_API_KEY", Reasoning: true},
	"xai":        {BaseURL: "https://api.x.ai/v1", Key: "env:XAI_API_KEY", Reasoning: true},
	"cerebras":   {BaseURL: "https://api.cerebras.ai/v1", Key: "env:CEREBRAS_API_KEY", Reasoning: true},
	"anthropic":  {BaseURL: "https://api.anthropic.com/v1", Key: "env:ANTHROPIC_API_KEY"},
	"mistral":    {BaseURL: "https://api.mistral.ai/v1", Key: "env:MISTRAL_API_KEY"},
	"deepseek":   {BaseURL: "https://api.deepseek.com/v1", Key: "env:DEEPSEEK_API_KEY"},
	"together":   {BaseURL: "https://api.together.xyz/v1", Key: "env:TOGETHER_API_KEY"},
	"fireworks":  {BaseURL: "https://api.fireworks.ai/inference/v1", Key: "env:FIREWORKS_API_KEY"},
	"ollama":     {BaseURL: "http://127.0.0.1:11434/v1", Reasoning: true},
	"llamacpp":   {BaseURL: "http://127.0.0.1:8080/v1"},
	"lmstudio":   {BaseURL: "http://127.0.0.1:1234/v1"},
	"vllm":       {BaseURL: "http://127.0.0.1:8000/v1"},
}

// ProviderNames returns the names a model id may start with, sorted.
func (c *Config) ProviderNames() []string {
	names := []string{Builtin}
	for name := range c.Providers {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// SplitModel cuts a model id at its first slash: "openrouter/meta/llama-3" is the
// model "meta/llama-3" of the provider "openrouter".
func SplitModel(id string) (provider, model string, ok bool) {
	provider, model, ok = strings.Cut(id, "/")
	return provider, model, ok && provider != "" && model != ""
}
