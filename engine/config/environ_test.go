package config

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// Every variable that vise itself sets or reads is known to its configuration: an agent
// that vise has started, and a shell that has read serve.env, may start vise.
func TestOwnVariablesAreKnown(t *testing.T) {
	literal := regexp.MustCompile(`"(VISE_[A-Z][A-Z_]*[A-Z])["=]`)
	known := slices.Clone(Reserved)
	for _, s := range settings {
		known = append(known, s.variable())
	}
	found := 0
	root := filepath.Join("..", "..")
	if err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		source, err := os.ReadFile(path)
		for _, m := range literal.FindAllStringSubmatch(string(source), -1) {
			if found++; !slices.Contains(known, m[1]) {
				t.Errorf("%s: %s is neither a setting nor reserved", path, m[1])
			}
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	if found < 10 {
		t.Errorf("%d variables found: the walk reads nothing", found)
	}
}
