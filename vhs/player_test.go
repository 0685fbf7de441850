package vhs

import (
	"strings"
	"testing"
	"time"
)

// TestBadTapes: every way in which a tape can lie or rot must fail.
func TestBadTapes(t *testing.T) {
	for name, c := range map[string]struct{ tape, want string }{
		"parse":          {"Typ \"x\"\n", "Invalid command"},
		"empty":          {"# nothing\n", "empty"},
		"source":         {"Source nope.tape\n", "not found"},
		"setting":        {"Set Width 99999999999999999999\nType \"x\"\n", "Set Width"},
		"require":        {"Require no-such-binary\nType \"x\"\n", "executable file not found"},
		"shell":          {"Set Shell fish\nType \"x\"\n", "bash only"},
		"set after env":  {"Env A b\nSet Width 800\nType \"x\"\n", "VHS ignores a Set"},
		"late require":   {"Type \"x\"\nRequire bash\n", "never checks a Require"},
		"wait fails":     {"Type \"echo hi\"\nEnter\nWait+Screen@300ms /goodbye/\n", "no match within 300ms"},
		"wait shows":     {"Type \"echo h$((1+1))i\"\nEnter\nWait+Screen@300ms /goodbye/\n", "\nh2i"},
		"vacuous wait":   {"Type \"echo h$((1+1))i\"\nEnter\nWait+Screen /h2i/\nType \"true\"\nEnter\nWait+Screen /h2i/\n", "proves nothing"},
		"end of screen":  {"Type \"echo h$((1+1))i\"\nEnter\nWait+Screen@300ms /h2i$/\n", "no match"},
		"ctrl shift":     {"Ctrl+Shift+O\n", "sends nothing"},
		"copy":           {"Copy \"x\"\nPaste\n", "clipboard"},
		"the shell ends": {"Type \"exit 3\"\nEnter\nWait+Screen@300ms /never/\n", "no match"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got string
			tape, err := Parse(c.tape)
			if err == nil {
				var r *Result
				r, err = Play(t.Context(), tape, options(t, ""))
				got = strings.Join(r.Problems, "\n")
			}
			if err != nil {
				got += err.Error()
			}
			if !strings.Contains(got, c.want) {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

// TestPlay shows what a good tape gives: a frame per Wait that it rests on,
// the hidden ones marked, Env applied before the shell, and VHS's colours.
func TestPlay(t *testing.T) {
	r, err := Play(t.Context(), mustParse(t, `Set FontSize 16
Set Width 700
Set Height 300
Set Padding 10
Hide
Type "clear; echo $GREETING$((1+1))"
Enter
Wait+Screen /hello2/
Sleep 300ms
Type "true"
Enter
Wait+Screen /true\n>/
Show
Env GREETING "hello"
Type "stty size; echo $TERM ${COLORTERM:-256} d$((1+1))one"
Enter
Wait+Screen /d2one/
Sleep 1s
`), options(t, ""))
	if err != nil || len(r.Problems) > 0 {
		t.Fatal(err, r.Problems)
	}
	if len(r.Frames) != 2 || r.Frames[0].Recorded || !r.Frames[1].Recorded {
		t.Fatalf("frames: %+v", r.Frames)
	}
	want := "65 x 12\n── 11 Wait Screen d2one ──\nhello2\n> true\n> stty size; echo $TERM ${COLORTERM:-256} d$((1+1))one\n" +
		"12 65\nxterm-256color 256 d2one\n>\n"
	if got := r.Golden(); got != want {
		t.Errorf("golden:\n%s\nwant:\n%s", got, want)
	}
}

// TestSleep: fast mode ends a Sleep once the screen is quiet, but not while the program still prints.
func TestSleep(t *testing.T) {
	tape := mustParse(t, `Type "for i in {1..15}; do read -t 0.03 x; echo n$i; done"`+"\nEnter\nSleep 20s\nScreenshot x.png\n")
	r, err := Play(t.Context(), tape, options(t, ""))
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(r.Frames[0].Lines, "\n"); !strings.Contains(got, "\nn15\n") {
		t.Errorf("the Sleep ended while the program still printed:\n%s", got)
	}
	if r.Took > 10*time.Second && !*realtime {
		t.Errorf("the Sleep was kept: %s", r.Took)
	}
}
