package engine_test

import (
	"os/exec"
	"strings"
	"testing"
)

// arrows is the one direction imports may run in: for each package (or folder,
// with a final slash) what of this module it may import. The leaves are pure.
var arrows = []struct {
	from string
	to   []string
}{
	{"engine/event", nil},
	{"engine/pattern", nil},
	{"engine/link", nil},
	{"engine/longtext", nil},
	{"engine/trace", []string{"engine/link"}},
	{"engine/config", leaves},
	{"engine/guard", leaves},
	{"engine/gate", leaves},
	{"engine/notice", leaves},
	{"engine/episode", leaves},
	{"engine/evidence", leaves},
	{"engine/rule/tools", leaves},
	{"engine/rule", leaves},
	{"engine/score", leaves},
	{"engine/process", []string{"engine/guard"}},
	{"engine/internal/vectors", nil},
	{"engine/model/", append([]string{"engine/process", "store", "engine/model/"}, leaves...)},
	{"engine/repair", append([]string{"engine/process", "store", "engine/model/"}, leaves...)},
	{"engine/validate", append([]string{"engine/process", "store"}, leaves...)},
	{"engine/export", append([]string{"store"}, leaves...)},
	{"engine/patch/policy", leaves},
	{"engine/patch/risk", leaves},
	{"engine/patch/run", leaves},
	{"engine/patch/drive", leaves},
	{"engine/patch/tree", append([]string{"engine/process"}, leaves...)},
	{"engine/patch/gitpatch", append([]string{"engine/patch/tree"}, leaves...)},
	{"engine/patch", append([]string{"engine/process", "engine/patch/drive", "engine/patch/tree", "engine/patch/gitpatch", "store"}, leaves...)},
	{"engine/score/local", append([]string{"engine/process", "store"}, leaves...)},
	{"engine/score/calibrate", nil},
	{"engine/score/judge", append([]string{"engine/model/"}, leaves...)},
	{"engine/score/pandaprobe", append([]string{"engine/process"}, leaves...)},
	{"engine/score/verifier", append([]string{"engine/process"}, leaves...)},
	{"store", leaves},
	{"engine", append([]string{"engine/process", "store", "engine/model/", "engine/repair", "engine/validate", "engine/score/local", "engine/score/calibrate", "engine/score/judge", "engine/score/pandaprobe", "engine/score/verifier"}, leaves...)},
	{"replay/", append([]string{"engine/process", "engine/model/", "replay/"}, leaves...)},
	{"themes", nil},
	{"vhs/", []string{"vhs/"}},
	{"tui/cli", []string{"engine/", "store", "replay/", "themes", "tui/"}},
	{"tui/", []string{"engine/", "store", "replay/", "themes", "tui/"}},
	{"", []string{"tui/cli"}},
}

var leaves = []string{"engine/event", "engine/trace", "engine/gate", "engine/notice", "engine/rule", "engine/rule/tools",
	"engine/episode", "engine/evidence", "engine/guard", "engine/link", "engine/longtext", "engine/score", "engine/config", "engine/pattern",
	"engine/patch/policy", "engine/patch/risk", "engine/patch/run"}

// impure are standard packages that a leaf must not reach for: clocks are
// checked by review, these by name.
var impure = []string{"net", "net/http", "os/exec", "database/sql"}

// TestImports walks the import graph and fails on any arrow that is not in the table.
func TestImports(t *testing.T) {
	out, err := exec.Command("go", "list", "-f", `{{.ImportPath}}|{{join .Imports " "}}`, "vise/...").Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	n := 0
	for _, line := range strings.Split(strings.TrimSpace(string(out)), "\n") {
		path, imports, _ := strings.Cut(line, "|")
		from := strings.TrimPrefix(strings.TrimPrefix(path, "vise"), "/")
		n++
		allowed, known := allowedFrom(from)
		if !known {
			t.Errorf("%s is not in the table of arrows", from)
			continue
		}
		for _, to := range strings.Fields(imports) {
			own, mine := strings.CutPrefix(to, "vise/")
			if mine && !matches(allowed, own) {
				t.Errorf("%s imports %s", from, own)
			}
			if isLeaf(from) && matches(impure, to) {
				t.Errorf("the leaf %s imports %s", from, to)
			}
		}
		for _, bad := range []string{"util", "utils", "common", "helpers", "types", "manager"} {
			if strings.HasSuffix("/"+from, "/"+bad) {
				t.Errorf("package name %s says nothing", from)
			}
		}
	}
	if n < 20 {
		t.Fatalf("only %d packages listed: the walk did not see the module", n)
	}
}

func isLeaf(from string) bool { return matches(leaves, from) }

func allowedFrom(from string) ([]string, bool) {
	for _, a := range arrows {
		if matches([]string{a.from}, from) {
			return a.to, true
		}
	}
	return nil, false
}

// matches reports whether a package is named by a pattern; "x/" names x and all below it.
func matches(patterns []string, pkg string) bool {
	for _, p := range patterns {
		if p == pkg || strings.HasSuffix(p, "/") && strings.HasPrefix(pkg+"/", p) {
			return true
		}
	}
	return false
}
