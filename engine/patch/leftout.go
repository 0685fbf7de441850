package patch

import (
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

var (
	missingLine = regexp.MustCompile(`(?im)^.*(?:no module named|cannot find module|module not found|cannot find package|no such file or directory|failed to resolve import|could not resolve).*$`)
	quotedName  = regexp.MustCompile("['\"`]([\\w@./-]+)['\"`]")
)

// missed is which of the paths that are left out of the workspaces the output of a
// failed command lacks; "" for none. root is the project, which has them.
func missed(root string, leftOut []string, output string) string {
	for _, line := range missingLine.FindAllString(output, 200) {
		for _, m := range quotedName.FindAllStringSubmatch(line, 10) {
			for _, left := range leftOut {
				if holds(root, left, m[1]) {
					return left
				}
			}
		}
		for _, left := range leftOut {
			if whole, err := regexp.Compile(`(?:^|[^\w-])` + regexp.QuoteMeta(strings.TrimSuffix(left, "/")) + `(?:[^\w-]|$)`); err == nil && whole.MatchString(line) {
				return left
			}
		}
	}
	return ""
}

// holds reports that a path that is left out is, or has, the module of a name.
func holds(root, left, name string) bool {
	name = strings.Trim(name, "./")
	if name == "" || strings.Contains(name, "..") {
		return false
	}
	bare := strings.TrimSuffix(left, "/")
	base := path.Base(bare)
	head, _, _ := strings.Cut(strings.ReplaceAll(name, ".", "/"), "/")
	if head == base || head == strings.TrimSuffix(base, path.Ext(base)) {
		return true
	}
	for _, dir := range []string{bare, bare + "/lib/python*/site-packages"} {
		for _, end := range []string{"", ".py", ".js", ".ts"} {
			if found, _ := filepath.Glob(filepath.Join(root, filepath.FromSlash(dir), head+end)); len(found) > 0 {
				return true
			}
		}
		if strings.HasPrefix(name, "@") { // a scope of npm is a folder
			if _, err := os.Lstat(filepath.Join(root, dir, filepath.FromSlash(name))); err == nil {
				return true
			}
		}
	}
	return false
}

// maxNotTaken is how many entries that cannot be taken are kept with a run.
const maxNotTaken = 50

// notTaken are the first of the entries that no workspace can have.
func notTaken(skipped map[string]string) map[string]string {
	if len(skipped) == 0 {
		return nil
	}
	out := map[string]string{}
	for _, p := range slices.Sorted(maps.Keys(skipped)) {
		if len(out) == maxNotTaken {
			break
		}
		out[p] = skipped[p]
	}
	return out
}

// named is the first of some entries that an output names in a line of something that
// is missing; "" for none.
func named(entries map[string]string, output string) string {
	lines := missingLine.FindAllString(output, 200)
	for _, p := range slices.Sorted(maps.Keys(entries)) {
		whole, err := regexp.Compile(`(?:^|[^\w-])` + regexp.QuoteMeta(p) + `(?:[^\w-]|$)`)
		if err == nil && slices.ContainsFunc(lines, whole.MatchString) {
			return p
		}
	}
	return ""
}
