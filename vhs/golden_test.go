package vhs

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestMask(t *testing.T) {
	for in, want := range map[string]string{
		"rule r-01M8PC457WP2TPMPT44T3EH66T promoted":  "rule ¤¤¤¤¤¤¤¤¤¤¤¤¤¤¤¤¤¤¤¤¤¤¤¤¤¤¤¤ promoted",
		"e-849a07655427 turn 3/6":                     "¤¤¤¤¤¤¤¤¤¤¤¤¤¤ turn 3/6",
		"  12 ms  1.2 s 40µs 12:04 14:00:46.547":      "  ¤¤¤¤¤  ¤¤¤¤¤ ¤¤¤¤ ¤¤¤¤¤ ¤¤¤¤¤¤¤¤¤¤¤¤",
		"s-PBYW37/2 n-DK8CRF e-10… r-01M8PDE53T3359…": "¤¤¤¤¤¤¤¤/2 ¤¤¤¤¤¤¤¤ ¤¤¤¤¤ ¤¤¤¤¤¤¤¤¤¤¤¤¤¤¤¤¤",
		"at: 2026-11-30T14:22:51.767059098Z":          "at: ¤¤¤¤¤¤¤¤¤¤¤¤¤¤¤¤¤¤¤¤¤¤¤¤¤¤¤¤¤¤",
		"4 messages, 6547 characters":                 "4 messages, ¤¤¤¤¤¤¤¤¤¤¤¤¤¤¤",
		"│patch state  budget  dcb…│ A-1…  5  40…│":   "│patch state  budget¤¤¤¤¤¤│ A-1…  5¤¤¤¤¤│",
		"e-mail c-sharp 0.40 +1.00 3 sessions":        "e-mail c-sharp 0.40 +1.00 3 sessions",
	} {
		if got := mask(in); got != want {
			t.Errorf("mask(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestDiff(t *testing.T) {
	for name, c := range map[string]struct {
		a, b string
		same bool
	}{
		"other durations":          {"│ add   2 ms │", "│ add 112 ms │", true},
		"left-aligned":             {"│ took 2 ms   │", "│ took 112 ms │", true},
		"other text beside":        {"│ add   2 ms │", "│ sub 112 ms │", false},
		"blanks count elsewhere":   {"│ add  │", "│ add   │", false},
		"a row more":               {"a", "a\nb", false},
		"cut elsewhere":            {"│ 2 ms (fixed rules,…│", "│ 112 ms (fixed ru…│", true},
		"cut behind other text":    {"│ 2 ms (fixed rules,…│", "│ 112 ms (fiver ru…│", false},
		"cut for no reason":        {"│ 2 ms builtin (fixed rules,…│", "│ 2 ms buil…│", false},
		"other text in the next":   {"│ 2 ms │ add │", "│ 2 ms │ adds │", false},
		"measured against nothing": {"│ 2 ms │", "│      │", false},
	} {
		if d := Diff(mask(c.a), mask(c.b)); (d == "") != c.same {
			t.Errorf("%s: diff %q, want equal %v", name, d, c.same)
		}
	}
}

func TestCrosscheck(t *testing.T) {
	golden := "10 x 3\n── 01 WAIT Screen a ──\na 1 ms\n── 02 WAIT Screen b ──\nb\n"
	block := func(screens ...string) string { return strings.Join(screens, blockEnd) + blockEnd }
	for name, c := range map[string]struct{ golden, recording, want string }{
		"all, in order":   {golden, block("> ", "a 25 ms \n\n", "a 25 ms", "b\n\n"), ""},
		"one missing":     {golden, block("> ", "a 25 ms", "c"), `frame "02 WAIT Screen b"`},
		"wrong order":     {golden, block("b", "a 25 ms"), `frame "02 WAIT Screen b"`},
		"nothing in it":   {golden, "", `frame "01 WAIT Screen a"`},
		"no golden":       {"10 x 3\n", block("a"), "holds no frames"},
		"broken golden":   {"10 x 3\nrow\n", block("a"), "has no title"},
		"nearest is told": {golden, block("a 25 ms", "b2"), "+ b2"},
	} {
		t.Run(name, func(t *testing.T) {
			got := ""
			if err := Crosscheck(mask(c.golden), c.recording); err != nil {
				got = err.Error()
			}
			if (c.want == "") != (got == "") || !strings.Contains(got, c.want) {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

// FuzzGolden: whatever is on two screens, their golden equals itself and is found among them, and lint and parser never fail hard.
func FuzzGolden(f *testing.F) {
	f.Add("a 1 ms\nb", "", 3)
	f.Add("── no title ──", "x", 1)
	f.Add(goodTape, "│ 12:04 │", 80)
	f.Fuzz(func(t *testing.T, a, b string, cols int) {
		Lint("x.tape", a)
		r := &Result{Cols: cols, Rows: 5}
		for i, text := range []string{a, b} {
			r.Frames = append(r.Frames, Frame{Name: strings.Repeat("x", i+1), Lines: clean(text), Recorded: true})
		}
		golden := r.Golden()
		if d := Diff(golden, golden); d != "" {
			t.Errorf("differs from itself: %s", d)
		}
		recording := strings.Join(clean(a), "\n") + "\n" + blockEnd + strings.Join(clean(b), "\n") + "\n" + blockEnd
		if err := Crosscheck(golden, recording); err != nil {
			t.Error(err)
		}
	})
}

// clean is text as rows of a screen: without controls, blanks at the ends and what the two formats use to separate.
func clean(text string) []string {
	rows := strings.Split(strings.ReplaceAll(text, strings.TrimSuffix(blockEnd, "\n"), ""), "\n")
	for i, row := range rows {
		row = strings.TrimRight(strings.Map(func(r rune) rune {
			if r < ' ' || r == utf8.RuneError {
				return -1
			}
			return r
		}, row), " ")
		if _, title := frameTitle(row); title {
			row = ""
		}
		rows[i] = row
	}
	return rows
}
