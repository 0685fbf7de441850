package local_test

import (
	"context"
	"encoding/csv"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"vise/engine/internal/vectors"
	"vise/engine/score"
	"vise/engine/score/local"
	"vise/engine/trace"
	"vise/replay/format"
)

// row is one line of local/corpora.tsv: the reference's values for one turn.
type row struct {
	values map[string]string
	checks []string
}

// scorer is a sink that scores turns as they are read.
type scorer struct {
	index  string
	begun  int
	eval   *local.Evaluator
	scores map[string][]score.Score // by index of the session and of the turn
}

func (s *scorer) Begin(head trace.Session) error {
	s.index = strconv.Itoa(s.begun) // some records hold no session: the recording's own place counts first
	if i, ok := head.Attrs["index"]; ok {
		s.index = fmt.Sprint(i)
	}
	s.begun++
	if head.Source == "trail" {
		// The reference reads spans alone; the prompts in them tell the system prompt and the tools.
		head.System, head.Tools = "", nil
	}
	s.eval = local.New(head, local.Options{})
	return nil
}

func (s *scorer) Turn(t trace.Turn) error {
	s.scores[s.index+"/"+strconv.Itoa(t.Index)] = s.eval.Turn(t)
	return nil
}

func (s *scorer) End(trace.Session) error { return nil }

// differs lists the files that are read better than the reference reads them, so
// that their scores cannot agree.
var differs = map[string]string{
	"openhands/v0-resolver-output.jsonl": "its events have no args: arguments, input and answer stand beside the action's name, where the reference does not look",
}

// TestCorpora compares the five scores and the checks of every recorded tau turn
// with the reference, to the four decimals it was written with. No difference is
// accepted: reading cuts turns as the reference does, masking touches no score.
func TestCorpora(t *testing.T) {
	if testing.Short() {
		t.Skip("reads tens of megabytes")
	}
	root := os.Getenv("VISE_CORPORA")
	if root == "" {
		root = filepath.Join("..", "..", "..", "..", "shared", "corpora")
	}
	if _, err := os.Stat(root); err != nil {
		t.Skipf("no recordings here, set VISE_CORPORA to their folder: %v", err)
	}
	files := corpora(t)
	turns := 0
	for file, rows := range files {
		if why := differs[file]; why != "" {
			t.Logf("%s is left out: %s", file, why)
			continue
		}
		t.Run(file, func(t *testing.T) {
			sink := &scorer{scores: map[string][]score.Score{}}
			if _, err := format.Read(context.Background(), filepath.Join(root, filepath.FromSlash(file)), format.Options{}, sink); err != nil {
				t.Fatal(err)
			}
			for key, want := range rows {
				got, ok := sink.scores[key]
				if !ok {
					t.Errorf("session/turn %s was not read", key)
					continue
				}
				turns++
				for _, s := range got {
					if !agrees(want.values[s.Metric], s.Value) {
						t.Errorf("%s: %s: got %s, want %s\n%q", key, s.Metric, show(s.Value), want.values[s.Metric], s.Reasons)
					}
				}
				if ids := checks(got); !slices.Equal(ids, want.checks) {
					t.Errorf("%s: checks %q, want %q", key, ids, want.checks)
				}
			}
		})
	}
	if turns == 0 {
		t.Error("no turn was compared")
	}
	t.Logf("%d turns agree", turns)
}

// corpora reads the table: rows by file, then by "session index/turn".
func corpora(t *testing.T) map[string]map[string]row {
	f, err := os.Open(filepath.Join(vectors.Dir(t), "local", "corpora.tsv"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	r := csv.NewReader(f)
	r.Comma, r.LazyQuotes = '\t', true
	lines, err := r.ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]map[string]row{}
	for _, line := range lines[1:] {
		w := row{values: map[string]string{}}
		for i, name := range lines[0] {
			w.values[name] = line[i]
		}
		for c := range strings.SplitSeq(w.values["checks"], ",") {
			// "check xN" counts N times; the share of wasted calls is no check.
			if id := strings.TrimRight(c, "0123456789"); id != c {
				c = strings.TrimSuffix(id, "x")
			}
			if c != "" && !strings.HasPrefix(c, "wasted=") && !slices.Contains(w.checks, c) {
				w.checks = append(w.checks, c)
			}
		}
		slices.Sort(w.checks)
		index, _, many := strings.Cut(w.values["session"], "|")
		if !many { // a file of one session is named by its id
			index = "0"
		}
		if out[w.values["file"]] == nil {
			out[w.values["file"]] = map[string]row{}
		}
		out[w.values["file"]][index+"/"+w.values["turn"]] = w
	}
	return out
}

func checks(scores []score.Score) (ids []string) {
	for _, s := range scores {
		ids = append(ids, s.Checks...)
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

func agrees(want string, got *float64) bool {
	if want == "null" || got == nil {
		return want == "null" && got == nil
	}
	f, err := strconv.ParseFloat(want, 64)
	return err == nil && math.Abs(f-*got) <= 1e-4
}

func show(v *float64) string {
	if v == nil {
		return "null"
	}
	return strconv.FormatFloat(*v, 'f', 4, 64)
}
