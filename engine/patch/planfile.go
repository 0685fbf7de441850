package patch

import (
	"encoding/json"
	"maps"
	"path"
	"path/filepath"
	"strings"

	"vise/engine/patch/risk"
	"vise/engine/patch/run"
	"vise/engine/patch/tree"
)

// planFile reports a file that says what the commands of a detected plan do: what
// `make test` or `npm test` runs is written in the project itself. A lockfile, or a
// manifest beside fixed commands such as `go test`, is none.
func planFile(source, p string) bool {
	switch base := strings.ToLower(path.Base(p)); source {
	case "make":
		top, _, _ := strings.Cut(strings.ToLower(p), "/") // also what lies in a folder in its place
		return strings.HasSuffix(base, ".mk") || top == "makefile" || top == "gnumakefile"
	case "node":
		return p == "package.json" || p == ".npmrc" // which may name another shell for the scripts
	}
	return false
}

// keepPlan puts the base's commands back into a workspace that holds base and patch: a
// patch must not choose its own examiner. Of package.json only the scripts are put
// back, since the patch may add what it depends on. objects has the bytes of the
// patch. It returns the paths from which the base's commands were kept.
func keepPlan(ws, source string, base *tree.Tree, entries []run.Entry, objects string) ([]string, error) {
	var kept []string
	var whole []run.Entry
	for _, e := range entries {
		if !planFile(source, e.Path) {
			continue
		}
		if e.Path == "package.json" {
			text, same, readable := keepScripts(base, e, objects)
			if same {
				continue
			}
			if readable {
				if err := tree.WriteFile(filepath.Join(ws, e.Path), text); err != nil {
					return nil, err
				}
				kept = append(kept, e.Path)
				continue
			}
		}
		whole, kept = append(whole, e), append(kept, e.Path)
	}
	return kept, tree.Apply(ws, tree.Reverse(base, whole), base.Originals)
}

// keepScripts is the patch's package.json with the base's scripts; same tells that
// they are the same. What cannot be read, on either side, is not mixed.
func keepScripts(base *tree.Tree, e run.Entry, objects string) (text []byte, same, readable bool) {
	if e.ResultSHA256 == nil || e.ResultLink != nil || e.BaseSHA256 == nil || e.BaseLink != nil {
		return nil, false, false
	}
	was, is, ok := texts(base, e, objects, 1<<20)
	var before, now map[string]json.RawMessage
	if !ok || json.Unmarshal([]byte(was), &before) != nil || json.Unmarshal([]byte(is), &now) != nil || now == nil {
		return nil, false, false
	}
	if sameScripts(before["scripts"], now["scripts"]) {
		return nil, true, true
	}
	delete(now, "scripts")
	if s := before["scripts"]; s != nil {
		now["scripts"] = s
	}
	text, err := json.MarshalIndent(now, "", "  ")
	return append(text, '\n'), false, err == nil
}

// sameScripts reports that two scripts objects name the same commands.
func sameScripts(a, b json.RawMessage) bool {
	read := func(raw json.RawMessage) (map[string]any, bool) {
		out := map[string]any{}
		return out, raw == nil || json.Unmarshal(raw, &out) == nil
	}
	x, okX := read(a)
	y, okY := read(b)
	return okX && okY && maps.EqualFunc(x, y, func(p, q any) bool {
		s, is := p.(string)
		t, too := q.(string)
		return is && too && s == t
	})
}

// dependencies is the first path of a patch that says what the project depends on; ""
// for none.
func dependencies(entries []run.Entry) string {
	for _, e := range entries {
		if kind, is := risk.Protected(e.Path); is && kind == risk.Dependencies {
			return e.Path
		}
	}
	return ""
}
