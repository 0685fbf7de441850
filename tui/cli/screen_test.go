package cli_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"vise/store"
	"vise/tui"
	"vise/tui/internal/screen"
)

// terminal runs vise with arguments in a terminal of that size, in a folder of its own.
func terminal(t *testing.T, w, h int, env []string, args ...string) (*screen.Screen, string) {
	t.Helper()
	dir := t.TempDir()
	tmp := filepath.Join(dir, "tmp")
	if err := os.Mkdir(tmp, 0o755); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("vise", args...)
	surround(t, cmd, env, dir, tmp)
	return screen.Start(t, w, h, cmd), tmp
}

// shell runs a command as terminal runs vise.
func shell(t *testing.T, w, h int, cmd *exec.Cmd) *screen.Screen {
	t.Helper()
	dir := t.TempDir()
	surround(t, cmd, []string{"PS1=shell$ "}, dir, dir)
	return screen.Start(t, w, h, cmd)
}

// surround gives a command a folder and an environment of its own.
func surround(t *testing.T, cmd *exec.Cmd, env []string, dir, tmp string) {
	t.Helper()
	root, err := filepath.Abs(repository)
	if err != nil {
		t.Fatal(err)
	}
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "VISE_TEST_DEMO="+filepath.Join(root, "testdata", "demo"), "HOME="+dir, "XDG_CONFIG_HOME="+dir,
		"TMPDIR="+tmp, "TERM=xterm-256color", "COLORTERM=truecolor", "LANG=C.UTF-8", "TMUX=", "SSH_TTY=", "NO_COLOR=", "TERM_PROGRAM=", "WT_SESSION=", "VISE_MOTION=")
	cmd.Env = append(cmd.Env, env...)
}

// clean checks that nothing of the demo is left: no folder, no agent.
func clean(t *testing.T, tmp string) {
	t.Helper()
	left, err := os.ReadDir(tmp)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range left {
		t.Errorf("%s is left in the temporary folder", e.Name())
	}
	procs, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, p := range procs {
		if raw, err := os.ReadFile(p); err == nil && strings.Contains(string(raw), tmp) && !strings.Contains(p, fmt.Sprint(os.Getpid())) {
			cmdline, _ := os.ReadFile(filepath.Join(filepath.Dir(p), "cmdline"))
			if len(cmdline) > 0 { // a zombie has none
				t.Errorf("process %s is left: %q", p, cmdline)
			}
		}
	}
}

// From the failing session to the promoted rule, with the keys of the manual.
func TestWorkbenchDemo(t *testing.T) {
	d, tmp := terminal(t, 200, 60, nil, "demo")
	d.Pane("Sessions").Has("torn-blanket").Focused()
	d.Pane("Trace").Has("issue_refund").Has("missing required argument")

	// Develop: the run appears, scored, beside the recording.
	d.Press("r").Wait("repair held")
	d.Press("D")
	d.Pane("Turns").Has("against torn-blanket").Has("◆!")
	d.Pane("Scores").Has("argument_correctness")
	d.Pane("Trace").Has("before torn-blanket").Has("harness_rules_search")

	// Step: nothing is sent or executed before the key.
	d.Press("R")
	d.Pane("Repair").Has("held before model").Has("not sent yet")
	d.Press("s")
	d.Pane("Repair").Has("harness_notice_read").Has("not executed yet")
	d.Press("s")
	d.Pane("Repair").Has("held before model  model turn 2")
	d.Press("c")
	d.Pane("Repair").Has("candidate added").Has("reason_code")
	d.Wait("○ idle")

	// Back in time, and forward again.
	d.Press("[", "]")

	// Validate.
	d.Press("v")
	d.Pane("Journal").Has("rule promote")
	d.Pane("Validation").Has("argument_correctness")
	d.Pane("Rules").Has("active")
	d.Wait("○ idle")

	// The agent reads the rule: no further notice.
	d.Press("r")
	d.Pane("Turns").Has("against torn-blanket")
	d.Wait("○ idle").Gone("repair held")
	d.Press("q")
	if code := d.Exit(); code != 0 {
		t.Errorf("exit %d", code)
	}
	d.Restored()
	clean(t, tmp)
}

