package style_test

import (
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"

	"vise/themes"
	"vise/tui/style"
)

func dark(t testing.TB, o style.Options) *style.Style {
	t.Helper()
	list, err := themes.Builtin()
	if err != nil {
		t.Fatal(err)
	}
	return style.New(list[0], o)
}

// A row has exactly its cells, whatever is put into it.
func TestRowWidth(t *testing.T) {
	s := dark(t, style.Options{})
	for _, text := range []string{"", "short", strings.Repeat("long ", 40), "日本語のテキストが長い", "👩‍💻 pair ⚠️ 🏽", "é\u0301x", "tab\tnew\nline", "a\x1b[31mb\x9b1mc"} {
		for _, w := range []int{0, 1, 2, 7, 20, 61} {
			for _, g := range []style.Role{style.Plain, style.Cursor, style.Panel} {
				r := s.Row(w, g).Put(style.Accent, text).Cell(style.Dim, text, 9).Right(style.Number, text, 5).String()
				if got := ansi.StringWidthWc(r); got != w {
					t.Errorf("Row(%d) of %q has %d cells: %q", w, text, got, r)
				}
			}
		}
	}
}

// Nothing that comes from outside can drive the terminal: the only escapes of a
// row are our own SGR sequences.
func TestRowIsSafe(t *testing.T) {
	s := dark(t, style.Options{})
	hostile := []string{"\x1b]52;c;aGk=\a", "\x1b]0;title\x1b\\", "\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", "\x1bP+q\x1b\\", "\x1b[6n", "\x1bc", "\u009b31m", "\u009d0;x\u009c", "\a", "a\rb", "\x1b[2J", "\x00", "\x7f", "\u202e"}
	for _, h := range hostile {
		row := s.Row(60, style.Plain).Put(style.Text, h).Cell(style.Dim, h, 20).String() + s.Paint(style.Bad, h)
		rest := row
		for {
			i := strings.IndexByte(rest, '\x1b')
			if i < 0 {
				break
			}
			j := strings.IndexByte(rest[i:], 'm')
			if j < 0 || rest[i+1] != '[' || strings.Trim(rest[i+2:i+j], "0123456789;") != "" {
				t.Fatalf("%q leaves %q in the row", h, rest[i:])
			}
			rest = rest[:i] + rest[i+j+1:]
		}
		if strings.ContainsFunc(rest, func(r rune) bool { return r < 0x20 || r >= 0x7f && r < 0xa0 || r == '\u202e' }) {
			t.Errorf("%q leaves a control character: %q", h, rest)
		}
	}
}

func TestNoColor(t *testing.T) {
	s := dark(t, style.Options{NoColor: true})
	for r := range themes.RoleCount {
		for _, g := range []style.Role{style.Plain, style.Cursor, style.CursorIdle, style.Panel} {
			if p := s.Prefix(style.Role(r), g); strings.Contains(p, "38;") || strings.Contains(p, "48;") {
				t.Errorf("%s on %s has a colour: %q", style.Role(r), g, p)
			}
		}
	}
	if p := s.Prefix(style.Text, style.Cursor); !strings.Contains(p, "7") {
		t.Errorf("the cursor's row must stand out without colour: %q", p)
	}
}

func TestCut(t *testing.T) {
	s := dark(t, style.Options{})
	for _, c := range []struct {
		in   string
		w    int
		want string
	}{{"hello", 5, "hello"}, {"hello", 4, "hel…"}, {"hello", 1, "…"}, {"hello", 0, ""}, {"日本語", 5, "日本…"}, {"日本語", 4, "日…"}} {
		if got := s.Cut(c.in, c.w); got != c.want {
			t.Errorf("Cut(%q, %d) = %q, want %q", c.in, c.w, got, c.want)
		}
	}
	if got := s.CutLeft("abcdef", 4); got != "…def" {
		t.Errorf("CutLeft = %q", got)
	}
}

// The short way of measuring agrees with the long one, alone and beside others.
func TestNarrow(t *testing.T) {
	for _, o := range []style.Options{{}, {Graphemes: true}} {
		s := dark(t, o)
		long := func(x string) int {
			if o.Graphemes {
				return ansi.StringWidth(x)
			}
			return ansi.StringWidthWc(x)
		}
		for r := rune(0x20); r < 0x3000; r++ {
			for _, x := range []string{string(r), "a" + string(r) + "b", "✓" + string(r)} {
				if x = s.Clean(x); s.Width(x) != long(x) {
					t.Fatalf("Width(%q) = %d, the renderer counts %d", x, s.Width(x), long(x))
				}
			}
		}
	}
}

func FuzzRow(f *testing.F) {
	f.Add("plain", 10)
	f.Add("👩‍💻\x1b]0;x\a", 3)
	f.Add("हिन्दी ⚠️", 4)
	s := dark(f, style.Options{})
	f.Fuzz(func(t *testing.T, text string, w int) {
		if w < 0 || w > 300 {
			return
		}
		if got := ansi.StringWidthWc(s.Row(w, style.Plain).Put(style.Text, text).Cell(style.Dim, text, w/2).String()); got != w {
			t.Fatalf("Row(%d) of %q has %d cells", w, text, got)
		}
	})
}

func BenchmarkRow(b *testing.B) {
	b.ReportAllocs()
	s := dark(b, style.Options{})
	for b.Loop() {
		_ = s.Row(60, style.Cursor).Put(style.Accent, "▸").Cell(style.Text, "refund-1017 torn blanket", 40).Int(style.Dim, 12, 4).Right(style.Bad, ".31", 5).String()
	}
}

// Where marks are words, two columns never run into each other, however long the words
// are, and a word that is longer than its column is told whole.
func TestWordsKeepColumnsApart(t *testing.T) {
	s := dark(t, style.Options{Words: true})
	row := s.Row(80, style.Plain).Cell(style.Text, "a long name of a session", 16).Cell(style.Bad, "regressed", 2).Right(style.Number, "0.26", 4).Right(style.Dim, "1234 ms", 3).String()
	if got, want := strings.TrimRight(ansi.Strip(row), " "), "a long name...  regressed    0.26  1234 ms"; got != want {
		t.Errorf("the row is %q, want %q", got, want)
	}
}
