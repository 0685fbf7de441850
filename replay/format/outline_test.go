package format_test

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"vise/replay/format"
)

var update = flag.Bool("update", false, "rewrite testdata/outline from what is read")

// TestOutlines reads every recording of our own and compares all that reaches the
// sink with a text that a person can check: testdata/outline/<format>/<file>.txt.
// "go test ./replay/format -run Outlines -update" renews it; read the difference.
func TestOutlines(t *testing.T) {
	folders, err := os.ReadDir(sessions())
	if err != nil {
		t.Fatal(err)
	}
	for _, folder := range folders {
		switch folder.Name() {
		case "claude-code", "tau", "native": // TestFixtures and the tests beside it look at these
			continue
		}
		files, err := format.Walk(sessions(folder.Name()))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			rel, _ := filepath.Rel(sessions(), file)
			t.Run(rel, func(t *testing.T) {
				c, sum, err := read(t, file, format.Options{})
				if err != nil {
					t.Fatal(err)
				}
				got := outline(t, c, sum)
				golden := filepath.Join("testdata", "outline", rel+".txt")
				if *update {
					if err := os.MkdirAll(filepath.Dir(golden), 0o755); err != nil {
						t.Fatal(err)
					}
					if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
						t.Fatal(err)
					}
				}
				want, err := os.ReadFile(golden)
				if err != nil {
					t.Fatal(err)
				}
				if got != string(want) {
					t.Errorf("outline differs from %s:\n%s", golden, firstDifference(got, string(want)))
				}
				_, strict, err := read(t, file, format.Options{Strict: true})
				if errors.Is(err, format.ErrDamaged) != (sum.DamagedTotal > 0) || strict.Sessions != sum.Sessions {
					t.Errorf("strict: %v", err)
				}
				again, _, err := read(t, file, format.Options{})
				if err != nil {
					t.Fatal(err)
				}
				for i, s := range c.sessions {
					if s.Digest == "" || s.Digest != again.sessions[i].Digest || s.ID != again.sessions[i].ID {
						t.Errorf("session %s: reading again gives another digest or id", s.ID)
					}
				}
			})
		}
	}
}

// outline writes sessions as text: a line per head, turn and span.
func outline(t *testing.T, c *collector, sum format.Summary) string {
	t.Helper()
	var b strings.Builder
	pairs := func(v any) string {
		raw, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		return string(raw)
	}
	text := func(name, s string) {
		if s != "" {
			fmt.Fprintf(&b, "      %-7s %q\n", name, s)
		}
	}
	fmt.Fprintf(&b, "%s: %d records, %d masked\n", sum.Format, sum.Records, sum.Masked)
	for _, d := range sum.Damaged {
		fmt.Fprintf(&b, "damaged %d:%d+%d %s\n", d.Line, d.Offset, d.Bytes, d.Reason)
	}
	if len(sum.Unknown) > 0 {
		fmt.Fprintf(&b, "unknown %s\n", pairs(sum.Unknown))
	}
	for _, n := range sum.Notes {
		fmt.Fprintf(&b, "note    %s\n", n)
	}
	for _, s := range c.sessions {
		fmt.Fprintf(&b, "\nsession %s [%s] agent=%q title=%q label=%q turns=%d steps=%d calls=%d errors=%d\n", s.ID, s.Source, s.Agent, s.Title, s.Label,
			s.Counts.Turns, s.Counts.Steps, s.Counts.Calls, s.Counts.Errors)
		if !s.Started.IsZero() {
			fmt.Fprintf(&b, "  from %s to %s\n", s.Started.Format("2006-01-02T15:04:05.999"), s.Ended.Format("2006-01-02T15:04:05.999"))
		}
		if s.System != "" {
			fmt.Fprintf(&b, "  system %q\n", s.System)
		}
		for _, tool := range s.Tools {
			fmt.Fprintf(&b, "  tool %s %s\n", tool.Name, tool.Schema)
		}
		if len(s.Attrs) > 0 {
			fmt.Fprintf(&b, "  attrs %s\n", pairs(s.Attrs))
		}
		for _, turn := range c.turns[s.ID] {
			fmt.Fprintf(&b, "  turn %d", turn.Index)
			if turn.Synthetic {
				b.WriteString(" synthetic")
			}
			if turn.StopReason != "" {
				fmt.Fprintf(&b, " stop=%s", turn.StopReason)
			}
			if !turn.Usage.IsZero() {
				fmt.Fprintf(&b, " usage=%s", pairs(turn.Usage))
			}
			fmt.Fprintf(&b, " %q\n", turn.Input)
			for _, sp := range turn.Spans {
				fmt.Fprintf(&b, "    %s %s %q", sp.Kind, sp.ID, sp.Name)
				if sp.Parent != "" {
					fmt.Fprintf(&b, " under %s", sp.Parent)
				}
				if sp.Pending {
					b.WriteString(" pending")
				}
				if !sp.Start.IsZero() {
					fmt.Fprintf(&b, " %s+%s", sp.Start.Format("15:04:05.999"), sp.End.Sub(sp.Start))
				}
				if !sp.Usage.IsZero() {
					fmt.Fprintf(&b, " usage=%s", pairs(sp.Usage))
				}
				if len(sp.Attrs) > 0 {
					fmt.Fprintf(&b, " %s", pairs(sp.Attrs))
				}
				b.WriteByte('\n')
				text("input", sp.Input)
				text("thought", sp.Thought)
				text("output", sp.Output)
				text("error", sp.Error)
			}
		}
	}
	return b.String()
}

func firstDifference(got, want string) string {
	g, w := strings.Split(got, "\n"), strings.Split(want, "\n")
	for i := range g {
		if i >= len(w) || g[i] != w[i] {
			other := "(nothing)"
			if i < len(w) {
				other = w[i]
			}
			return fmt.Sprintf("line %d\n got %s\nwant %s", i+1, g[i], other)
		}
	}
	return fmt.Sprintf("%d lines, want %d", len(g), len(w))
}
