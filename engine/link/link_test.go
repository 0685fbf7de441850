package link

import (
	"strings"
	"testing"
)

func TestLinks(t *testing.T) {
	for text, want := range map[string]Link{
		"vise://session/s-1/turn/7?pane=trace":         {Kind: "session", ID: "s-1", Turn: 7, Pane: "trace"},
		"vise://session/s-1/turn/7?pane=trace&line=42": {Kind: "session", ID: "s-1", Turn: 7, Pane: "trace", Line: 42},
		"vise://session/s-1":                           {Kind: "session", ID: "s-1", Turn: NoTurn},
		"vise://session/a%2Fb%20c/turn/0/span/x1":      {Kind: "session", ID: "a/b c", Turn: 0, Span: "x1"},
		"vise://episode/e-1/step/3?pane=repair&line=2": {Kind: "episode", ID: "e-1", Turn: NoTurn, Step: 3, Pane: "repair", Line: 2},
		"vise://rule/r-1":                              {Kind: "rule", ID: "r-1", Turn: NoTurn},
		"vise://case/c-1":                              {Kind: "case", ID: "c-1", Turn: NoTurn},
		"vise://notice/n-1":                            {Kind: "notice", ID: "n-1", Turn: NoTurn},
		"vise://verdict/v-1":                           {Kind: "verdict", ID: "v-1", Turn: NoTurn},
		"vise://event/412?pane=journal":                {Kind: "event", ID: "412", Turn: NoTurn, Pane: "journal"},
		"vise://run/%20x":                              {Kind: "run", ID: " x", Turn: NoTurn},
	} {
		l, err := Parse(text)
		if err != nil || l != want {
			t.Errorf("%s: %+v, %v", text, l, err)
		}
		if l.String() != text {
			t.Errorf("%s writes itself as %s", text, l)
		}
	}
	for _, text := range []string{"", "http://x", "vise://", "vise://session", "vise://session/", "vise://sess/x", "vise://session/x/turn/-1", "vise://session/x/turn/two",
		"vise://session/x/span/y", "vise://rule/r/turn/1", "vise://event/newest", "vise://event/0", "vise://session/x?pane=kitchen", "vise://session/x?run=rm", "vise://session/%zz", "vise://session/x/turn",
		"vise://session/x?line=4", "vise://session/x?pane=trace&line=0", "vise://session/x?pane=trace&line=-3", "vise://" + strings.Repeat("a", 3000)} {
		if l, err := Parse(text); err == nil || !strings.HasPrefix(err.Error(), "link ") {
			t.Errorf("%q: %+v, %v", text, l, err)
		}
	}
	if got := Of("rule", ""); got != "" {
		t.Errorf("no id makes the link %q", got)
	}
	if got := Turn("s/1", 3); got != "vise://session/s%2F1/turn/3" {
		t.Errorf("a turn is %q", got)
	}
}

func FuzzParse(f *testing.F) {
	f.Add("vise://session/s-1/turn/7?pane=trace&line=42")
	f.Add("vise://episode/e%2F/step/3")
	f.Add("vise://event/12")
	f.Add("vise://episode/e%2F" + strings.Repeat("]", 1500)) // three times as long when it is escaped
	f.Fuzz(func(t *testing.T, text string) {
		l, err := Parse(text)
		if err != nil {
			return
		}
		if again, err := Parse(l.String()); err != nil || again != l {
			t.Fatalf("%q reads as %+v, and that as %+v, %v", text, l, again, err)
		}
	})
}
