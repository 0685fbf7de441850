package acp

import (
	"bufio"
	"bytes"
	"cmp"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"unicode/utf8"
)

// Bounds of the files that an agent reads and writes through us.
const (
	maxFileText = 4 << 20   // bytes of one answer, and of one write
	maxFileRead = 256 << 20 // bytes of a file that are passed over to find a line
	maxLinks    = 8         // symbolic links followed to the file that is written
)

// files are those of the workspace. Every access goes through a handle of its folder,
// so that neither a link nor a folder that is swapped meanwhile leads out of it.
type files struct {
	root *os.Root
	dir  string        // absolute, as the agent was told
	real string        // the same without links
	hide []fs.FileInfo // folders below it that are closed
}

// openFiles opens the workspace. hide are folders that are closed, wherever they lie.
func openFiles(dir string, hide []string) (*files, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	f := &files{root: root, dir: dir, real: dir}
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		f.real = real
	}
	for _, h := range hide {
		if real, err := filepath.EvalSymlinks(h); err == nil {
			if info, err := os.Stat(real); err == nil {
				if _, ok := below(f.real, real); ok {
					f.hide = append(f.hide, info)
				}
			}
		}
	}
	return f, nil
}

func (f *files) close() { f.root.Close() }

// rel is a path of the agent's relative to the workspace, in slashes.
func (f *files) rel(path string) (string, error) {
	if path == "" || strings.ContainsRune(path, 0) {
		return "", errors.New("no path is given")
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(f.dir, path)
	}
	for _, dir := range []string{f.dir, f.real} {
		if rel, ok := below(dir, path); ok {
			return rel, nil
		}
	}
	return "", fmt.Errorf("%s is outside the workspace", oneLine(path, 200))
}

func below(dir, path string) (string, bool) {
	rel, err := filepath.Rel(dir, path)
	return rel, err == nil && filepath.IsLocal(rel)
}

// at opens the folder of a path of the workspace and returns it with the last part of
// the path. Where folders are closed the way is walked by handles, without leaving any.
func (f *files) at(rel string, make bool) (dir *os.Root, base string, err error) {
	parent, base := filepath.Split(filepath.Clean(rel))
	parent = filepath.Clean(parent)
	if len(f.hide) == 0 {
		if make {
			if err := f.root.MkdirAll(parent, 0o755); err != nil {
				return nil, "", plain(err)
			}
		}
		dir, err := f.root.OpenRoot(parent)
		return dir, base, plain(err)
	}
	dir, err = f.root.OpenRoot(".")
	for part := range strings.SplitSeq(parent, string(filepath.Separator)) {
		if err != nil || part == "." {
			break
		}
		next, err := dir.OpenRoot(part)
		if make && errors.Is(err, fs.ErrNotExist) {
			if err = dir.Mkdir(part, 0o755); err == nil {
				next, err = dir.OpenRoot(part)
			}
		}
		dir.Close()
		if err != nil {
			return nil, "", plain(err)
		}
		dir = next
		info, err := dir.Stat(".")
		if err != nil || slices.ContainsFunc(f.hide, func(h fs.FileInfo) bool { return os.SameFile(info, h) }) {
			dir.Close()
			return nil, "", fmt.Errorf("%s is closed to agents", oneLine(rel, 200))
		}
	}
	return dir, base, plain(err)
}

// plain is an error about a file without our own paths in it.
func plain(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return fmt.Errorf("%s: %w", oneLine(p.Path, 200), p.Err)
	}
	var l *os.LinkError
	if errors.As(err, &l) {
		return fmt.Errorf("%s: %w", oneLine(l.New, 200), l.Err)
	}
	return err
}

