package engine_test

import (
	"bufio"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Every promise of testdata/publicbugs.txt has a test that is named after it.
func TestPublicBugsHaveTests(t *testing.T) {
	found := map[string]string{}
	function := regexp.MustCompile(`(?m)^func Test(B[0-9]{2})[A-Z]\w*\(t \*testing\.T\)`)
	script := regexp.MustCompile(`^(b[0-9]{2})_\w+\.txtar$`)
	if err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && path != ".." && strings.HasPrefix(d.Name(), "."):
			return fs.SkipDir
		case strings.HasSuffix(path, "_test.go"):
			raw, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			for _, m := range function.FindAllStringSubmatch(string(raw), -1) {
				found[m[1]] = path
			}
		case script.MatchString(d.Name()):
			found[strings.ToUpper(script.FindStringSubmatch(d.Name())[1])] = path
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open("../testdata/publicbugs.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	promised := map[string]bool{}
	for lines := bufio.NewScanner(f); lines.Scan(); {
		id, promise, _ := strings.Cut(lines.Text(), " ")
		if id == "#" {
			continue
		}
		if promised[id] || promise == "" {
			t.Errorf("%q: every id has one line and says something", lines.Text())
		}
		promised[id] = true
		if found[id] == "" {
			t.Errorf("%s has no test: %s", id, promise)
		}
	}
	if len(promised) != 40 {
		t.Errorf("%d promises, want 40", len(promised))
	}
	for id, path := range found {
		if !promised[id] {
			t.Errorf("%s tests %s, which testdata/publicbugs.txt does not promise", path, id)
		}
	}
}
