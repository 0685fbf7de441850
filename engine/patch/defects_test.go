package patch_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// defects is the number of defects that are known of AgentDiff 0.4.0, D1 and on.
const defects = 37

// kept are those that are none here, with the reason.
var kept = map[int]string{
	8: "--max-attempts counts proofs here too, so that 2 is the original proof and one repair; its help, the README and the outcome say proofs",
}

// Every defect has a test that is named after it, TestD07..., in the package that it
// is about, or a reason why it has none; none has both.
func TestEveryDefectHasATest(t *testing.T) {
	name := regexp.MustCompile(`(?m)^func TestD(\d\d)[A-Z]`)
	found := map[int]bool{}
	for _, dir := range []string{".", "drive", "gitpatch", "policy", "risk", "run", "tree", "../../tui/cli"} {
		files, err := filepath.Glob(filepath.Join(dir, "*_test.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range name.FindAllStringSubmatch(string(text), -1) {
				n, _ := strconv.Atoi(m[1])
				if found[n] = true; n < 1 || n > defects {
					t.Errorf("%s: there is no defect D%d", file, n)
				}
			}
		}
	}
	var lack []string
	for n := 1; n <= defects; n++ {
		why := kept[n]
		switch {
		case found[n] && why != "":
			t.Errorf("D%d has a test and a reason why it has none", n)
		case !found[n] && why == "":
			lack = append(lack, "D"+strconv.Itoa(n))
		}
	}
	if len(lack) > 0 {
		t.Errorf("no test is named after %s", strings.Join(lack, " "))
	}
}
