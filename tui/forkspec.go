package tui

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"vise/engine"
)

// forkKeys are what a fork is given, in the order of the card: turn keeps so many model
// turns, at is the number of the message that message replaces, call that of the call of
// the last kept turn that gets the arguments.
var forkKeys = []string{"turn", "model", "turns", "tokens", "timeout", "deny", "message", "at", "arguments", "call"}

// forkForm is a fork as it is written, by key; what is empty stays as it is.
type forkForm map[string]string

// parseFork reads "turn=2 model=ollama/qwen3 deny=rule_add message=what the tool said":
// the value of message and of arguments is the rest of the text, unless it is quoted.
func parseFork(text string) (forkForm, error) {
	f := forkForm{}
	for text = strings.TrimSpace(text); text != ""; text = strings.TrimSpace(text) {
		name, rest, ok := strings.Cut(text, "=")
		known := false
		for _, k := range forkKeys {
			known = known || k == name
		}
		if !ok || !known {
			return nil, fmt.Errorf("%q: write turn=2 model=PROVIDER/MODEL turns=8 tokens=4096 timeout=60s deny=rule_add message=TEXT at=6 arguments=JSON call=1", firstWord(text))
		}
		value := rest
		switch {
		case strings.HasPrefix(rest, `"`):
			quoted, err := strconv.QuotedPrefix(rest)
			if err != nil {
				return nil, fmt.Errorf("%s: the text begins with a quotation mark and does not end with one", name)
			}
			if value, err = strconv.Unquote(quoted); err != nil {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
			text = rest[len(quoted):]
		case name == "message" || name == "arguments":
			text = ""
		default:
			value, text, _ = strings.Cut(rest, " ")
		}
		f[name] = strings.TrimSpace(value)
	}
	return f, nil
}

func firstWord(s string) string {
	w, _, _ := strings.Cut(s, " ")
	return w
}

// spec is the fork of an episode; a turn that is not named is the one before the decision.
func (f forkForm) spec(episode string, attempt int) (engine.ForkSpec, error) {
	s := engine.ForkSpec{Episode: episode, Attempt: attempt, Model: f["model"], Deny: strings.FieldsFunc(f["deny"], func(r rune) bool { return r == ' ' || r == ',' })}
	s.Turn = -1
	for _, n := range []struct {
		key string
		to  *int
		min int
	}{{"turn", &s.Turn, 0}, {"turns", &s.MaxTurns, 1}, {"tokens", &s.MaxTokens, 1}, {"at", &s.Message, 1}, {"call", &s.Call, 1}} {
		if f[n.key] == "" {
			continue
		}
		v, err := strconv.Atoi(f[n.key])
		if err != nil || v < n.min {
			return s, fmt.Errorf("%s=%s: write a number from %d on", n.key, f[n.key], n.min)
		}
		*n.to = v
	}
	if f["timeout"] != "" {
		d, err := time.ParseDuration(f["timeout"])
		if err != nil || d <= 0 {
			return s, fmt.Errorf("timeout=%s: write a time such as 90s", f["timeout"])
		}
		s.Timeout = d
	}
	if text := f["message"]; text != "" {
		s.Text = &text
	}
	s.Arguments = f["arguments"]
	return s, nil
}

// forkCommand is the headless twin of a fork.
func forkCommand(s engine.ForkSpec) string {
	at := s.Episode
	if s.Turn >= 0 {
		at += ":" + strconv.Itoa(s.Turn)
	}
	out := []string{"vise episodes fork", at}
	add := func(flag, value string) {
		if value != "" && value != "0" && value != "0s" {
			out = append(out, "--"+flag, shellWord(value))
		}
	}
	add("attempt", strconv.Itoa(s.Attempt))
	add("model", s.Model)
	add("max-turns", strconv.Itoa(s.MaxTurns))
	add("max-tokens", strconv.Itoa(s.MaxTokens))
	add("timeout", s.Timeout.String())
	for _, d := range s.Deny {
		add("deny-tool", d)
	}
	if s.Text != nil {
		add("message", *s.Text)
	}
	add("message-at", strconv.Itoa(s.Message))
	add("arguments", s.Arguments)
	add("call", strconv.Itoa(s.Call))
	return strings.Join(out, " ")
}
