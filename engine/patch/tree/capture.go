package tree

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"unicode/utf8"

	"vise/engine/patch/run"
)

// Captured is what changed in a workspace against its base.
type Captured struct {
	Entries []run.Entry // without decisions
	// Unseen are entries that cannot be part of a patch, with the reason.
	Unseen map[string]string
	// Ignored counts new files that the base's ignore rules, or ours, leave out.
	Ignored int
}

// syncedOneByOne is how many new files are made to survive a power cut one by one;
// the rest of a larger patch together: 9,000 of them took 18 s.
const syncedOneByOne = 64

// maxChanged bounds a patch; a longer one is an error.
const maxChanged = 20_000

// Capture compares a workspace with its base by content and keeps the new bytes in
// objects, by digest. What is ignored is decided by the base's own ignore files:
// an agent that edits them hides nothing.
func Capture(ctx context.Context, base *Tree, dir, objects string) (*Captured, error) {
	fail := func(err error) (*Captured, error) { return nil, fmt.Errorf("capture the patch: %w", err) }
	paths, err := walk(ctx, dir, nil, func(p string) bool {
		return artefacts[path.Base(p)] && !base.holds(p)
	})
	if err != nil {
		return fail(err)
	}
	ignored, err := base.ignores(ctx, dir, paths)
	if err != nil {
		return fail(err)
	}
	c := &Captured{Unseen: map[string]string{}}
	var mu sync.Mutex
	var kept atomic.Int64
	seen := make(map[string]File, len(paths))
	err = each(ctx, paths, func(p string) error {
		if ignored[p] {
			mu.Lock()
			c.Ignored++
			mu.Unlock()
			return nil
		}
		f, why, err := look(dir, p)
		if err == nil && why == "" && f != nil && f.Link == "" {
			if old, ok := base.Files[p]; !ok || !old.same(*f) {
				err = keep(filepath.Join(dir, filepath.FromSlash(p)), objects, *f, kept.Add(1) <= syncedOneByOne)
			}
		}
		if err != nil {
			why = err.Error()
		}
		mu.Lock()
		defer mu.Unlock()
		if why != "" {
			c.Unseen[shown(p)] = why
		} else if f != nil {
			seen[p] = *f
		}
		return nil
	})
	if err != nil {
		return fail(err)
	}
	if kept.Load() > syncedOneByOne {
		if err := syncAll(objects); err != nil {
			return fail(fmt.Errorf("write the new files: %w", err))
		}
	}
	c.compare(base, seen)
	if len(c.Entries) > maxChanged {
		n := len(c.Entries)
		return &Captured{Unseen: map[string]string{"the patch as a whole": fmt.Sprintf("it changes %d files, more than %d; let the agent make less, or leave out what tools make (.gitignore)", n, maxChanged)}}, nil
	}
	for i := range c.Entries {
		e := &c.Entries[i]
		if e.ResultSHA256 != nil && e.ResultLink == nil && (e.BaseSHA256 == nil || *e.BaseSHA256 != *e.ResultSHA256) {
			e.Binary = binary(filepath.Join(objects, *e.ResultSHA256))
		}
	}
	return c, nil
}

// holds reports whether the base has something at or below a path.
func (t *Tree) holds(p string) bool {
	if _, ok := t.Files[p]; ok {
		return true
	}
	for q := range t.Files {
		if strings.HasPrefix(q, p+"/") {
			return true
		}
	}
	return false
}

// look hashes one entry of a workspace; why says that it cannot be captured.
func look(dir, p string) (f *File, why string, err error) {
	name := filepath.Join(dir, filepath.FromSlash(p))
	info, err := os.Lstat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, "", nil
	case err != nil:
		return nil, "", err
	case !utf8.ValidString(p):
		return nil, notUTF8, nil
	case info.Mode()&fs.ModeSymlink != 0:
		target, err := os.Readlink(name)
		if err != nil {
			return nil, "", err
		}
		if !utf8.ValidString(target) {
			return nil, "a link to a name that is not UTF-8", nil
		}
		if len(target) > maxLink || !inside(p, target) {
			return nil, "a link that leads out of the project", nil
		}
		return &File{SHA256: run.Sum([]byte(target)), Size: int64(len(target)), Mode: 0o777, Link: target}, "", nil
	case !info.Mode().IsRegular():
		return nil, "neither a file nor a link", nil
	case info.Size() > MaxFile:
		return nil, fmt.Sprintf("it has more than %d bytes", MaxFile), nil
	}
	r, info, err := openFile(name)
	if err != nil {
		return nil, "", err
	}
	defer r.Close()
	h := sha256.New()
	if err := section(h, r, info.Size()); err != nil {
		return nil, "", err
	}
	return &File{SHA256: hex.EncodeToString(h.Sum(nil)), Size: info.Size(), Mode: int(info.Mode().Perm())}, "", nil
}

