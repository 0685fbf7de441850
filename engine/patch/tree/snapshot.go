package tree

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"unicode/utf8"

	"vise/engine/patch/run"
)

// Take snapshots a project into dir (the folder of all snapshots) and returns it.
// exclude are slashed paths that do not belong to it. Equal projects share one
// snapshot. Errors name the file.
func Take(ctx context.Context, root, dir string, exclude []string) (*Tree, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("snapshot %s: %w", root, err)
	}
	pack, err := os.CreateTemp(dir, ".pack-*")
	if err != nil {
		return nil, fmt.Errorf("snapshot %s: %w", root, err)
	}
	defer os.Remove(pack.Name())
	defer pack.Close()
	t, err := hash(ctx, root, exclude, pack)
	if err != nil {
		return nil, fmt.Errorf("snapshot %s: %w", root, err)
	}
	if known, err := Open(dir, t.Digest); err == nil {
		known.Skipped = t.Skipped // they are no part of the digest
		return known, nil
	}
	home := filepath.Join(dir, t.Digest)
	if err := os.MkdirAll(home, 0o700); err != nil {
		return nil, fmt.Errorf("snapshot %s: %w", root, err)
	}
	t.pack = filepath.Join(home, "pack")
	raw, err := json.Marshal(t)
	if err == nil {
		err = errors.Join(pack.Sync(), os.Rename(pack.Name(), t.pack))
	}
	if err == nil { // the manifest comes last: a snapshot without one is none
		err = WriteFile(filepath.Join(home, "manifest.json"), raw)
	}
	if err != nil {
		return nil, fmt.Errorf("snapshot %s: %w", root, err)
	}
	return t, nil
}

// Look hashes a project without keeping its bytes: has it moved since a snapshot?
func Look(ctx context.Context, root string, exclude []string) (*Tree, error) {
	t, err := hash(ctx, root, exclude, nil)
	if err != nil {
		return nil, fmt.Errorf("look at %s: %w", root, err)
	}
	return t, nil
}

// Open returns the snapshot of a digest. errors.Is finds fs.ErrNotExist.
func Open(dir, digest string) (*Tree, error) {
	raw, err := os.ReadFile(filepath.Join(dir, digest, "manifest.json"))
	if err != nil {
		return nil, fmt.Errorf("open snapshot: %w", err)
	}
	t := &Tree{pack: filepath.Join(dir, digest, "pack")}
	if err := json.Unmarshal(raw, t); err != nil {
		return nil, fmt.Errorf("open snapshot %s: %w", digest, err)
	}
	sum, err := t.sum()
	if err != nil || sum != digest || t.Digest != digest {
		return nil, fmt.Errorf("open snapshot %s: its manifest was changed", digest)
	}
	return t, nil
}

// sum is the identity of a snapshot: the content hash of every path with its mode.
func (t *Tree) sum() (string, error) {
	files := make(map[string]File, len(t.Files))
	for p, f := range t.Files {
		f.Offset = 0
		files[p] = f
	}
	return run.Digest(map[string]any{"schema_version": 1, "files": files})
}

// hash reads every file of a project; with a pack it keeps the bytes there.
func hash(ctx context.Context, root string, exclude []string, pack *os.File) (*Tree, error) {
	paths, isGit, err := list(ctx, root, exclude)
	if err != nil {
		return nil, err
	}
	if len(paths) > MaxFiles {
		return nil, fmt.Errorf("there are more than %d files; exclude what does not belong to the project (.gitignore)", MaxFiles)
	}
	t := &Tree{Git: isGit, Files: make(map[string]File, len(paths)), Skipped: map[string]string{}}
	var mu sync.Mutex
	var end atomic.Int64
	err = each(ctx, paths, func(p string) error {
		f, skip, err := read(root, p, pack, &end)
		if err != nil {
			return fmt.Errorf("%s: %w", shown(p), err)
		}
		mu.Lock()
		defer mu.Unlock()
		switch {
		case skip != "":
			t.Skipped[shown(p)] = skip
		case f != nil:
			t.Files[p] = *f
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	t.Digest, err = t.sum()
	return t, err
}

// read hashes one entry. nil and "" mean that it is gone.
func read(root, p string, pack *os.File, end *atomic.Int64) (*File, string, error) {
	name := filepath.Join(root, filepath.FromSlash(p))
	info, err := os.Lstat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, "", nil // tracked by git, deleted on disk
	case err != nil:
		return nil, "", err
	case !utf8.ValidString(p):
		return nil, notUTF8, nil
	case info.Mode()&fs.ModeSymlink != 0:
		target, err := os.Readlink(name)
		switch {
		case err != nil:
			return nil, "", err
		case !utf8.ValidString(target):
			return nil, "a link to a name that is not UTF-8", nil
		case len(target) > maxLink || !inside(p, target):
			return nil, "a link that leads out of the project", nil
		}
		return &File{SHA256: run.Sum([]byte(target)), Size: int64(len(target)), Mode: 0o777, Link: target}, "", nil
	case info.IsDir():
		return nil, "a folder of another repository", nil
	case !info.Mode().IsRegular():
		return nil, "neither a file nor a link", nil
	}
	f, info, err := openFile(name)
	if err != nil {
		return nil, "", err
	}
	defer f.Close()
	size := info.Size()
	if size > MaxFile {
		return nil, "", fmt.Errorf("it has %d bytes, more than %d; exclude it (.gitignore)", size, MaxFile)
	}
	out := File{Size: size, Mode: int(info.Mode().Perm())}
	h := sha256.New()
	w := io.Writer(h)
	if pack != nil {
		out.Offset = end.Add(size) - size
		if out.Offset+size > MaxTotal {
			return nil, "", fmt.Errorf("the project has more than %d bytes", int64(MaxTotal))
		}
		w = io.MultiWriter(h, io.NewOffsetWriter(pack, out.Offset))
	}
	if err := section(w, f, size); err != nil {
		return nil, "", err
	}
	out.SHA256 = hex.EncodeToString(h.Sum(nil))
	return &out, "", nil
}

// WriteFile writes a private file at once: a reader sees all of it or none.
func WriteFile(name string, b []byte) error {
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(name), ".new-*") // mode 0600
	if err != nil {
		return err
	}
	_, err = f.Write(b)
	err = errors.Join(err, f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), name)
	}
	if err != nil {
		os.Remove(f.Name())
	}
	return err
}
