// Package tau reads the results of tau-bench (an array of {task_id, reward,
// traj, ...}) and of tau2-bench (an object with tasks and simulations). Both are
// one JSON document per file; it is read element by element and never held whole.
//
// Every element is a session. A turn is what the simulated user says, except
// after the last answer of the agent: that farewell is no turn. What the agent
// says before the user spoke belongs to turn 0, which takes the first user text
// as its input unless the agent called a tool before. The tokens that the
// simulator ends conversations with (###STOP###) are dropped: they would tell the
// outcome. In tau2 the user has tools too; those calls are an AGENT span "user"
// with a CHAIN span per call and never count as calls of the agent.
//
// A result is an error when the recording flags it or its text starts with
// "Error", which is how both environments report a failed call. The reward
// becomes the label and never reaches a span; llm_args, which have been seen to
// hold live keys, are dropped.
package tau

import (
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"vise/replay/format/chat"
	"vise/replay/format/recording"
)

// Names of the two formats.
const (
	NameTau  = "tau-bench"
	NameTau2 = "tau2"
)

// Bounds on the parts of a results file that are kept while it is read.
const (
	maxInfo  = 16 << 20 // bytes of the info object
	maxTasks = 20_000   // tickets remembered
)

// Read reads a results file. r is read once, and from where the simulations
// stand once more when they come before the description of the run.
func Read(r io.ReadSeeker, path string, rec *recording.Recorder) error {
	f := &file{rec: rec, base: strings.ToLower(filepath.Base(path)), tickets: map[string]string{}}
	sc := recording.NewScanner(r)
	c, err := sc.Peek()
	if err != nil {
		return f.damaged(sc, err)
	}
	if c == '[' {
		return f.rows(sc, NameTau)
	}
	return f.results(r, sc)
}

type file struct {
	rec     *recording.Recorder
	base    string // name of the file, lower case
	info    info
	tickets map[string]string // task id → ticket (solo mode)
	index   int
	cut     bool // the last simulation was cut off: the end of the document is no news
}

// info is the description of a tau2 run. llm_args are left out on purpose.
type info struct {
	Commit string `json:"git_commit"`
	Agent  struct {
		Implementation string `json:"implementation"`
		LLM            string `json:"llm"`
	} `json:"agent_info"`
	User struct {
		LLM string `json:"llm"`
	} `json:"user_info"`
	Environment struct {
		Domain string          `json:"domain_name"`
		Policy string          `json:"policy"`
		Tools  json.RawMessage `json:"tool_defs"`
	} `json:"environment_info"`
}

// results reads the members of a tau2 document.
func (f *file) results(r io.ReadSeeker, sc *recording.Scanner) error {
	later, line := int64(-1), 0 // where simulations stand that were passed over
	seen := false
	err := sc.Members(func(key string) error {
		switch key {
		case "info":
			seen = true
			raw, whole, err := sc.Value(maxInfo)
			if err != nil {
				return err
			}
			if !whole || recording.Decode(raw, &f.info) != nil {
				f.rec.Damage(recording.Damage{Line: sc.Line(), Offset: sc.Offset() - int64(len(raw)), Bytes: len(raw), Reason: "the description of the run (info) cannot be read"})
			}
			return nil
		case "tasks":
			return sc.Elements(func() error { return f.task(sc) })
		case "simulations":
			if !seen {
				later, line = sc.Offset(), sc.Line()
				return sc.Skip()
			}
			return f.rows(sc, NameTau2)
		default:
			return sc.Skip()
		}
	})
	if later >= 0 {
		if _, serr := r.Seek(later, io.SeekStart); serr != nil {
			return f.ioError(serr)
		}
		if rerr := f.rows(recording.NewScannerAt(r, later, line), NameTau2); rerr != nil {
			return rerr
		}
	}
	return f.damaged(sc, err)
}

func (f *file) task(sc *recording.Scanner) error {
	raw, whole, err := sc.Value(recording.MaxRecord)
	if err != nil || !whole {
		return err
	}
	var t struct {
		ID     chat.Scalar `json:"id"`
		Ticket string      `json:"ticket"`
	}
	if recording.Decode(raw, &t) == nil && t.Ticket != "" && len(f.tickets) < maxTasks {
		f.tickets[string(t.ID)] = t.Ticket
	}
	return nil
}

// rows reads the array of simulations.
func (f *file) rows(sc *recording.Scanner, format string) error {
	err := sc.Elements(func() error {
		at, line := sc.Offset(), sc.Line()
		raw, whole, err := sc.Value(recording.MaxRecord)
		if err != nil {
			return err
		}
		if !whole && len(raw) == 0 {
			return nil
		}
		defer func() { f.index++ }()
		return f.simulation(raw, whole, format, recording.Damage{Line: line, Offset: at, Bytes: int(sc.Offset() - at)})
	})
	return f.damaged(sc, err)
}

// damaged counts the place where the document stops being JSON; what was read
// before it stays.
func (f *file) damaged(sc *recording.Scanner, err error) error {
	if err == nil {
		return nil
	}
	if bad, ok := recording.BadDocument(err); ok {
		if f.cut {
			return nil
		}
		f.rec.Damage(recording.Damage{Line: sc.Line(), Offset: sc.Offset(), Reason: bad})
		return nil
	}
	return f.ioError(err)
}

func (f *file) ioError(err error) error {
	return fmt.Errorf("read %s: %w", f.rec.Summary().Path, err)
}
