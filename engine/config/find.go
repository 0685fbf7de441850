package config

import (
	"os"
	"path/filepath"
)

// FileName is the name of a project's configuration file.
const FileName = "vise.toml"

// Find returns the nearest vise.toml in the folder or above it.
func Find(dir string) (path string, ok bool) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", false
	}
	for {
		file := filepath.Join(dir, FileName)
		if st, err := os.Stat(file); err == nil && st.Mode().IsRegular() {
			return file, true
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return "", false
		}
		dir = parent
	}
}

// UserFile returns the place of the user's file: vise/vise.toml below
// $XDG_CONFIG_HOME, or below ~/.config without it. "" when neither is set.
func UserFile(environ []string) string {
	vars := variables(environ)
	// The specification of the variable says that a relative path is to be ignored.
	if dir := vars["XDG_CONFIG_HOME"]; filepath.IsAbs(dir) {
		return filepath.Join(dir, "vise", FileName)
	}
	if home := vars["HOME"]; home != "" {
		return filepath.Join(home, ".config", "vise", FileName)
	}
	return ""
}
