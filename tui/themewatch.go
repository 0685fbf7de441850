package tui

import (
	"context"
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
// ends. The folder may appear later, if the one around it exists. Where the system
// cannot watch, themes are read at the start only.
func watchThemes(ctx context.Context, dir string, changed func([]*themes.Theme, error)) {
	if dir == "" {
		return
	}
	w, err := fsnotify.NewWatcher()
	if err != nil {
		return
	}
	defer w.Close()
	if w.Add(dir) != nil && w.Add(filepath.Dir(dir)) != nil {
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
			case e.Name == dir:
				_ = w.Add(dir) // it has appeared; what is in it is read now
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
