package vhs

import (
	"strings"
	"testing"
)

const goodTape = `Output vhs/good.gif
Require vise
Set Shell "bash"
Set FontFamily "JetBrains Mono"
Set FontSize 16
Set Width 1280
Set Height 700
Set Padding 20
Set Framerate 12
Env COLORTERM "truecolor"
Hide
Type "clear"
Enter
Show
Type "vise demo; echo exit=$?"
Enter
Wait+Screen /Sessions/
Sleep 500ms
Type "q"
Wait+Screen /exit=0/
`

func TestLintAccepts(t *testing.T) {
	if found := Lint("good.tape", goodTape); len(found) > 0 {
		t.Errorf("a good tape: %q", found)
	}
}

// TestLintFinds changes one thing of a good tape at a time.
func TestLintFinds(t *testing.T) {
	for name, c := range map[string]struct{ old, new, want string }{
		"no parse":          {"Hide\n", "Hid\n", "Invalid command"},
		"order":             {"Output vhs/good.gif\nRequire vise\n", "Require vise\nOutput vhs/good.gif\n", "in this order"},
		"other output":      {"vhs/good.gif", "out/good.gif", "only Output be vhs/good.gif"},
		"two outputs":       {"Require vise", "Output good.txt\nRequire vise", "only Output be"},
		"no require":        {"Require vise\n", "", "Require vise"},
		"default font":      {"Set FontFamily \"JetBrains Mono\"\n", "", "lacks Set FontFamily"},
		"unknown font":      {"JetBrains Mono", "Comic Mono", "measures are unknown"},
		"font size":         {"FontSize 16", "FontSize 20", "another size"},
		"framerate":         {"Framerate 12", "Framerate 50", "not captured in time"},
		"late set":          {"Hide\n", "Set Theme Dracula\nHide\n", "behind the head"},
		"copy":              {"Type \"q\"", "Paste", "clipboard"},
		"ctrl+shift":        {"Type \"q\"", "Ctrl+Shift+Q", "sends nothing"},
		"alias of enter":    {"Type \"q\"", "Shift+Enter", "arrives as Enter"},
		"alias of tab":      {"Type \"q\"", "Ctrl+I", "arrives as Tab"},
		"alias of escape":   {"Type \"q\"", "Ctrl+[", "arrives as Escape"},
		"plain wait":        {"Wait+Screen /Sessions/", "Wait", "write Wait+Screen"},
		"end of the screen": {"/Sessions/", "/Sessions$/", "(?m)"},
		"too short":         {"Sleep 500ms", "Sleep 100ms", "shows nothing"},
		"no exit code":      {"; echo exit=$?", "", "how the program ended"},
		"quit unseen":       {"Wait+Screen /exit=0/", "Sleep 1s", "how the program ended"},
	} {
		t.Run(name, func(t *testing.T) {
			if !strings.Contains(goodTape, c.old) {
				t.Fatalf("the good tape has no %q", c.old)
			}
			found := strings.Join(Lint("good.tape", strings.Replace(goodTape, c.old, c.new, 1)), "\n")
			if !strings.Contains(found, c.want) {
				t.Errorf("found %q, want %q", found, c.want)
			}
		})
	}
	if found := Lint("good.tape", strings.Replace(goodTape, "/Sessions/", `/\$[$^]/`, 1)); len(found) > 0 {
		t.Errorf("an escaped dollar is no anchor: %q", found)
	}
}
