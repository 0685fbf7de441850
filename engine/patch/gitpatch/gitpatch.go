// Package gitpatch writes a patch in the format of git: what `git apply` takes on
// the base makes the tree of the run of it. Renames, modes, links, empty files,
// bytes that are no text and names of any bytes are written as git itself writes
// them (git's documents diff-generate-patch and gitformat; its base85 is that of
// apply.c).
package gitpatch

import (
	"bytes"
	"fmt"
	"io"
	"iter"
	"path"
	"strings"

	"github.com/aymanbagabas/go-udiff"

	"vise/engine/patch/run"
	"vise/engine/patch/tree"
)

// maxText is the longest file that is written line by line, in bytes; a longer one
// is written as git writes bytes that are no text.
const maxText = 512 << 10

// Sources give the bytes of an entry before and after.
type Sources struct{ Before, After tree.Source }

// zeros is the id of nothing.
var zeros = strings.Repeat("0", 40)

// Part is one file of a patch.
type Part struct {
	// Head are the lines up to the content: names, modes, a rename.
	Head string
	// Text is the content as hunks of lines; "" when there are none.
	Text string
	// Binary tells that the content is no text, or too long for lines (see WriteBinary).
	Binary bool
	entry  run.Entry
}

// Parts goes over the files of a patch in their order, one in memory at a time; the
// first error is the last part. prefix is the folder of the project in the git work
// tree, slashed, "" for its top: git reads names from the top of a work tree
// wherever it is called.
func Parts(entries []run.Entry, s Sources, prefix string) iter.Seq2[Part, error] {
	return func(yield func(Part, error) bool) {
		renamed := moves(entries)
		for _, e := range entries {
			if renamed[e.Path] {
				continue
			}
			list, err := split(e, entries, s, prefix)
			if err != nil {
				yield(Part{}, fmt.Errorf("write the patch of %s: %w", e.Path, err))
				return
			}
			for _, p := range list {
				if !yield(p, nil) {
					return
				}
			}
		}
	}
}

// moves are the removed paths that git tells as the first half of a rename.
func moves(entries []run.Entry) map[string]bool {
	renamed := map[string]bool{}
	for _, e := range entries {
		if from, ok := renames(e, entries); ok {
			renamed[from.Path] = true
		}
	}
	return renamed
}

// Lost are paths of which git cannot tell all: it keeps one permission bit of nine.
func Lost(entries []run.Entry) []string {
	var lost []string
	renamed := moves(entries)
	for _, e := range entries {
		if !renamed[e.Path] && differs(e) {
			lost = append(lost, e.Path)
		}
	}
	return lost
}

// differs reports permission bits that git does not keep.
func differs(e run.Entry) bool {
	plain := func(mode *int, link *string) bool {
		return mode == nil || link != nil || *mode == 0o644 || *mode == 0o755
	}
	return !plain(e.ResultMode, e.ResultLink) && (e.BaseMode == nil || *e.BaseMode != *e.ResultMode)
}

// renames returns the removed entry that e is the new place of. Git tells no
// rename that changes the kind, nor one into or out of its own path.
func renames(e run.Entry, entries []run.Entry) (run.Entry, bool) {
	if e.RenamedFrom == "" {
		return run.Entry{}, false
	}
	for _, from := range entries {
		if from.Path == e.RenamedFrom && from.ChangeType == run.Deleted {
			nested := strings.HasPrefix(from.Path+"/", e.Path+"/") || strings.HasPrefix(e.Path+"/", from.Path+"/")
			return from, !nested && (from.BaseLink == nil) == (e.ResultLink == nil)
		}
	}
	return run.Entry{}, false
}

// mode is what git keeps of a mode.
func mode(bits *int, link *string) string {
	switch {
	case link != nil:
		return "120000"
	case bits != nil && *bits&0o100 != 0:
		return "100755"
	}
	return "100644"
}

