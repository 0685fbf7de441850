package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// MaxFile bounds a configuration file, in bytes.
const MaxFile = 64 << 10

// LoadOptions names the layers. Files that are "" are left out; a UserFile that does
// not exist is no error, a ProjectFile that does not exist is one.
type LoadOptions struct {
	UserFile    string
	ProjectFile string
	// Environ holds NAME=value, as os.Environ.
	Environ []string
	// Flags holds key → text, such as "repair.model" → "builtin/heuristic".
	Flags map[string]string
}

// Load reads all layers. On success the configuration is valid as a whole and
// Origins tells where each value came from. Otherwise the error is an *Error that
// lists everything to correct, and there is no configuration.
func Load(o LoadOptions) (*Config, Origins, error) {
	l := &loader{config: Default(), origins: map[string]Setting{}}
	if o.UserFile != "" {
		l.layer++
		l.file(o.UserFile, true)
	}
	if o.ProjectFile != "" {
		l.layer++
		l.file(o.ProjectFile, false)
		if abs, err := filepath.Abs(o.ProjectFile); err == nil {
			l.config.Root = filepath.Dir(abs)
		}
	}
	l.layer++
	l.fromEnvironment(o.Environ)
	l.layer++
	l.fromFlags(o.Flags)

	// Offline scores start at 1.0, so that is the first peak unless somebody chose one.
	startPeak := "default"
	if _, chosen := l.origins["gate.start_peak"]; !chosen && l.config.Evaluate.By != "local" {
		l.config.Gate.StartPeak = nil
	} else if !chosen {
		startPeak = "default with evaluate.by = local"
	}
	cross(l.config, func(key string) Problem { return l.where(key) }, &l.problems)
	if err := l.problems.err(); err != nil {
		return nil, Origins{}, err
	}
	return l.config, l.list(startPeak), nil
}

// loader applies one layer after the other.
type loader struct {
	config   *Config
	origins  map[string]Setting
	problems problems
	layer    int
}

// where is the place that set a key, for problems found after all layers.
func (l *loader) where(key string) Problem {
	o := l.origins[key]
	switch {
	case o.Variable != "":
		return Problem{Variable: o.Variable, layer: l.layer}
	case o.Flag != "":
		return Problem{Flag: o.Flag, layer: l.layer}
	}
	return Problem{File: o.File, Line: o.Line, Column: o.column, layer: l.layer}
}

// set applies one value and remembers its origin, or reports what is wrong with it.
func (l *loader) set(s *setting, v value, at Problem) {
	if l.apply(s.name, at, func(bad fault) { s.kind.set(l.config, v, bad) }) {
		if at.File != "" && v.at.line > 0 {
			at.Line, at.Column = v.at.line, v.at.column
		}
		l.origins[s.name] = Setting{Key: s.name, File: at.File, Line: at.Line, column: at.Column, Variable: at.Variable, Flag: at.Flag}
	}
}

// apply runs a setter and turns its faults into problems at the layer's place.
func (l *loader) apply(key string, at Problem, set func(fault)) bool {
	ok := true
	set(func(p place, format string, args ...any) {
		ok = false
		problem := at
		problem.Key, problem.Message = key, fmt.Sprintf(format, args...)
		if at.File != "" && p.line > 0 {
			problem.Line, problem.Column = p.line, p.column
		}
		l.problems.add(problem)
	})
	return ok
}

// file reads one TOML file.
func (l *loader) file(name string, optional bool) {
	at := Problem{File: name, layer: l.layer}
	doc, err := readFile(name)
	switch {
	case optional && errors.Is(err, fs.ErrNotExist):
		return
	case errors.Is(err, fs.ErrNotExist):
		at.Message = "there is no such file; vise init writes one"
	case err != nil:
		at.Message = err.Error()
	}
	if err != nil {
		l.problems.add(at)
		return
	}
	root, where, err := parseTOML(bytes.TrimPrefix(doc, []byte("\xef\xbb\xbf"))) // editors leave byte order marks
	if err != nil {
		at.Line, at.Column, at.Message = where.line, where.column, err.Error()
		l.problems.add(at)
		return
	}
	for _, section := range root.table {
		l.section(section, at)
	}
}

func readFile(name string) ([]byte, error) {
	st, err := os.Stat(name)
	if err != nil {
		return nil, err
	}
	if !st.Mode().IsRegular() { // opening a pipe would block
		return nil, errors.New("this is not a plain file")
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	doc, err := io.ReadAll(io.LimitReader(f, MaxFile+1))
	if err == nil && len(doc) > MaxFile {
		err = fmt.Errorf("the file is larger than %d KiB", MaxFile>>10)
	}
	return doc, err
}

// section applies the keys of one top-level table.
func (l *loader) section(f field, at Problem) {
	at.Line, at.Column = f.at.line, f.at.column
	switch {
	case !slices.Contains(sections, f.name):
		at.Key, at.Message = bounded(f.name), "there is no such section"+l.meantKey("", f.name)
		l.problems.add(at)
		return
	case f.value.shape != isTable:
		at.Key, at.Message = f.name, fmt.Sprintf("is a section: write [%s] and its keys below", f.name)
		l.problems.add(at)
		return
	case f.name == "providers":
		for _, p := range f.value.table {
			l.providerTable(p, at)
		}
		return
	}
	for _, k := range f.value.table {
		at.Line, at.Column = k.at.line, k.at.column
		if s := byName[f.name+"."+k.name]; s != nil {
			l.set(s, k.value, at)
			continue
		}
		unknown := at
		unknown.Key, unknown.Message = f.name+"."+bounded(k.name), "there is no such key"+l.meantKey(f.name, k.name)
		l.problems.add(unknown)
	}
}

// meantKey suggests a key of the same section, then the same key of another one,
// then the nearest name of all.
func (l *loader) meantKey(section, name string) string {
	if l.problems.full() {
		return "" // nobody will see it
	}
	var here, elsewhere []string
	for _, s := range settings {
		if s.section() == section {
			here = append(here, s.key())
		}
		if s.key() == name {
			elsewhere = append(elsewhere, s.name)
		}
	}
	if section == "" {
		here = sections
	}
	if m := meant(name, here); m != "" {
		return m
	}
	if len(elsewhere) > 0 {
		return ", did you mean " + strings.Join(elsewhere, " or ") + "?"
	}
	return "; there are " + strings.Join(here, ", ")
}

// bounded keeps a name from the file short and printable.
func bounded(name string) string {
	if actionName.MatchString(name) {
		return name
	}
	return quote(name)
}

func (l *loader) fromFlags(flags map[string]string) {
	for _, name := range slices.Sorted(maps.Keys(flags)) {
		at := Problem{Flag: name, layer: l.layer}
		if s := byName[name]; s != nil {
			l.set(s, looseValue(flags[name], false), at)
			continue
		}
		if p, ok := strings.CutPrefix(name, "providers."); ok {
			if provider, field, ok := cutLast(p, "."); ok && slices.Contains(providerVariables, field) {
				l.provider(provider, field, looseValue(flags[name], false), at)
				continue
			}
		}
		section, key, _ := strings.Cut(name, ".")
		at.Message = "there is no such key" + l.meantKey(section, key)
		l.problems.add(at)
	}
}

func cutLast(s, sep string) (before, after string, found bool) {
	if i := strings.LastIndex(s, sep); i >= 0 {
		return s[:i], s[i+len(sep):], true
	}
	return s, "", false
}
