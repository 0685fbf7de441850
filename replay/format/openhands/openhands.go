// Package openhands reads the conversations of OpenHands: the event streams of
// version 0 (an array, JSON Lines, one file per event in a folder), the output of
// its evaluations (a line per run with its history), and the stores of its SDK
// (version 1: base_state.json beside a folder of events).
//
// A message of the user is a turn. An action of the agent is a call of the step
// that asked for it; actions that name the same response of the model are parallel
// calls of one step. A result joins its call by the id of the action or of the
// call, else it answers the oldest one that waits. An error is an error
// observation or an exit code above 0 (-1 says that the command still runs).
package openhands

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"vise/engine/trace"
	"vise/replay/format/chat"
	"vise/replay/format/recording"
)

// Name of the format.
const Name = "openhands"

// Bounds of a store of event files.
const maxEvents = 100_000

// Read reads a file: an event stream, the output of an evaluation, or the
// description of a store (base_state.json, metadata.json), whose events are read
// from the folder beside it.
func Read(r io.ReadSeeker, path string, rec *recording.Recorder) error {
	shape, err := recording.ShapeOf(r)
	if err != nil {
		return fmt.Errorf("read %s: %w", path, err)
	}
	var stream []json.RawMessage // events of a file that is one session
	cut := false
	err = recording.Values(r, rec, func(v recording.Value) error {
		var row row
		if err := recording.Decode(v.Data, &row); err != nil {
			return err
		}
		switch {
		case row.History != nil:
			return evaluation(&row, v, path, rec)
		case shape == recording.One && Events(path) != "" && row.isState():
			return store(&row, v, path, rec)
		case row.isEvent() && shape == recording.One:
			rec.Unknown("a single event; the base_state.json or metadata.json beside its folder is the session")
		case row.isEvent():
			stream = append(stream, slices.Clone(json.RawMessage(v.Data)))
			cut = cut || v.Cut
		default:
			rec.Unknown("record that is no event")
		}
		return nil
	})
	if err != nil || len(stream) == 0 {
		return err
	}
	s := newSession(rec)
	s.head.ID = recording.Stem(path)
	if cut {
		s.head.Attrs["cut"] = true
	}
	return s.read(stream)
}

// Events returns the folder of events that belongs to the description of a store,
// "" if there is none.
func Events(path string) string {
	switch filepath.Base(path) {
	case "base_state.json", "metadata.json":
	default:
		return ""
	}
	dir := filepath.Join(filepath.Dir(path), "events")
	if info, err := os.Lstat(dir); err != nil || !info.IsDir() {
		return ""
	}
	return dir
}

// row is a line of an evaluation, or the description of a store, or an event.
type row struct {
	// Evaluation.
	Instance    chat.Scalar       `json:"instance_id"`
	Question    chat.Scalar       `json:"question_id"`
	ID          chat.Scalar       `json:"id"`
	History     []json.RawMessage `json:"history"`
	Instruction string            `json:"instruction"`
	Correct     *bool             `json:"correct"`
	Success     *bool             `json:"success"`
	TestResult  struct {
		Result json.RawMessage `json:"result"`
	} `json:"test_result"`
	Issue struct {
		Number chat.Scalar `json:"number"`
	} `json:"issue"`
	Metadata struct {
		Agent string `json:"agent_class"`
		Model string `json:"model_name"`
		LLM   struct {
			Model string `json:"model"`
		} `json:"llm_config"`
	} `json:"metadata"`
	Patch string      `json:"git_patch"`
	Error chat.Scalar `json:"error"`
	// Store.
	ConversationID string `json:"conversation_id"`
	Title          string `json:"title"`
	Model          string `json:"llm_model"`
	Status         string `json:"execution_status"`
	Agent          *struct {
		LLM struct {
			Model string `json:"model"`
		} `json:"llm"`
	} `json:"agent"`
	Stats struct {
		Usage map[string]struct {
			Tokens []struct {
				chat.Usage
				CacheRead  int64  `json:"cache_read_tokens"`
				Reasoning  int64  `json:"reasoning_tokens"`
				ResponseID string `json:"response_id"`
			} `json:"token_usages"`
			Costs []struct {
				Cost float64 `json:"cost"`
			} `json:"costs"`
		} `json:"usage_to_metrics"`
	} `json:"stats"`
	// Event.
	Action      json.RawMessage `json:"action"`
	Observation json.RawMessage `json:"observation"`
	Kind        string          `json:"kind"`
}

func (r *row) isState() bool { return r.Agent != nil || r.ConversationID != "" }

func (r *row) isEvent() bool { return r.Action != nil || r.Observation != nil || r.Kind != "" }

