package tree

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"vise/engine/patch/run"
)

// Source gives the bytes of an entry's result.
type Source func(e run.Entry) (io.ReadCloser, error)

// Objects reads results that Capture kept.
func Objects(dir string) Source {
	return func(e run.Entry) (io.ReadCloser, error) {
		f, _, err := openFile(filepath.Join(dir, *e.ResultSHA256))
		return f, err
	}
}

// Apply writes a patch to a folder: removals first, then new folders, files and
// links. Nothing outside the folder is touched, links in it are not followed out
// of it. Every file is replaced at once, and bytes that are not those of the
// manifest are refused. The error names the path; what was done by then stays
// done (see Revert).
func Apply(dir string, entries []run.Entry, bytes Source) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return fmt.Errorf("apply the patch: %w", err)
	}
	defer root.Close()
	for _, e := range removals(entries) {
		if err := root.Remove(e.Path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("apply the patch: remove %s: %w", e.Path, err)
		}
		prune(root, path.Dir(e.Path))
	}
	for _, e := range entries {
		if e.ResultSHA256 == nil {
			continue
		}
		if err := put(root, e, bytes); err != nil {
			return fmt.Errorf("apply the patch: write %s: %w", e.Path, err)
		}
	}
	return nil
}

// removals are what must go before anything is written: deleted paths, and links
// and files that change their kind; the deepest first.
func removals(entries []run.Entry) []run.Entry {
	var out []run.Entry
	for _, e := range entries {
		if e.ResultSHA256 == nil || e.BaseSHA256 != nil && (e.BaseLink != nil) != (e.ResultLink != nil) {
			out = append(out, e)
		}
	}
	slices.SortFunc(out, func(a, b run.Entry) int { return strings.Compare(b.Path, a.Path) })
	return out
}

// prune removes folders that have become empty.
func prune(root *os.Root, dir string) {
	for ; dir != "." && dir != "/"; dir = path.Dir(dir) {
		if root.Remove(dir) != nil {
			return
		}
	}
}

func put(root *os.Root, e run.Entry, bytes Source) error {
	if d := path.Dir(e.Path); d != "." {
		if err := root.MkdirAll(d, 0o755); err != nil {
			return err
		}
	}
	tmp := staged(e.Path)
	_ = root.Remove(tmp) // left by a crash
	var err error
	if e.ResultLink != nil {
		if !inside(e.Path, *e.ResultLink) {
			return errors.New("it is a link that leads out of the project")
		}
		err = root.Symlink(*e.ResultLink, tmp)
	} else {
		err = write(root, tmp, e, bytes)
	}
	if err == nil {
		err = root.Rename(tmp, e.Path)
	}
	if err != nil {
		root.Remove(tmp)
	}
	return err
}

// staged is where the new bytes of a path lie until they take its place.
func staged(p string) string {
	return path.Join(path.Dir(p), ".vise-new-"+run.Sum([]byte(p))[:12])
}

// Clean removes what an Apply that was cut off left beside the entries' paths:
// bytes that had not taken their place yet, and the folders made for them.
func Clean(dir string, entries []run.Entry) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return fmt.Errorf("clear up the patch: %w", err)
	}
	defer root.Close()
	for _, e := range entries {
		switch err := root.Remove(staged(e.Path)); {
		case err == nil:
			prune(root, path.Dir(e.Path))
		case !errors.Is(err, fs.ErrNotExist):
			return fmt.Errorf("clear up the patch: %w", err)
		}
	}
	return nil
}

func write(root *os.Root, tmp string, e run.Entry, bytes Source) error {
	in, err := bytes(e)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := root.OpenFile(tmp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	h := sha256.New()
	err = section(io.MultiWriter(out, h), in, *e.Size)
	if err == nil && hex.EncodeToString(h.Sum(nil)) != *e.ResultSHA256 {
		err = errors.New("its bytes are not those of the patch")
	}
	return errors.Join(err, out.Chmod(os.FileMode(*e.ResultMode)), out.Sync(), out.Close())
}

// Reverse turns a patch around: what it created is removed, what it removed comes back.
func Reverse(base *Tree, entries []run.Entry) []run.Entry {
	out := make([]run.Entry, 0, len(entries))
	for _, e := range entries {
		r := run.Entry{Path: e.Path, Materialized: true, BaseSHA256: e.ResultSHA256, BaseMode: e.ResultMode, BaseLink: e.ResultLink,
			ResultSHA256: e.BaseSHA256, ResultMode: e.BaseMode, ResultLink: e.BaseLink}
		switch e.ChangeType {
		case run.Created:
			r.ChangeType = run.Deleted
		case run.Deleted:
			r.ChangeType = run.Created
		default:
			r.ChangeType = run.Modified
		}
		if f, ok := base.Files[e.Path]; ok {
			r.Size = &f.Size
		}
		out = append(out, r)
	}
	return out
}

// Originals reads the bytes that a base has at the entries' paths.
func (t *Tree) Originals(e run.Entry) (io.ReadCloser, error) {
	f, ok := t.Files[e.Path]
	if !ok {
		return nil, errors.New("the base has no such file")
	}
	pack, err := os.Open(t.pack)
	if err != nil {
		return nil, err
	}
	return struct {
		io.Reader
		io.Closer
	}{io.NewSectionReader(pack, f.Offset, f.Size), pack}, nil
}

// Moved returns the paths in which two snapshots differ, at most n of them, sorted.
func Moved(a, b *Tree, n int) []string {
	var out []string
	for p, f := range a.Files {
		if g, ok := b.Files[p]; !ok || !f.same(g) {
			out = append(out, p)
		}
	}
	for p := range b.Files {
		if _, ok := a.Files[p]; !ok {
			out = append(out, p)
		}
	}
	slices.Sort(out)
	return out[:min(n, len(out))]
}

// At reports whether a folder holds, at the entries' paths, what a patch starts
// from (want = base) or ends with (want = result): the first path that does not,
// "" when all do.
func At(dir string, entries []run.Entry, result bool) string {
	for _, e := range entries {
		sum, mode := e.BaseSHA256, e.BaseMode
		if result {
			sum, mode = e.ResultSHA256, e.ResultMode
		}
		f, why, err := look(dir, e.Path)
		switch {
		case err != nil || why != "":
			return e.Path
		case (f == nil) != (sum == nil):
			return e.Path
		case f != nil && (f.SHA256 != *sum || f.Link == "" && f.Mode != *mode):
			return e.Path
		}
	}
	return ""
}
