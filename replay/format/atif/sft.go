package atif

import (
	"io"

	"vise/engine/trace"
	"vise/replay/format/chat"
	"vise/replay/format/recording"
)

// episode is an element of the export for fine-tuning.
type episode struct {
	Conversations []chat.Message `json:"conversations"`
	Agent         string         `json:"agent"`
	Model         string         `json:"model"`
	Task          string         `json:"task"`
	Episode       string         `json:"episode"`
	Run           string         `json:"run_id"`
	Trial         string         `json:"trial_name"`
	Result        chat.Scalar    `json:"result"`
	index         int
	cut           bool
}

// ReadSFT reads Harbor's export for fine-tuning. An episode that begins with all
// of the one before, in the same trial, goes on with it: the last one of such a
// chain is the session.
func ReadSFT(r io.ReadSeeker, path string, rec *recording.Recorder) error {
	var held *episode
	err := recording.Values(r, rec, func(v recording.Value) error {
		e := &episode{index: v.Index, cut: v.Cut}
		if err := recording.Decode(v.Data, e); err != nil {
			return err
		}
		if e.Conversations == nil {
			rec.Unknown("record without conversations")
			return nil
		}
		if held != nil && !held.goesOn(e) {
			if err := held.write(path, rec); err != nil {
				return err
			}
		}
		held = e
		return nil
	})
	if err != nil || held == nil {
		return err
	}
	return held.write(path, rec)
}

// goesOn reports whether another episode begins with all messages of this one.
func (e *episode) goesOn(next *episode) bool {
	if e.Trial != next.Trial || e.Run != next.Run || len(e.Conversations) > len(next.Conversations) {
		return false
	}
	for i := range e.Conversations {
		a, b := &e.Conversations[i], &next.Conversations[i]
		if a.Role != b.Role || a.Content.Text != b.Content.Text {
			return false
		}
	}
	return true
}

func (e *episode) write(path string, rec *recording.Recorder) error {
	head := trace.Session{ID: recording.Stem(path) + "-" + chat.First(e.Trial, e.Run) + "-" + e.Episode, Source: NameSFT, Agent: chat.First(e.Agent, e.Model),
		System: chat.System(e.Conversations), Attrs: map[string]any{"index": e.index}}
	for k, v := range map[string]string{"task": e.Task, "model": e.Model, "run": e.Run, "result": string(e.Result)} {
		if v != "" {
			head.Attrs[k] = rec.Short(v, 200)
		}
	}
	if e.cut {
		head.Attrs["cut"] = true
	}
	if err := rec.Begin(head); err != nil {
		return err
	}
	feed := chat.NewFeed(rec)
	for i := range e.Conversations {
		m := &e.Conversations[i]
		if m.Model == "" {
			m.Model = e.Model
		}
		if err := feed.Add(m); err != nil {
			return err
		}
	}
	if err := feed.End(); err != nil {
		return err
	}
	return rec.End()
}
