package vhs

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

var (
	update   = flag.Bool("update", false, "rewrite the goldens")
	realtime = flag.Bool("realtime", false, "keep every pause of the tapes as a recording does")
	pictures = flag.String("pictures", "", "folder for an SVG of every frame")
	binary   = flag.String("binary", "", "folder that holds a built vise, instead of building one")
	recorded = flag.String("recorded", "", "folder with the NAME.txt of real recordings, for TestRecordings")
)

// tapes are the tapes of this folder by name.
func tapes(t *testing.T) map[string]string {
	t.Helper()
	files, err := filepath.Glob("*.tape")
	if err != nil || len(files) == 0 {
		t.Fatalf("no tapes here (%v)", err)
	}
	all := map[string]string{}
	for _, f := range files {
		raw, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		all[strings.TrimSuffix(f, ".tape")] = string(raw)
	}
	return all
}

// program is the built program's folder; TestMain removes it.
var program string

// build makes the program once, with coverage counters when GOCOVERDIR asks for them.
var build = sync.OnceValues(func() (dir string, err error) {
	if dir, err = os.MkdirTemp("", "vise-tapes-*"); err != nil {
		return "", err
	}
	program = dir
	args := []string{"build", "-o", filepath.Join(dir, "vise")}
	if os.Getenv("GOCOVERDIR") != "" {
		args = append(args, "-cover")
	}
	cmd := exec.Command("go", append(args, ".")...)
	cmd.Dir = ".."
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("go build: %w\n%s", err, out)
	}
	return dir, nil
})

func TestMain(m *testing.M) {
	if os.Getenv(echoEnv) != "" {
		os.Exit(echoKeys(os.Stdin, os.Stdout))
	}
	flag.Parse()
	code := m.Run()
	if program != "" {
		_ = os.RemoveAll(program)
	}
	os.Exit(code)
}

// TestTapes plays every tape against the program and compares every settled screen.
func TestTapes(t *testing.T) {
	bin := *binary
	if bin == "" {
		var err error
		if bin, err = build(); err != nil {
			t.Fatal(err)
		}
	}
	for name, source := range tapes(t) {
		t.Run(name, func(t *testing.T) {
			tape, err := Parse(source)
			if err != nil {
				t.Fatal(err)
			}
			file := filepath.Join("testdata", name+".golden")
			o := options(t, bin)
			o.Patience = time.Minute
			if !*update {
				want, err := os.ReadFile(file)
				if err != nil {
					t.Fatalf("%v; make it with: go test ./vhs -run TestTapes/%s -update", err, name)
				}
				o.Want = string(want)
			}
			r, err := Play(t.Context(), tape, o)
			draw(t, name, r)
			for _, p := range r.Problems {
				t.Error(p)
			}
			if err != nil {
				t.Fatal(err)
			}
			t.Logf("%d frames of %d x %d in %s", len(r.Frames), r.Cols, r.Rows, r.Took.Round(time.Millisecond))
			if *update {
				if err := os.WriteFile(file, []byte(r.Golden()), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if d := Diff(o.Want, r.Golden()); d != "" {
				t.Errorf("the screen changed (look, then -update):\n%s", d)
			}
		})
	}
}

// options are a shell in an empty home that finds the program in bin.
func options(t *testing.T, bin string) Options {
	home := t.TempDir()
	env := []string{
		"HOME=" + home, "XDG_CONFIG_HOME=" + home + "/config", "XDG_CACHE_HOME=" + home + "/cache", "TMPDIR=" + t.TempDir(),
		"LANG=C.UTF-8", "PATH=" + bin + ":" + os.Getenv("PATH"),
	}
	if dir := os.Getenv("GOCOVERDIR"); dir != "" {
		env = append(env, "GOCOVERDIR="+dir)
	}
	return Options{Dir: home, Env: env, Realtime: *realtime, Draw: *pictures != ""}
}

func draw(t *testing.T, name string, r *Result) {
	if *pictures == "" {
		return
	}
	for i, f := range r.Frames {
		file := filepath.Join(*pictures, fmt.Sprintf("%s-%02d.svg", name, i))
		if err := os.WriteFile(file, []byte(f.SVG), 0o644); err != nil {
			t.Error(err)
		}
	}
}

// TestLint holds the tapes of this folder to what VHS does with them.
func TestLint(t *testing.T) {
	for name, source := range tapes(t) {
		for _, p := range Lint(name+".tape", source) {
			t.Errorf("%s.tape: %s", name, p)
		}
	}
}

// TestRecordings holds every golden against what VHS itself showed; .ci/record makes the folder.
func TestRecordings(t *testing.T) {
	if *recorded == "" {
		t.Skip("no -recorded folder: .ci/record makes one")
	}
	for name := range tapes(t) {
		t.Run(name, func(t *testing.T) {
			golden, err := os.ReadFile(filepath.Join("testdata", name+".golden"))
			if err != nil {
				t.Fatal(err)
			}
			text, err := os.ReadFile(filepath.Join(*recorded, name+".txt"))
			if err != nil {
				t.Fatalf("%v: record the tape first", err)
			}
			if err := Crosscheck(string(golden), string(text)); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestNothingStays plays a program that ignores the hang-up: the player must end it all the same, and quickly when asked.
func TestNothingStays(t *testing.T) {
	tape := mustParse(t, `Type "trap '' HUP TERM; echo stay$((1+1)); while :; do sleep 0.1; done"`+"\nEnter\nWait+Screen /(?m)^stay2$/\nWait+Screen@60s /never/\n")
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	begun := time.Now()
	if _, err := Play(ctx, tape, options(t, "")); err == nil {
		t.Error("a cancelled play ended without an error")
	}
	if took := time.Since(begun); took > 50*time.Second {
		t.Errorf("a cancelled play took %s", took)
	}
}

func mustParse(t *testing.T, source string) *Tape {
	t.Helper()
	tape, err := Parse(source)
	if err != nil {
		t.Fatal(err)
	}
	return tape
}