// However the program ends, the terminal is as before and nothing is left behind.
func TestWorkbenchEnds(t *testing.T) {
	for _, c := range []struct {
		name string
		end  func(*screen.Screen)
		code int
	}{
		{"q", func(d *screen.Screen) { d.Press("q").Wait("a repair is held; q again ends it").Press("q") }, 0},
		{"ctrl+c", func(d *screen.Screen) { d.Press("ctrl+c") }, 0},
		{"SIGTERM", func(d *screen.Screen) { d.Signal(syscall.SIGTERM) }, 130},
		{"SIGHUP", func(d *screen.Screen) { d.Signal(syscall.SIGHUP) }, 130},
	} {
		t.Run(c.name, func(t *testing.T) {
			d, tmp := terminal(t, 120, 34, nil, "demo")
			d.Wait("torn-blanket").Press("r").Wait("repair held") // an agent runs and a repair waits
			c.end(d)
			if code := d.Exit(); code != c.code {
				t.Errorf("exit %d, want %d", code, c.code)
			}
			d.Restored()
			clean(t, tmp)
		})
	}
}

// Sizes that come faster than frames: the last one counts.
func TestWorkbenchResize(t *testing.T) {
	d, _ := terminal(t, 120, 40, nil, "demo")
	d.Wait("torn-blanket")
	r := rand.New(rand.NewPCG(3, 4))
	for range 60 {
		d.Resize(10+r.IntN(200), 3+r.IntN(70)).Press([]string{"tab", "z", "down", "R", "D", "E"}[r.IntN(6)])
	}
	d.Resize(30, 10).Wait("too small")
	d.Resize(80, 24).Gone("too small").Press("1").Wait("▸1 Sessions").Wait("? help").Press("g") // whatever the storm selected
	d.Resize(200, 60).Press("D")
	if d.Pane("Trace").Has("issue_refund"); !strings.Contains(d.Pane("Sessions").Text(), "quiet-morning") {
		t.Errorf("after the storm:\n%s", d.Text())
	}
	d.Press("q")
	if code := d.Exit(); code != 0 {
		t.Errorf("exit %d", code)
	}
}

// A folder without a project gets a card with what one can start with, and enter does it:
// the demo, or a vise.toml and the workbench over it.
func TestWorkbenchFirstRun(t *testing.T) {
	t.Run("quit", func(t *testing.T) {
		d, tmp := terminal(t, 80, 24, nil)
		d.Wait("There is no vise.toml").Wait("▸ vise demo").Press("r").Wait("choose one of these").Press("G").Wait("▸ quit").Press("enter")
		if code := d.Exit(); code != 0 {
			t.Errorf("exit %d", code)
		}
		d.Restored()
		if _, err := os.Stat(filepath.Join(filepath.Dir(tmp), "vise.toml")); err == nil {
			t.Error("a project was written")
		}
	})
	t.Run("demo", func(t *testing.T) {
		d, tmp := terminal(t, 118, 34, nil)
		d.Wait("▸ vise demo").Press("enter").Wait("torn-blanket").Wait("1 Sessions").Press("q")
		if code := d.Exit(); code != 0 {
			t.Errorf("exit %d", code)
		}
		d.Restored()
		clean(t, tmp)
	})
	t.Run("init", func(t *testing.T) {
		d, tmp := terminal(t, 80, 24, nil)
		d.Wait("▸ vise demo").Press("j").Wait("▸ vise init").Press("enter").Wait("1 Sessions").Press("q")
		if code := d.Exit(); code != 0 {
			t.Errorf("exit %d", code)
		}
		d.Restored()
		if raw, err := os.ReadFile(filepath.Join(filepath.Dir(tmp), "vise.toml")); err != nil || !strings.Contains(string(raw), "[agent]") {
			t.Errorf("vise.toml: %q, %v", raw, err)
		}
	})
}

// NO_COLOR with any value: not one colour, and the cursor is still seen.
func TestWorkbenchNoColor(t *testing.T) {
	d, _ := terminal(t, 100, 30, []string{"NO_COLOR=yes"}, "demo")
	d.Wait("issue_refund").Press("q").Exit()
	for _, seq := range []string{"38;2", "48;2", "38;5", "48;5", "\x1b[31m", "\x1b[32m"} {
		if strings.Contains(d.Raw(), seq) {
			t.Errorf("a colour is sent: %q", seq)
		}
	}
}

// The mouse focuses, selects and scrolls; the wheel goes to the pane under it.
func TestWorkbenchMouse(t *testing.T) {
	d, _ := terminal(t, 160, 40, nil, "demo")
	d.Pane("Sessions").Has("long-queue")
	x, y, _, _ := d.Pane("Sessions").Place()
	d.Click(x+4, y+3)
	d.Pane("Turns").Has("long-queue")
	x, y, _, _ = d.Pane("Trace").Place()
	d.Click(x+4, y+2)
	d.Pane("Trace").Focused()
	d.Wheel(x+4, y+2, 3)
	// A divider is dragged, text is marked and copied.
	x, y, w, _ := d.Pane("Sessions").Place()
	d.Drag(x+w-1, y+6, x+w+9, y+6)
	for end := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		if _, _, now, _ := d.Pane("Sessions").Place(); now == w+10 {
			break
		} else if time.Now().After(end) {
			t.Fatalf("Sessions has %d columns after the drag, had %d", now, w)
		}
	}
	d.Drag(x+2, y+1, x+5, y+1).Wait("sent 4 bytes").Sent("\x1b]52;c;")
	d.Press("q").Exit()
}

