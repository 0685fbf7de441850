package gitpatch_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"vise/engine/patch/gitpatch"
	"vise/engine/patch/run"
	"vise/engine/patch/tree"
)

// kind is an entry of a tree: a file or a link.
type kind struct {
	text, link string
	exec       bool
}

type files map[string]kind

// names are paths as people and programs make them, and as they should not.
var names = []string{"a.txt", "b.txt", "run.sh", "dir/a.txt", "dir/b", "dir/sub/c", "other/a.txt", "with space.txt", "dir with space/x y", "tab\there", "new\nline", `quo"te`, `back\slash`,
	"ünïcode/é.txt", "日本.md", "-dash", "end ", "esc\x1b[31m", "a b/b a", "x", "--- a", "dir.txt/deep"}

func content(r *rand.Rand) string {
	switch r.IntN(9) {
	case 0:
		return ""
	case 1:
		return "no newline at the end"
	case 2:
		return "one\r\ntwo\r\nthree\r\n"
	case 3:
		return "esc \x1b[31mred\x1b[0m\n\x07\n"
	case 4:
		return "latin \xe9\xff\n"
	case 5:
		b := make([]byte, r.IntN(300))
		for i := range b {
			b[i] = byte(r.IntN(256))
		}
		return "\x00" + string(b)
	case 6:
		return "-- a\n++ b\n@@ -1 +1 @@\ndiff --git a/x b/x\n\n \n\t\nlast"
	}
	var b strings.Builder
	for i := range r.IntN(60) {
		fmt.Fprintf(&b, "line %d %d\n", i, r.IntN(6))
	}
	return b.String()
}

func one(r *rand.Rand, p string) kind {
	if r.IntN(8) == 0 {
		return kind{link: []string{"a.txt", "b.txt", "nowhere"}[r.IntN(3)]}
	}
	return kind{text: content(r), exec: r.IntN(4) == 0}
}

// fits reports whether a path can be there beside the others.
func (f files) fits(p string) bool {
	for q := range f {
		if q == p || strings.HasPrefix(q, p+"/") || strings.HasPrefix(p, q+"/") {
			return false
		}
	}
	return true
}

// generate makes a base and what a run made of it.
func generate(r *rand.Rand) (base, after files) {
	base, after = files{}, files{}
	for range 3 + r.IntN(10) {
		if p := names[r.IntN(len(names))]; base.fits(p) {
			base[p] = one(r, p)
		}
	}
	for p, k := range base {
		after[p] = k
	}
	paths := func() []string {
		var out []string
		for p := range after {
			out = append(out, p)
		}
		slices.Sort(out)
		return out
	}
	for range 1 + r.IntN(6) {
		have := paths()
		if len(have) == 0 {
			break
		}
		p := have[r.IntN(len(have))]
		switch r.IntN(6) {
		case 0:
			delete(after, p)
		case 1:
			k := after[p]
			k.exec = !k.exec && k.link == ""
			after[p] = k
		case 2: // a rename, with another mode now and then
			k := after[p]
			delete(after, p)
			if q := names[r.IntN(len(names))]; after.fits(q) {
				k.exec = k.link == "" && (k.exec != (r.IntN(3) == 0))
				after[q] = k
			}
		case 3:
			k := after[p]
			k.text = strings.Replace(k.text, "line 3", "LINE three", 1) + "more\n"
			if k.link == "" {
				after[p] = k
			}
		case 4:
			after[p] = one(r, p)
		default:
			if q := names[r.IntN(len(names))]; after.fits(q) {
				after[q] = one(r, q)
			}
		}
	}
	return base, after
}

func (f files) write(t testing.TB, dir string) {
	t.Helper()
	do(t, os.MkdirAll(dir, 0o755))
	for p, k := range f {
		name := filepath.Join(dir, p)
		do(t, os.MkdirAll(filepath.Dir(name), 0o755))
		if k.link != "" {
			do(t, os.Symlink(k.link, name))
			continue
		}
		mode := fs.FileMode(0o644)
		if k.exec {
			mode = 0o755
		}
		do(t, os.WriteFile(name, []byte(k.text), mode))
		do(t, os.Chmod(name, mode))
	}
}

