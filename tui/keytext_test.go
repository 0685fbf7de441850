package tui

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"vise/tui/action"
)

// namesKey finds a key by its own letter or name in front of a verb: "x cancels it".
var namesKey = regexp.MustCompile(`(?:^|[\s;:(,])(?:[b-zB-HJ-Z\[\]*#/?~<>]|a (?:accepts|applies|resumes)|A (?:acknowledges|lets)|I (?:imports|brings)|[0-9] shows|ctrl\+[a-z]|enter|esc)(?:,? (?:and|or|in) \S+)? (?:again |then )?[a-z]+`)

// ownKeys are the files of overlays and prompts, whose keys are fixed: they are no actions.
var ownKeys = []string{"beside.go", "breakpoints.go", "forkcard.go", "linear.go", "linearcard.go", "logcard.go", "palette.go", "search.go", "sessionpick.go",
	"spendcard.go", "themepick.go", "walk.go", "auditcard.go", "filterbar.go", "footer.go", "ruleedit.go"}

// harmless are texts that only look as if they named a key.
var harmless = regexp.MustCompile(`^(following, 0 behind|0 s|1 match|enter adds it, esc closes|a turn is a number from 0 on.*)$`)

// A text names keys by their actions, so that it follows what a person binds; what it
// names is an action.
func TestTextsNameNoKey(t *testing.T) {
	named := regexp.MustCompile(`\{([a-z]+\.[a-z0-9_]+|quit|suspend)\}`)
	files, err := filepath.Glob("*.go")
	if err != nil || len(files) < 50 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	placed := 0
	for _, f := range files {
		if strings.HasSuffix(f, "_test.go") {
			continue
		}
		set := token.NewFileSet()
		x, err := parser.ParseFile(set, f, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(x, func(n ast.Node) bool {
			b, ok := n.(*ast.BasicLit)
			if !ok || b.Kind != token.STRING {
				return true
			}
			s, _ := strconv.Unquote(b.Value)
			if !slices.Contains(ownKeys, f) && namesKey.MatchString(s) && !harmless.MatchString(s) {
				t.Errorf("%s names a key: %q; write {the.action} and Context.Text", set.Position(b.Pos()), s)
			}
			for _, m := range named.FindAllStringSubmatch(s, -1) {
				placed++
				if _, ok := action.Default().Action(action.ID(m[1])); !ok {
					t.Errorf("%s: there is no action %s", set.Position(b.Pos()), m[1])
				}
			}
			return true
		})
	}
	if placed < 50 {
		t.Errorf("%d keys are named by their action", placed)
	}
}

// No braces reach the screen, and a key that was bound is the one that is named.
func TestTextsFollowTheKeys(t *testing.T) {
	d := worked(t)
	keys, err := action.Default().Bind(map[string][]string{"run.replay": {"f5"}, "run.validate": {"K"}, "run.validate_rule": {"B"}, "rule.restore": {"f7"}, "help.keys": {"f1"}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	b := newBench(t, d, 160, 50)
	b.app.reg, b.app.ctx.Keys = keys, keys
	for _, id := range paneOrder {
		b.run(b.app.goTo(id))
		b.app.panes[id].Apply(b.app.ctx, Change{Reload: true, Style: true})
		screen := strings.Join(b.frame(), "\n")
		if m := regexp.MustCompile(`\{[a-z]+\.[a-z_]+\}`).FindString(screen); m != "" {
			t.Errorf("%s shows %s", id, m)
		}
		if !strings.Contains(screen, "f1 help") {
			t.Errorf("%s: the head does not name the key of help", id)
		}
	}
	b.run(b.app.goTo(PaneRules))
	b.step("g", "X")
	if got := b.app.toast.text; !strings.Contains(got, "f7 restores it") {
		t.Errorf("after a retirement: %q", got)
	}
	if got := b.app.disabled(action.ValidateOne); !strings.Contains(got, "f7 in 6 Rules") {
		t.Errorf("a retired rule: %q", got)
	}
}
