package vhs

import (
	"strings"
	"testing"
	"testing/synctest"
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
		"wait shows":     {"Type \"echo h$((1+1))i\"\nEnter\nWait+Screen@60s /h2i/\nWait+Screen@300ms /goodbye/\n", "\nh2i"},
		"vacuous wait":   {"Type \"echo h$((1+1))i\"\nEnter\nWait+Screen@60s /h2i/\nType \"true\"\nEnter\nWait+Screen /h2i/\n", "proves nothing"},
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
	want := "65 x 12\n── 11 Wait Screen d2one ──\nhello2\n> true\n> stty size; echo $TERM ${COLORTERM:-256} d$((1+1))one\n" +
		"12 65\nxterm-256color 256 d2one\n>\n"
	o := options(t, "")
	o.Patience, o.Want = time.Minute, want
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
`), o)
	if err != nil || len(r.Problems) > 0 {
		t.Fatal(err, r.Problems)
	}
	if len(r.Frames) != 2 || r.Frames[0].Recorded || !r.Frames[1].Recorded {
		t.Fatalf("frames: %+v", r.Frames)
	}
	if got := r.Golden(); got != want {
		t.Errorf("golden:\n%s\nwant:\n%s", got, want)
	}
}

// TestSleep: fast mode ends a Sleep once the screen is quiet.
func TestSleep(t *testing.T) {
	tape := mustParse(t, "Type \"echo n$((14+1))\"\nEnter\nWait+Screen@60s /n15/\nSleep 10m\nScreenshot x.png\n")
	r, err := Play(t.Context(), tape, options(t, ""))
	if err != nil {
		t.Fatal(err)
	}
	if r.Took > 5*time.Minute {
		t.Errorf("the Sleep was kept: %s", r.Took)
	}
}

// TestSettle: a screen settles when the program printed nothing for a while, not before.
func TestSettle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		term := &terminal{last: time.Now()}
		begun := time.Now()
		go func() {
			for range 15 {
				time.Sleep(100 * time.Millisecond)
				term.mu.Lock()
				term.last = time.Now()
				term.mu.Unlock()
			}
		}()
		term.settle(t.Context(), quiet, 20*time.Second)
		if took := time.Since(begun); took < 1500*time.Millisecond+quiet || took > 2*time.Second {
			t.Errorf("settled after %s, the program printed for 1.5 s", took)
		}
		term.last = time.Now().Add(time.Hour) // prints for ever
		begun = time.Now()
		term.settle(t.Context(), quiet, settleLimit)
		if took := time.Since(begun); took < settleLimit || took > 2*settleLimit {
			t.Errorf("gave up after %s, the limit is %s", took, settleLimit)
		}
	})
}

// TestWanted: a screen that is quiet but not as wanted is waited for, one that never comes is not waited for twice.
func TestWanted(t *testing.T) {
	tape := mustParse(t, `Type "read -t 0.5 x; echo a$((1+1)); read -t 1 x; clear; echo b$((1+1))"
Enter
Wait+Screen /(?m)^a2$/
Sleep 300ms
Type "true"
Enter
Screenshot x.png
`)
	o := options(t, "")
	o.Patience = time.Minute
	o.Want = "113 x 23\n── 02 Wait Screen (?m)^a2$ ──\nb2\n>\n"
	r, err := Play(t.Context(), tape, o)
	if err != nil || len(r.Frames) != 2 {
		t.Fatal(err, r.Frames)
	}
	if got := screenText(r.Frames[0].Lines); got != "b2\n>\n" {
		t.Errorf("the first frame was not waited for:\n%s", got)
	}
	o.Patience, o.Want = time.Second, "113 x 23\n── 02 Wait Screen (?m)^a2$ ──\nc2\n>\n── 06 Screenshot x.png ──\nnever\n"
	if r, err = Play(t.Context(), tape, o); err != nil || len(r.Frames) != 2 || Diff(o.Want, r.Golden()) == "" {
		t.Errorf("a golden that never comes: %v, %d frames", err, len(r.Frames))
	}
}
