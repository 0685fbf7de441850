package tree

import (
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
	"syscall"

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

// Apply writes a patch to a folder of our own that may be thrown away, such as a
// workspace: removals first, then new folders, files and links. Nothing outside the
// folder is touched, links in it are not followed out of it. Every file is replaced
// at once, and bytes that are not those of the manifest are refused. The error names
// the path; what was done by then stays done (see Reverse).
func Apply(dir string, entries []run.Entry, bytes Source) error {
	return apply(dir, entries, bytes, false)
}

// Write is Apply for a folder of somebody else, who may be working there: each path
// is looked at once more right before it is replaced, one that is not what the patch
// starts from is left alone with an error, and what is written survives a power cut.
func Write(dir string, entries []run.Entry, bytes Source) error {
	return apply(dir, entries, bytes, true)
}

func apply(dir string, entries []run.Entry, bytes Source, careful bool) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return fmt.Errorf("apply the patch: %w", err)
	}
	defer root.Close()
	var results []run.Entry
	folders := map[string]bool{} // true = something is written there
	for _, e := range entries {
		if d := path.Dir(e.Path); e.ResultSHA256 != nil {
			results, folders[d] = append(results, e), true
		} else if !folders[d] {
			folders[d] = false
		}
	}
	gone := map[string]bool{}
	for _, e := range removals(entries) {
		if careful && at(dir, []run.Entry{e}, false, true) != "" {
			return fmt.Errorf("apply the patch: remove %s: %w", e.Path, errChanged)
		}
		if err := root.Remove(e.Path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("apply the patch: remove %s: %w", e.Path, err)
		}
		gone[e.Path] = true
		prune(root, path.Dir(e.Path))
	}
	for _, d := range slices.Sorted(maps.Keys(folders)) {
		if folders[d] && d != "." {
			if err := root.MkdirAll(d, 0o755); err != nil {
				return fmt.Errorf("apply the patch: make the folder %s: %w", d, err)
			}
		}
	}
	// The bytes of all files come first: a full disk is met before anything is replaced.
	err = each(context.Background(), results, func(e run.Entry) error {
		if err := stage(root, e, bytes, careful); err != nil {
			return fmt.Errorf("apply the patch: write %s: %w", e.Path, err)
		}
		return nil
	})
	for i, e := range results {
		if err != nil {
			break
		}
		if err = place(root, dir, e, careful, gone[e.Path]); err != nil {
			err = fmt.Errorf("apply the patch: write %s: %w", e.Path, err)
			results = results[i:]
		}
	}
	if err != nil {
		for _, e := range results {
			_ = root.Remove(staged(e.Path))
			prune(root, path.Dir(e.Path))
		}
		return err
	}
	if careful {
		return syncFolders(root, slices.Collect(maps.Keys(folders)))
	}
	return nil
}

var errChanged = errors.New("it was changed in this moment, and is left as it is")

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

// stage writes the new bytes of a path beside it.
func stage(root *os.Root, e run.Entry, bytes Source, durable bool) error {
	tmp := staged(e.Path)
	_ = root.Remove(tmp) // left by a crash
	if e.ResultLink == nil {
		return write(root, tmp, e, bytes, durable)
	}
	if !inside(e.Path, *e.ResultLink) {
		return errors.New("it is a link that leads out of the project")
	}
	return root.Symlink(*e.ResultLink, tmp)
}

// place puts the staged bytes of a path where they belong. removed tells that the
// path was cleared for them.
func place(root *os.Root, dir string, e run.Entry, careful, removed bool) error {
	if was := e; careful {
		if removed {
			was.BaseSHA256 = nil
		}
		if at(dir, []run.Entry{was}, false, true) != "" {
			return errChanged
		}
	}
	return root.Rename(staged(e.Path), e.Path)
}

// syncFolders makes the names in folders, and the folders above them, survive a
// power cut. Folders that are gone are no error, nor is a file system that cannot.
func syncFolders(root *os.Root, dirs []string) error {
	all := map[string]bool{".": true}
	for _, d := range dirs {
		for ; d != "." && d != "/"; d = path.Dir(d) {
			all[d] = true
		}
	}
	return each(context.Background(), slices.Collect(maps.Keys(all)), func(d string) error {
		f, err := root.Open(d)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err == nil {
			err = f.Sync()
			f.Close()
		}
		if err != nil && !errors.Is(err, errors.ErrUnsupported) && !errors.Is(err, syscall.EINVAL) {
			return fmt.Errorf("apply the patch: write the folder %s: %w", d, err)
		}
		return nil
	})
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
		case !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR): // nothing lies below a file
			return fmt.Errorf("clear up the patch: %w", err)
		}
	}
	return nil
}

func write(root *os.Root, tmp string, e run.Entry, bytes Source, durable bool) error {
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
	err = errors.Join(err, out.Chmod(os.FileMode(*e.ResultMode)))
	if durable && err == nil {
		err = out.Sync()
	}
	return errors.Join(err, out.Close())
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
// "" when all do. Where nothing is to be, a folder is nothing: patches have files and
// links only, and one may have made a folder of a file.
func At(dir string, entries []run.Entry, result bool) string {
	return at(dir, entries, result, false)
}

// at is At; strict also wants no folder where nothing is to be.
func at(dir string, entries []run.Entry, result, strict bool) string {
	for _, e := range entries {
		sum, mode := e.BaseSHA256, e.BaseMode
		if result {
			sum, mode = e.ResultSHA256, e.ResultMode
		}
		info, err := lstat(dir, e.Path)
		switch {
		case err != nil:
			return e.Path
		case sum == nil && (info == nil || info.IsDir() && !strict):
			continue
		case sum == nil || info == nil:
			return e.Path
		}
		f, why, err := look(dir, e.Path)
		switch {
		case err != nil || why != "" || f == nil:
			return e.Path
		case f.SHA256 != *sum || f.Link == "" && f.Mode != *mode:
			return e.Path
		}
	}
	return ""
}

// lstat is what stands at a path, nil for nothing: below a file or a link there is nothing.
func lstat(dir, p string) (fs.FileInfo, error) {
	for i, c := range p {
		if c != '/' {
			continue
		}
		info, err := os.Lstat(filepath.Join(dir, filepath.FromSlash(p[:i])))
		if errors.Is(err, fs.ErrNotExist) || err == nil && !info.IsDir() {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
	}
	info, err := os.Lstat(filepath.Join(dir, filepath.FromSlash(p)))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return info, err
}
