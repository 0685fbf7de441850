package engine

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"vise/engine/event"
	"vise/engine/rule"
	"vise/store"
)

// Files of the rendered rules, below their folder.
const (
	rulesFile   = "rules.md"
	rulesFolder = "rules"
	// renderedFile holds what the project's folder was rendered from and to, see rendered.
	renderedFile = "rules/.rendered"
)

// RenderRules writes rules.md and rules/SCOPE.md into a folder, each atomically. The
// files are artifacts for people and diffs; the store is the truth. It removes nothing,
// writes through no symbolic link, and fails when a file of such a name is there that is
// no document of rules.
func (h *Harness) RenderRules(dir string) ([]string, error) {
	docs, err := h.documents()
	if err != nil {
		return nil, fmt.Errorf("render rules: %w", err)
	}
	root, err := openArtifacts(dir)
	if err != nil {
		return nil, fmt.Errorf("render rules: %w", err)
	}
	defer root.Close()
	for name := range docs {
		if err := refuseForeign(root, name); err != nil {
			return nil, fmt.Errorf("render rules: %w", err)
		}
	}
	var files []string
	for name, text := range docs {
		if err := writeAtomically(root, name, []byte(text)); err != nil {
			return nil, fmt.Errorf("render rules: %w", err)
		}
		files = append(files, filepath.Join(dir, name))
	}
	slices.Sort(files)
	return files, nil
}

// documents are the texts of all documents by their names below the folder.
func (h *Harness) documents() (map[string]string, error) {
	docs := map[string]string{}
	err := h.store.ReadRules(func(r rule.Reader) error {
		index, err := rule.Index(r)
		if err != nil {
			return err
		}
		docs[rulesFile] = rule.RootMarkdown(index)
		for _, e := range index {
			doc, err := rule.Document(r, e.Scope, rule.DocOptions{TrialMin: h.cfg.Validate.TrialMinSessions})
			if err != nil {
				return err
			}
			doc.Links = true
			docs[filepath.Join(rulesFolder, e.Scope+".md")] = doc.Markdown()
		}
		return nil
	})
	return docs, err
}

// openArtifacts opens the folder so that no name in it can lead out of it.
func openArtifacts(dir string) (*os.Root, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	err = root.Mkdir(rulesFolder, 0o755)
	if errors.Is(err, fs.ErrExist) {
		var info fs.FileInfo
		if info, err = root.Lstat(rulesFolder); err == nil && !info.IsDir() {
			err = fmt.Errorf("%s is no folder, or a symbolic link: move it away", filepath.Join(dir, rulesFolder))
		}
	}
	if err != nil {
		return nil, errors.Join(err, root.Close())
	}
	return root, nil
}

// refuseForeign fails when a file is there that does not begin as a document of rules does.
func refuseForeign(root *os.Root, name string) error {
	info, err := root.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if info.Mode().IsRegular() {
		f, err := root.Open(name)
		if err != nil {
			return err
		}
		defer f.Close()
		head := make([]byte, len(rule.DocumentHeading))
		if n, _ := f.Read(head); n == 0 || string(head[:n]) == rule.DocumentHeading {
			return nil
		}
	}
	return fmt.Errorf("%s is there and is no document of rules: move it away, or choose another folder", filepath.Join(root.Name(), name))
}

// ruleChanges are the events that tell of a change of the live rules.
var ruleChanges = []event.Type{event.RuleAdd, event.RulePromote, event.RuleRetire, event.RuleRestore}

// rendered is what the project's folder holds: the sequence of the last change that was
// rendered, and the names of all files that we wrote. Only these are ever removed: a
// person may keep notes beside them.
type rendered struct {
	seq   string
	names []string
}

func readRendered(root *os.Root) rendered {
	raw, err := root.ReadFile(renderedFile)
	if err != nil {
		return rendered{} // all is rendered anew
	}
	seq, names, _ := strings.Cut(string(raw), "\n")
	r := rendered{seq: seq}
	for name := range strings.Lines(names) {
		// The file could name anything: only documents of scopes are ours.
		name = strings.TrimSuffix(name, "\n")
		if filepath.Dir(name) == rulesFolder && strings.HasSuffix(name, ".md") {
			r.names = append(r.names, name)
		}
	}
	return r
}

func (r rendered) write(root *os.Root) error {
	return writeAtomically(root, renderedFile, []byte(r.seq+"\n"+strings.Join(r.names, "\n")+"\n"))
}

// renderChanged renders the rules into the project's folder when they have changed since
// they were last rendered, and removes documents that it wrote for scopes which have no
// live rule any more.
func (h *Harness) renderChanged(dir string) error {
	var seq uint64
	if err := h.store.View(func(tx *store.Tx) error {
		last, err := tx.LastEvents(1, ruleChanges...)
		if len(last) > 0 {
			seq = last[0].Seq
		}
		return err
	}); err != nil || seq == 0 {
		return err
	}
	root, err := openArtifacts(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	now, was := strconv.FormatUint(seq, 10), readRendered(root)
	if was.seq == now {
		return nil
	}
	// Changes that come while it renders leave the mark behind them: they are
	// rendered again, never left out.
	docs, err := h.documents()
	if err != nil {
		return err
	}
	is := rendered{seq: now}
	for name := range docs {
		if name != rulesFile {
			is.names = append(is.names, name)
		}
	}
	slices.Sort(is.names)
	// The names go first: a file that is written before its name is lost to a kill.
	both := slices.Concat(was.names, is.names)
	slices.Sort(both)
	if err := (rendered{seq: was.seq, names: slices.Compact(both)}).write(root); err != nil {
		return err
	}
	for name, text := range docs {
		if err := writeAtomically(root, name, []byte(text)); err != nil {
			return err
		}
	}
	for _, name := range was.names {
		if _, live := docs[name]; live {
			continue
		}
		if err := root.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return is.write(root)
}

// writeAtomically replaces a file: a reader sees the old text or the new, never half of
// one. A symbolic link in its place is replaced, not followed.
func writeAtomically(root *os.Root, name string, text []byte) error {
	tmp := filepath.Join(filepath.Dir(name), "."+filepath.Base(name)+"-"+rand.Text())
	f, err := root.OpenFile(tmp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	err = errors.Join(err, f.Chmod(0o644), f.Close())
	if err == nil {
		err = root.Rename(tmp, name)
	}
	if err != nil {
		_ = root.Remove(tmp)
	}
	return err
}
