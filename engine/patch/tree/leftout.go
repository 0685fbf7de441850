package tree

import (
	"context"
	"os"
	"slices"
	"strings"
)

// maxLeftOut is how many paths LeftOut returns.
const maxLeftOut = 50

// LeftOut names what of a project is in no workspace, folders with a slash at their
// end, at most 50 paths: in a git work tree what its rules ignore, elsewhere the
// artefact folders at its top. exclude are paths that nobody misses.
func LeftOut(ctx context.Context, root string, exclude []string) ([]string, error) {
	isGit, err := gitRoot(ctx, root)
	if err != nil {
		return nil, err
	}
	var out []string
	if isGit {
		raw, err := mustGit(ctx, root, nil, "ls-files", "-z", "--others", "--ignored", "--exclude-standard", "--directory")
		if err != nil {
			return nil, err
		}
		out = strings.Split(strings.TrimSuffix(string(raw), "\x00"), "\x00")
	} else {
		list, err := os.ReadDir(root)
		if err != nil {
			return nil, err
		}
		for _, e := range list {
			if e.IsDir() && artefacts[e.Name()] {
				out = append(out, e.Name()+"/")
			}
		}
	}
	out = slices.DeleteFunc(out, func(p string) bool {
		bare := strings.TrimSuffix(p, "/")
		return bare == "" || excluded(bare, exclude) || inRepository(bare) || strings.HasSuffix(bare, "__pycache__") || strings.HasSuffix(bare, ".pyc") || strings.HasSuffix(bare, "_cache")
	})
	return out[:min(len(out), maxLeftOut)], nil
}