// read returns the text of a file from a line (from 1; 0 is the first) on, at most
// limit lines (negative: all). What is no text, or too long, is an error.
func (f *files) read(rel string, line, limit int) (string, error) {
	file, err := f.open(rel, maxLinks)
	if err != nil {
		return "", plain(err)
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return "", plain(err)
	}
	if !info.Mode().IsRegular() {
		return "", fmt.Errorf("%s is no regular file", oneLine(rel, 200))
	}
	in := bufio.NewReaderSize(io.LimitReader(file, maxFileRead+1), 64<<10)
	var out []byte
	total := 0
	for at := 1; limit < 0 || at < max(line, 1)+limit; {
		part, err := in.ReadSlice('\n')
		if total += len(part); total > maxFileRead {
			return "", fmt.Errorf("%s is longer than %d MB", oneLine(rel, 200), maxFileRead>>20)
		}
		if at >= line {
			if len(out)+len(part) > maxFileText {
				return "", fmt.Errorf("%s: more than %d MB of text; ask for fewer lines", oneLine(rel, 200), maxFileText>>20)
			}
			out = append(out, part...)
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		at++
		if err == io.EOF {
			break
		}
		if err != nil {
			return "", plain(err)
		}
	}
	if bytes.IndexByte(out, 0) >= 0 || !utf8.Valid(out) {
		return "", fmt.Errorf("%s is no text (UTF-8)", oneLine(rel, 200))
	}
	return string(out), nil
}

// open opens a file for reading. Opening a pipe does not wait for its other end.
func (f *files) open(rel string, links int) (*os.File, error) {
	const flags = os.O_RDONLY | syscall.O_NONBLOCK
	if len(f.hide) == 0 {
		return f.root.OpenFile(rel, flags, 0)
	}
	dir, base, err := f.at(rel, false)
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	file, err := dir.OpenFile(base, flags, 0)
	if err != nil && links == 0 {
		return nil, err
	}
	// What was opened must be what stands there, and no link: that leads where it is
	// looked at again.
	there, lerr := dir.Lstat(base)
	if err == nil && lerr == nil && there.Mode()&fs.ModeSymlink == 0 {
		if info, serr := file.Stat(); serr == nil && os.SameFile(info, there) {
			return file, nil
		}
	}
	if err == nil {
		file.Close()
	}
	switch {
	case lerr != nil:
		return nil, lerr
	case links == 0 || there.Mode()&fs.ModeSymlink == 0:
		return nil, cmp.Or(err, fmt.Errorf("%s changed while it was opened", oneLine(rel, 200)))
	}
	to, err := dir.Readlink(base)
	if err != nil {
		return nil, err
	}
	if !filepath.IsAbs(to) {
		to = filepath.Join(f.dir, filepath.Dir(rel), to)
	}
	if rel, err = f.rel(to); err != nil {
		return nil, err
	}
	return f.open(rel, links-1)
}

// write replaces a file's text in one step; folders are made as needed. A link is
// followed to the file that it means, inside the workspace.
func (f *files) write(rel, text string) error {
	if len(text) > maxFileText {
		return fmt.Errorf("more than %d MB of text", maxFileText>>20)
	}
	for range maxLinks {
		done, next, err := f.replace(rel, text)
		if done || err != nil {
			return err
		}
		rel = next
	}
	return fmt.Errorf("%s: too many links", oneLine(rel, 200))
}

// replace writes one file, or says where the link leads that stands in its place.
func (f *files) replace(rel, text string) (done bool, next string, err error) {
	dir, base, err := f.at(rel, true)
	if err != nil {
		return false, "", err
	}
	defer dir.Close()
	mode := fs.FileMode(0o644)
	switch info, err := dir.Lstat(base); {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return false, "", plain(err)
	case info.Mode()&fs.ModeSymlink != 0:
		to, err := dir.Readlink(base)
		if err != nil {
			return false, "", plain(err)
		}
		if !filepath.IsAbs(to) {
			to = filepath.Join(f.dir, filepath.Dir(rel), to)
		}
		next, err = f.rel(to)
		return false, next, err
	case !info.Mode().IsRegular():
		return false, "", fmt.Errorf("%s is no regular file", oneLine(rel, 200))
	case info.Mode().Perm()&0o200 == 0:
		return false, "", fmt.Errorf("%s is read-only", oneLine(rel, 200))
	default:
		mode = info.Mode().Perm()
	}
	name := ".vise-" + rand.Text()
	out, err := dir.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return false, "", plain(err)
	}
	_, err = io.WriteString(out, text)
	if cerr := out.Chmod(mode); err == nil {
		err = cerr
	}
	if cerr := out.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		err = dir.Rename(name, base)
	}
	if err != nil {
		dir.Remove(name)
		return false, "", plain(err)
	}
	return true, "", nil
}
