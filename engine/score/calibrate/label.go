// Package calibrate compares scores with what is known about sessions: whether they
// succeeded, and where they went wrong. It is pure statistics; failure is the
// positive class everywhere.
package calibrate

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strings"
)

// Label is one line of a label file: what is known about one recorded session.
type Label struct {
	Line    int
	File    string // path of the recording, or the end of it
	Session string // id of the session in it; "" when the file holds one session
	Label   string // as written
	// Step is where it went wrong, "" = not labelled: a span id, or the position of
	// the step in the recording, 0-based.
	Step string
}

// Failed reads the label. known is false for words that are neither, such as
// "partial": such sessions are left out.
func (l Label) Failed() (failed, known bool) {
	switch strings.ToLower(l.Label) {
	case "success", "pass", "passed", "true", "1":
		return false, true
	case "failure", "fail", "failed", "false", "0":
		return true, true
	}
	return false, false
}

// maxLabels and maxLine bound a label file, in lines and bytes.
const (
	maxLabels = 1_000_000
	maxLine   = 64 << 10
)

// ReadLabels reads a label file: tab-separated, the first line naming its columns.
// Columns file, session and label must be there; step (or mistake_step) may be;
// others are not looked at. Empty lines and lines that begin with # are left out.
// Errors name the line.
func ReadLabels(r io.Reader) ([]Label, error) {
	s := bufio.NewScanner(r)
	s.Buffer(nil, maxLine)
	var columns map[string]int
	var out []Label
	line := 0
	for s.Scan() {
		line++
		text := strings.TrimSuffix(s.Text(), "\r")
		if strings.TrimSpace(text) == "" || strings.HasPrefix(text, "#") {
			continue
		}
		cells := strings.Split(text, "\t")
		if columns == nil {
			columns = map[string]int{}
			for i, name := range cells {
				columns[strings.ToLower(strings.TrimSpace(strings.TrimPrefix(name, "\ufeff")))] = i
			}
			if _, ok := columns["step"]; !ok {
				if i, ok := columns["mistake_step"]; ok {
					columns["step"] = i
				}
			}
			for _, need := range []string{"file", "session", "label"} {
				if _, ok := columns[need]; !ok {
					return nil, fmt.Errorf("line %d: there is no column %q; the first line names the columns file, session, label and, if known, step, separated by tabs", line, need)
				}
			}
			continue
		}
		cell := func(name string) string {
			if i, ok := columns[name]; ok && i < len(cells) {
				return strings.TrimSpace(cells[i])
			}
			return ""
		}
		l := Label{Line: line, File: cell("file"), Session: cell("session"), Label: cell("label"), Step: cell("step")}
		if l.Label == "" || l.File == "" && l.Session == "" {
			return nil, fmt.Errorf("line %d: a label needs a file or a session, and a label", line)
		}
		if len(out) == maxLabels {
			return nil, fmt.Errorf("line %d: more than %d labels", line, maxLabels)
		}
		out = append(out, l)
	}
	if err := s.Err(); errors.Is(err, bufio.ErrTooLong) {
		return nil, fmt.Errorf("line %d: longer than %d bytes", line+1, maxLine)
	} else if err != nil {
		return nil, err
	}
	if columns == nil {
		return nil, errors.New("it is empty")
	}
	return out, nil
}
