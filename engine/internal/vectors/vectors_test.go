package vectors_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/pelletier/go-toml/v2"

	"vise/engine/internal/vectors"
)

// TestDeviationsNameKnownSuites: a misspelled suite would silently excuse nothing.
func TestDeviationsNameKnownSuites(t *testing.T) {
	raw, err := os.ReadFile(filepath.Join("..", "..", "..", "testdata", "vectors", "deviations.toml"))
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Deviation []vectors.Deviation `toml:"deviation"`
	}
	if err := toml.NewDecoder(bytes.NewReader(raw)).DisallowUnknownFields().Decode(&file); err != nil {
		t.Fatal(err)
	}
	if len(file.Deviation) == 0 {
		t.Fatal("deviations.toml is empty")
	}
	seen := map[vectors.Deviation]bool{}
	for _, d := range file.Deviation {
		dir := "harness"
		if d.Defect != "" {
			dir = "patchloop"
		}
		if _, err := os.Stat(filepath.Join(vectors.Dir(t), dir, d.Suite+".json")); err != nil {
			t.Errorf("suite %q of a deviation: %v", d.Suite, err)
		}
		key := vectors.Deviation{Suite: d.Suite, Note: d.Note, Defect: d.Defect}
		if seen[key] {
			t.Errorf("listed twice: %s: %s", d.Suite, d.Note+d.Defect)
		}
		seen[key] = true
	}
}

// TestDiffIsExact: numbers are compared as doubles, nothing else is forgiven.
func TestDiffIsExact(t *testing.T) {
	for _, c := range []struct {
		want  string
		got   any
		equal bool
	}{
		{`{"a":1}`, map[string]any{"a": 1.0}, true},
		{`{"a":0.30000000000000004}`, map[string]any{"a": 0.30000000000000004}, true},
		{`{"a":0.3}`, map[string]any{"a": 0.30000000000000004}, false},
		{`{"a":null}`, map[string]any{}, false},
		{`[]`, nil, false},
		{`{"a":[1,2]}`, map[string]any{"a": []int{2, 1}}, false},
	} {
		if diff := vectors.Diff(t, []byte(c.want), c.got); (diff == "") != c.equal {
			t.Errorf("Diff(%s, %v) = %q", c.want, c.got, diff)
		}
	}
}
