// Package follow watches recordings that are being written: it tells which files
// of some folders are new or changed, again and again, until its context ends.
//
// A changed file is read again from its beginning. That is what makes every way of
// writing safe: appending, cutting off, rotating, rewriting in place, a last record
// that comes in two pieces. Reading is idempotent and bounded: at most a tenth of
// the time is spent on any one file, since it is left alone for nine times the time
// that its last reading took. The file system's notices only wake the
// watcher up; what changed is decided by looking, so that a lost notice costs a
// delay and nothing else.
package follow

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/fsnotify/fsnotify"

	"vise/replay/format"
)

// Options of a watcher; zero values are the defaults.
type Options struct {
	// Poll is the time between two looks when the system gives no notices (2 s);
	// with notices it is five times that.
	Poll time.Duration
	// Quiet is how long a file must be left alone before it is read (200 ms).
	Quiet time.Duration
	// Note tells a person what went wrong without ending the watching.
	Note func(string)
}

// Bounds of a watcher.
const (
	maxDirs = 4096 // folders with notices; files of others are polled
	share   = 9    // a file is left alone for this many times the time that reading it took
)

// Reader reads files in their order and calls done after each: what it took is the
// time since the last call, so that the time before the first file belongs to none
// when done("") is called then. It returns the files that it wants to be asked about
// again; an error of it ends the watching.
type Reader func(files []string, done func(file string)) (again []string, err error)

// Run calls read with the files that are there, and then with those that are new or
// have changed, until ctx ends; its cause is returned.
func Run(ctx context.Context, paths []string, o Options, read Reader) error {
	if o.Poll <= 0 {
		o.Poll = 2 * time.Second
	}
	if o.Quiet <= 0 {
		o.Quiet = 200 * time.Millisecond
	}
	return run(ctx, paths, o, read, true)
}

func run(ctx context.Context, paths []string, o Options, read Reader, notices bool) error {
	w := &watcher{o: o, paths: paths, files: map[string]*file{}, noted: map[string]bool{}, watched: map[string]bool{}, gone: map[string]bool{}}
	if notices {
		w.listen()
	}
	defer w.close()
	for {
		now := time.Now()
		changed, next := w.look(now)
		if len(changed) > 0 {
			last := time.Now()
			again, err := read(changed, func(name string) {
				now := time.Now()
				w.took(name, now, now.Sub(last))
				last = now
			})
			if err != nil {
				return err
			}
			w.again(again)
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			if len(again) == 0 {
				continue // something may have changed meanwhile
			}
			if soon := time.Now().Add(w.o.Poll); next.IsZero() || soon.Before(next) {
				next = soon
			}
		}
		if err := w.wait(ctx, next); err != nil {
			return err
		}
	}
}

type watcher struct {
	o       Options
	paths   []string
	files   map[string]*file
	noted   map[string]bool // complaints made
	notices *fsnotify.Watcher
	watched map[string]bool
	touched map[string]bool // named by a notice since the last look
	gone    map[string]bool // paths that are not there at present
}

// file is what is known about one file.
type file struct {
	seen  print // as it was when it was read last
	asked bool  // it has been read
	next  time.Time
}

// print tells one state of a file from another.
type print struct {
	size, modified int64
	parts          string // of what belongs to it
}

// look lists the files that are to be read now, and when the next one may be.
func (w *watcher) look(now time.Time) (changed []string, next time.Time) {
	touched := w.touched
	w.touched = map[string]bool{}
	here := map[string]bool{}
	for _, path := range w.paths {
		w.watch(path)
		list, err := format.Walk(path)
		if errors.Is(err, fs.ErrNotExist) {
			w.missing(path)
			continue
		}
		if err != nil {
			w.note(err.Error())
			continue
		}
		delete(w.gone, path)
		for _, name := range list {
			here[name] = true
			p, err := fingerprint(name)
			if err != nil {
				continue // gone again
			}
			f := w.files[name]
			if f == nil {
				f = &file{}
				w.files[name] = f
			}
			if f.asked && f.seen == p && !touched[name] {
				continue
			}
			if now.Before(f.next) {
				if touched[name] {
					w.touched[name] = true // not forgotten
				}
				if next.IsZero() || f.next.Before(next) {
					next = f.next
				}
				continue
			}
			f.seen, f.asked = p, true
			changed = append(changed, name)
		}
	}
	for name := range w.files {
		if !here[name] {
			delete(w.files, name)
		}
	}
	return changed, next
}

// missing waits for a path that has gone: a folder of logs that is rotated comes back.
func (w *watcher) missing(path string) {
	if !w.gone[path] {
		w.gone[path] = true
		if w.o.Note != nil {
			w.o.Note(path + " is gone; it is read again when it is back")
		}
	}
	w.forget(path)
	// The nearest folder that is there tells of its coming back.
	for dir := filepath.Dir(path); w.notices != nil; dir = filepath.Dir(dir) {
		if _, err := os.Stat(dir); err == nil {
			_ = w.add(dir)
			return
		}
		if dir == filepath.Dir(dir) {
			return
		}
	}
}

