package tui

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/fsnotify/fsnotify"

	"vise/themes"
)

// themesIncident names the incident that a theme file could not be used.
const themesIncident = "themes"

// themesMsg brings the themes as they are on disk now; list is empty when it has not
// changed and only err is to be told.
type themesMsg struct {
	list []*themes.Theme
	err  error
}

// themeRest is how long a theme file must rest before it is read: editors write in
// several steps.
const themeRest = 80 * time.Millisecond

// watchThemes reads the themes again whenever a file in dir is saved, until the context
// ends. The folder may appear later, and those around it: until then the nearest one
// that exists is watched. Where the system cannot watch, themes are read at the start only.
func watchThemes(ctx context.Context, dir string, changed func([]*themes.Theme, error)) {
	if dir == "" {
		return
	}
	w, err := fsnotify.NewWatcher()
	if err != nil {
		return
	}
	defer w.Close()
	if watchNearest(w, dir) != nil {
		return
	}
	rest := time.NewTimer(time.Hour)
	rest.Stop()
	defer rest.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case e, ok := <-w.Events:
			switch {
			case !ok:
				return
			case e.Name == dir || strings.HasPrefix(dir, e.Name+string(filepath.Separator)):
				_ = watchNearest(w, dir) // it has appeared; what is in it is read now
				rest.Reset(themeRest)
			case filepath.Dir(e.Name) == dir && strings.HasSuffix(e.Name, ".toml") && !e.Has(fsnotify.Chmod):
				rest.Reset(themeRest)
			}
		case <-w.Errors: // an overflow: read anew
			rest.Reset(themeRest)
		case <-rest.C:
			changed(themes.All(dir))
		}
	}
}

// watchNearest watches a folder, or the nearest one around it that exists; to be called
// again when one of them appears. One that appears between the look and the watch is
// found by the second look.
func watchNearest(w *fsnotify.Watcher, dir string) (err error) {
	for range 3 {
		at := dir
		for err = w.Add(at); err != nil && at != filepath.Dir(at); err = w.Add(at) {
			at = filepath.Dir(at)
		}
		if err != nil || at == dir || !isFolder(nextTo(at, dir)) {
			break
		}
	}
	return err
}

// nextTo is the first folder on the way from one down to another.
func nextTo(from, to string) string {
	for filepath.Dir(to) != from && filepath.Dir(to) != to {
		to = filepath.Dir(to)
	}
	return to
}

func isFolder(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}
