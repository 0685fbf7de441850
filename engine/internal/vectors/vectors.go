// Package vectors reads the conformance vectors: cases recorded from the
// reference harness, one JSON file per suite. It is test support.
//
// A case marked quirk shows a weakness of the reference; when its note is listed
// for its suite in deviations.toml the result may differ, otherwise every case
// must agree exactly.
package vectors

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/pelletier/go-toml/v2"
)

// Case is one case of a suite.
type Case struct {
	Name      string          `json:"name"`
	Input     json.RawMessage `json:"input"`
	Expect    json.RawMessage `json:"expect"`
	Quirk     bool            `json:"quirk"`
	QuirkNote string          `json:"quirk_note"`
	// Defect lists the recorded defects of the patch loop's reference that the case shows.
	Defect []string `json:"defect"`
}

// Dir returns the folder of the vectors: $VISE_VECTORS, or testdata/vectors of
// the repository.
func Dir(t testing.TB) string {
	t.Helper()
	if dir := os.Getenv("VISE_VECTORS"); dir != "" {
		return dir
	}
	return filepath.Join(root(t), "testdata", "vectors")
}

// root finds the folder of go.mod upward from the package under test.
func root(t testing.TB) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
		up := filepath.Dir(dir)
		if up == dir {
			t.Fatal("vectors: no go.mod above the package under test")
		}
		dir = up
	}
}

// Deviation is a quirk note, or the id of a defect, on which vise accepts to
// differ from the reference.
type Deviation struct {
	Suite  string `toml:"suite"`
	Note   string `toml:"note"`
	Defect string `toml:"defect"`
	Reason string `toml:"reason"`
}

// Deviations returns the accepted deviations of a suite by quirk note or defect
// id. They are always those of the repository, wherever the vectors come from.
func Deviations(t testing.TB, suite string) map[string]string {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(root(t), "testdata", "vectors", "deviations.toml"))
	if err != nil {
		t.Fatalf("vectors: %v", err)
	}
	var file struct {
		Deviation []Deviation `toml:"deviation"`
	}
	dec := toml.NewDecoder(bytes.NewReader(raw)).DisallowUnknownFields()
	if err := dec.Decode(&file); err != nil {
		t.Fatalf("vectors: deviations.toml: %v", err)
	}
	out := map[string]string{}
	for _, d := range file.Deviation {
		if d.Suite == "" || (d.Note == "") == (d.Defect == "") || d.Reason == "" {
			t.Fatalf("vectors: deviations.toml: an entry needs suite, reason and either note or defect: %+v", d)
		}
		if d.Suite == suite {
			out[d.Note+d.Defect] = d.Reason
		}
	}
	return out
}

// Run runs every case of the harness suite as a subtest (see run).
func Run[In any](t *testing.T, suite string, fn func(t *testing.T, in In) any) {
	t.Helper()
	run(t, "harness", suite, fn)
}

// RunPatch runs every case of the patch loop's suite as a subtest (see run).
func RunPatch[In any](t *testing.T, suite string, fn func(t *testing.T, in In) any) {
	t.Helper()
	run(t, "patchloop", suite, fn)
}

// run runs every case of a suite as a subtest. The function gets the
// input and returns what vise makes of it, in the shape of expect; nil stands for
// null. Results are compared structurally, numbers exactly.
//
// A case of a listed deviation may differ; when none of the cases of a listed
// note does, the entry is stale and the test fails.
func run[In any](t *testing.T, dir, suite string, fn func(t *testing.T, in In) any) {
	t.Helper()
	accepted := Deviations(t, suite)
	given, differ := map[string]int{}, map[string]int{}
	for _, c := range Load(t, filepath.Join(dir, suite+".json")) {
		t.Run(c.Name, func(t *testing.T) {
			weak := map[string]bool{}
			if c.Quirk {
				weak[c.QuirkNote] = true
			}
			for _, d := range c.Defect {
				weak[d] = true
			}
			var in In
			Decode(t, c.Input, &in)
			diff := Diff(t, c.Expect, fn(t, in))
			reason := ""
			for w := range weak {
				if why, listed := accepted[w]; listed {
					reason = why
					given[w]++
					if diff != "" {
						differ[w]++
					}
				}
			}
			switch {
			case diff == "":
			case reason != "":
				t.Logf("accepted deviation (%s):\n%s", reason, diff)
			case len(weak) > 0:
				t.Errorf("quirk %q, defects %v are no accepted deviation; input %s\n(-want +got)\n%s", c.QuirkNote, c.Defect, c.Input, diff)
			default:
				t.Errorf("input %s\n(-want +got)\n%s", c.Input, diff)
			}
		})
	}
	if t.Failed() {
		return
	}
	for note := range given {
		if differ[note] == 0 {
			t.Errorf("deviations.toml: suite %s: no case of %q differs from the reference any more; remove the entry", suite, note)
		}
	}
}

// Load returns the cases of one file below Dir.
func Load(t testing.TB, name string) []Case {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(Dir(t), name))
	if err != nil {
		t.Fatalf("vectors: %v", err)
	}
	var file struct {
		Cases []Case `json:"cases"`
	}
	Decode(t, raw, &file)
	if len(file.Cases) == 0 {
		t.Fatalf("vectors: %s holds no case", name)
	}
	return file.Cases
}

// Decode decodes JSON with numbers kept exact in untyped places.
func Decode(t testing.TB, raw []byte, v any) {
	t.Helper()
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	if err := dec.Decode(v); err != nil {
		t.Fatalf("vectors: decode %.200s: %v", raw, err)
	}
}

// Diff compares expected JSON with a value; "" means equal. Numbers are equal
// when they are the same double.
func Diff(t testing.TB, want json.RawMessage, got any) string {
	t.Helper()
	raw, err := json.Marshal(got)
	if err != nil {
		t.Fatalf("vectors: encode result: %v", err)
	}
	var w, g any
	Decode(t, want, &w)
	Decode(t, raw, &g)
	w, g = plain(t, w), plain(t, g)
	if reflect.DeepEqual(w, g) {
		return ""
	}
	return cmp.Diff(w, g)
}

// plain turns every number of a decoded document into its double.
func plain(t testing.TB, v any) any {
	switch v := v.(type) {
	case json.Number:
		f, err := v.Float64()
		if err != nil {
			t.Fatal(fmt.Errorf("vectors: number %s: %w", v, err))
		}
		return f
	case []any:
		for i := range v {
			v[i] = plain(t, v[i])
		}
	case map[string]any:
		for k := range v {
			v[k] = plain(t, v[k])
		}
	}
	return v
}
