package md

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"
	"github.com/google/go-cmp/cmp"

	"vise/engine/guard"
)

func renderer() *Renderer {
	r := New(guard.Visible)
	r.Use(Palette{Text: "#c0c0c0", Heading: "#8080ff", Code: "#ffa000", Link: "#00a0ff", Epoch: 1}, guard.Visible)
	return r
}

func plain(rows []string) []string {
	out := make([]string, len(rows))
	for i, r := range rows {
		out[i] = strings.TrimRight(ansi.Strip(r), " ")
	}
	return out
}

func TestRender(t *testing.T) {
	for _, c := range []struct {
		name, text string
		width      int
		want       []string
	}{
		{"paragraphs", "one two three\n\nfour", 8, []string{"one two", "three", "", "four"}},
		{"heading", "# Rule\n\nbody", 20, []string{"# Rule", "", "body"}},
		{"list", "- a\n- b `c`", 20, []string{"• a", "• b `c`"}},
		{"HTML is shown", "a <b>bold</b> <!-- hidden --> c", 60, []string{"a <b>bold</b> <!-- hidden --> c"}},
		{"an HTML block is shown", "<script>\nalert(1)\n</script>", 60, []string{"<script> alert(1) </script>"}},
		{"references are shown", "&#27;[31m &lt; &zwj;", 60, []string{"&#27;[31m &lt; &zwj;"}},
		{"controls are shown", "a\x1b]52;c;aGk=\ab", 60, []string{`a\x1b]52;c;aGk=\x07b`}},
		{"a long word is broken", strings.Repeat("x", 12), 5, []string{"xxxxx", "xxxxx", "xx"}},
		{"code in a quote stays behind its bar", "> Written since `issue_refund` said that `reason_code_is_missing` is gone", 26,
			[]string{"│ Written since", "│ `issue_refund` said that", "│ `reason_code_is_missing`", "│ is gone"}},
		{"a long word in a quote, too", "> missing `reason_code_is_missing`\n> > and `a b c d e f g`", 14,
			[]string{"│ missing", "│ `reason_cod", "│ e_is_missin", "│ g`", "│", "│ │ and `a b c", "│ │ d e f g`"}},
		{"nothing", "", 10, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := plain(renderer().Render(c.text, c.width))
			if d := cmp.Diff(c.want, got); d != "" && (len(c.want) > 0 || len(got) > 0) {
				t.Error(d)
			}
		})
	}
}

// A row must not need its neighbours: panes show any part of a document.
func TestRowsAreClosedInThemselves(t *testing.T) {
	for _, row := range renderer().Render("# A long heading that wraps over rows\n\n```go\nfunc f() {}\n```\n\n[link text](https://example.org/path) and *emphasis that wraps*", 14) {
		if strings.Contains(row, "\x1b]") {
			t.Errorf("a hyperlink is left in %q", row)
		}
		if i := strings.LastIndex(row, "\x1b["); i >= 0 && !strings.HasSuffix(row, "\x1b[m") && !strings.HasSuffix(row, "\x1b[0m") {
			t.Errorf("row ends in a style: %q", row)
		}
		if n := ansi.StringWidth(row); n > 14 {
			t.Errorf("row is %d cells wide: %q", n, row)
		}
	}
}

func FuzzRender(f *testing.F) {
	for _, s := range []string{"# a\n\n- b\n1. c\n> d", "| a | b |\n|---|---|\n| <i> | &#x9b;2J |", "```\n\x1b[2J\n```", "[x](javascript:\x07)", "\uf8f0\uf8f1"} {
		f.Add(s, 20)
	}
	r := renderer()
	f.Fuzz(func(t *testing.T, text string, width int) {
		if width < 4 || width > 120 || len(text) > 2000 {
			t.Skip()
		}
		for _, row := range r.Render(text, width) {
			rest := ansi.Strip(row)
			if rest != guard.Visible(rest) || strings.ContainsAny(rest, "\n\x1b") {
				t.Errorf("row holds what a terminal would obey: %q", row)
			}
			for s := row; ; {
				i := strings.IndexByte(s, '\x1b')
				if i < 0 {
					break
				}
				seq := sequence(s[i:])
				if !sgr(seq) {
					t.Fatalf("row holds the sequence %q: %q", seq, row)
				}
				s = s[i+len(seq):]
			}
		}
	})
}

func TestCacheIsBoundedAndKnowsTheLook(t *testing.T) {
	r := renderer()
	a := r.Render("some *text*", 20)
	if got, ok := r.Cached("some *text*", 20); !ok || &got[0] != &a[0] {
		t.Error("the same text at the same width was not kept")
	}
	if _, ok := r.Cached("some *text*", 21); ok {
		t.Error("another width was found in the cache")
	}
	r.Use(Palette{Epoch: 2}, guard.Visible)
	if _, ok := r.Cached("some *text*", 20); ok {
		t.Error("another look was found in the cache")
	}
	for i := range 200 {
		r.put(key{width: i}, []string{strings.Repeat("x", 50_000)})
	}
	if r.bytes > CacheBytes || len(r.cache) != r.order.Len() || len(r.cache) == 0 {
		t.Errorf("cache holds %d bytes in %d entries, %d in order", r.bytes, len(r.cache), r.order.Len())
	}
}

