package format

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"vise/replay/format/claudecode"
	"vise/replay/format/openhands"
)

// maxFiles bounds how many files of a folder are read.
const maxFiles = 100_000

// Walk returns the files that a path stands for: itself, or all files below a
// folder, sorted. Left out are hidden files and folders, links, and what belongs
// to another file: the logs of sub-agents beside the session that launched them
// and the events of a stored conversation, which are read with it, and the notes
// about them.
func Walk(path string) ([]string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("recorded sessions: %w", err)
	}
	if !info.IsDir() {
		return []string{path}, nil
	}
	var files []string
	err = filepath.WalkDir(path, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			if d != nil && d.IsDir() && p != path && errors.Is(err, fs.ErrPermission) {
				return fs.SkipDir
			}
			return err
		}
		hidden := p != path && strings.HasPrefix(d.Name(), ".")
		switch {
		case d.IsDir() && hidden:
			return fs.SkipDir
		case d.IsDir() && d.Name() == "subagents" && launched(p):
			return fs.SkipDir
		case d.IsDir() && d.Name() == "events" && stored(p):
			return fs.SkipDir
		case !d.Type().IsRegular() || hidden || strings.HasSuffix(d.Name(), ".meta.json"):
			return nil
		case len(files) == maxFiles:
			return fmt.Errorf("more than %d files; import the folders below one by one", maxFiles)
		}
		files = append(files, p)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("recorded sessions in %s: %w", path, err)
	}
	slices.Sort(files)
	return files, nil
}

// Parts returns the folder whose files are read with a recording, "" if it has none.
func Parts(path string) string {
	if dir := openhands.Events(path); dir != "" {
		return dir
	}
	return claudecode.Subagents(path)
}

// stored reports whether a folder of events has the description of its session
// beside it, with which it is read.
func stored(dir string) bool {
	for _, name := range []string{"base_state.json", "metadata.json"} {
		path := filepath.Join(filepath.Dir(dir), name)
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() && openhands.Events(path) == dir {
			return true
		}
	}
	return false
}

// launched reports whether a folder of sub-agents has its session beside it.
func launched(dir string) bool {
	log := filepath.Dir(dir) + ".jsonl"
	if claudecode.Subagents(log) != dir {
		return false
	}
	info, err := os.Stat(log)
	return err == nil && info.Mode().IsRegular()
}
