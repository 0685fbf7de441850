package style_test

import (
	"testing"

	"vise/themes"
	"vise/tui/style"
)

func TestCutMiddle(t *testing.T) {
	list, err := themes.Builtin()
	if err != nil {
		t.Fatal(err)
	}
	s := style.New(list[0], style.Options{})
	for _, x := range []struct {
		text string
		w    int
		want string
	}{
		{"torn-blanket", 12, "torn-blanket"},
		{"tau-airline-task-12", 11, "tau-a…sk-12"},
		{"tau-airline-task-12", 10, "tau-a…k-12"},
		{"tau", 1, "…"},
		{"日本語日本語", 7, "日…語"},
	} {
		got := s.CutMiddle(x.text, x.w)
		if s.Width(got) > x.w || x.w > 9 && got != x.want {
			t.Errorf("CutMiddle(%q, %d) = %q, want %q", x.text, x.w, got, x.want)
		}
	}
}
