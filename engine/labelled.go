package engine

import (
	"fmt"
	"path"
	"path/filepath"
	"strconv"
	"strings"

	"vise/engine/score/calibrate"
	"vise/engine/trace"
)

// ownLabels are the outcomes that recordings carry themselves.
func ownLabels(heads []trace.Session) (out []calibrate.Label) {
	for _, h := range heads {
		if h.Label != "" {
			out = append(out, calibrate.Label{Session: h.ID, Label: h.Label})
		}
	}
	return out
}

// finder finds the sessions that labels speak of.
type finder struct {
	byBase map[string][]trace.Session // by the last part of their file's path
	byID   map[string]trace.Session
}

func newFinder(heads []trace.Session) finder {
	f := finder{map[string][]trace.Session{}, map[string]trace.Session{}}
	for _, h := range heads {
		base := filepath.Base(h.File)
		f.byBase[base] = append(f.byBase[base], h)
		f.byID[h.ID] = h
	}
	return f
}

// find returns the session of a label, or why there is none. A label names a
// session by its id here, by its own id in the recording, by its 0-based place in
// it, or by several of these with "|" between them.
func (f finder) find(l calibrate.Label) (head trace.Session, why string) {
	if l.File == "" {
		if h, ok := f.byID[l.Session]; ok {
			return h, ""
		}
		return head, "no such session is imported"
	}
	var in []trace.Session
	file := filepath.ToSlash(l.File)
	for _, h := range f.byBase[path.Base(file)] {
		if p := filepath.ToSlash(h.File); p == file || strings.HasSuffix(p, "/"+strings.TrimPrefix(file, "./")) {
			in = append(in, h)
		}
	}
	if len(in) == 0 {
		return head, "its file is not imported"
	}
	best, ties := 0, 0
	for _, h := range in {
		hits := 0
		for part := range strings.SplitSeq(l.Session, "|") {
			if part != "" && (part == h.ID || part == attr(h, "id") || part == attr(h, "index")) {
				hits++
			}
		}
		switch {
		case hits > best:
			head, best, ties = h, hits, 1
		case hits == best && hits > 0:
			ties++
		}
	}
	switch {
	case ties == 1:
		return head, ""
	case ties > 1:
		return head, "more than one session of the file fits"
	case len(in) == 1:
		return in[0], "" // a file that holds one session needs no name for it
	}
	return head, "its file holds no such session"
}

func attr(h trace.Session, name string) string { return value(h.Attrs[name]) }

// value is an attribute as text, "" for what is neither a text nor a number.
func value(v any) string {
	switch v := v.(type) {
	case nil, bool, []any, map[string]any:
		return ""
	case float64: // 12 and not 1.2e+01
		return strconv.FormatFloat(v, 'f', -1, 64)
	default:
		return fmt.Sprint(v)
	}
}
