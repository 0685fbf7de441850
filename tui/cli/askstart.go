package cli

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"

	"vise/tui"
)

// askStart offers in plain lines what one can start with in a folder without a project;
// at the end of the input nothing was chosen.
func (a *app) askStart(ctx context.Context) (tui.Start, error) {
	a.out.printf("%s", tui.NoProject)
	for i, s := range tui.Starts {
		a.out.printf("%d. %s: %s", i+1, s.Start, s.Note)
	}
	for {
		a.out.printf("Type a number and enter.")
		if a.out.err != nil {
			return "", a.out.err
		}
		line := make(chan string, 1)
		go func() { // a read that never returns ends with the process
			text, ok := lineOf(a.in)
			if !ok {
				text = strconv.Itoa(len(tui.Starts))
			}
			line <- text
		}()
		select {
		case <-ctx.Done():
			return "", fmt.Errorf("choose what to start with: %w", context.Cause(ctx))
		case text := <-line:
			text = strings.TrimSpace(text)
			for i, s := range tui.Starts {
				if text == strconv.Itoa(i+1) || text == string(s.Start) || text == "q" && s.Start == tui.StartLeave {
					return s.Start, nil
				}
			}
		}
	}
}

// lineOf reads a line and not a byte more: what follows is for the workbench. Of a very
// long line it is the beginning.
func lineOf(in io.Reader) (string, bool) {
	var text []byte
	for b := make([]byte, 1); ; {
		n, err := in.Read(b)
		switch {
		case n == 1 && b[0] == '\n':
			return string(text), true
		case n == 1 && len(text) < 1000:
			text = append(text, b[0])
		case err != nil:
			return string(text), len(text) > 0
		}
	}
}
