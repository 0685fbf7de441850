package format_test

import (
	"context"
	"encoding/csv"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"vise/engine/trace"
	"vise/replay/format"
)

// collector keeps everything a reader hands out and checks the protocol of the sink.
type collector struct {
	tb       testing.TB
	open     bool
	sessions []trace.Session
	turns    map[string][]trace.Turn
}

func newCollector(tb testing.TB) *collector {
	return &collector{tb: tb, turns: map[string][]trace.Turn{}}
}

func (c *collector) Begin(s trace.Session) error {
	if c.open {
		c.tb.Errorf("session %s begins inside another", s.ID)
	}
	if _, ok := c.turns[s.ID]; ok {
		c.tb.Errorf("session id %s is not unique", s.ID)
	}
	c.open = true
	c.sessions = append(c.sessions, s)
	c.turns[s.ID] = nil
	return nil
}

func (c *collector) Turn(t trace.Turn) error {
	if want := len(c.turns[t.SessionID]); t.Index != want {
		c.tb.Errorf("session %s: turn %d after %d turns", t.SessionID, t.Index, want)
	}
	c.turns[t.SessionID] = append(c.turns[t.SessionID], t)
	return nil
}

func (c *collector) End(s trace.Session) error {
	if !c.open || s.ID != c.sessions[len(c.sessions)-1].ID {
		c.tb.Errorf("session %s ends out of order", s.ID)
	}
	c.open = false
	if got := trace.Count(c.turns[s.ID]); got != s.Counts {
		c.tb.Errorf("session %s: head counts %+v, turns hold %+v", s.ID, s.Counts, got)
	}
	c.sessions[len(c.sessions)-1] = s
	return nil
}

func read(tb testing.TB, path string, o format.Options) (*collector, format.Summary, error) {
	tb.Helper()
	c := newCollector(tb)
	sum, err := format.Read(context.Background(), path, o, c)
	return c, sum, err
}

// corpora returns the folder of the third-party recordings, or skips the test.
func corpora(tb testing.TB) string {
	tb.Helper()
	dir := os.Getenv("VISE_CORPORA")
	if dir == "" {
		dir = filepath.Join("..", "..", "..", "shared", "corpora")
	}
	if _, err := os.Stat(filepath.Join(dir, "INDEX.tsv")); err != nil {
		tb.Skip("no recorded sessions of third parties here; set VISE_CORPORA to a folder with INDEX.tsv to run this")
	}
	return dir
}

type indexRow struct {
	path, format                          string
	sessions, turns, calls, steps, errors int
	label                                 string
}

func index(tb testing.TB, dir string) []indexRow {
	tb.Helper()
	f, err := os.Open(filepath.Join(dir, "INDEX.tsv"))
	if err != nil {
		tb.Fatal(err)
	}
	defer f.Close()
	r := csv.NewReader(f)
	r.Comma, r.LazyQuotes = '\t', true
	recs, err := r.ReadAll()
	if err != nil {
		tb.Fatal(err)
	}
	var rows []indexRow
	n := func(s string) int { v, _ := strconv.Atoi(s); return v }
	for _, c := range recs[1:] {
		rows = append(rows, indexRow{c[0], c[1], n(c[9]), n(c[10]), n(c[11]), n(c[12]), n(c[13]), c[14]})
	}
	return rows
}

func TestCorporaCounts(t *testing.T) {
	dir := corpora(t)
	for _, row := range index(t, dir) {
		if row.format != "claude_code" && row.format != "tau_bench" || strings.HasSuffix(row.path, ".meta.json") {
			continue
		}
		t.Run(row.path, func(t *testing.T) {
			_, sum, err := read(t, filepath.Join(dir, row.path), format.Options{})
			if err != nil {
				t.Fatal(err)
			}
			got := indexRow{row.path, row.format, sum.Sessions, sum.Turns, sum.Calls, sum.Steps, sum.Errors, row.label}
			if got != row {
				t.Errorf("\n got %+v\nwant %+v", got, row)
			}
			t.Logf("%+v", sum)
		})
	}
}