// forget gives up the notices about a folder and those below it: what has been moved away
// tells under its old name.
func (w *watcher) forget(path string) {
	for dir := range w.watched {
		if dir == path || strings.HasPrefix(dir, path+string(filepath.Separator)) {
			delete(w.watched, dir)
			if w.notices != nil {
				_ = w.notices.Remove(dir) // it may have none any more
			}
		}
	}
}

// took lets a file rest for what its reading took.
func (w *watcher) took(name string, now time.Time, took time.Duration) {
	if f := w.files[name]; f != nil {
		f.next = now.Add(share * took)
	}
}

// again marks the files that want to be read again.
func (w *watcher) again(files []string) {
	for _, name := range files {
		if f := w.files[name]; f != nil {
			f.asked = false
		}
	}
}

// fingerprint of a file and of what belongs to it.
func fingerprint(name string) (print, error) {
	info, err := os.Stat(name)
	if err != nil {
		return print{}, err
	}
	p := print{size: info.Size(), modified: info.ModTime().UnixNano()}
	if dir := format.Parts(name); dir != "" {
		entries, err := os.ReadDir(dir)
		if err != nil {
			return p, nil
		}
		var size, modified int64
		for _, e := range entries {
			if info, err := e.Info(); err == nil {
				size += info.Size()
				modified = max(modified, info.ModTime().UnixNano())
			}
		}
		p.parts = fmt.Sprintf("%d %d %d", len(entries), size, modified)
	}
	return p, nil
}

// listen asks the system for notices; without them the watcher polls.
func (w *watcher) listen() {
	n, err := fsnotify.NewWatcher()
	if err != nil {
		w.note(fmt.Sprintf("no notices from the file system (%v): looking every %s instead", err, w.o.Poll))
		return
	}
	w.notices = n
}

func (w *watcher) close() {
	if w.notices != nil {
		_ = w.notices.Close() // nothing is lost
	}
}

// watch asks for notices about a path and the folders below it.
func (w *watcher) watch(path string) {
	if w.notices == nil {
		return
	}
	info, err := os.Stat(path)
	if err != nil {
		return
	}
	if !info.IsDir() {
		w.add(filepath.Dir(path)) // a file that is replaced gets a new inode; its folder stays
		return
	}
	_ = filepath.WalkDir(path, func(p string, d fs.DirEntry, err error) error { // what cannot be read is polled, or told by Walk
		if err != nil || !d.IsDir() {
			return nil
		}
		if p != path && strings.HasPrefix(d.Name(), ".") {
			return fs.SkipDir
		}
		return w.add(p)
	})
}

var errFull = errors.New("no more notices")

func (w *watcher) add(dir string) error {
	if w.watched[dir] {
		return nil
	}
	if len(w.watched) >= maxDirs {
		w.note(fmt.Sprintf("more than %d folders: changes in the others are seen every %s", maxDirs, 5*w.o.Poll))
		return errFull
	}
	if err := w.notices.Add(dir); err != nil {
		w.note(fmt.Sprintf("no notices about %s (%v): it is looked at every %s", dir, err, 5*w.o.Poll))
		return errFull
	}
	w.watched[dir] = true
	return nil
}

// note tells something once.
func (w *watcher) note(text string) {
	if w.o.Note != nil && !w.noted[text] && len(w.noted) < 1000 {
		w.noted[text] = true
		w.o.Note(text)
	}
}

// wait returns when there is reason to look again.
func (w *watcher) wait(ctx context.Context, next time.Time) error {
	poll := w.o.Poll
	var events chan fsnotify.Event
	var faults chan error
	if w.notices != nil {
		poll *= 5
		events, faults = w.notices.Events, w.notices.Errors
	}
	until := time.Now().Add(poll)
	if !next.IsZero() && next.Before(until) {
		until = next
	}
	timer := time.NewTimer(time.Until(until))
	defer timer.Stop()
	woken := time.Time{}
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-timer.C:
			return nil
		case e, ok := <-events:
			if !ok {
				w.notices = nil
				return nil
			}
			if e.Op == fsnotify.Chmod {
				continue
			}
			if e.Has(fsnotify.Remove) || e.Has(fsnotify.Rename) {
				w.forget(e.Name)
			}
			if len(w.touched) < 100_000 {
				w.touched[e.Name] = true
			}
			// Writers write in bursts: wait until it is quiet, but not for ever.
			if woken.IsZero() {
				woken = time.Now()
			}
			quiet := min(w.o.Quiet, max(0, time.Until(woken.Add(10*w.o.Quiet))))
			timer.Reset(quiet)
		case err, ok := <-faults:
			if !ok {
				w.notices = nil
				return nil
			}
			if !errors.Is(err, fsnotify.ErrEventOverflow) {
				w.note("notices of the file system: " + err.Error())
			}
			return nil
		}
	}
}