// keep copies a file to the objects and makes sure that it is what was hashed.
func keep(name, objects string, f File, durable bool) error {
	to := filepath.Join(objects, f.SHA256)
	if _, err := os.Lstat(to); err == nil {
		return nil
	}
	if err := os.MkdirAll(objects, 0o700); err != nil {
		return err
	}
	in, _, err := openFile(name)
	if err != nil {
		return err
	}
	defer in.Close()
	tmp, err := os.CreateTemp(objects, ".new-*")
	if err != nil {
		return err
	}
	defer os.Remove(tmp.Name())
	h := sha256.New()
	err = section(io.MultiWriter(tmp, h), in, f.Size)
	if err == nil && durable {
		err = tmp.Sync()
	}
	err = errors.Join(err, tmp.Close())
	if err == nil && hex.EncodeToString(h.Sum(nil)) != f.SHA256 {
		err = errors.New("it changed while it was captured")
	}
	if err != nil {
		return err
	}
	return os.Rename(tmp.Name(), to)
}

// compare makes the entries, sorted by path, and finds renames: a created path
// with the bytes of a deleted one.
func (c *Captured) compare(base *Tree, seen map[string]File) {
	gone := map[string][]string{}
	for _, p := range slices.Sorted(maps.Keys(base.Files)) {
		if _, ok := seen[p]; !ok && c.Unseen[p] == "" {
			c.Entries = append(c.Entries, entry(p, run.Deleted, ptr(base.Files[p]), nil))
			gone[base.Files[p].SHA256] = append(gone[base.Files[p].SHA256], p)
		}
	}
	for _, p := range slices.Sorted(maps.Keys(seen)) {
		now := seen[p]
		was, ok := base.Files[p]
		switch {
		case !ok:
			e := entry(p, run.Created, nil, &now)
			if from := gone[now.SHA256]; len(from) > 0 && now.Size > 0 {
				e.RenamedFrom, gone[now.SHA256] = from[0], from[1:]
			}
			c.Entries = append(c.Entries, e)
		case !was.same(now):
			c.Entries = append(c.Entries, entry(p, run.Modified, &was, &now))
		}
	}
	slices.SortFunc(c.Entries, func(a, b run.Entry) int { return strings.Compare(a.Path, b.Path) })
}

func ptr[T any](v T) *T { return &v }

func entry(p, kind string, was, now *File) run.Entry {
	e := run.Entry{Path: p, ChangeType: kind, Materialized: true}
	if was != nil {
		e.BaseSHA256, e.BaseMode = &was.SHA256, &was.Mode
		if was.Link != "" {
			e.BaseLink = &was.Link
		}
	}
	if now != nil {
		e.ResultSHA256, e.ResultMode, e.Size = &now.SHA256, &now.Mode, &now.Size
		if now.Link != "" {
			e.ResultLink = &now.Link
		}
	}
	return e
}

// binary reports content with a NUL in its first bytes, as git does.
func binary(name string) bool {
	f, err := os.Open(name)
	if err != nil {
		return false
	}
	defer f.Close()
	head := make([]byte, 8000)
	n, _ := io.ReadFull(f, head)
	return bytes.IndexByte(head[:n], 0) >= 0
}

// ignores returns which new paths are no part of a patch. In a git work tree its
// ignore files as they were in the base decide, read by git in a scratch folder.
func (t *Tree) ignores(ctx context.Context, dir string, paths []string) (map[string]bool, error) {
	out := map[string]bool{}
	var ask []string
	for _, p := range paths {
		if _, ok := t.Files[p]; ok {
			continue
		}
		if artefact(p) {
			out[p] = true
		} else {
			ask = append(ask, p)
		}
	}
	if !t.Git || len(ask) == 0 {
		return out, nil
	}
	scratch, err := os.MkdirTemp(filepath.Dir(dir), "ignore-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(scratch)
	if _, err := mustGit(ctx, scratch, nil, "init", "-q", "--template="); err != nil {
		return nil, fmt.Errorf("read the ignore files: %w", err)
	}
	for p := range t.Files {
		if path.Base(p) != ".gitignore" || t.Files[p].Link != "" {
			continue
		}
		b, err := t.Content(p, 1<<20)
		if err != nil {
			return nil, err
		}
		if err := WriteFile(filepath.Join(scratch, filepath.FromSlash(p)), b); err != nil {
			return nil, err
		}
	}
	hit, _, err := git(ctx, scratch, []byte(strings.Join(ask, "\x00")+"\x00"), "check-ignore", "-z", "--stdin", "--no-index")
	if err != nil {
		return nil, fmt.Errorf("read the ignore files: %w", err)
	}
	for p := range strings.SplitSeq(string(hit), "\x00") {
		if p != "" {
			out[p] = true
		}
	}
	return out, nil
}