const story = `The trace shows the calls.

- look_up_order answered
- issue_refund failed twice

` + "```json\n{\"order_id\": \"A-1004\",\n\n\"amount\": 28.4}\n```" + `

Now I decide: one rule.

1. first

2. second

The end of it.
`

// What a stream shows at its end must be what the whole text shows.
func TestStreamEndsAsTheWhole(t *testing.T) {
	r := renderer()
	d := NewDoc(r)
	now := time.Unix(0, 0)
	renders := 0
	for i := 0; i <= len(story); i += 5 {
		d.Set(story[:min(i, len(story))], 40)
		now = now.Add(10 * time.Millisecond)
		if job, _ := d.Next(now); job != nil {
			renders++
			if !d.Take(job.Do()) {
				t.Fatal("a render of the present text was refused")
			}
		}
	}
	d.Set(story, 40)
	job, wait := d.Next(now.Add(time.Second))
	if job == nil {
		t.Fatalf("no last render; wait %s", wait)
	}
	d.Take(job.Do())
	if diff := cmp.Diff(plain(r.Render(story, 40)), plain(d.Rows())); diff != "" {
		t.Errorf("streamed and whole text differ (-whole +streamed):\n%s", diff)
	}
	steps := len(story) / 5
	if limit := steps/10 + 2; renders > limit {
		t.Errorf("%d renders for %d additions in %d ms, want at most %d", renders, steps, steps*10, limit)
	}
}

func TestDocShowsPlainTextFirstAndDropsOldRenders(t *testing.T) {
	r := renderer()
	d := NewDoc(r)
	d.Set("# one", 20)
	if got := plain(d.Rows()); !cmp.Equal(got, []string{"# one"}) {
		t.Errorf("before the render: %q", got)
	}
	old, _ := d.Next(time.Unix(1, 0))
	if again, wait := d.Next(time.Unix(9, 0)); again != nil || wait != 0 {
		t.Error("a second render began while the first was under way")
	}
	v := d.Version()
	d.Set("two", 20)
	if d.Version() == v {
		t.Error("another text did not change the version")
	}
	if d.Take(old.Do()) {
		t.Error("the render of the text before was shown")
	}
	if got := plain(d.Rows()); !cmp.Equal(got, []string{"two"}) {
		t.Errorf("after another text: %q", got)
	}
}

func TestBoundary(t *testing.T) {
	for _, c := range []struct{ text, stable string }{
		{"a\n\nb", ""},
		{"a\n\nb\n", "a\n\n"},
		{"a\n\n- b\n\n- c\n", ""},
		{"a\n\n```\nx\n\ny\n", "a\n\n"},
		{"````\n```\n\nx\n", ""},
		{"a\n\n    code\n", ""},
		{"1. a\n\n2. b\n\nc\n", "1. a\n\n2. b\n\n"},
	} {
		if got := c.text[:boundary(c.text, 0)]; got != c.stable {
			t.Errorf("boundary of %q is behind %q, want %q", c.text, got, c.stable)
		}
	}
}

func BenchmarkRender2KB(b *testing.B) {
	r := renderer()
	text := strings.Repeat(story, 8)
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		i++
		r.Render(fmt.Sprintf("%d\n\n%s", i, text), 64)
	}
}

func BenchmarkCached(b *testing.B) {
	r := renderer()
	r.Render(story, 64)
	b.ReportAllocs()
	for b.Loop() {
		r.Render(story, 64)
	}
}

// However deep quotes and lists are nested, rendering ends soon, and the text is there.
func TestDeepNesting(t *testing.T) {
	for _, part := range []string{">", "> ", "- ", "1. ", "* > "} {
		text := strings.Repeat(part, 2000) + " end"
		done := make(chan []string, 1)
		go func() { done <- plain(renderer().Render(text, 40)) }()
		select {
		case rows := <-done:
			if !strings.Contains(strings.Join(rows, ""), "end") {
				t.Errorf("%q: the text is gone", part)
			}
		case <-time.After(time.Minute):
			t.Fatalf("%q: not rendered in 20 s", part)
		}
	}
	nested := ""
	for i := range 200 {
		nested += strings.Repeat("  ", i) + "- item\n"
	}
	for text, want := range map[string]bool{
		nested: true, "- a\n  - b\n    - c": false, "> a\n> > b": false, "-----": false, "1.2.3.4 of 5": false,
		"```\n" + strings.Repeat(" ", 90) + "return x\n```": false,
	} {
		if got := depth(text) > maxDepth; got != want {
			t.Errorf("depth of %.40q is %d", text, depth(text))
		}
	}
}
