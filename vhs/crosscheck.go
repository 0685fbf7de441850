package vhs

import (
	"errors"
	"fmt"
	"strings"
)

// blockEnd separates the screens in a text output of VHS.
var blockEnd = strings.Repeat("─", 80) + "\n"

// Crosscheck holds a golden against the text output that VHS wrote for the same
// tape: every frame of the golden must occur there, in order. (The output itself
// is no golden: how many screens VHS captures differs from run to run.)
//
// The error lists each frame that VHS did not show, with the screen nearest to it.
func Crosscheck(golden, recording string) error {
	frames, err := goldenFrames(golden)
	if err != nil {
		return err
	}
	var screens []string
	for _, block := range strings.Split(recording, blockEnd) {
		rows := strings.Split(block, "\n")
		for i, r := range rows {
			rows[i] = strings.TrimRight(r, " ")
		}
		screens = append(screens, screenText(rows))
	}
	var errs []error
	from := 0
	for _, f := range frames {
		found, nearest, least := -1, "", -1
		for i := from; i < len(screens) && found < 0; i++ {
			d := Diff(f.text, screens[i])
			if d == "" {
				found = i
			} else if len(screens[i]) > 1 && (least < 0 || len(d) < least) {
				least, nearest = len(d), d
			}
		}
		if found < 0 {
			errs = append(errs, fmt.Errorf("crosscheck: VHS did not show frame %q from its screen %d of %d on; the nearest differs:\n%s",
				f.name, from, len(screens), nearest))
			continue
		}
		from = found
	}
	return errors.Join(errs...)
}

type goldenFrame struct{ name, text string }

// goldenFrames reads a golden back.
func goldenFrames(golden string) ([]goldenFrame, error) {
	_, rest, ok := strings.Cut(golden, "\n")
	if !ok || rest == "" {
		return nil, errors.New("crosscheck: the golden holds no frames")
	}
	var frames []goldenFrame
	for line := range strings.Lines(rest) {
		if title, is := frameTitle(line); is {
			frames = append(frames, goldenFrame{name: title})
			continue
		}
		if len(frames) == 0 {
			return nil, fmt.Errorf("crosscheck: the golden's first frame has no title but %q", line)
		}
		frames[len(frames)-1].text += line
	}
	return frames, nil
}

// frameTitle reads "── 07 Wait Screen DONE ──".
func frameTitle(line string) (string, bool) {
	t, a := strings.CutPrefix(strings.TrimSuffix(line, "\n"), "── ")
	t, b := strings.CutSuffix(t, " ──")
	return t, a && b
}
