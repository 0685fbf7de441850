package driver

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Policy answers an agent's requests for permission.
type Policy string

// The three policies.
const (
	Workspace Policy = "workspace" // what touches named files inside the workspace only
	Deny      Policy = "deny"
	Allow     Policy = "allow"
)

// Permit decides a request that names paths, for an agent whose workspace is
// dir. The reason is for the trace. A request that names no path cannot be
// shown to stay inside and is denied under Workspace. Symbolic links are
// resolved first, also when the file itself does not exist yet.
func Permit(p Policy, dir string, paths []string) (ok bool, reason string) {
	switch p {
	case Allow:
		return true, "policy allow"
	case Deny:
		return false, "policy deny"
	case Workspace, "":
	default:
		return false, fmt.Sprintf("unknown policy %q", p)
	}
	if len(paths) == 0 {
		return false, "no path named"
	}
	root, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return false, "workspace cannot be resolved"
	}
	for _, path := range paths {
		if !filepath.IsAbs(path) {
			path = filepath.Join(dir, path)
		}
		real, err := resolve(path)
		if err != nil {
			return false, fmt.Sprintf("%s cannot be resolved", path)
		}
		if !inside(root, real) {
			return false, fmt.Sprintf("%s is outside the workspace", path)
		}
	}
	return true, "inside the workspace"
}

// resolve follows links in the part of the path that exists. The part that
// does not exist is appended as it is; a dangling link is an error, since
// writing through it would create its target.
func resolve(path string) (string, error) {
	path = filepath.Clean(path)
	rest := ""
	for p := path; ; {
		real, err := filepath.EvalSymlinks(p)
		if err == nil {
			return filepath.Join(real, rest), nil
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return "", err
		}
		if _, lerr := os.Lstat(p); lerr == nil {
			return "", fmt.Errorf("dangling link %s", p)
		}
		up := filepath.Dir(p)
		if up == p {
			return "", err
		}
		rest = filepath.Join(filepath.Base(p), rest)
		p = up
	}
}

func inside(root, path string) bool {
	rel, err := filepath.Rel(root, path)
	return err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator))
}
