package tui

import (
	"fmt"
	"strings"

	"vise/engine/episode"
)

// Copy implements Pane: the selected step, or all of the transcript.
func (p *repairPane) Copy() string {
	if !p.data.found {
		return ""
	}
	if p.step > 0 {
		for _, s := range p.data.steps {
			if s.Attempt == p.attempt && s.Turn == p.step {
				return stepText(s)
			}
		}
	}
	var b strings.Builder
	for _, s := range p.data.steps {
		b.WriteString(stepText(s))
	}
	return b.String()
}

func stepText(s episode.Step) string {
	var b strings.Builder
	fmt.Fprintf(&b, "model turn %d\n", s.Turn)
	for _, t := range []string{s.Reasoning, s.Text} {
		if t != "" {
			b.WriteString(t + "\n")
		}
	}
	for _, c := range s.Calls {
		fmt.Fprintf(&b, "%s %s\n", c.Name, c.Arguments)
		if len(c.Result) > 0 {
			fmt.Fprintf(&b, "  %s\n", c.Result)
		}
	}
	return b.String()
}

// Headless implements Pane.
func (p *repairPane) Headless() string {
	if !p.data.found {
		return "vise episodes ls"
	}
	return "vise episodes show " + p.data.episode.ID
}

// RepairJSON is an episode with its steps: what `vise episodes show --json` prints.
type RepairJSON struct {
	Episode episode.Episode `json:"episode"`
	Steps   []episode.Step  `json:"steps"`
}

// JSON implements Pane.
func (p *repairPane) JSON() any {
	if !p.data.found {
		return nil
	}
	return RepairJSON{p.data.episode, p.data.steps}
}
