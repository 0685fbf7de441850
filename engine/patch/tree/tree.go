// Package tree takes content-hashed snapshots of a project, makes workspaces from
// them, captures what changed in a workspace as a patch, and writes a patch to a
// folder.
//
// The bytes of a snapshot lie one after the other in one file, the pack: reading
// 20,000 small files and writing one is far cheaper than copying them, and a
// workspace is then written from it by several workers. Workspaces are real
// copies, never hard links: an agent that writes in place must not reach the base.
package tree

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	"golang.org/x/sync/errgroup"
)

// Bounds of a snapshot.
const (
	MaxFiles = 200_000
	MaxTotal = 4 << 30   // bytes of all files
	MaxFile  = 256 << 20 // bytes of one file
	maxLink  = 4096      // bytes of the target of a link
)

// File is one entry of a snapshot: a regular file, or a symbolic link when Link is set.
type File struct {
	SHA256 string `json:"sha256"` // of the content, or of the target of a link
	Size   int64  `json:"size"`
	Mode   int    `json:"mode"` // permission bits; 0777 for a link
	Link   string `json:"link,omitempty"`
	Offset int64  `json:"offset,omitempty"` // in the pack
}

// same reports equal content, kind and mode.
func (f File) same(o File) bool {
	return f.SHA256 == o.SHA256 && f.Mode == o.Mode && (f.Link == "") == (o.Link == "")
}

// Tree is a snapshot: files by slashed path.
type Tree struct {
	Digest string          `json:"digest"`
	Git    bool            `json:"git"` // the folder is a git work tree: its own ignore rules hold
	Files  map[string]File `json:"files"`
	// Skipped are entries that cannot be part of a project here, with the reason:
	// sockets, devices, submodules, links that lead out of the project, names that are
	// not UTF-8: JSON cannot hold those, and two of them would be one.
	Skipped map[string]string `json:"skipped,omitempty"`

	pack string // file of the bytes; "" when only hashed
}

// workers is how many files are read or written at a time.
func workers() int { return max(4, 2*runtime.GOMAXPROCS(0)) }

// each runs fn for every item on a few workers and returns the first error.
func each[T any](ctx context.Context, items []T, fn func(T) error) error {
	g, ctx := errgroup.WithContext(ctx)
	var mu sync.Mutex
	next := 0
	for range min(workers(), len(items)) {
		g.Go(func() error {
			for {
				mu.Lock()
				i := next
				next++
				mu.Unlock()
				if i >= len(items) {
					return nil
				}
				if err := ctx.Err(); err != nil {
					return context.Cause(ctx)
				}
				if err := fn(items[i]); err != nil {
					return err
				}
			}
		})
	}
	return g.Wait()
}

// notUTF8 is why an entry is no part of a project or a patch.
const notUTF8 = "its name is not UTF-8"

// shown is a path for a record or a message: bytes that are no UTF-8 as \xNN.
func shown(p string) string {
	if utf8.ValidString(p) {
		return p
	}
	return strings.Trim(strconv.Quote(p), `"`)
}

// inside reports whether the target of a link at path stays in the project.
func inside(path, target string) bool {
	return !filepath.IsAbs(target) && filepath.IsLocal(filepath.Join(filepath.Dir(filepath.FromSlash(path)), target))
}

// openFile opens a regular file without following a link at its end.
func openFile(name string) (*os.File, fs.FileInfo, error) {
	f, err := os.OpenFile(name, os.O_RDONLY|noFollow, 0)
	if err != nil {
		return nil, nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = errors.New("it is no regular file any more")
	}
	if err != nil {
		f.Close()
		return nil, nil, err
	}
	return f, info, nil
}

// section copies exactly n bytes, so that a file that grows or shrinks under us is an error.
func section(w io.Writer, r io.Reader, n int64) error {
	got, err := io.Copy(w, io.LimitReader(r, n+1))
	if err == nil && got != n {
		err = fmt.Errorf("it changed while it was read (%d bytes, then %d)", n, got)
	}
	return err
}
