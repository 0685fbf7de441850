package acp

import (
	"encoding/json"
	"strings"
	"testing"

	"vise/replay/driver"
)

// The mode and the options are set by the way that the agent offers: modes of their own,
// options by id or category, or models as older agents have them.
func TestSessionIsSetUp(t *testing.T) {
	const options = `{"configOptions":[{"id":"m","category":"model","type":"select","currentValue":"big"},{"id":"mode","category":"mode","type":"select","currentValue":"build"},{"id":"fast","type":"boolean","currentValue":false}]}`
	for _, c := range []struct {
		name, opened, mode string
		options            map[string]string
		want               string // what the agent is asked, in order
		err                string
	}{
		{name: "mode", opened: `{"modes":{"currentModeId":"a","availableModes":[{"id":"a"},{"id":"b"}]}}`, mode: "b", want: `session/set_mode {"modeId":"b","sessionId":"x"}`},
		{name: "the mode it is in", opened: `{"modes":{"currentModeId":"a","availableModes":[{"id":"a"}]}}`, mode: "a"},
		{name: "mode as an option", opened: options, mode: "plan", want: `session/set_config_option {"sessionId":"x","configId":"mode","value":"plan"}`},
		{name: "by category", opened: options, options: map[string]string{"model": "small"}, want: `session/set_config_option {"sessionId":"x","configId":"m","value":"small"}`},
		{name: "yes or no", opened: options, options: map[string]string{"fast": "true"}, want: `session/set_config_option {"sessionId":"x","configId":"fast","type":"boolean","value":true}`},
		{name: "neither", opened: options, options: map[string]string{"fast": "very"}, err: `use "true" or "false"`},
		{name: "models of old", opened: `{"models":{"availableModels":[{"modelId":"small"}]}}`, options: map[string]string{"model": "small"}, want: `session/set_model {"sessionId":"x","modelId":"small"}`},
		{name: "no such model", opened: `{"models":{"availableModels":[{"modelId":"small"}]}}`, options: map[string]string{"model": "big"}, err: "it offers small"},
		{name: "no such option", opened: options, options: map[string]string{"colour": "red"}, err: "it offers m, mode, fast"},
		{name: "no such mode", opened: `{}`, mode: "plan", err: "it offers none"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var asked []string
			s := connected(t, driver.Config{Mode: c.mode, Options: c.options}, func(p *peer) {
				for {
					m := p.next()
					if m.Method == "" {
						return
					}
					asked = append(asked, m.Method+" "+string(m.Params))
					p.say(`{"jsonrpc":"2.0","id":%s,"result":{}}`, m.ID)
				}
			})
			var got opened
			if err := json.Unmarshal([]byte(c.opened), &got); err != nil {
				t.Fatal(err)
			}
			err := s.adjust(t.Context(), got)
			if strings.Join(asked, "\n") != c.want || (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
				t.Errorf("asked %q, %v; want %q, %q", asked, err, c.want, c.err)
			}
			if err == nil && c.mode != "" && c.want != "" && s.Info().Mode != c.mode {
				t.Errorf("mode %q", s.Info().Mode)
			}
		})
	}
}
