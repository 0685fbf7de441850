package tree

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"vise/engine/process"
)

// artefacts are folders that tools make beside the sources. New files in them are
// no part of a patch; in a plain folder they are no part of the project either.
var artefacts = map[string]bool{
	"node_modules": true, ".venv": true, "venv": true, "__pycache__": true, ".mypy_cache": true, ".pytest_cache": true, ".ruff_cache": true,
	".tox": true, ".nox": true, ".gradle": true, ".parcel-cache": true, ".hypothesis": true, ".eggs": true, ".DS_Store": true,
}

// repositories are folders of version control: never part of a project or a patch.
var repositories = map[string]bool{".git": true, ".hg": true, ".svn": true, ".jj": true}

// artefact reports a path that lies in such a folder, or is one.
func artefact(path string) bool {
	for part := range strings.SplitSeq(path, "/") {
		if artefacts[part] || repositories[part] || strings.HasSuffix(part, ".egg-info") {
			return true
		}
	}
	return strings.HasSuffix(path, ".pyc")
}

// gitTime bounds every call of git.
const gitTime = 60 * time.Second

// git runs git in dir with the environment and returns its output.
func git(ctx context.Context, dir string, stdin []byte, args ...string) ([]byte, process.Exit, error) {
	ctx, stop := context.WithTimeout(ctx, gitTime)
	defer stop()
	var out bytes.Buffer
	// A repository's own configuration must not run programs for us.
	argv := append([]string{"git", "-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", "-c", "safe.directory=*", "-C", dir}, args...)
	p, err := process.Start(ctx, process.Spec{Command: argv, Dir: dir, Stdin: bytes.NewReader(stdin), Stdout: &out,
		Env: []string{"PATH=" + os.Getenv("PATH"), "HOME=" + os.Getenv("HOME"), "GIT_CONFIG_NOSYSTEM=1", "GIT_OPTIONAL_LOCKS=0", "LC_ALL=C"}})
	if err != nil {
		return nil, process.Exit{}, err
	}
	<-p.Done()
	exit, err := p.Wait(ctx)
	if err == nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	if err == nil && !exit.OK() && exit.Code != 1 {
		err = fmt.Errorf("git %s: %s: %s", args[0], exit, strings.TrimSpace(p.Tail()))
	}
	return out.Bytes(), exit, err
}

// mustGit is git for commands that have to end with code 0.
func mustGit(ctx context.Context, dir string, stdin []byte, args ...string) ([]byte, error) {
	out, exit, err := git(ctx, dir, stdin, args...)
	if err == nil && !exit.OK() {
		err = fmt.Errorf("git %s: %s", args[0], exit)
	}
	return out, err
}

// list returns the slashed paths of a project: what git tracks or would track in
// a git work tree, every file outside artefact folders otherwise.
func list(ctx context.Context, root string, exclude []string) (paths []string, isGit bool, err error) {
	if isGit, err = gitRoot(ctx, root); err != nil {
		return nil, false, err
	}
	if isGit {
		// Never the plain walk instead: it would take what the ignore files keep out.
		out, err := mustGit(ctx, root, nil, "ls-files", "-z", "--cached", "--others", "--exclude-standard")
		if err != nil {
			return nil, false, err
		}
		for p := range strings.SplitSeq(strings.TrimSuffix(string(out), "\x00"), "\x00") {
			if p = strings.TrimSuffix(p, "/"); p != "" && !excluded(p, exclude) && !inRepository(p) {
				paths = append(paths, p)
			}
		}
		slices.Sort(paths)
		return slices.Compact(paths), true, nil
	}
	paths, err = walk(ctx, root, exclude, func(p string) bool { return artefacts[filepath.Base(p)] })
	return paths, false, err
}

// gitRoot reports whether root is the top of a git work tree or lies in one that
// tracks it. An error tells that git cannot say so, where something is that looks
// like its repository.
func gitRoot(ctx context.Context, root string) (bool, error) {
	for dir := root; ; dir = filepath.Dir(dir) {
		if _, err := os.Lstat(filepath.Join(dir, ".git")); err == nil {
			_, exit, err := git(ctx, root, nil, "check-ignore", "-q", ".")
			switch {
			case err == nil:
				return exit.Code == 1, nil // the folder itself is not ignored
			case ctx.Err() != nil:
				return false, context.Cause(ctx)
			case strings.Contains(err.Error(), "not a git repository"):
				return false, nil
			}
			return false, fmt.Errorf("%s is a git repository, and which files it leaves out must be known: %w", dir, err)
		}
		if dir == filepath.Dir(dir) {
			return false, nil
		}
	}
}

func inRepository(p string) bool {
	for part := range strings.SplitSeq(p, "/") {
		if repositories[part] {
			return true
		}
	}
	return false
}

func excluded(p string, exclude []string) bool {
	for _, e := range exclude {
		if p == e || strings.HasPrefix(p, e+"/") {
			return true
		}
	}
	return false
}

// walk lists every entry that is no folder, without repositories, excluded paths
// and the folders that skip names.
func walk(ctx context.Context, root string, exclude []string, skip func(string) bool) ([]string, error) {
	var paths []string
	err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			if errors.Is(err, fs.ErrNotExist) {
				return nil // it went away meanwhile
			}
			return err
		}
		if name == root {
			return nil
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		rel, err := filepath.Rel(root, name)
		if err != nil {
			return err
		}
		p := filepath.ToSlash(rel)
		if repositories[d.Name()] || excluded(p, exclude) || skip != nil && skip(p) {
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		if !d.IsDir() {
			if paths = append(paths, p); len(paths) > MaxFiles {
				return fmt.Errorf("there are more than %d files below %s", MaxFiles, root)
			}
		}
		return nil
	})
	slices.Sort(paths)
	return paths, err
}
