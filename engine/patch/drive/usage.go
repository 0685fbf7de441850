package drive

import (
	"bytes"
	"encoding/json"
	"regexp"
	"strconv"
	"strings"

	"vise/engine/trace"
)

// maxUsageLine is the longest line of an agent's output that is read for what it
// has used, in bytes; a longer one is passed over.
const maxUsageLine = 1 << 20

// Meter reads from an agent's standard output what it has used, while it comes:
// codex exec --json, claude and gemini with --output-format json or stream-json,
// opencode run --format json, and the lines that aider prints. Tokens read from a
// cache are part of the input, as everywhere here. An agent that says nothing of
// it is unknown, never free. A Meter is a writer; it never fails.
type Meter struct {
	line []byte
	skip bool // the line at hand is too long

	total trace.Usage            // what was told as a sum
	steps trace.Usage            // what was told step by step
	each  map[string]trace.Usage // of claude's messages, by id, until its sum comes
	known bool
}

// Write takes the next bytes of the output.
func (m *Meter) Write(b []byte) (int, error) {
	for rest := b; len(rest) > 0; {
		line, after, whole := bytes.Cut(rest, []byte("\n"))
		if m.skip = m.skip || len(m.line)+len(line) > maxUsageLine; !m.skip {
			m.line = append(m.line, line...)
		}
		if whole {
			if !m.skip {
				m.see(m.line)
			}
			m.line, m.skip = m.line[:0], false
		}
		rest = after
	}
	return len(b), nil
}

// End is Usage of an agent that has ended. whole is its output as far as it was
// kept: one JSON object may be written over many lines.
func (m *Meter) End(whole []byte) *trace.Usage {
	if !m.skip && len(m.line) > 0 {
		m.see(m.line) // a last line without its end
		m.line = nil
	}
	if trimmed := bytes.TrimSpace(whole); !m.known && len(trimmed) > 0 && trimmed[0] == '{' {
		m.see(trimmed)
	}
	return m.Usage()
}

// Usage returns what the agent has used so far, nil when it did not say.
func (m *Meter) Usage() *trace.Usage {
	if !m.known {
		return nil
	}
	u := m.steps.Add(m.total)
	for _, part := range m.each {
		u = u.Add(part)
	}
	return &u
}

var (
	aiderTokens = regexp.MustCompile(`^Tokens: ([\d.,]+[kM]?) sent.*?([\d.,]+[kM]?) received`)
	aiderCost   = regexp.MustCompile(`Cost: \$([\d.]+) message`)
)

func (m *Meter) see(line []byte) {
	line = bytes.TrimSpace(line)
	if t := aiderTokens.FindSubmatch(line); t != nil {
		u := trace.Usage{Input: short(string(t[1])), Output: short(string(t[2]))}
		if c := aiderCost.FindSubmatch(line); c != nil {
			if usd, err := strconv.ParseFloat(string(c[1]), 64); err == nil {
				u.CostUSD = &usd
			}
		}
		m.steps, m.known = m.steps.Add(u), true
		return
	}
	if len(line) == 0 || line[0] != '{' || !bytes.Contains(line, []byte("oken")) {
		return
	}
	var e struct {
		Type    string   `json:"type"`
		Cost    *float64 `json:"total_cost_usd"`
		Usage   *counts  `json:"usage"`
		Message struct {
			ID    string  `json:"id"`
			Usage *counts `json:"usage"`
		} `json:"message"`
		Part struct {
			Type   string   `json:"type"`
			Cost   *float64 `json:"cost"`
			Tokens *struct {
				Input     int64 `json:"input"`
				Output    int64 `json:"output"`
				Reasoning int64 `json:"reasoning"`
				Cache     struct {
					Read  int64 `json:"read"`
					Write int64 `json:"write"`
				} `json:"cache"`
			} `json:"tokens"`
		} `json:"part"`
		Stats *struct {
			Models map[string]struct {
				Tokens struct {
					Prompt     int64 `json:"prompt"`
					Candidates int64 `json:"candidates"`
					Cached     int64 `json:"cached"`
					Thoughts   int64 `json:"thoughts"`
				} `json:"tokens"`
			} `json:"models"`
			Input  int64 `json:"input_tokens"`
			Output int64 `json:"output_tokens"`
			Cached int64 `json:"cached"`
		} `json:"stats"`
	}
	if json.Unmarshal(line, &e) != nil {
		return
	}
	switch {
	case e.Type == "turn.completed" && e.Usage != nil:
		// codex: the sum of its thread until now.
		m.total, m.known = trace.Usage{Input: e.Usage.Input, Output: e.Usage.Output, Cached: e.Usage.Cached}, true
	case e.Type == "result" && e.Usage != nil:
		// claude: the sum of the run.
		m.total, m.each, m.known = e.Usage.claude(), nil, true
		m.total.CostUSD = e.Cost
	case e.Type == "assistant" && e.Message.Usage != nil:
		if m.each == nil {
			m.each = map[string]trace.Usage{}
		}
		m.each[e.Message.ID], m.known = e.Message.Usage.claude(), true
	case e.Part.Type == "step-finish" && e.Part.Tokens != nil:
		// opencode: one step.
		t := e.Part.Tokens
		m.steps, m.known = m.steps.Add(trace.Usage{Input: t.Input + t.Cache.Read + t.Cache.Write, Output: t.Output + t.Reasoning, Cached: t.Cache.Read, Reasoning: t.Reasoning, CostUSD: e.Part.Cost}), true
	case e.Stats != nil && len(e.Stats.Models) > 0:
		// gemini: the sum by model. Thoughts are output that is counted apart.
		m.total = trace.Usage{}
		for _, by := range e.Stats.Models {
			t := by.Tokens
			m.total = m.total.Add(trace.Usage{Input: t.Prompt, Output: t.Candidates + t.Thoughts, Cached: t.Cached, Reasoning: t.Thoughts})
		}
		m.known = m.known || !m.total.IsZero()
	case e.Stats != nil && e.Stats.Input+e.Stats.Output > 0:
		m.total, m.known = trace.Usage{Input: e.Stats.Input, Output: e.Stats.Output, Cached: e.Stats.Cached}, true
	}
}

// counts are token counts by the names of the model providers.
type counts struct {
	Input  int64 `json:"input_tokens"`
	Output int64 `json:"output_tokens"`
	Cached int64 `json:"cached_input_tokens"`
	Read   int64 `json:"cache_read_input_tokens"`
	Write  int64 `json:"cache_creation_input_tokens"`
}

// claude counts what is read from the cache, and what is written to it, beside the input.
func (c counts) claude() trace.Usage {
	return trace.Usage{Input: c.Input + c.Read + c.Write, Output: c.Output, Cached: c.Read}
}

// short reads 950, 1,200, 8.2k and 1.1M.
func short(s string) int64 {
	times := 1.0
	if n := len(s) - 1; n >= 0 {
		times = map[byte]float64{'k': 1e3, 'M': 1e6}[s[n]]
		if times == 0 {
			times = 1
		}
	}
	f, err := strconv.ParseFloat(strings.ReplaceAll(strings.TrimRight(s, "kM"), ",", ""), 64)
	if err != nil {
		return 0
	}
	return int64(f * times)
}