// read is the tree of a folder as git sees it.
func read(t testing.TB, dir string) files {
	t.Helper()
	out := files{}
	do(t, filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			if d != nil && d.Name() == ".git" {
				return fs.SkipDir
			}
			return err
		}
		p, _ := filepath.Rel(dir, name)
		if d.Type()&fs.ModeSymlink != 0 {
			target, err := os.Readlink(name)
			out[p] = kind{link: target}
			return err
		}
		b, err := os.ReadFile(name)
		info, err2 := d.Info()
		do(t, err2)
		out[p] = kind{text: string(b), exec: info.Mode()&0o100 != 0}
		return err
	}))
	return out
}

func do(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func git(t testing.TB, dir string, stdin []byte, args ...string) {
	t.Helper()
	c := exec.Command("git", append([]string{"-c", "user.name=t", "-c", "user.email=t@t", "-c", "core.autocrlf=false"}, args...)...)
	c.Dir, c.Stdin = dir, bytes.NewReader(stdin)
	c.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "GIT_CONFIG_NOSYSTEM=1", "GIT_CEILING_DIRECTORIES=" + os.TempDir(), "LC_ALL=C"}
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("git %v: %v\n%s\nthe patch was\n%s", args, err, out, stdin)
	}
}

// trip takes a patch of base and after through git into a folder that holds the
// base, and back.
func trip(t testing.TB, base, after files, where string) {
	t.Helper()
	dir := t.TempDir()
	root, ws := filepath.Join(dir, "root"), filepath.Join(dir, "ws")
	base.write(t, root)
	snap, err := tree.Take(t.Context(), root, filepath.Join(dir, "bases"), nil)
	do(t, err)
	after.write(t, ws)
	objects := filepath.Join(dir, "objects")
	c, err := tree.Capture(t.Context(), snap, ws, objects)
	do(t, err)
	prefix, top := "", filepath.Join(dir, "apply")
	project := top
	if where == "below" {
		prefix, project = "sub dir", filepath.Join(top, "sub dir")
	}
	base.write(t, project)
	if where != "plain" {
		git(t, top, nil, "init", "-q")
		git(t, top, nil, "add", "-A")
		git(t, top, nil, "commit", "-qm", "base", "--allow-empty")
	}
	s := gitpatch.Sources{Before: snap.Originals, After: tree.Objects(objects)}
	if lost := gitpatch.Lost(c.Entries); len(lost) > 0 {
		t.Errorf("git cannot tell %v", lost)
	}
	var out bytes.Buffer
	do(t, gitpatch.Write(&out, gitpatch.Parts(c.Entries, s, prefix), s))
	if out.Len() == 0 {
		if len(c.Entries) > 0 {
			t.Errorf("nothing tells of %v", c.Entries)
		}
		return
	}
	git(t, project, out.Bytes(), "apply", "--whitespace=nowarn")
	same(t, "applied", after, read(t, project), out.Bytes())
	git(t, project, out.Bytes(), "apply", "-R", "--whitespace=nowarn")
	same(t, "taken back", base, read(t, project), out.Bytes())
}

func same(t testing.TB, what string, want, got files, patch []byte) {
	t.Helper()
	for p, k := range want {
		if got[p] != k {
			t.Fatalf("%s, %q is %+v, want %+v; the patch was\n%s", what, p, got[p], k, patch)
		}
	}
	for p := range got {
		if _, ok := want[p]; !ok {
			t.Fatalf("%s, %q is there and should not be; the patch was\n%s", what, p, patch)
		}
	}
}

// What git makes of a base with the patch is the tree of the run, whatever the run
// did: in a work tree, in a folder of one, and where there is none. VISE_TRIPS sets
// how many generated runs are tried.
func TestGitMakesTheTreeOfTheRun(t *testing.T) {
	n := 30
	if v, err := strconv.Atoi(os.Getenv("VISE_TRIPS")); err == nil {
		n = v
	}
	for seed := range n {
		where := []string{"plain", "top", "below"}[seed%3]
		t.Run(fmt.Sprintf("%d %s", seed, where), func(t *testing.T) {
			t.Parallel()
			base, after := generate(rand.New(rand.NewPCG(uint64(seed), 8)))
			trip(t, base, after, where)
		})
	}
}