// Help and palette: filter, run, and say why not.
func TestWorkbenchPalette(t *testing.T) {
	d, _ := terminal(t, 120, 40, nil, "demo")
	d.Wait("torn-blanket").Press(":").Wait("type to search").Press("e", "v", "i", "d").Wait("view Evidence").Press("enter")
	d.Pane("Validation").Focused()
	d.Press("?").Wait("validate until idle").Press("esc").Gone("type to search")
	d.Press("c").Wait("no repair is held")
	d.Press(":").Wait("type to search").Press("t", "h", "e", "m", "e", "s", " ", "l", "i", "g", "h", "t", "enter").Gone("type to search")
	d.Press("T").Wait("follows the terminal").Press("esc").Gone("follows the terminal")
	d.Press("1", "/", "q", "u", "i", "e", "t").Wait("1 match").Press("enter", "esc")
	d.Press("q")
	if code := d.Exit(); code != 0 {
		t.Errorf("exit %d", code)
	}
}

// When nothing happens nothing is sent.
func TestWorkbenchIdle(t *testing.T) {
	d, _ := terminal(t, 120, 40, nil, "demo")
	d.Wait("issue_refund").Wait("Nothing waits for you")
	// What was asked for at the start comes when the machine lets it; then comes a
	// second without a byte.
	for end, n := time.Now().Add(time.Minute), 1; n > 0; {
		before := len(d.Raw())
		time.Sleep(time.Second)
		if n = len(d.Raw()) - before; n > 0 && time.Now().After(end) {
			t.Fatalf("%d bytes were sent in a second in which nothing happened", n)
		}
	}
	d.Press("q").Exit()
}

// The tab of a terminal that shows it: progress while something runs, blocked while a
// repair waits, and everything taken back at the end.
func TestWorkbenchStatus(t *testing.T) {
	d, _ := terminal(t, 120, 40, []string{"TERM_PROGRAM=ghostty"}, "demo")
	d.Wait("torn-blanket").Press("r").Wait("repair held")
	d.Sent("\x1b]9;4;4;").Sent("7501;state=blocked:kind=permission")
	d.Press("c").Wait("○ idle").Sent("7501;state=done").Press("q")
	if code := d.Exit(); code != 0 {
		t.Errorf("exit %d", code)
	}
	end := d.Raw()[strings.LastIndex(d.Raw(), "7501;state=done"):]
	if !strings.Contains(end, "7501;state=clear") || !strings.Contains(d.Raw(), "\x1b]9;4;0") {
		t.Errorf("not taken back: %q", end)
	}
	d.Restored()
}

// ctrl+z goes back to the shell with the terminal as it was, fg comes back.
func TestWorkbenchSuspend(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("no shell with job control")
	}
	d, _ := terminal(t, 100, 30, []string{"PS1=shell$ "}, "demo")
	d.Wait("torn-blanket").Press("ctrl+z").Wait("there is no shell to go back to").Press("q").Exit()
	sh := exec.Command(bash, "--norc", "--noediting", "-i")
	s := shell(t, 100, 30, sh)
	s.Wait("shell$").Press("vise demo\r").Wait("torn-blanket").Press("ctrl+z").Wait("Stopped").Restored()
	s.Press("fg\r").Wait("▸1 Sessions").Press("down", "q").Gone("Sessions").Press("echo all well\r").Wait("all well").Press("exit\r")
	s.Exit()
}

// kept waits until the workbench of a project has saved a view as its place.
func kept(t *testing.T, dir, view string) {
	t.Helper()
	st, err := store.OpenView(t.Context(), store.Options{Dir: filepath.Join(dir, ".vise")})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	var place tui.Place
	for end := time.Now().Add(time.Minute); place.View != view; time.Sleep(50 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("the place is %q, want %q", place.View, view)
		}
		if place, _, err = tui.ReadPlace(st); err != nil {
			t.Fatal(err)
		}
	}
}