// evaluation writes the session of one line.
func evaluation(r *row, v recording.Value, path string, rec *recording.Recorder) error {
	s := newSession(rec)
	id := chat.First(string(r.Instance), string(r.Question), string(r.ID), string(r.Issue.Number), strconv.Itoa(v.Index+1))
	s.head.ID = recording.Stem(path) + "-" + id
	s.head.Attrs["index"], s.head.Attrs["id"] = v.Index, rec.Short(id, 200)
	s.model = chat.First(r.Metadata.Model, r.Metadata.LLM.Model)
	s.instruction = r.Instruction
	if r.Metadata.Agent != "" {
		s.head.Agent = Name + " " + rec.Short(r.Metadata.Agent, 80)
	}
	if v.Cut {
		s.head.Attrs["cut"] = true
	}
	for k, t := range map[string]string{"patch": r.Patch, "error": string(r.Error)} {
		if t != "" {
			s.head.Attrs[k] = rec.Short(t, 2000)
		}
	}
	s.head.Label = r.label()
	var flat []json.RawMessage
	for _, h := range r.History {
		if len(h) > 0 && h[0] == '[' { // pairs of action and observation
			var pair []json.RawMessage
			if recording.Decode(h, &pair) == nil {
				flat = append(flat, pair...)
			}
			continue
		}
		flat = append(flat, h)
	}
	return s.read(flat)
}

// label is the outcome the line claims: the first of correct, success and the
// test's result that is there.
func (r *row) label() string {
	ok := r.Correct
	if ok == nil {
		ok = r.Success
	}
	if ok == nil {
		switch string(r.TestResult.Result) {
		case "true", "1":
			return "success"
		case "false", "0":
			return "failure"
		}
		return ""
	}
	if *ok {
		return "success"
	}
	return "failure"
}

// store writes the session of a folder of event files.
func store(r *row, v recording.Value, path string, rec *recording.Recorder) error {
	s := newSession(rec)
	s.head.ID = chat.First(r.ConversationID, string(r.ID))
	if strings.Trim(s.head.ID, "0-") == "" { // a test run: all zeros
		s.head.ID = filepath.Base(filepath.Dir(path))
	}
	s.head.Attrs["session_id"] = rec.Short(chat.First(r.ConversationID, string(r.ID)), 200)
	if r.Title != "" {
		s.head.Title = recording.FirstWords(rec.Mask(r.Title))
	}
	s.model = r.Model
	if r.Agent != nil {
		s.model = r.Agent.LLM.Model
	}
	if r.Status != "" {
		s.head.Attrs["status"] = rec.Short(r.Status, 80)
	}
	for _, m := range r.Stats.Usage {
		for _, u := range m.Tokens {
			usage := u.Usage.Trace()
			usage.Cached, usage.Reasoning = max(usage.Cached, u.CacheRead), max(usage.Reasoning, u.Reasoning)
			s.usage[u.ResponseID] = usage
		}
	}
	events, err := eventFiles(Events(path))
	if err != nil {
		return fmt.Errorf("read %s: %w", path, err)
	}
	if v.Cut {
		s.head.Attrs["cut"] = true
	}
	var raws []json.RawMessage
	total := 0
	for _, e := range events {
		if err := rec.Context().Err(); err != nil {
			return fmt.Errorf("read %s: %w", path, err)
		}
		raw, err := readFile(e)
		if err != nil {
			rec.Damage(recording.Damage{Line: 1, Reason: fmt.Sprintf("event %s: %v", filepath.Base(e), err)})
			continue
		}
		if total += len(raw); total > recording.MaxRecord {
			rec.Note("more than %d MB of events: those from %s on are left out", recording.MaxRecord>>20, filepath.Base(e))
			break
		}
		if !json.Valid(raw) {
			rec.Damage(recording.Damage{Line: 1, Bytes: len(raw), Reason: fmt.Sprintf("event %s is not JSON", filepath.Base(e))})
			if raw = recording.Mend(raw); len(raw) == 0 {
				continue
			}
		}
		raws = append(raws, raw)
	}
	return s.read(raws)
}

// eventName matches the files of either store; the first number orders them.
var eventName = regexp.MustCompile(`^(?:event-)?(\d+)(?:-[^/]*)?\.json$`)

// eventFiles lists the events of a store in the order of their numbers: 10 comes after 9.
func eventFiles(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	type file struct {
		n    int
		path string
	}
	var files []file
	for _, e := range entries {
		m := eventName.FindStringSubmatch(e.Name())
		if m == nil || !e.Type().IsRegular() {
			continue
		}
		n, err := strconv.Atoi(m[1])
		if err != nil {
			continue
		}
		if len(files) == maxEvents {
			return nil, fmt.Errorf("more than %d events in %s", maxEvents, dir)
		}
		files = append(files, file{n, filepath.Join(dir, e.Name())})
	}
	slices.SortStableFunc(files, func(a, b file) int { return cmp.Compare(a.n, b.n) })
	out := make([]string, len(files))
	for i, f := range files {
		out[i] = f.path
	}
	return out, nil
}

func readFile(path string) ([]byte, error) {
	f, err := recording.OpenPart(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, recording.MaxRecord))
}

func newSession(rec *recording.Recorder) *session {
	return &session{rec: rec, conv: recording.NewConversation(rec), usage: map[string]trace.Usage{}, keys: map[string]string{}, aside: map[string]int{},
		head: trace.Session{Source: Name, Agent: Name, Attrs: map[string]any{}}}
}