// The shapes that a generator may miss.
func TestShapes(t *testing.T) {
	long := strings.Repeat("a long line of text\n", 40_000) // longer than is written as lines
	for name, c := range map[string]struct{ base, after files }{
		"a long text":          {files{"a": {text: long}}, files{"a": {text: long + "x"}}},
		"a file for a folder":  {files{"a/b": {text: "x\n"}}, files{"a": {text: "y\n"}}},
		"a folder for a file":  {files{"a": {text: "x\n"}}, files{"a/b": {text: "y\n"}}},
		"a link for a file":    {files{"a": {text: "x\n"}, "b": {text: "b\n"}}, files{"a": {link: "b"}, "b": {text: "b\n"}}},
		"a file for a link":    {files{"a": {link: "b"}, "b": {text: "b\n"}}, files{"a": {text: "x\x00"}, "b": {text: "b\n"}}},
		"a link turned":        {files{"a": {link: "b"}, "b": {text: "b\n"}}, files{"a": {link: "c"}, "b": {text: "b\n"}}},
		"renamed into itself":  {files{"a": {text: "x\n"}}, files{"a/a": {text: "x\n"}}},
		"renamed out of":       {files{"a/a": {text: "x\n"}}, files{"a": {text: "x\n"}}},
		"renamed and run":      {files{"a": {text: "x\n"}}, files{"b c": {text: "x\n", exec: true}}},
		"a link of that text":  {files{"a": {text: "b"}}, files{"c": {link: "b"}}},
		"empty made":           {files{}, files{"e m": {}}},
		"empty removed":        {files{"e": {}, "k": {text: "k"}}, files{"k": {text: "k"}}},
		"only the bit":         {files{"e m": {text: "x"}}, files{"e m": {text: "x", exec: true}}},
		"spaces at the end":    {files{"e ": {text: "x"}, "d /f ": {}, "g ": {text: "\x00"}}, files{"e ": {text: "x", exec: true}, "n ": {}, "g ": {text: "\x00y"}, "h h ": {text: "\x00"}}},
		"bytes made":           {files{}, files{"b": {text: "\x00\x01"}}},
		"bytes removed":        {files{"b b": {text: "\x00\x01"}}, files{}},
		"bytes and the bit":    {files{"b": {text: "\x00\x01"}}, files{"b": {text: "\x00\x02", exec: true}}},
		"bytes become text":    {files{"b": {text: "\x00\x01"}}, files{"b": {text: "text\n"}}},
		"a newline at the end": {files{"b": {text: "x"}}, files{"b": {text: "x\n"}}},
		"two of one content":   {files{"a": {text: "x\n"}, "b": {text: "x\n"}}, files{"c": {text: "x\n"}, "d": {text: "x\n"}}},
	} {
		for _, where := range []string{"plain", "top"} {
			t.Run(name+" "+where, func(t *testing.T) {
				t.Parallel()
				trip(t, c.base, c.after, where)
			})
		}
	}
}

// Bits that git does not keep are told, not lost in silence.
func TestLostBitsAreTold(t *testing.T) {
	sum, size := run.Sum([]byte("x")), int64(1)
	bits := func(n int) *int { return &n }
	e := run.Entry{Path: "key", ChangeType: run.Modified, BaseSHA256: &sum, ResultSHA256: &sum, BaseMode: bits(0o644), ResultMode: bits(0o600), Size: &size}
	for p, err := range gitpatch.Parts([]run.Entry{e}, gitpatch.Sources{}, "") {
		t.Errorf("%+v, %v", p, err)
	}
	if lost := gitpatch.Lost([]run.Entry{e}); !slices.Equal(lost, []string{"key"}) {
		t.Errorf("lost: %v", lost)
	}
}

// A large patch is written file by file: the bytes of the next one are read when
// the one before is written.
func TestPartsComeOneByOne(t *testing.T) {
	var entries []run.Entry
	sum, mode, size := run.Sum([]byte("x\n")), 0o644, int64(2)
	for _, p := range []string{"a", "b", "c"} {
		entries = append(entries, run.Entry{Path: p, ChangeType: run.Created, ResultSHA256: &sum, ResultMode: &mode, Size: &size})
	}
	read := map[string]bool{}
	from := gitpatch.Sources{After: func(e run.Entry) (io.ReadCloser, error) {
		read[e.Path] = true
		if e.Path == "c" {
			return nil, errors.New("its bytes are gone")
		}
		return io.NopCloser(strings.NewReader("x\n")), nil
	}}
	for p, err := range gitpatch.Parts(entries, from, "") {
		if err != nil || p.Text == "" || len(read) != 1 {
			t.Errorf("%+v, %v after reading %v", p, err, read)
		}
		break
	}
	var out strings.Builder
	if err := gitpatch.Write(&out, gitpatch.Parts(entries, from, ""), from); err == nil || strings.Count(out.String(), "+x") != 2 {
		t.Errorf("%v: %q", err, out.String())
	}
}