// The next start goes on where the last one was left: view, pane, cursor, sizes, filter.
// --last begins afresh, and after an end out of order it asks.
func TestWorkbenchResumes(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "desk")
	d, _ := terminal(t, 140, 40, nil, "demo", "--prepare", dir)
	if code := d.Exit(); code != 0 {
		t.Fatalf("prepare: exit %d", code)
	}
	start := func(args ...string) *screen.Screen {
		d, _ := terminal(t, 140, 40, nil, append([]string{"--project", dir}, args...)...)
		return d
	}
	d = start()
	d.Wait("torn-blanket").Press(">", ">", "f").Wait("filter").Press("q", "u", "i", "e", "t").Wait("1 of 3").Press("enter")
	d.Pane("Turns").Has("quiet-morning")
	d.Press("2", "home", "down", "3")
	d.Pane("Trace").Focused().Has("quiet-morning/1")
	_, _, w, _ := d.Pane("Sessions").Place()
	d.Press("q").Exit()

	d = start()
	d.Pane("Trace").Focused().Has("quiet-morning/1")
	d.Pane("Sessions").Has("filter 1 of 3").Lacks("torn-blanket")
	if _, _, again, _ := d.Pane("Sessions").Place(); again != w {
		t.Errorf("Sessions has %d columns, had %d", again, w)
	}
	d.Press("R").Wait("R[Repair]")
	kept(t, dir, "repair")
	d.Signal(syscall.SIGKILL).Exit()

	d = start()
	d.Wait("did not end in order").Wait("enter  go on in").Press("enter").Wait("R[Repair]").Press("q").Exit()
	d = start("--last")
	d.Pane("Sessions").Focused().Has("torn-blanket")
	d.Wait("D[Debug]").Press("q").Exit()
	d = start("--session", "long-queue")
	d.Pane("Turns").Has("long-queue")
	d.Press("q").Exit()
	d = start("open", "vise://session/torn-blanket/turn/1?pane=trace")
	d.Pane("Trace").Focused().Has("torn-blanket/1")
	d.Press("q")
	if code := d.Exit(); code != 0 {
		t.Errorf("exit %d", code)
	}
}

// A terminal that cannot draw gets the lines, and nothing that moves a cursor.
func TestWorkbenchDumb(t *testing.T) {
	d, _ := terminal(t, 100, 40, []string{"TERM=dumb"}, "demo")
	d.Wait("as plain lines").Wait("selected: torn-blanket").Press("trace", "enter").Wait("Pane Trace torn-blanket/2").Press("q", "enter")
	if code := d.Exit(); code != 0 {
		t.Errorf("exit %d", code)
	}
	if strings.Contains(d.Raw(), "\x1b") {
		t.Errorf("escape sequences were sent: %q", d.Raw())
	}
}

// The colours that a terminal has are those that are sent: 24 bits, 256, 16, or none; over
// SSH frames are synchronised although the terminal was not asked, in tmux they are too.
func TestWorkbenchTerminals(t *testing.T) {
	for _, c := range []struct {
		name string
		env  []string
		has  []string
		not  []string
	}{
		{"true colour", nil, []string{"38;2;"}, []string{"38;5;"}},
		{"256 colours", []string{"COLORTERM=", "TERM=xterm-256color"}, []string{"38;5;"}, []string{"38;2;"}},
		{"16 colours", []string{"COLORTERM=", "TERM=xterm"}, []string{"\x1b[9"}, []string{"38;2;", "38;5;"}},
		{"no colour", []string{"NO_COLOR=0"}, []string{"\x1b[1"}, []string{"38;2;", "38;5;", "\x1b[31m", "\x1b[91m"}},
		{"over SSH", []string{"SSH_TTY=/dev/pts/7"}, []string{"\x1b[?2026h", "38;2;"}, nil},
		{"over SSH, switched off", []string{"SSH_TTY=/dev/pts/7", "VISE_NO_SYNC=1"}, nil, []string{"\x1b[?2026h"}},
		{"tmux", []string{"TERM=tmux-256color", "TMUX=/nowhere,1,0", "COLORTERM="}, []string{"38;5;"}, []string{"38;2;", "\x1b]9;4"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			d, _ := terminal(t, 100, 30, c.env, "demo")
			d.Wait("torn-blanket").Wait("issue_refund").Press("down").Wait("▸quiet").Press("q")
			if code := d.Exit(); code != 0 {
				t.Errorf("exit %d", code)
			}
			for _, h := range c.has {
				if !strings.Contains(d.Raw(), h) {
					t.Errorf("%q is not sent", h)
				}
			}
			for _, n := range c.not {
				if strings.Contains(d.Raw(), n) {
					t.Errorf("%q is sent", n)
				}
			}
			d.Restored()
		})
	}
}