// split makes the parts of one entry: two for a path that becomes of another kind.
func split(e run.Entry, entries []run.Entry, s Sources, prefix string) ([]Part, error) {
	at := quoted("a/", path.Join(prefix, e.Path))
	to := quoted("b/", path.Join(prefix, e.Path))
	if from, ok := renames(e, entries); ok {
		old := path.Join(prefix, from.Path)
		head := "diff --git " + quoted("a/", old) + " " + to + "\n"
		if a, b := mode(from.BaseMode, from.BaseLink), mode(e.ResultMode, e.ResultLink); a != b {
			head += "old mode " + a + "\nnew mode " + b + "\n"
		}
		head += "similarity index 100%\nrename from " + quoted("", old) + "\nrename to " + quoted("", path.Join(prefix, e.Path)) + "\n"
		return []Part{{Head: head, entry: e}}, nil
	}
	if e.BaseSHA256 != nil && e.ResultSHA256 != nil && (e.BaseLink == nil) != (e.ResultLink == nil) {
		gone, made := e, e
		gone.ResultSHA256, gone.ResultMode, gone.ResultLink = nil, nil, nil
		made.BaseSHA256, made.BaseMode, made.BaseLink = nil, nil, nil
		a, err := split(gone, nil, s, prefix)
		if err != nil {
			return nil, err
		}
		b, err := split(made, nil, s, prefix)
		return append(a, b...), err
	}
	p := Part{Head: "diff --git " + at + " " + to + "\n", entry: e}
	was, now := mode(e.BaseMode, e.BaseLink), mode(e.ResultMode, e.ResultLink)
	index := ""
	switch {
	case e.BaseSHA256 == nil:
		p.Head += "new file mode " + now + "\n"
	case e.ResultSHA256 == nil:
		p.Head += "deleted file mode " + was + "\n"
	case was != now:
		p.Head += "old mode " + was + "\nnew mode " + now + "\n"
	default:
		index = " " + now
	}
	if e.BaseSHA256 != nil && e.ResultSHA256 != nil && *e.BaseSHA256 == *e.ResultSHA256 {
		if was == now {
			return nil, nil // bits that git does not keep
		}
		return []Part{p}, nil
	}
	before, a, err := content(e, s.Before, e.BaseSHA256 != nil, e.BaseLink)
	if err != nil {
		return nil, err
	}
	after, b, err := content(e, s.After, e.ResultSHA256 != nil, e.ResultLink)
	if err != nil {
		return nil, err
	}
	p.Head += "index " + a.id + ".." + b.id + index + "\n"
	if a.text && b.text {
		from, to := name(at), name(to)
		if e.BaseSHA256 == nil {
			from = "/dev/null"
		}
		if e.ResultSHA256 == nil {
			to = "/dev/null"
		}
		p.Text = udiff.Unified(from, to, before, after)
	} else {
		p.Binary = true
	}
	return []Part{p}, nil
}

// name is a name of a --- or +++ line: a tab ends one with a space in it, so that
// what follows is no time.
func name(quoted string) string {
	if quoted[0] != '"' && strings.Contains(quoted, " ") {
		return quoted + "\t"
	}
	return quoted
}

// side is what is known of a content: its id, and whether it is text.
type side struct {
	id   string
	text bool
}

func content(e run.Entry, open tree.Source, exists bool, link *string) (string, side, error) {
	switch {
	case !exists:
		return "", side{zeros, true}, nil
	case link != nil:
		id, err := blobID(strings.NewReader(*link), int64(len(*link)))
		return *link, side{id, true}, err
	}
	r, size, err := sized(e, open)
	if err != nil {
		return "", side{}, err
	}
	defer r.Close()
	var text bytes.Buffer
	in := io.Reader(r)
	if size <= maxText {
		in = io.TeeReader(r, &text)
	}
	id, err := blobID(in, size)
	plain := size <= maxText && bytes.IndexByte(text.Bytes(), 0) < 0
	if !plain {
		text.Reset()
	}
	return text.String(), side{id, plain}, err
}

// quoted is a name as git writes it: as it is, or between double quotes with its
// control characters, quotes, backslashes and every byte beyond ASCII escaped.
// (git itself does not read the names with a space at the end that it writes where
// no --- line follows; quoted it does.)
func quoted(prefix, p string) string {
	s := prefix + p
	plain := !strings.HasSuffix(s, " ")
	for i := 0; i < len(s) && plain; i++ {
		plain = s[i] >= 0x20 && s[i] < 0x7f && s[i] != '"' && s[i] != '\\'
	}
	if plain {
		return s
	}
	var b strings.Builder
	b.WriteByte('"')
	for i := range len(s) {
		c := s[i]
		if short := strings.IndexByte("\a\b\t\n\v\f\r\"\\", c); short >= 0 {
			b.WriteByte('\\')
			b.WriteByte(`abtnvfr"\`[short])
			continue
		}
		if c < 0x20 || c >= 0x7f {
			fmt.Fprintf(&b, `\%03o`, c)
			continue
		}
		b.WriteByte(c)
	}
	b.WriteByte('"')
	return b.String()
}

// Write writes the parts.
func Write(w io.Writer, parts iter.Seq2[Part, error], s Sources) error {
	for p, err := range parts {
		if err != nil {
			return err
		}
		if _, err := io.WriteString(w, p.Head+p.Text); err != nil {
			return err
		}
		if p.Binary {
			if err := p.WriteBinary(w, s); err != nil {
				return fmt.Errorf("write the patch of %s: %w", p.entry.Path, err)
			}
		}
	}
	return nil
}
